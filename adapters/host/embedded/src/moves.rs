//! A simulated guest goes from one folder to another, the way libvirt hands one over: it stands still
//! at the source before it runs at the destination, and goes from the source last. A process killed
//! in between leaves one that runs, or none that does and one that stands still.

use crate::domain::Domain;
use crate::folder::Change;
use crate::{EmbeddedHypervisor, Operation, canonical, define, fail_if_planted, failed};
use numawise_engine::moves::ports::{Carrier, CarryOrder, MovesGuests};
use numawise_engine::ports::{Cancel, Hypervisor, PortError};
use numawise_model::{GuestUuid, MoveProgress};

/// From one simulated host to another.
pub struct EmbeddedCarrier<'a> {
    pub from: &'a EmbeddedHypervisor,
    pub to: &'a EmbeddedHypervisor,
}

impl Carrier for EmbeddedCarrier<'_> {
    fn carry(
        &self,
        guest: &GuestUuid,
        order: &CarryOrder,
        _told: &mut dyn FnMut(MoveProgress),
        cancel: &Cancel,
    ) -> Result<(), PortError> {
        let guest = &canonical(guest)?;
        if cancel.is_set() {
            return Err(PortError::Cancelled);
        }
        {
            let change = self.from.folder.change()?;
            fail_if_planted(&change, Operation::Migrate)?;
            self.from.must_run(&change, guest)?;
            change.set_paused(guest, true)?;
        }
        if let Err(error) = self.receive(guest, order) {
            self.from.folder.change()?.set_paused(guest, false)?;
            return Err(error);
        }
        let change = self.from.folder.change()?;
        change.remove_running(guest)?;
        if order.undefine_source {
            change.remove_inactive(guest)?;
        }
        Ok(())
    }
}

impl EmbeddedCarrier<'_> {
    /// Whole or not at all.
    fn receive(&self, guest: &GuestUuid, order: &CarryOrder) -> Result<(), PortError> {
        let change: Change<'_> = self.to.folder.change()?;
        fail_if_planted(&change, Operation::Migrate)?;
        if change.is_running(guest)? || change.inactive(guest)?.is_some() {
            return Err(failed(format!("there is a guest with the UUID {guest} already")));
        }
        define(&change, &order.stored_xml, &Domain::read(&order.stored_xml)?)?;
        let booted = self.to.boot(&change, guest, &order.live_xml);
        if booted.is_err() {
            change.remove_inactive(guest)?;
        }
        booted
    }
}

impl MovesGuests for EmbeddedHypervisor {
    /// The id that the simulated host was given.
    fn machine(&self) -> Result<String, PortError> {
        Ok(self.id.0.clone())
    }

    fn migratable_xml(&self, guest: &GuestUuid) -> Result<Option<String>, PortError> {
        self.live_xml(guest)
    }

    fn is_paused(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        let guest = canonical(guest)?;
        self.folder.view()?.is_paused(&guest)
    }

    fn resume(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        let change = self.folder.change()?;
        self.must_run(&change, &guest)?;
        change.set_paused(&guest, false)
    }

    fn power_off(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        self.folder.change()?.remove_running(&guest)
    }

    fn undefine(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        self.folder.change()?.remove_inactive(&guest)
    }

    /// Nobody else works on simulated guests.
    fn abort_job(&self, _guest: &GuestUuid) -> Result<(), PortError> {
        Ok(())
    }

    fn autostarts(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        let guest = canonical(guest)?;
        self.folder.view()?.autostarts(&guest)
    }

    fn set_autostart(&self, guest: &GuestUuid, on: bool) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        self.folder.change()?.set_autostart(&guest, on)
    }

    /// A simulated host has no files that a guest could miss.
    fn has_file(&self, _path: &str) -> Result<Option<bool>, PortError> {
        Ok(None)
    }

    fn host_cpu(&self) -> Result<Option<String>, PortError> {
        Ok(None)
    }

    fn misfits(&self, _: &str, _: Option<&str>) -> Result<Vec<String>, PortError> {
        Ok(Vec::new())
    }
}
