//! Rules on crates: who may depend on whom, and that all obey the same lints.
//!
//! The directions are those of ARCHITECTURE.md. They are judged from cargo's own reading of the
//! manifests, so renamed or optional dependencies count like any other.

use super::Violation;
use super::tree::Tree;
use crate::process::{cargo, output_of};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;

/// A member of the workspace, by its place in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Crate {
    /// `core/model`.
    pub dir: String,
    pub dependencies: Vec<Dependency>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Dependency {
    pub name: String,
    pub for_tests: bool,
    /// Its place in the workspace; `None` for crates from outside.
    pub dir: Option<String>,
}

/// The parts that have a direction. Declared from the bottom up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Model,
    Core,
    Documents,
    Render,
    Engine,
    Adapter,
    Testkit,
    App,
    Xtask,
}

impl Part {
    fn of(dir: &str) -> Option<Self> {
        match dir.split('/').collect::<Vec<_>>().as_slice() {
            ["core", "model"] => Some(Self::Model),
            ["core", _] => Some(Self::Core),
            ["documents"] => Some(Self::Documents),
            ["render"] => Some(Self::Render),
            ["engine"] => Some(Self::Engine),
            ["adapters", _] | ["adapters", _, _] => Some(Self::Adapter),
            ["testkit"] => Some(Self::Testkit),
            ["apps", _] => Some(Self::App),
            ["xtask"] => Some(Self::Xtask),
            _ => None,
        }
    }

    /// What code that is shipped may name.
    fn may_use(self) -> &'static [Part] {
        use Part::{Adapter, App, Core, Documents, Engine, Model, Render, Testkit, Xtask};
        match self {
            Model => &[],
            Core => &[Model],
            Documents | Render => &[Model, Core],
            Engine => &[Model, Core, Documents],
            Adapter => &[Model, Core, Documents, Engine],
            // The fakes implement the engine's ports.
            Testkit => &[Model, Core, Documents, Engine],
            App => &[Model, Core, Documents, Render, Engine, Adapter, App],
            // A tool: it builds hosts to measure on.
            Xtask => &[Model, Core, Testkit],
        }
    }

    /// What its tests may name besides: made-up hosts, and the judge beside the planner.
    fn tests_may_use(self) -> &'static [Part] {
        match self {
            Self::Model | Self::Core => &[Self::Model, Self::Core, Self::Testkit],
            _ => &[Self::Testkit],
        }
    }
}

/// The workspace as cargo reads it.
pub fn read(root: &Path) -> Result<Vec<Crate>> {
    let mut metadata = cargo(root);
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    from_metadata(&output_of(&mut metadata)?)
}

fn from_metadata(json: &str) -> Result<Vec<Crate>> {
    let value: Value = serde_json::from_str(json).context("cargo metadata is no JSON")?;
    let root = text(&value, "workspace_root")?;
    let mut crates = Vec::new();
    for package in list(&value, "packages")? {
        let manifest = text(package, "manifest_path")?;
        let Some(dir) = manifest.strip_suffix("/Cargo.toml").and_then(|dir| inside(root, dir))
        else {
            bail!("the manifest {manifest} is not in {root}");
        };
        let mut dependencies = Vec::new();
        for dependency in list(package, "dependencies")? {
            dependencies.push(Dependency {
                name: text(dependency, "name")?.to_owned(),
                for_tests: dependency["kind"].as_str() == Some("dev"),
                dir: dependency["path"].as_str().and_then(|path| inside(root, path)),
            });
        }
        crates.push(Crate { dir, dependencies });
    }
    crates.sort_by(|a, b| a.dir.cmp(&b.dir));
    Ok(crates)
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("cargo metadata has no text '{key}'"))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key].as_array().with_context(|| format!("cargo metadata has no list '{key}'"))
}

fn inside(root: &str, path: &str) -> Option<String> {
    Some(path.strip_prefix(root)?.strip_prefix('/')?.to_owned())
}

/// Arrows point down only, and no adapter knows another.
pub fn directions_hold(crates: &[Crate]) -> Vec<Violation> {
    let mut found = Vec::new();
    for krate in crates {
        let manifest = format!("{}/Cargo.toml", krate.dir);
        let mut broken =
            |why: String| found.push(Violation::new(&manifest, 0, "directions-hold", why));
        let Some(part) = Part::of(&krate.dir) else {
            broken(
                "this place has no direction; see ARCHITECTURE.md for where crates go".to_owned(),
            );
            continue;
        };
        // A crate that names itself for its tests only turns a feature on.
        let others = krate.dependencies.iter().filter(|d| d.dir.as_ref() != Some(&krate.dir));
        for dependency in others {
            let Some(to) = dependency.dir.as_deref().and_then(Part::of) else {
                continue;
            };
            let shipped = part.may_use().contains(&to);
            let tested = dependency.for_tests && part.tests_may_use().contains(&to);
            if !shipped && !tested {
                broken(format!("{part:?} may not depend on {to:?} ({})", dependency.name));
            }
        }
    }
    found
}

