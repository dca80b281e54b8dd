//! Starting the two programs, waiting for them with a deadline, and reading what they say.

pub(crate) use crate::ports::free_port;
use crate::ports::is_bound;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The program that plays a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `pathmeter sockperf`.
    Ours,
    /// The real `sockperf`.
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
    /// Starts it with these options, apart at blanks.
    pub(crate) fn start(self, options: &str) -> Running {
        let mut command = match self {
            Tool::Ours => Command::new(env!("CARGO_BIN_EXE_pathmeter")),
            Tool::Theirs => Command::new("sockperf"),
        };
        if self == Tool::Ours {
            command.arg("sockperf");
        }
        command.args(options.split_whitespace());
        Running::start(command)
    }

    /// Runs it to its end.
    pub(crate) fn run(self, options: &str) -> Said {
        self.start(options).wait()
    }

    /// A server that listens on this port.
    pub(crate) fn serve(self, port: u16, options: &str) -> Running {
        let mut server = self.start(&format!("sr -i 127.0.0.1 -p {port} {options}"));
        let deadline = Instant::now() + TIMEOUT;
        while !is_bound(!options.contains("--tcp"), port) {
            if !server.runs() {
                panic!("it has ended: {:#?}", server.wait());
            }
            assert!(Instant::now() < deadline, "nothing is bound to port {port}: {}", server.command);
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
        let started = command.spawn();
        let mut child = started
            .unwrap_or_else(|error| panic!("start {named}: {error}; the real one: apt-get install sockperf"));
        let stdout = read_along(child.stdout.take().expect("piped above"));
        let stderr = read_along(child.stderr.take().expect("piped above"));
        Running { child, readers: Some([stdout, stderr]), command: named }
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -INT of {}", self.command);
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn stop(self) -> Said {
        self.interrupt();
        self.wait()
    }

    /// Is it still there?
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
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

    /// The number behind these words.
    pub(crate) fn number(&self, before: &str) -> f64 {
        number(&self.stdout, before).unwrap_or_else(|| panic!("no number behind {before:?} in {self:#?}"))
    }
}

/// The number behind these words, where they first stand.
pub(crate) fn number(text: &str, before: &str) -> Option<f64> {
    let (_, rest) = text.split_once(before)?;
    let rest = rest.trim_start();
    let end = rest.find(|byte: char| !(byte.is_ascii_digit() || byte == '.')).unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().ok()
}

/// A new directory under the one for temporary files; removed on drop.
pub(crate) struct Scratch(std::path::PathBuf);

impl Scratch {
    /// Makes it; `name` must be used once.
    pub(crate) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("pathmeter-sockperf-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("make {}: {error}", path.display()));
        Scratch(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.unwrap_or_else(|error| panic!("write {path}: {error}"));
        path
    }

    /// Reads a file in it.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {path}: {error}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed stays in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until a server with these options has bound its port, without sending anything to it.
pub(crate) fn wait_for(options: &str, port: u16) {
    wait_until(&format!("a socket on port {port}"), || is_bound(!options.contains("--tcp"), port));
}

/// Waits until a server with these options has read all that came for it.
pub(crate) fn wait_until_read(options: &str, port: u16) {
    let empty = || queues(options, port).iter().all(|queue| queue == "00000000");
    wait_until(&format!("nothing is left to read on port {port}"), empty);
    // A message that was just read is counted within a moment.
    std::thread::sleep(STEP);
}

/// Datagrams that the kernel had no room for in the queues of this local port.
pub(crate) fn drops(port: u16) -> u64 {
    let suffix = format!(":{port:04X}");
    let of = |table: &str| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        let own = |line: &&str| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&suffix));
        let count = |line: &str| line.split_whitespace().last()?.parse::<u64>().ok();
        text.lines().filter(own).filter_map(count).sum::<u64>()
    };
    of("/proc/net/udp") + of("/proc/net/udp6")
}

/// The receive queues of the sockets on this local port, as /proc/net shows them.
fn queues(options: &str, port: u16) -> Vec<String> {
    let kind = if options.contains("--tcp") { "tcp" } else { "udp" };
    let suffix = format!(":{port:04X}");
    let tables = [format!("/proc/net/{kind}"), format!("/proc/net/{kind}6")];
    let lines = tables.iter().flat_map(|table| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let queue = |line: String| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let own = fields.get(1).is_some_and(|local| local.ends_with(&suffix));
        let queue = fields.get(4)?.split(':').nth(1)?;
        own.then(|| queue.to_owned())
    };
    lines.filter_map(queue).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not so after {TIMEOUT:?}: {what}");
        std::thread::sleep(STEP);
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
