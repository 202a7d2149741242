//! Stopping a guest: the agent first, then the power button, and the plug only when told to.

use super::domain::{
    DESTROY_GRACEFUL, DomainState, SHUTDOWN_BY_AGENT, SHUTDOWN_BY_LIBVIRTS_CHOICE,
};
use super::fault::Fault;
use super::link::Domain;
use super::work::{agent_is_connected, on_poweroff};
use super::{LibvirtHypervisor, XML_SECURE, is_live};
use numawise_engine::ports::{Cancel, PortError, ShutdownOptions, Stopped};
use numawise_model::GuestUuid;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// Every guest is powered off for a moment before its process is gone.
const STAYS_OFF_FOR: Duration = Duration::from_secs(3);

impl LibvirtHypervisor {
    /// A guest that is off already, or goes by itself, is off: that is what was asked for.
    pub(super) fn stop(
        &self,
        guest: &GuestUuid,
        options: ShutdownOptions,
        cancel: &Cancel,
    ) -> Result<Stopped, PortError> {
        if cancel.is_set() {
            return Err(PortError::Cancelled);
        }
        let until = Instant::now() + options.timeout;
        let domain = self.find(guest)?;
        let doing = format!("shutting down the guest {guest}");
        let xml = domain.xml(XML_SECURE).map_err(|fault| self.failed(fault, &doing))?;
        if !is_live(&xml) {
            return Ok(Stopped::Orderly);
        }
        let why = match on_poweroff(&xml).as_deref() {
            // libvirt would make a reboot of it, in the same process with the old definition.
            Some(action @ ("restart" | "rename-restart")) => format!(
                "its on_poweroff is '{action}', so a shutdown would only reboot it with the \
                 definition it has"
            ),
            _ => match self.wait_until_off(guest, domain, &xml, until, cancel)? {
                None => return Ok(Stopped::Orderly),
                Some(why) => why,
            },
        };
        if options.force { self.pull_the_plug(guest) } else { Err(self.still_running(guest, &why)) }
    }

    /// `None` when it is off; else why it is not.
    fn wait_until_off(
        &self,
        guest: &GuestUuid,
        domain: Domain,
        xml: &str,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<Option<String>, PortError> {
        let asked = ask_in_background(domain, agent_is_connected(xml));
        let mut off_since = None;
        loop {
            let refusal = match asked.try_recv() {
                Ok(Err(fault)) => Some(fault.message),
                Ok(Ok(())) | Err(_) => None,
            };
            let Some(state) = self.state_while_active(guest)? else { return Ok(None) };
            if let Some(refusal) = refusal {
                return Ok(Some(format!("it could not be asked to shut down: {refusal}")));
            }
            // on_poweroff='preserve': powered off, and kept as it is.
            if state != DomainState::ShutOff {
                off_since = None;
            } else if off_since.get_or_insert_with(Instant::now).elapsed() >= STAYS_OFF_FOR {
                return Ok(Some("it powered off, and its on_poweroff keeps it there".to_owned()));
            }
            if cancel.is_set() {
                return Err(PortError::Cancelled);
            }
            if Instant::now() >= until {
                return Ok(Some(match state {
                    DomainState::Paused => "it is paused and hears nothing".to_owned(),
                    DomainState::Suspended => {
                        "it sleeps (pmsuspended) and hears nothing".to_owned()
                    }
                    DomainState::Crashed => "it has crashed".to_owned(),
                    _ => "it was asked to shut down and has not done so in time".to_owned(),
                }));
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// `None` once there is no process; a transient guest is then gone altogether.
    fn state_while_active(&self, guest: &GuestUuid) -> Result<Option<DomainState>, PortError> {
        let state = self.ask_domain(guest, "reading the state", |domain| {
            if domain.is_active()? { domain.state().map(Some) } else { Ok(None) }
        });
        match state {
            Err(PortError::NotFound(_)) => Ok(None),
            state => state,
        }
    }

    fn still_running(&self, guest: &GuestUuid, why: &str) -> PortError {
        PortError::Failed(format!(
            "the guest {guest} at {} is still running: {why}; give it more time \
             (--shutdown-timeout SEC), shut it down from within, or have it switched off when the \
             time is up (--force)",
            self.uri
        ))
    }

    fn pull_the_plug(&self, guest: &GuestUuid) -> Result<Stopped, PortError> {
        let domain = match self.find(guest) {
            Err(PortError::NotFound(_)) => return Ok(Stopped::Orderly),
            domain => domain?,
        };
        match domain.destroy(DESTROY_GRACEFUL).or_else(|_| domain.destroy(0)) {
            Ok(()) => Ok(Stopped::Forced),
            Err(fault) => match self.state_while_active(guest)? {
                // It went by itself in the same moment.
                None => Ok(Stopped::Orderly),
                Some(_) => Err(self.failed(fault, &format!("switching off the guest {guest}"))),
            },
        }
    }
}

/// The agent's call returns when the guest is off, or after a minute: nobody could interrupt that.
/// The thread ends with the call; a process that does not wait for it loses nothing.
fn ask_in_background(domain: Domain, by_agent: bool) -> Receiver<Result<(), Fault>> {
    let (tell, asked) = channel();
    std::thread::spawn(move || {
        let mut answer = Err(Fault::new(0, "no agent"));
        if by_agent {
            answer = domain.shutdown(SHUTDOWN_BY_AGENT);
        }
        if answer.is_err() {
            answer = domain.shutdown(SHUTDOWN_BY_LIBVIRTS_CHOICE);
        }
        // Nobody listens any more when the guest went first.
        let _ = tell.send(answer);
    });
    asked
}
