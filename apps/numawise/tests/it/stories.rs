//! Stories and docs are run as they are written: every `console` block, against the real binary.

use crate::bench::repository;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

/// `numawise` in a story keeps its state in the story's own folder, so that nothing of this machine
/// is touched and the text reads as a user would type it.
fn wrapper(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("numawise");
    let script = format!(
        "#!/bin/sh\nexec {} --state \"$PWD/state\" \"$@\"\n",
        env!("CARGO_BIN_EXE_numawise")
    );
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(&path)
        .and_then(|mut file| file.write_all(script.as_bytes()))
        .expect("the wrapper is written");
    path
}

#[test]
fn stories_and_docs_are_true() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("numawise", wrapper(folder.path()))
        .case(repository().join("stories/*.md"))
        .case(repository().join("docs/*.md"))
        .run();
}
