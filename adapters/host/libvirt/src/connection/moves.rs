//! Either end of a move: what is asked there, and what is left of the guest taken away.

#![expect(unsafe_code, reason = "each call hands pointers to a C library")]

use super::domain::{DESTROY_GRACEFUL, DomainState, XML_MIGRATABLE, XML_SECURE};
use super::fault::{Fault, OPERATION_INVALID};
use super::link::{Link, c_text};
use super::{LibvirtHypervisor, Place, host};
use numawise_engine::moves::ports::MovesGuests;
use numawise_engine::ports::PortError;
use numawise_model::GuestUuid;
use roxmltree::{Document, Node};
use std::path::Path;
use std::ptr::null;

/// Of `virDomainJobOperation`.
const MIGRATION_OUT: i32 = 5;
/// Older libvirts do not say which.
const UNNAMED: i32 = 0;
/// `VIR_CPU_COMPARE_INCOMPATIBLE`.
const INCOMPATIBLE: i32 = 0;

impl MovesGuests for LibvirtHypervisor {
    fn machine(&self) -> Result<String, PortError> {
        self.ask("reading the host's UUID", host::machine)
    }

    fn migratable_xml(&self, guest: &GuestUuid) -> Result<Option<String>, PortError> {
        self.ask_domain(guest, "reading the live XML", |domain| {
            if domain.is_active()? {
                domain.xml(XML_SECURE | XML_MIGRATABLE).map(Some)
            } else {
                Ok(None)
            }
        })
    }

    fn is_paused(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        let state = self.ask_domain(guest, "reading the state", |domain| domain.state())?;
        Ok(state == DomainState::Paused)
    }

    fn resume(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let domain = self.find(guest)?;
        domain.resume().map_err(|fault| self.failed(fault, &format!("resuming the guest {guest}")))
    }

    fn power_off(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let domain = match self.find(guest) {
            Err(PortError::NotFound(_)) => return Ok(()),
            domain => domain?,
        };
        match domain.destroy(DESTROY_GRACEFUL).or_else(|_| domain.destroy(0)) {
            Ok(()) => Ok(()),
            // It went by itself, as the half of a move does whose connection has closed.
            Err(fault) if fault.is_no_domain() || fault.code == OPERATION_INVALID => Ok(()),
            Err(fault) => Err(self.failed(fault, &format!("switching off the guest {guest}"))),
        }
    }

    fn undefine(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let domain = match self.find(guest) {
            Err(PortError::NotFound(_)) => return Ok(()),
            domain => domain?,
        };
        match domain.undefine() {
            Err(fault) if !fault.is_no_domain() => {
                Err(self.failed(fault, &format!("undefining the guest {guest}")))
            }
            _ => Ok(()),
        }
    }

    fn abort_job(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let domain = self.find(guest)?;
        let aborted = match domain.job() {
            Ok(Some(MIGRATION_OUT | UNNAMED)) => domain.abort_job(),
            Ok(_) => Ok(()),
            Err(fault) => Err(fault),
        };
        match aborted {
            // Its end was nearer than the call.
            Err(fault) if fault.code == OPERATION_INVALID || fault.is_no_domain() => Ok(()),
            answer => answer.map_err(|fault| {
                self.failed(fault, &format!("breaking off the job of the guest {guest}"))
            }),
        }
    }

    fn autostarts(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        self.ask_domain(guest, "reading autostart", |domain| match domain.autostarts() {
            Err(fault) if fault.is_unsupported() => Ok(false),
            answer => answer,
        })
    }

    fn set_autostart(&self, guest: &GuestUuid, on: bool) -> Result<(), PortError> {
        let domain = self.find(guest)?;
        let set = domain.set_autostart(on);
        set.map_err(|fault| self.failed(fault, &format!("setting autostart of the guest {guest}")))
    }

    fn has_file(&self, path: &str) -> Result<Option<bool>, PortError> {
        if self.place() != Place::Here {
            return Ok(None);
        }
        let there = Path::new(path).try_exists();
        there.map(Some).map_err(|error| PortError::NoAccess(format!("{path}: {error}")))
    }

