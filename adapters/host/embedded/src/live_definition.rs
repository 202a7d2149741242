//! The XML of what runs follows when its threads are moved through the hypervisor, as libvirt's does.
//! (A thread moved behind its back, as `repin` does, leaves no trace there.)

use crate::xml::{self, XmlError};
use numawise_model::{CpuSet, Pins};
use roxmltree::{Document, Node};
use std::fmt::Write;
use std::ops::Range;

/// The same text with these pins in `<cputune>`; other pins stay.
pub fn with_pins(text: &str, pins: &Pins) -> Result<String, XmlError> {
    let document = Document::parse(text)?;
    let root = document.root_element();
    let tune = xml::child(root, "cputune");
    let mut splices: Vec<(Range<usize>, String)> = Vec::new();
    for node in tune.iter().flat_map(|tune| tune.children()) {
        if is_replaced(node, pins) {
            splices.push((node.range(), String::new()));
        }
    }
    let written = elements(pins);
    match tune {
        Some(tune) if !text[tune.range()].ends_with("/>") => {
            // absent means that it closes itself, which the guard above has ruled out
            let end = tune.range().start + text[tune.range()].rfind("</").unwrap_or(0);
            splices.push((end..end, written));
        }
        Some(tune) => splices.push((tune.range(), format!("<cputune>{written}</cputune>"))),
        None => {
            let after = xml::child(root, "vcpu").map_or_else(
                || xml::required_child(root, "name").map(|name| name.range().end),
                |vcpu| Ok(vcpu.range().end),
            )?;
            splices.push((after..after, format!("<cputune>{written}</cputune>")));
        }
    }
    let mut result = text.to_owned();
    for (range, new) in splices.into_iter().rev() {
        result.replace_range(range, &new);
    }
    Ok(result)
}

fn is_replaced(node: Node<'_, '_>, pins: &Pins) -> bool {
    let number = |name| node.attribute(name).and_then(|id| id.trim().parse::<u32>().ok());
    match node.tag_name().name() {
        "vcpupin" => pins.vcpus.keys().any(|vcpu| Some(vcpu.0) == number("vcpu")),
        "iothreadpin" => pins.iothreads.keys().any(|id| Some(*id) == number("iothread")),
        "emulatorpin" => pins.emulator.is_some(),
        _ => false,
    }
}

fn elements(pins: &Pins) -> String {
    let mut text = String::new();
    let mut pin = |name: &str, id: Option<(&str, u32)>, cpus: &CpuSet| {
        let id = id.map_or_else(String::new, |(key, number)| format!(" {key}='{number}'"));
        // Writing into a string does not fail.
        let _ = write!(text, "<{name}{id} cpuset='{cpus}'/>");
    };
    for (vcpu, cpus) in &pins.vcpus {
        pin("vcpupin", Some(("vcpu", vcpu.0)), cpus);
    }
    if let Some(cpus) = &pins.emulator {
        pin("emulatorpin", None, cpus);
    }
    for (id, cpus) in &pins.iothreads {
        pin("iothreadpin", Some(("iothread", *id)), cpus);
    }
    text
}
