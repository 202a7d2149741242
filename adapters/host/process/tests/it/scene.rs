//! A `/proc` and a `/sys` in a folder, from a text: `==> path <==` and the file's lines under it.
//! Lines of a `cmdline` are its arguments.

use numawise_process::KernelProcesses;
use std::fs;
use tempfile::TempDir;

pub struct Scene {
    pub folder: TempDir,
    pub processes: KernelProcesses,
}

pub fn scene(text: &str) -> Scene {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for part in text.split("==> ").skip(1) {
        let (path, content) = part.split_once(" <==\n").expect("a path between arrows");
        let content = if path.ends_with("cmdline") {
            content.replace('\n', "\0")
        } else {
            content.to_owned()
        };
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("inside the folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    let processes = KernelProcesses::below(folder.path().join("proc"), folder.path().to_owned());
    Scene { folder, processes }
}

/// QEMU 7.2 without KVM: two guest nodes of 64 and 96 MiB, taken at start and bound to node 0.
pub fn anonymous() -> Scene {
    scene(include_str!("../fixtures/qemu-anonymous.txt"))
}

/// The same with its memory in a memfd.
pub fn memfd() -> Scene {
    scene(include_str!("../fixtures/qemu-memfd.txt"))
}

/// What went wrong, as it would be told.
pub fn why<T: std::fmt::Debug, E: std::fmt::Display>(result: Result<T, E>) -> String {
    match result {
        Ok(value) => panic!("{value:?} where an error is wanted"),
        Err(error) => error.to_string(),
    }
}
