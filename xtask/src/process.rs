//! Starting other programs: always in the foreground, always waited for.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// The checkout that cargo runs this in. Two checkouts may share a target directory, so the place
/// where the binary was built is asked only when it is started without cargo.
pub fn repository() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    let root = manifest.parent().context("xtask lies in no repository")?;
    if !root.join("Cargo.toml").is_file() {
        bail!(
            "{} has no Cargo.toml; was the checkout moved after xtask was built?",
            root.display()
        );
    }
    Ok(root.to_path_buf())
}

/// The cargo that started xtask, so that one toolchain builds everything.
pub fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// As it would be typed.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args()).map(OsStr::to_string_lossy);
    words.collect::<Vec<_>>().join(" ")
}

fn announce(command: &Command) {
    eprintln!("$ {}", shown(command));
}

/// Runs it with its output going where ours goes; whether it succeeded.
pub fn succeeds(command: &mut Command) -> Result<bool> {
    announce(command);
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    Ok(status.success())
}

/// What it printed; an error when it failed.
pub fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", shown(command), output.status, said.trim());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed something that is not text", shown(command)))
}

/// Which of a program's streams is read on its way to ours.
#[derive(Clone, Copy)]
pub enum Watched {
    Stdout,
    Stderr,
}

/// Runs it, passes its output on as it comes and shows each line of one stream to `look`.
pub fn watch(
    command: &mut Command,
    stream: Watched,
    look: &mut dyn FnMut(&str),
) -> Result<ExitStatus> {
    announce(command);
    match stream {
        Watched::Stdout => command.stdout(Stdio::piped()),
        Watched::Stderr => command.stderr(Stdio::piped()),
    };
    let mut child = command.spawn().with_context(|| format!("cannot start {}", shown(command)))?;
    let copied = match stream {
        Watched::Stdout => child.stdout.take().map(|pipe| pass_on(pipe, std::io::stdout(), look)),
        Watched::Stderr => child.stderr.take().map(|pipe| pass_on(pipe, std::io::stderr(), look)),
    };
    // Waited for whatever became of the pipe, or it would outlive us.
    let status = child.wait().with_context(|| format!("cannot wait for {}", shown(command)))?;
    copied.transpose().with_context(|| format!("lost the output of {}", shown(command)))?;
    Ok(status)
}

fn pass_on(
    from: impl std::io::Read,
    mut to: impl Write,
    look: &mut dyn FnMut(&str),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return to.flush();
        }
        to.write_all(&line)?;
        look(String::from_utf8_lossy(&line).trim_end());
    }
}

/// Cargo sees a pipe where the user has a terminal, so colours are asked for by name.
pub fn colour_choice() -> &'static str {
    let wanted = std::env::var("CARGO_TERM_COLOR");
    match wanted.as_deref() {
        Ok("never") => "never",
        Ok("always") => "always",
        _ if std::io::stderr().is_terminal() => "always",
        _ => "never",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_passed_on_and_looked_at() {
        let mut copy = Vec::new();
        let mut seen = Vec::new();
        pass_on(&b"one\ntwo \xff\nlast"[..], &mut copy, &mut |line| seen.push(line.to_owned()))
            .expect("memory does not fail");
        assert_eq!(copy, b"one\ntwo \xff\nlast");
        assert_eq!(seen, ["one", "two \u{fffd}", "last"]);
    }

    #[test]
    fn a_failed_program_is_an_error_with_its_words() {
        let error = output_of(Command::new("sh").args(["-c", "echo why >&2; exit 3"]))
            .expect_err("exit code 3 is a failure");
        assert!(error.to_string().contains("exit status: 3: why"), "{error}");
    }

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "--workspace"]);
        assert_eq!(shown(&command), "cargo test --workspace");
    }
}
