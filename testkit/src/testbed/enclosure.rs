//! A script that runs as long as its standard input is open, and obeys words there.
//!
//! The script keeps everything it starts in a PID namespace whose first process reads the other end
//! of this pipe. So there is no way to leak: dropped, panicked or killed with -9, our end of the
//! pipe closes, the first process ends, and the kernel ends all others.

use super::Unavailable;
use super::cache::at;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for QEMU to let go of its memory on a loaded machine.
const TIDYING: Duration = Duration::from_secs(30);

/// How each script that needs the prepared root gets a root of its own over it.
pub(super) const OWN_ROOT: &str = include_str!("scripts/own-root.sh");

pub(super) struct Enclosure {
    script: Child,
    /// `None` only while it is dropped.
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Enclosure {
    /// Runs a bash script in a process group of its own, or an interrupt from the terminal would
    /// end it before it has tidied up. What it says besides answers goes to `log`.
    pub(super) fn start(script: &Path, args: &[&Path], log: &Path) -> Result<Self, Unavailable> {
        let log = File::create(log).map_err(at("create", log))?;
        let mut script = Command::new("bash")
            .arg(script)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(at("start bash with", script))?;
        let pipes = script.stdin.take().zip(script.stdout.take());
        let Some((words, answers)) = pipes else {
            let _ = script.kill();
            return Err(Unavailable::Lacks { what: "pipes to its scripts" });
        };
        Ok(Self { script, words: Some(words), answers: BufReader::new(answers) })
    }

    /// Sends one word and waits for the line that answers it: whether it was done.
    pub(super) fn ask(&mut self, word: &str) -> Result<(), Unavailable> {
        let failed = |said: String| Unavailable::Failed { what: format!("'{word}'"), said };
        let Some(words) = self.words.as_mut() else {
            return Err(failed("it is ending".to_owned()));
        };
        writeln!(words, "{word}").map_err(|error| failed(error.to_string()))?;
        self.answer().and_then(|said| if said == "done" { Ok(()) } else { Err(failed(said)) })
    }

    /// The next line it says.
    pub(super) fn answer(&mut self) -> Result<String, Unavailable> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        let failed = |said: String| Unavailable::Failed { what: "its script".to_owned(), said };
        match read {
            Ok(0) => Err(failed("it ended".to_owned())),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// The script itself, for whoever wants to see that it is gone.
    pub(super) fn pid(&self) -> u32 {
        self.script.id()
    }
}

impl Drop for Enclosure {
    fn drop(&mut self) {
        self.words = None;
        let until = Instant::now() + TIDYING;
        while Instant::now() < until {
            if !matches!(self.script.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // Its own child is killed with it.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

/// Writes scripts into the folder from which they run.
pub(super) fn write_scripts(folder: &Path, scripts: &[(&str, &str)]) -> Result<(), Unavailable> {
    for (name, text) in scripts {
        let path = folder.join(name);
        fs::write(&path, text).map_err(at("write", &path))?;
    }
    Ok(())
}