/// Only `documents` gives values a written form, so that there is one place where formats change.
pub fn core_does_not_serialise(crates: &[Crate]) -> Vec<Violation> {
    let mut found = Vec::new();
    for krate in crates.iter().filter(|krate| krate.dir.starts_with("core/")) {
        for dependency in krate.dependencies.iter().filter(|d| d.name.starts_with("serde")) {
            let manifest = format!("{}/Cargo.toml", krate.dir);
            let why = format!("{} in core; only documents serialises", dependency.name);
            found.push(Violation::new(&manifest, 0, "core-does-not-serialise", why));
        }
    }
    found
}

/// Lints that only some crates obey are obeyed by none.
pub fn lints_come_from_the_workspace(tree: &Tree) -> Vec<Violation> {
    const RULE: &str = "lints-come-from-the-workspace";
    let mut found = Vec::new();
    for (path, text) in tree.texts() {
        if path != "Cargo.toml" && !path.ends_with("/Cargo.toml") {
            continue;
        }
        let manifest = match text.parse::<toml::Table>() {
            Ok(manifest) => manifest,
            Err(error) => {
                found.push(Violation::new(path, 0, RULE, format!("cannot be read: {error}")));
                continue;
            }
        };
        let inherits = manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"))
            .and_then(toml::Value::as_bool);
        if manifest.contains_key("package") && inherits != Some(true) {
            found.push(Violation::new(path, 0, RULE, "write [lints] workspace = true"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn krate(dir: &str, dependencies: &[(&str, bool)]) -> Crate {
        let dependencies = dependencies
            .iter()
            .map(|(to, for_tests)| Dependency {
                name: to.replace('/', "-"),
                for_tests: *for_tests,
                dir: Some((*to).to_owned()),
            })
            .collect();
        Crate { dir: dir.to_owned(), dependencies }
    }

    fn whys(crates: &[Crate]) -> Vec<String> {
        directions_hold(crates).into_iter().map(|violation| violation.why).collect()
    }

    #[test]
    fn arrows_point_down() {
        let good = [
            krate("core/planner", &[("core/model", false), ("core/audit", true)]),
            krate("engine", &[("documents", false), ("core/planner", false), ("testkit", true)]),
            krate("apps/numawise", &[("render", false), ("adapters/store", false)]),
            krate("adapters/store", &[("engine", false), ("adapters/store", true)]),
            krate("xtask", &[("testkit", false)]),
        ];
        assert!(whys(&good).is_empty());
    }

    #[test]
    fn arrows_that_point_up_or_across_are_found() {
        let bad = [
            krate("core/model", &[("core/planner", false)]),
            krate("core/planner", &[("core/audit", false)]),
            krate("render", &[("documents", false)]),
            krate("engine", &[("adapters/store", false)]),
            krate("adapters/store", &[("adapters/host/sysfs", true)]),
            krate("apps/numawise", &[("testkit", false)]),
        ];
        assert_eq!(
            whys(&bad),
            [
                "Model may not depend on Core (core-planner)",
                "Core may not depend on Core (core-audit)",
                "Render may not depend on Documents (documents)",
                "Engine may not depend on Adapter (adapters-store)",
                "Adapter may not depend on Adapter (adapters-host-sysfs)",
                "App may not depend on Testkit (testkit)",
            ]
        );
    }

    #[test]
    fn a_crate_in_a_new_place_needs_a_direction() {
        assert_eq!(directions_hold(&[krate("plugins/x", &[])]).len(), 1);
    }

    #[test]
    fn cargos_words_are_understood() {
        let json = r#"{"workspace_root": "/r", "packages": [{"manifest_path": "/r/core/audit/Cargo.toml",
            "dependencies": [
                {"name": "numawise-model", "kind": null, "path": "/r/core/model"},
                {"name": "serde_json", "kind": "dev"}]}]}"#;
        let crates = from_metadata(json).expect("the JSON is whole");
        let mut expected = krate("core/audit", &[("core/model", false)]);
        expected.dependencies[0].name = "numawise-model".to_owned();
        let serde = Dependency { name: "serde_json".to_owned(), for_tests: true, dir: None };
        expected.dependencies.push(serde);
        assert_eq!(crates, [expected]);
        let whys: Vec<String> =
            core_does_not_serialise(&crates).into_iter().map(|violation| violation.why).collect();
        assert_eq!(whys, ["serde_json in core; only documents serialises"]);
    }

    #[test]
    fn cut_off_metadata_is_an_error() {
        let error = from_metadata(r#"{"workspace_root": "/r"}"#).expect_err("packages are missing");
        assert_eq!(error.to_string(), "cargo metadata has no list 'packages'");
    }

    #[test]
    fn manifests_without_the_shared_lints_are_found() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace]\n"),
            ("a/Cargo.toml", "[package]\nname = 'a'\n[lints]\nworkspace = true\n"),
            ("b/Cargo.toml", "[package]\nname = 'b'\n"),
            ("c/Cargo.toml", "[package]\nname = 'c'\n[lints]\nworkspace = false\n"),
            ("d/Cargo.toml", "[package\n"),
        ]);
        let files: Vec<String> =
            lints_come_from_the_workspace(&tree).into_iter().map(|v| v.file).collect();
        assert_eq!(files, ["b/Cargo.toml", "c/Cargo.toml", "d/Cargo.toml"]);
    }
}
