//! Texts that are no plan, and what is said of them.

use crate::plan::plan_with_everything;
use expect_test::{Expect, expect};
use numawise_documents::{parse_frozen, parse_plan, plan_to_json};

/// Replaces the only occurrence of `from` in a good plan and reads the result.
fn check(from: &str, to: &str, expected: Expect) {
    let good = plan_to_json(&plan_with_everything());
    assert_eq!(good.matches(from).count(), 1, "'{from}' must stand in the plan once");
    let error = parse_plan(&good.replace(from, to)).expect_err("it must be refused");
    expected.assert_eq(&error.to_string());
}

#[test]
fn another_version_says_what_to_do() {
    check(
        "\"version\": 1,\n  \"id\"",
        "\"version\": 2,\n  \"id\"",
        expect![
            "version 2 of numawise.plan is not known here, only version 1; read it with the numawise that wrote it, or make it anew with this one"
        ],
    );
}

#[test]
fn another_schema() {
    check(
        "\"numawise.plan\"",
        "\"numawise.ledger\"",
        expect![[r#"a numawise.plan document is wanted, and this is "numawise.ledger""#]],
    );
}

#[test]
fn a_list_that_is_none() {
    check(
        "\"11\": \"43\"",
        "\"11\": \"43-\"",
        expect![
            "numawise.plan: binding.11: a list of pCPUs like 0-3,8 is wanted: a number is missing at character 4 of '43-' at line 43 column 3"
        ],
    );
}

#[test]
fn a_cpu_that_cannot_be() {
    check(
        "\"11\": \"43\"",
        "\"11\": \"0-4294967295\"",
        expect![
            "numawise.plan: binding.11: a list of pCPUs like 0-3,8 is wanted: 4294967295 is above the highest number there can be, 8191 at character 3 of '0-4294967295' at line 43 column 3"
        ],
    );
}

#[test]
fn a_vcpu_that_cannot_be() {
    check(
        "\"11\": \"43\"",
        "\"8192\": \"43\"",
        expect![
            "numawise.plan: binding.8192: vCPU 8192 is above the highest there can be, 8191 at line 42 column 10"
        ],
    );
}

#[test]
fn an_unknown_field() {
    check(
        "\"emulate_l3\": true",
        "\"emulate_l2\": true",
        expect![
            "numawise.plan: emulate_l2: unknown field `emulate_l2`, expected one of `schema`, `version`, `id`, `host`, `guest`, `request`, `binding`, `binding_mode`, `vnuma`, `guest_topology`, `emulate_l3`, `guest_l3_level`, `guest_topology_before`, `helpers`, `claims`, `fixes`, `changes`, `requires`, `levels`, `reasons`, `findings` at line 86 column 14"
        ],
    );
}

#[test]
fn vnuma_without_a_topology() {
    check(
        "\"emulate_l3\": true",
        "\"emulate_l3\": null",
        expect!["numawise.plan: emulate_l3: it is missing, and vnuma is there"],
    );
}

#[test]
fn a_word_that_is_none() {
    check(
        "\"binding_mode\": \"exclusive\"",
        "\"binding_mode\": \"mine\"",
        expect![
            "numawise.plan: binding_mode: unknown variant `mine`, expected `exclusive` or `shared` at line 44 column 24"
        ],
    );
}

#[test]
fn a_page_size_that_is_none() {
    check(
        "\"page_size_bytes\": 2097152,\n    \"policy\"",
        "\"page_size_bytes\": 0,\n    \"policy\"",
        expect![
            "numawise.plan: request.page_size_bytes: a page size in bytes (a power of two, like 2097152) is wanted, not 0 at line 17 column 24"
        ],
    );
}

#[test]
fn a_negative_number() {
    check(
        "\"cells_per_node\": 1",
        "\"cells_per_node\": -1",
        expect![
            "numawise.plan: request.cells_per_node: invalid value: integer `-1`, expected u32 at line 24 column 24"
        ],
    );
}

#[test]
fn a_cut_text() {
    let good = plan_to_json(&plan_with_everything());
    let error = parse_plan(&good[..good.len() / 2]).expect_err("it must be refused");
    assert!(error.to_string().starts_with("this is no JSON: EOF while parsing"), "{error}");
}

#[test]
fn texts_that_are_no_documents() {
    let text = |text| parse_frozen(text).expect_err("it must be refused").to_string();
    expect!["this is no JSON: EOF while parsing a value at line 1 column 0; a numawise.frozen-topology document is wanted"].assert_eq(&text(""));
    expect![[
        r#"a numawise.frozen-topology document is wanted, and this is a text without "schema""#
    ]]
    .assert_eq(&text("{}"));
    expect!["numawise.frozen-topology: version: it is missing"]
        .assert_eq(&text("{\"schema\": \"numawise.frozen-topology\"}"));
}
