//! Starting the two programs, waiting for them with a deadline, and reading what they say.

pub(crate) use crate::ports::free_port;
use crate::ports::is_bound;
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The program that plays a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `pathmeter iperf3`.
    Ours,
    /// The real `iperf3`.
    Theirs,
}

/// The output of a program that has ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A program that runs; killed on drop.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    readers: Option<[std::thread::JoinHandle<String>; 2]>,
    command: String,
}

impl Tool {
    /// The program, before its own options.
    pub(crate) fn command(self) -> Command {
        match self {
            Tool::Ours => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_pathmeter"));
                command.arg("iperf3");
                command
            }
            Tool::Theirs => {
                their_minor();
                Command::new("iperf3")
            }
        }
    }

    /// Starts it with these options, apart at blanks.
    pub(crate) fn start(self, options: &str) -> Running {
        let mut command = self.command();
        command.args(options.split_whitespace());
        Running::start(command)
    }

    /// Runs it to its end.
    pub(crate) fn run(self, options: &str) -> Said {
        self.start(options).wait()
    }

    /// A server that listens on this port.
    pub(crate) fn serve(self, port: u16, options: &str) -> Running {
        let mut server = self.start(&format!("-s -p {port} {options}"));
        let deadline = Instant::now() + TIMEOUT;
        while !is_bound(false, port) {
            if !server.runs() {
                panic!("it has ended: {:#?}", server.wait());
            }
            assert!(Instant::now() < deadline, "nothing listens on port {port}: {}", server.command);
            std::thread::sleep(STEP);
        }
        server
    }
}

impl Running {
    /// Starts a command and reads its output meanwhile.
    pub(crate) fn start(mut command: Command) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let named = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|error| panic!("start {named}: {error}"));
        let stdout = read_along(child.stdout.take().expect("piped above"));
        let stderr = read_along(child.stderr.take().expect("piped above"));
        Running { child, readers: Some([stdout, stderr]), command: named }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name} of {}", self.command);
    }

    /// Is it still there?
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// Sockets that it has open.
    pub(crate) fn open_sockets(&self) -> usize {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", self.id())).into_iter().flatten().flatten();
        let links = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    }

    /// Waits for its end. One that hangs is a failure.
    pub(crate) fn wait(mut self) -> Said {
        let deadline = Instant::now() + TIMEOUT;
        while self.runs() {
            assert!(Instant::now() < deadline, "still runs after {TIMEOUT:?}: {}", self.command);
            std::thread::sleep(STEP);
        }
        let code = self.child.wait().expect("it has ended").code();
        let readers = self.readers.take().expect("taken once, here");
        let [stdout, stderr] = readers.map(|reader| reader.join().expect("readers do not panic"));
        Said { code, stdout, stderr }
    }

    /// Ends it with SIGTERM.
    pub(crate) fn stop(self) -> Said {
        self.signal("TERM");
        self.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Said {
    /// Asserts a good end.
    pub(crate) fn good(self) -> Said {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// The JSON document on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }

    /// The lines of `--json-stream`.
    pub(crate) fn events(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.stdout.lines().map(read).collect()
    }
}

/// The real tool's version 3.N.
pub(crate) fn their_minor() -> u32 {
    static MINOR: OnceLock<u32> = OnceLock::new();
    *MINOR.get_or_init(|| {
        let said = Command::new("iperf3").arg("--version").output();
        let said = said.expect("the real iperf3 is needed to test against: apt-get install iperf3");
        let text = String::from_utf8_lossy(&said.stdout);
        let minor = text.strip_prefix("iperf 3.").and_then(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        minor.unwrap_or_else(|| panic!("no version of iperf 3 in {text:?}"))
    })
}

/// Waits until something listens, without connecting: a server for one test would take that for its test.
pub(crate) fn wait_for_listener(port: u16) {
    wait_until(&format!("something listens on port {port}"), || is_bound(false, port));
}

/// Waits until this is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not so after {TIMEOUT:?}: {what}");
        std::thread::sleep(STEP);
    }
}

/// A new directory under the one for temporary files; removed on drop.
pub(crate) struct Scratch(pub(crate) std::path::PathBuf);

impl Scratch {
    /// Makes it; `name` must be used once.
    pub(crate) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("pathmeter-interop-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("make {}: {error}", path.display()));
        Scratch(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(bytes));
        written.unwrap_or_else(|error| panic!("write {path}: {error}"));
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed stays in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read_along(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A killed program leaves its output.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A busy machine must not fail a test; one that hangs must.
const TIMEOUT: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(10);
