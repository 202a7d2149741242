//! Takes back what was written, element by element, on the text as it stands today.
//!
//! Three texts are compared in meaning, not in bytes, since libvirt re-formats what it is given:
//! `before`, `after` (what numawise made of it) and `today`. An owned element that is today as it
//! was written goes back to the text it had before; one that is back already stays; one that says a
//! third thing is a conflict, and with any conflict nothing is changed. Everything numawise does
//! not own stays as it is today.

use crate::error::DomainXmlError;
use crate::markup::Markup;
use crate::order;
use crate::owned::{self, Item, Key};
use crate::patch::{ChildChanges, Patch};
use crate::qemu_args;
use crate::sheet::{Sheet, attr_value};
use numawise_engine::ports::{PortError, RevertError, UndoConflict};
use std::collections::BTreeMap;

type Items<'a, 'x> = BTreeMap<Key, Item<'a, 'x>>;

pub(crate) fn revert(today: &str, before: &str, after: &str) -> Result<String, RevertError> {
    let unreadable = |error| RevertError::from(PortError::from(error));
    let before_sheet = Sheet::parse(before).map_err(unreadable)?;
    let after_sheet = Sheet::parse(after).map_err(unreadable)?;
    let today_sheet = Sheet::parse(today).map_err(unreadable)?;
    let were = owned::items(&before_sheet).map_err(unreadable)?;
    let written = owned::items(&after_sheet).map_err(unreadable)?;
    let are = owned::items(&today_sheet).map_err(unreadable)?;
    let back = to_put_back(&were, &written, &are).map_err(RevertError::Conflicts)?;
    if today == after {
        // `after` was made from `before` by numawise alone, so the whole of it goes back, down to
        // an empty `<cputune/>` that nobody could tell from an absent one.
        return Ok(before.to_owned());
    }
    put_back(today, &before_sheet, &were, &back).map_err(unreadable)
}

/// The keys that go back to what they were, or everything that stands against it.
fn to_put_back(were: &Items, written: &Items, are: &Items) -> Result<Vec<Key>, Vec<UndoConflict>> {
    let meaning = |items: &Items, key: &Key| items.get(key).and_then(|item| item.meaning.clone());
    let text = |items: &Items, key: &Key| items.get(key).map(|item| item.text.clone());
    let mut back = Vec::new();
    let mut conflicts = Vec::new();
    let mut keys: Vec<&Key> = were.keys().chain(written.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let (was, wrote, is) = (meaning(were, key), meaning(written, key), meaning(are, key));
        if was == wrote || is == was {
            continue;
        }
        if is == wrote {
            back.push(key.clone());
            continue;
        }
        conflicts.push(UndoConflict {
            element: key.to_string(),
            before: text(were, key),
            written: text(written, key),
            today: text(are, key),
        });
    }
    if conflicts.is_empty() { Ok(back) } else { Err(conflicts) }
}

/// One pass per container, so that 512 pins are one edit.
fn put_back(
    today: &str,
    before: &Sheet,
    were: &Items,
    back: &[Key],
) -> Result<String, DomainXmlError> {
    let mut by_container: BTreeMap<&str, Vec<&Key>> = BTreeMap::new();
    for key in back {
        by_container.entry(key.container).or_default().push(key);
    }
    let mut text = today.to_owned();
    for (container, keys) in by_container {
        let keep_empty = owned::container_node(before, container)?.is_some();
        let sheet = Sheet::parse(&text)?;
        let mut patch = Patch::new(&sheet);
        put_back_in(&mut patch, container, &keys, were, keep_empty)?;
        if let Some(changed) = patch.finish() {
            text = changed;
        }
    }
    Ok(text)
}

fn put_back_in(
    patch: &mut Patch,
    container: &str,
    keys: &[&Key],
    were: &Items,
    keep_empty: bool,
) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let are = owned::items(sheet)?;
    let mut remove = Vec::new();
    let mut insert = Vec::new();
    for key in keys {
        if let Some(attribute) = key.attribute {
            put_back_attribute(patch, key, attribute, were)?;
            continue;
        }
        match (were.get(key), are.get(key)) {
            (Some(was), Some(is)) => patch.replace(is.node, was.text.clone()),
            (None, Some(is)) => remove.push(is.node),
            (Some(was), None) => {
                let parent = if container.is_empty() { "domain" } else { container };
                let number = key.number.map_or(0, |(_, number)| number);
                let rank = order::rank_in(parent, key.name, number).unwrap_or((u32::MAX, number));
                insert.push((rank, Markup::Verbatim(was.text.clone())));
            }
            (None, None) => {}
        }
    }
    if let Some(parent) = owned::container_node(sheet, container)? {
        let changes = ChildChanges { remove, insert, rank: order::rank, keep_empty };
        patch.change_children(parent, changes);
    } else if !insert.is_empty() {
        insert.sort_by_key(|(rank, _)| *rank);
        let children = insert.into_iter().map(|(_, markup)| markup).collect();
        let element = match container {
            qemu_args::NAME => qemu_args::container(children),
            _ => Markup::new(container).holding(children),
        };
        let rank = order::rank_in("domain", container, 0).unwrap_or((u32::MAX, 0));
        let insert = vec![(rank, element)];
        let changes = ChildChanges { remove: Vec::new(), insert, rank: order::rank, keep_empty };
        patch.change_children(sheet.domain(), changes);
    }
    Ok(())
}

fn put_back_attribute(
    patch: &mut Patch,
    key: &Key,
    attribute: &str,
    were: &Items,
) -> Result<(), DomainXmlError> {
    let Some(node) = patch.sheet.find(&[key.name])? else { return Ok(()) };
    match were.get(key).and_then(|was| attr_value(was.node, attribute)) {
        Some(value) => patch.set_attribute(node, attribute, value),
        None => patch.remove_attribute(node, attribute),
    }
    Ok(())
}
