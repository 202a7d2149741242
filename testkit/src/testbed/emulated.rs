//! A host of four nodes under software emulation, with a libvirt of its own.
//!
//! Nodes 0 to 3 have 640, 896, 1152 and 1408 MiB, two pCPUs and one L3 each; two nodes make a
//! socket. Distances are 10 at home, 12 to the other node of the socket, 32 across. There are 60,
//! 110, 110 and 110 pages of 2 MiB from boot, and version 2 of control groups with cpuset. At each
//! boot it does what systemd would with `/etc/tmpfiles.d` and `/etc/sysctl.d`. There is no systemd.
//!
//! It is slow where work is: a program starts in tens of milliseconds, a domain in eight seconds.
//! Ask much in one script rather than little in many.

use super::enclosure::Enclosure;
use super::image::{Image, Ports, failure, free_ports};
use super::{Unavailable, or_skip};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a script may take unless more is asked for.
const USUAL_LIMIT: Duration = Duration::from_secs(120);
/// What connecting, copying and answering may take on top of a script.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// A boot takes twenty seconds when nothing else runs.
const BOOT_LIMIT: Duration = Duration::from_secs(300);
/// Less free memory on this machine, and starting it would push others out.
const WANTED_KB: u64 = 5 << 20;

/// A running emulated host, which ends with this value or with this process.
pub struct EmulatedHost {
    enclosure: Enclosure,
    folder: PathBuf,
    ports: Ports,
}

