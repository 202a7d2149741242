//! Writes a [`GuestEdit`] into a domain XML, in place.
//!
//! Each step parses the text, compares what it says with what it is to say, and changes only what
//! differs in meaning; a set that is written `0-1,2` and should be `0-2` stays as it is. So text in
//! which nothing is to change comes back as the same bytes, and a step sees what the steps before
//! it have done.

mod fixes;
mod frozen_note;
mod memory;
mod pins;
mod vnuma;

use crate::error::DomainXmlError;
use crate::markup::Markup;
use crate::order;
use crate::patch::{ChildChanges, Patch, Rank};
use crate::qemu_args;
use crate::read;
use crate::sheet::Sheet;
use numawise_model::{GuestEdit, PinEdit, VnumaEdit};
use roxmltree::Node;

/// A step of an edit: what it changes on one parsed text.
type Step<'e> = Box<dyn Fn(&mut Patch) -> Result<(), DomainXmlError> + 'e>;

pub(crate) fn apply(
    xml: &str,
    edit: &GuestEdit,
    note: Option<&str>,
) -> Result<String, DomainXmlError> {
    // What cannot be read is not edited.
    read::guest(&Sheet::parse(xml)?)?;
    let mut steps: Vec<Step> = Vec::new();
    for fix in &edit.fixes {
        steps.push(Box::new(|patch| fixes::apply(patch, *fix)));
    }
    match &edit.pins {
        PinEdit::Keep => {}
        PinEdit::Remove => steps.push(Box::new(pins::remove)),
        PinEdit::Set { vcpus, emulator, iothreads } => {
            steps.push(Box::new(|patch| pins::set(patch, vcpus, emulator.as_ref(), iothreads)));
        }
    }
    match &edit.vnuma {
        VnumaEdit::Keep => {}
        VnumaEdit::Remove { cpu_topology } => {
            steps.push(Box::new(|patch| vnuma::remove(patch, *cpu_topology)));
            steps.push(Box::new(|patch| qemu_args::set(patch, None)));
            steps.push(Box::new(memory::remove_numatune));
            steps.push(Box::new(memory::forget_cells_in_hugepages));
        }
        VnumaEdit::Set { topology, mode, page_size } => {
            steps.push(Box::new(|patch| vnuma::set(patch, topology)));
            steps.push(Box::new(|patch| qemu_args::set(patch, topology.l3_level)));
            steps.push(Box::new(|patch| memory::set_numatune(patch, topology, *mode)));
            steps.push(Box::new(|patch| memory::set_page_size(patch, topology, *page_size)));
        }
    }
    if let Some(note) = note {
        steps.push(Box::new(|patch| frozen_note::set(patch, note)));
    }
    let mut text = xml.to_owned();
    for step in steps {
        let sheet = Sheet::parse(&text)?;
        let mut patch = Patch::new(&sheet);
        step(&mut patch)?;
        if let Some(changed) = patch.finish() {
            text = changed;
        }
    }
    Ok(text)
}

/// Changes that only put in.
fn insertion<'a, 'x>(insert: Vec<(Rank, Markup)>) -> ChildChanges<'a, 'x> {
    ChildChanges { remove: Vec::new(), insert, rank: order::rank, keep_empty: false }
}

/// Changes that only take out.
fn removal<'a, 'x>(remove: Vec<Node<'a, 'x>>) -> ChildChanges<'a, 'x> {
    ChildChanges { remove, insert: Vec::new(), rank: order::rank, keep_empty: false }
}

/// A child with the place it goes to in `parent`.
fn ranked(parent: &str, name: &str, number: u32, markup: Markup) -> (Rank, Markup) {
    // Every name numawise writes is in the order; a number at the very end is what is left.
    (order::rank_in(parent, name, number).unwrap_or((u32::MAX, number)), markup)
}
