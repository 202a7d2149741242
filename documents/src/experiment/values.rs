//! Values in an experiment's file that are not the same everywhere: sizes, and where the databases are.
//!
//! `${name}` in any text of the file stands for a value: of the table `[scale.NAME]` that was chosen, or
//! one that was given on the command line, which comes first. A text that is nothing but `${name}` becomes
//! the value itself, a number or a list. The recorded file has no such name left: it says what was run.

use crate::error::DocumentError;
use std::collections::BTreeMap;
use toml::{Table, Value};

const SCHEMA: &str = super::file::EXPERIMENT_SCHEMA;

/// The file with everything put in, as a table without its scales.
pub fn put_in(
    text: &str,
    scale: Option<&str>,
    given: &BTreeMap<String, String>,
) -> Result<Table, DocumentError> {
    let wrong = |path: &str, why: String| DocumentError::field(SCHEMA, path, why);
    let mut file: Table = toml::from_str(text).map_err(|error| wrong("file", error.to_string()))?;
    let scales = match file.remove("scale") {
        None => Table::new(),
        Some(Value::Table(scales)) => scales,
        Some(_) => return Err(wrong("scale", "tables like [scale.small] are wanted".into())),
    };
    let known = || scales.keys().cloned().collect::<Vec<_>>().join(", ");
    let mut values = match scale {
        None if scales.is_empty() => Table::new(),
        None => {
            return Err(wrong(
                "scale",
                format!("it has several; choose with --scale: {}", known()),
            ));
        }
        Some(name) => match scales.get(name) {
            Some(Value::Table(values)) => values.clone(),
            _ => {
                let known = if scales.is_empty() { "none".to_owned() } else { known() };
                return Err(wrong("scale", format!("there is no {name:?}; there are: {known}")));
            }
        },
    };
    for (name, value) in given {
        values.insert(name.clone(), Value::String(value.clone()));
    }
    let mut used = Vec::new();
    let mut whole = Value::Table(file);
    fill(&mut whole, &values, &mut used).map_err(|name| {
        wrong("file", format!("${{{name}}} has no value; give it with --set {name}=..."))
    })?;
    if let Some(name) = given.keys().find(|name| !used.contains(*name)) {
        return Err(wrong("file", format!("--set {name}: the file has no ${{{name}}}")));
    }
    match whole {
        Value::Table(table) => Ok(table),
        _ => Ok(Table::new()),
    }
}

/// The name that has no value is the error.
fn fill(value: &mut Value, values: &Table, used: &mut Vec<String>) -> Result<(), String> {
    match value {
        Value::Table(table) => {
            table.iter_mut().try_for_each(|(_, value)| fill(value, values, used))
        }
        Value::Array(all) => all.iter_mut().try_for_each(|value| fill(value, values, used)),
        Value::String(text) => {
            if let Some(filled) = filled(text, values, used)? {
                *value = filled;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn filled(text: &str, values: &Table, used: &mut Vec<String>) -> Result<Option<Value>, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else { break };
        let value = values.get(name).ok_or_else(|| name.to_owned())?;
        used.push(name.to_owned());
        if before.is_empty() && after.is_empty() && done.is_empty() {
            return Ok(Some(value.clone()));
        }
        done.push_str(before);
        match value {
            Value::String(text) => done.push_str(text),
            other => done.push_str(&other.to_string()),
        }
        rest = after;
    }
    let changed = rest.len() != text.len();
    Ok(changed.then(|| Value::String(done + rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        threads = "${threads}"
        [scale.small]
        threads = [4, 2]
        tables = 3
        [[workload]]
        load = ["oltp", "--tables=${tables}", "{target} ${where}/x"]
    "#;

    fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn values_come_from_the_scale_and_from_whoever_runs_it() {
        let table = put_in(FILE, Some("small"), &given(&[("where", "db1")])).expect("filled");
        assert_eq!(table["threads"], Value::from(vec![4, 2]));
        let words = table["workload"][0]["load"].as_array().expect("words");
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        assert_eq!(words, ["oltp", "--tables=3", "{target} db1/x"]);
        assert!(!table.contains_key("scale"));
    }

    #[test]
    fn what_has_no_value_or_no_place_is_told() {
        for (scale, pairs, why) in [
            (Some("small"), &[][..], "${where} has no value"),
            (None, &[("where", "x")][..], "choose with --scale: small"),
            (Some("huge"), &[("where", "x")][..], "no \"huge\"; there are: small"),
            (Some("small"), &[("where", "x"), ("wher", "y")][..], "--set wher"),
        ] {
            let error = put_in(FILE, scale, &given(pairs)).expect_err(why).to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