    fn host_cpu(&self) -> Result<Option<String>, PortError> {
        let capabilities = self.ask("reading the host's capabilities", Link::capabilities)?;
        let Ok(document) = Document::parse(&capabilities) else { return Ok(None) };
        let host = child(document.root_element(), "host");
        let cpu = host.and_then(|host| child(host, "cpu"));
        // A host of which libvirt knows no model tells nothing that could be compared.
        let cpu = cpu.filter(|cpu| child(*cpu, "model").is_some());
        Ok(cpu.map(|cpu| capabilities[cpu.range()].to_owned()))
    }

    fn misfits(&self, domain_xml: &str, host_cpu: Option<&str>) -> Result<Vec<String>, PortError> {
        let document = Document::parse(domain_xml)
            .map_err(|error| PortError::Unreadable(format!("a domain XML: {error}")))?;
        let root = document.root_element();
        let kind = root.attribute("type");
        let hvm = child(root, "os").and_then(|os| child(os, "type"));
        let of = |name| hvm.and_then(|hvm| hvm.attribute(name));
        let guest = [None, of("arch"), of("machine"), kind];
        let lacks = self.ask("reading what guests may have", |link| {
            match link.domain_capabilities(guest) {
                Err(fault) if fault.is_unsupported() || fault.is_lost_connection() => Err(fault),
                Err(fault) => Ok(Some(fault.message)),
                Ok(_) => Ok(None),
            }
        });
        match lacks {
            Ok(Some(why)) => return Ok(vec![why]),
            Ok(None) => {}
            Err(PortError::NoAccess(why)) => return Err(PortError::NoAccess(why)),
            // A driver that cannot tell says no.
            Err(_) => return Ok(Vec::new()),
        }
        let Some(cpu) = child(root, "cpu") else { return Ok(Vec::new()) };
        let own = matches!(cpu.attribute("mode"), Some("host-passthrough" | "maximum"));
        let fits = match (own, child(cpu, "model")) {
            (true, _) | (false, None) => match host_cpu {
                Some(host_cpu) if own => self.compare(host_cpu, None),
                _ => return Ok(Vec::new()),
            },
            (false, Some(_)) => self.compare(&domain_xml[cpu.range()], Some(guest)),
        };
        Ok(if fits? { Vec::new() } else { vec![cpu_lacks(own)] })
    }
}

fn cpu_lacks(own: bool) -> String {
    match own {
        true => "its CPU lacks something of the CPU that the guest has from its host".to_owned(),
        false => "its CPU lacks something of the guest's CPU model".to_owned(),
    }
}

impl LibvirtHypervisor {
    /// By what guests of this kind may have here, or by the host's own CPU. What libvirt cannot
    /// compare is not held against the guest: it has its own word when the guest comes.
    fn compare(&self, cpu: &str, guest: Option<[Option<&str>; 4]>) -> Result<bool, PortError> {
        let answer = self.ask("comparing CPUs", |link| match link.compare_cpu(cpu, guest) {
            Err(fault) if fault.is_lost_connection() => Err(fault),
            answer => Ok(answer.ok()),
        })?;
        Ok(answer != Some(INCOMPATIBLE))
    }
}

impl Link {
    fn compare_cpu(&self, cpu: &str, guest: Option<[Option<&str>; 4]>) -> Result<i32, Fault> {
        let cpu = c_text(cpu)?;
        let Some(guest) = guest else {
            // SAFETY: connection and text live for the length of the call.
            let result =
                unsafe { (self.library.virConnectCompareCPU)(self.raw.as_ptr(), cpu.as_ptr(), 0) };
            return self.done(result);
        };
        let Some(function) = self.library.virConnectCompareHypervisorCPU else {
            return Err(Fault::too_old("virConnectCompareHypervisorCPU"));
        };
        let mut texts = Vec::new();
        for text in guest {
            texts.push(text.map(c_text).transpose()?);
        }
        let at = |n: usize| texts[n].as_ref().map_or(null(), |text| text.as_ptr());
        // SAFETY: the texts live for the length of the call.
        let result =
            unsafe { function(self.raw.as_ptr(), at(0), at(1), at(2), at(3), cpu.as_ptr(), 0) };
        self.done(result)
    }
}

fn child<'a, 'x>(node: Node<'a, 'x>, name: &str) -> Option<Node<'a, 'x>> {
    node.children().find(|child| child.has_tag_name(name))
}
