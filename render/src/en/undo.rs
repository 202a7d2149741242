//! What is said when something cannot be taken back, because it changed since it was written.

use crate::quantity::count;

pub const BEFORE: &str = "before numawise: ";
pub const WRITTEN: &str = "numawise wrote:  ";
pub const TODAY: &str = "today:           ";
pub const ABSENT: &str = "(not there)";

pub const WAYS: [&str; 3] = [
    "keep today's values: there is nothing to do",
    "set these elements to what numawise wrote (virsh edit GUEST), then undo again",
    "bind anew from today's state: numawise bind GUEST --policy smart",
];

pub fn sentence(n: usize) -> String {
    let (elements, them) = if n == 1 { ("has changed", "it") } else { ("have changed", "them") };
    format!(
        "{} {elements} since numawise wrote {them}, and undo would lose that",
        count(n as u64, "element")
    )
}
