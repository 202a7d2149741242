//! Ledgers: who may hold a pCPU beside whom.

use crate::case::{claim, good, other, own, rules};
use numawise_audit::judge_ledger;
use numawise_model::{FindingKind, Ledger, Mode, Owner, Subject};

fn check(claims: Vec<(Owner, &str, Mode)>, expected: &str) {
    let claims = claims.into_iter().map(|(owner, cpus, mode)| claim(owner, cpus, mode)).collect();
    let findings = judge_ledger(&Ledger { claims }, &good().host);
    assert_eq!(rules(&findings), expected, "{findings:#?}");
}

#[test]
fn a_pcpu_has_one_exclusive_owner_or_any_number_of_shared_ones() {
    use Mode::{Exclusive, Shared};
    check(vec![], "");
    check(vec![(own(), "0-7", Exclusive), (other(), "8-15", Exclusive)], "");
    check(vec![(own(), "0-7", Shared), (other(), "4-15", Shared)], "");
    let twice = "Error ExclusiveCpusShared";
    check(vec![(own(), "0-7", Exclusive), (other(), "7-15", Exclusive)], twice);
    check(vec![(own(), "0-7", Exclusive), (other(), "7-15", Shared)], twice);
    check(vec![(own(), "0-7", Shared), (Owner::Reserved, "0", Exclusive)], twice);
}

#[test]
fn one_owner_may_claim_twice_and_be_renamed() {
    let Owner::Guest { uuid, .. } = own() else { panic!("a guest") };
    let renamed = Owner::Guest { uuid, name: "db-old".to_owned() };
    check(vec![(own(), "0-7", Mode::Exclusive), (renamed, "7-8", Mode::Shared)], "");
}

#[test]
fn claims_are_on_cpus_that_are_there() {
    check(vec![(own(), "31-32", Mode::Exclusive)], "Error ClaimedCpusGone");
}

#[test]
fn a_clash_says_whose_and_which() {
    let claims = vec![claim(own(), "0-7", Mode::Exclusive), claim(other(), "6-8", Mode::Shared)];
    let findings = judge_ledger(&Ledger { claims }, &good().host);
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    let cpus = crate::case::set("6-7");
    assert_eq!(finding.kind, FindingKind::ExclusiveCpusShared { cpus, with: other() });
    assert!(matches!(&finding.subject, Subject::Guest { name, .. } if name == "db"));
}
