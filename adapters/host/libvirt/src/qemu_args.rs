//! `<qemu:commandline>`: arguments that libvirt passes on to QEMU as they are.
//!
//! numawise owns one pair of them: `-machine smp-cache.0.cache=l3,smp-cache.0.topology=LEVEL`, which
//! says at which level of its topology a guest's L3 is shared. QEMU adds it to the machine that
//! libvirt has chosen. There is no element for it in libvirt (10.0 of QEMU brought it, for x86 PCs),
//! and a guest with such arguments is marked as tainted. Whatever else stands there is its owner's,
//! other words on `smp-cache` included: these are not mixed with ours.

use crate::error::DomainXmlError;
use crate::markup::Markup;
use crate::order;
use crate::patch::{ChildChanges, Patch, Rank};
use crate::sheet::{Sheet, attr_value};
use numawise_model::guest::{CacheLevel, SmpCache};
use roxmltree::Node;

pub(crate) const NAMESPACE: &str = "http://libvirt.org/schemas/domain/qemu/1.0";
/// The element's name; keys of owned things use it too.
pub(crate) const NAME: &str = "commandline";
const QUALIFIED: &str = "qemu:commandline";
const OPTION: &str = "-machine";
const ARGUMENT: &str = "smp-cache.0.cache=l3,smp-cache.0.topology=";

/// The two arguments that are ours, and what they say.
pub(crate) struct Pair<'a, 'x> {
    pub(crate) option: Node<'a, 'x>,
    pub(crate) value: Node<'a, 'x>,
    level: CacheLevel,
}

fn is_of_qemu(node: Node, name: &str) -> bool {
    node.is_element()
        && node.tag_name().namespace() == Some(NAMESPACE)
        && node.tag_name().name() == name
}

pub(crate) fn find<'a, 'x>(sheet: &'a Sheet<'x>) -> Option<Node<'a, 'x>> {
    sheet.domain().children().find(|child| is_of_qemu(*child, NAME))
}

fn arguments<'a, 'x>(sheet: &'a Sheet<'x>) -> Vec<Node<'a, 'x>> {
    let all = find(sheet).into_iter().flat_map(|node| node.children());
    all.filter(|child| is_of_qemu(*child, "arg")).collect()
}

fn level(text: &str) -> Option<CacheLevel> {
    let word = text.strip_prefix(ARGUMENT)?;
    CacheLevel::ALL.into_iter().find(|level| level.as_str() == word)
}

/// The pair that numawise has written.
pub(crate) fn pair<'a, 'x>(sheet: &'a Sheet<'x>) -> Option<Pair<'a, 'x>> {
    arguments(sheet).windows(2).find_map(|two| {
        let level = level(attr_value(two[1], "value")?)?;
        let is_option = attr_value(two[0], "value") == Some(OPTION);
        is_option.then_some(Pair { option: two[0], value: two[1], level })
    })
}

/// What the definition says of `smp-cache`.
pub(crate) fn read(sheet: &Sheet) -> Option<SmpCache> {
    let ours = pair(sheet);
    let others = arguments(sheet).into_iter().filter_map(|arg| attr_value(arg, "value"));
    let mut others = others.filter(|value| value.contains("smp-cache"));
    let ours_says = ours.as_ref().and_then(|pair| attr_value(pair.value, "value"));
    match others.find(|value| Some(*value) != ours_says) {
        Some(text) => Some(SmpCache::Others(text.to_owned())),
        None => ours.map(|pair| SmpCache::L3(pair.level)),
    }
}

/// The arguments as they are given to QEMU, in an element that stands for itself.
pub(crate) fn element(level: CacheLevel) -> String {
    format!(
        "<{QUALIFIED} xmlns:qemu='{NAMESPACE}'><qemu:arg value='{OPTION}'/>\
         <qemu:arg value='{ARGUMENT}{}'/></{QUALIFIED}>",
        level.as_str()
    )
}

/// The element that holds arguments, where there is none.
pub(crate) fn container(arguments: Vec<Markup>) -> Markup {
    Markup::new(QUALIFIED).with("xmlns:qemu", NAMESPACE).holding(arguments)
}

/// Behind everything of libvirt's own.
pub(crate) const LAST: Rank = (u32::MAX, 0);

pub(crate) fn set(patch: &mut Patch, wanted: Option<CacheLevel>) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    match (pair(sheet), wanted) {
        (None, None) => {}
        (Some(pair), Some(level)) => {
            patch.set_attribute(pair.value, "value", &format!("{ARGUMENT}{}", level.as_str()));
        }
        (Some(pair), None) => {
            let Some(parent) = pair.option.parent_element() else { return Ok(()) };
            patch.change_children(parent, changes(vec![pair.option, pair.value], Vec::new()));
        }
        (None, Some(level)) => put_in(patch, level)?,
    }
    Ok(())
}

fn put_in(patch: &mut Patch, level: CacheLevel) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let value = format!("{ARGUMENT}{}", level.as_str());
    let Some(parent) = find(sheet) else {
        let arg = |value: &str| Markup::new("qemu:arg").with("value", value);
        let element = container(vec![arg(OPTION), arg(&value)]);
        patch.change_children(sheet.domain(), changes(Vec::new(), vec![(LAST, element)]));
        return Ok(());
    };
    if let Some(SmpCache::Others(text)) = read(sheet) {
        let problem = format!("has '{text}', and numawise was asked to write the guest's caches");
        return Err(sheet.in_the_way(parent, problem));
    }
    // Whatever prefix its owner has given it.
    let name = sheet.text_of(parent)[1..].split([' ', '\t', '\r', '\n', '>', '/']).next();
    let prefix = name.and_then(|name| name.split_once(':')).map(|(prefix, _)| prefix);
    let name = prefix.map_or_else(|| "arg".to_owned(), |prefix| format!("{prefix}:arg"));
    let arg = |value: &str| Markup::new(&name).with("value", value);
    let insert = vec![((0, 0), arg(OPTION)), ((0, 1), arg(&value))];
    patch.change_children(parent, changes(Vec::new(), insert));
    Ok(())
}

fn changes<'a, 'x>(remove: Vec<Node<'a, 'x>>, insert: Vec<(Rank, Markup)>) -> ChildChanges<'a, 'x> {
    ChildChanges { remove, insert, rank: order::rank, keep_empty: false }
}
