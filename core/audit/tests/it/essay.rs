//! The essay at the top of `plan.rs` and the breaks of `plan_broken.rs` name the same rules: none is
//! only written down, and none is only enforced.

use crate::case::{good, rules};
use crate::plan_broken::ALL;
use std::collections::BTreeSet;

#[test]
fn every_rule_of_the_essay_is_broken_by_something() {
    let essay = include_str!("../../src/plan.rs");
    let lines = essay.lines().take_while(|line| line.starts_with("//!"));
    let mut written = BTreeSet::new();
    for line in lines.filter_map(|line| line.strip_prefix("//! - `")) {
        let names = line.split(':').next().expect("a line has a beginning");
        written.extend(names.split('`').filter(|n| n.contains('-')).map(str::to_owned));
    }
    let mut enforced = BTreeSet::new();
    for broken in ALL.into_iter().flatten() {
        let mut case = good();
        (broken.change)(&mut case);
        let found = rules(&case.judged());
        let names = found.split(", ").filter_map(|finding| finding.strip_prefix("Error "));
        enforced.extend(names.filter(|name| name.contains('-')).map(str::to_owned));
    }
    assert_eq!(written, enforced);
    assert!(written.len() > 20, "{written:?}");
}