/// How a script ended inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its own exit code; 124 when it took too long and was ended.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl EmulatedHost {
    /// Ready for scripts and connections when it returns, always from the same state. One runs on
    /// a machine at a time: this waits for its turn. Without a test bed: one line, and nothing.
    pub fn start() -> Option<Self> {
        or_skip(Image::find().and_then(|image| Self::from_image(&image)))
    }

    fn from_image(image: &Image) -> Result<Self, Unavailable> {
        if available_kb().is_some_and(|kb| kb < WANTED_KB) {
            return Err(Unavailable::Lacks { what: "5 GiB of available memory" });
        }
        let ports = free_ports()?;
        let (mut enclosure, folder) = image.start(&ports)?;
        if let Err(error) = enclosure.ask("restore") {
            return Err(failure("restoring the emulated host", &error, &folder));
        }
        let host = Self { enclosure, folder, ports };
        // Inside, it is still the moment at which the state was kept.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        host.until_it_answers(&format!("date -s @{now}"))?;
        Ok(host)
    }

    /// For `--connect` on this machine.
    pub fn uri(&self) -> String {
        format!("qemu+tcp://127.0.0.1:{}/system", self.ports.libvirt)
    }

    /// Runs a bash script inside, for two minutes at most.
    ///
    /// # Panics
    ///
    /// When the host does not answer.
    pub fn run(&self, script: &str) -> Done {
        self.run_for(USUAL_LIMIT, script)
    }

    /// Runs a bash script inside, for this long at most.
    ///
    /// # Panics
    ///
    /// When the host does not answer.
    pub fn run_for(&self, limit: Duration, script: &str) -> Done {
        let header = format!("run {} {}", limit.as_secs().max(1), script.len());
        match self.request(&header, script.as_bytes(), limit + ANSWER_LIMIT) {
            Ok(done) => done,
            Err(error) => panic!("the emulated host does not answer: {error}\n{}", self.console()),
        }
    }

    /// What a script printed.
    ///
    /// # Panics
    ///
    /// When it did not exit with 0, or the host does not answer.
    pub fn text_of(&self, script: &str) -> String {
        let done = self.run(script);
        assert_eq!(done.code, 0, "{script}\n{}{}", done.stdout, done.stderr);
        done.stdout
    }

    /// Copies a file of this machine into the host, with its permissions.
    ///
    /// # Panics
    ///
    /// When it cannot be read here or written there. The path inside may not hold blanks at its end.
    pub fn push(&self, local: &Path, remote: &str) {
        use std::os::unix::fs::PermissionsExt;
        let sent = fs::read(local).and_then(|bytes| {
            let mode = fs::metadata(local)?.permissions().mode() & 0o777;
            let header = format!("push {mode:o} {} {remote}", bytes.len());
            self.request(&header, &bytes, USUAL_LIMIT)
        });
        match sent {
            Ok(Done { code: 0, .. }) => {}
            Ok(done) => panic!("cannot push {} to {remote}: {}", local.display(), done.stderr),
            Err(error) => panic!("cannot push {} to {remote}: {error}", local.display()),
        }
    }

    /// Copies a program without its debugging information, which is most of it: what is pushed and
    /// what is paged in there takes an emulated machine its time. Without a `strip` all of it goes.
    ///
    /// # Panics
    ///
    /// As [`Self::push`].
    pub fn push_program(&self, local: &Path, remote: &str) {
        let folder = tempfile::tempdir().expect("a folder for the lean program");
        let lean = folder.path().join("program");
        let stripped = Command::new("strip").arg("-o").args([&*lean, local]).status();
        match stripped {
            Ok(status) if status.success() => self.push(&lean, remote),
            _ => self.push(local, remote),
        }
    }

    /// Boots the kernel inside anew, with the same disk. Memory, running guests and settings that
    /// nothing has written down are gone. What must survive has to be on the disk: it is synced.
    ///
    /// # Panics
    ///
    /// When it does not come up again.
    pub fn reboot(&mut self) {
        let boots = |console: &str| console.matches("HOST-READY").count();
        let before = boots(&self.console());
        // The answer is on its way before the kernel goes.
        self.text_of(
            "sync; (sleep 1; mount -o remount,ro /; reboot -f || echo b > /proc/sysrq-trigger) \
             < /dev/null > /dev/null 2>&1 &",
        );
        let until = Instant::now() + BOOT_LIMIT;
        while boots(&self.console()) == before {
            assert!(Instant::now() < until, "it did not boot again:\n{}", self.console());
            std::thread::sleep(Duration::from_millis(200));
        }
        if let Err(error) = self.until_it_answers("true") {
            panic!("it does not answer after its reboot: {error}");
        }
    }

    /// What the host's kernel and its first process have said since it was restored.
    pub fn console(&self) -> String {
        fs::read_to_string(self.folder.join("serial.log")).unwrap_or_default()
    }

    /// The process whose end is the end of it all.
    pub fn keeper_pid(&self) -> u32 {
        self.enclosure.pid()
    }

    /// Right after a start, the network inside may need a moment.
    fn until_it_answers(&self, script: &str) -> Result<(), Unavailable> {
        let header = format!("run 10 {}", script.len());
        let until = Instant::now() + ANSWER_LIMIT;
        loop {
            let said = match self.request(&header, script.as_bytes(), Duration::from_secs(15)) {
                Ok(Done { code: 0, .. }) => return Ok(()),
                Ok(done) => format!("'{script}' ended with {}: {}", done.code, done.stderr),
                Err(error) => error.to_string(),
            };
            if Instant::now() > until {
                let what = "the first answer of the emulated host".to_owned();
                return Err(Unavailable::Failed { what, said });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// One connection is one request and one answer; `scripts/host-answer.sh` is the other side.
    fn request(&self, header: &str, bytes: &[u8], limit: Duration) -> io::Result<Done> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports.commands))?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        stream.write_all(format!("{header}\n").as_bytes())?;
        stream.write_all(bytes)?;
        let mut answer = BufReader::new(stream);
        let mut line = String::new();
        answer.read_line(&mut line)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let no_answer = || io::Error::other(format!("'{}' is no answer", line.trim_end()));
        let [code, out, err] = words.as_slice() else { return Err(no_answer()) };
        let number = |word: &str| word.parse::<usize>().map_err(|_| no_answer());
        let code = code.parse().map_err(|_| no_answer())?;
        let mut text = |length: usize| {
            let mut bytes = vec![0; length];
            answer.read_exact(&mut bytes)?;
            io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Done { code, stdout: text(number(out)?)?, stderr: text(number(err)?)? })
    }
}

/// `None` where the kernel does not say.
fn available_kb() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
