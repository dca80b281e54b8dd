//! Running the built program: a server on a free port, clients with a limit, and their output.

#[path = "../peers/ports.rs"]
#[expect(dead_code, reason = "some of it is for tests of foreign servers")]
mod ports;

pub(super) use ports::free_port;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The program with these words. `ns`: inside this network namespace.
pub(super) fn pathmeter(ns: Option<&str>, argv: &[&str]) -> Command {
    let binary = env!("CARGO_BIN_EXE_pathmeter");
    let mut command = match ns {
        None => Command::new(binary),
        Some(ns) => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", ns, binary]);
            command
        }
    };
    command.args(argv).env("COLUMNS", "100").env("NO_COLOR", "1");
    command
}

/// The end of a process.
#[derive(Debug)]
pub(super) struct Ended {
    /// Absent: a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ended {
    /// Fails unless it ended with this code.
    #[track_caller]
    pub(super) fn code(self, wanted: i32) -> Ended {
        assert_eq!(self.code, Some(wanted), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails unless standard error names this.
    #[track_caller]
    pub(super) fn prints(self, part: &str) -> Ended {
        assert!(
            self.stderr.contains(part),
            "not printed: {part}\nstdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.stdout, self.stderr))
    }
}

/// A process that runs, and its output so far. It is killed on drop.
pub(super) struct Running {
    child: Child,
    out: Captured,
    err: Captured,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    /// Starts it.
    pub(super) fn start(command: Command) -> Running {
        Running::start_with_input(command, Stdio::null())
    }

    /// Starts it with this as its standard input.
    pub(super) fn start_with_input(mut command: Command, input: Stdio) -> Running {
        let piped = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the program starts");
        let stdout: ChildStdout = child.stdout.take().expect("it is piped");
        let stderr: ChildStderr = child.stderr.take().expect("it is piped");
        let (out, err) = (Captured::default(), Captured::default());
        let readers = vec![out.listen(stdout), err.listen(stderr)];
        Running { child, out, err, readers }
    }

    /// Its process number.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until standard error has this text.
    #[track_caller]
    pub(super) fn wait_for(&self, text: &str) {
        assert!(
            self.err.wait_for(text),
            "never printed: {text}\n{}\n{}",
            self.out.so_far(),
            self.err.so_far()
        );
    }

    /// Waits until standard output has this text.
    #[track_caller]
    pub(super) fn wait_for_output(&self, text: &str) {
        assert!(
            self.out.wait_for(text),
            "never printed: {text}\n{}\n{}",
            self.out.so_far(),
            self.err.so_far()
        );
    }

    /// Its standard error so far.
    pub(super) fn output_so_far(&self) -> String {
        self.err.so_far()
    }

    /// Sends a signal, by name: INT, TERM, KILL.
    pub(super) fn signal(&self, name: &str) {
        let sent =
            Command::new("sh").args(["-c", "kill -\"$0\" \"$1\"", name, &self.pid().to_string()]).status();
        assert!(sent.expect("there is a shell").success(), "kill -{name} {}", self.pid());
    }

    /// Waits for its end. A process that goes on beyond the limit fails the test.
    #[track_caller]
    pub(super) fn end(self) -> Ended {
        self.end_within(LIMIT)
    }

    /// The same, for what takes longer.
    pub(super) fn end_within(mut self, limit: Duration) -> Ended {
        let deadline = Instant::now() + limit;
        while self.child.try_wait().expect("it is our child").is_none() {
            if Instant::now() > deadline {
                self.child.kill().ok();
                panic!("did not end in {limit:?}\n{}\n{}", self.out.so_far(), self.err.so_far());
            }
            std::thread::sleep(STEP);
        }
        let status = self.child.wait().expect("it has ended");
        self.readers.drain(..).for_each(|reader| reader.join().expect("the reader does not panic"));
        Ended { code: status.code(), stdout: self.out.so_far(), stderr: self.err.so_far() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs the program to its end.
#[track_caller]
pub(super) fn run(argv: &[&str]) -> Ended {
    Running::start(pathmeter(None, argv)).end()
}

/// Starts the program.
pub(super) fn start(argv: &[&str]) -> Running {
    Running::start(pathmeter(None, argv))
}

/// `pathmeter serve` on a free port.
pub(super) struct Server {
    pub(super) process: Running,
    pub(super) port: u16,
}

impl Server {
    /// On the loopback.
    pub(super) fn start(argv: &[&str]) -> Server {
        Server::at(None, "127.0.0.1", argv)
    }

    /// On this address, in this namespace. Ready when this returns.
    pub(super) fn at(ns: Option<&str>, bind: &str, argv: &[&str]) -> Server {
        let port = if ns.is_some() { 5210 } else { free_port() };
        let number = port.to_string();
        let all = [&["serve", "--bind", bind, "--port", &number], argv].concat();
        let process = Running::start(pathmeter(ns, &all));
        process.wait_for("listening on");
        Server { process, port }
    }

    /// HOST:PORT for a client's command line.
    pub(super) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Runs `pathmeter throughput` against it.
    #[track_caller]
    pub(super) fn throughput(&self, argv: &[&str]) -> Ended {
        let host = self.host();
        run(&[&["throughput", &host], argv].concat())
    }

    /// The same, successful and as JSON.
    #[track_caller]
    pub(super) fn measured(&self, argv: &[&str]) -> Value {
        self.throughput(&[argv, &["--json"]].concat()).code(0).json()
    }

    /// Asks it to end and expects that it does so in order.
    #[track_caller]
    pub(super) fn stop(self) -> Ended {
        self.process.signal("TERM");
        self.process.end().code(0)
    }
}

/// Prints why a test cannot run here.
#[track_caller]
pub(super) fn skip(test: &str, why: &str) {
    skip::skip(format!("{test}: {why}"));
}

/// A directory of its own for a test, removed at the end.
pub(super) struct Scratch(std::path::PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("pathmeter-native-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("make a directory");
        Scratch(path)
    }

    /// Path of a file in it, written with this text when there is one.
    pub(super) fn file(&self, name: &str, text: Option<&str>) -> String {
        let path = self.0.join(name);
        if let Some(text) = text {
            std::fs::write(&path, text).expect("write a file");
            // A secret that others may read is refused.
            let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, own).expect("it is ours");
        }
        path.to_str().expect("a plain path").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A stream of text as it grows.
#[derive(Clone, Default)]
struct Captured(Arc<(Mutex<(String, bool)>, Condvar)>);

impl Captured {
    fn listen(&self, stream: impl Read + Send + 'static) -> JoinHandle<()> {
        let output = self.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                output.add(&String::from_utf8_lossy(&line), false);
                line.clear();
            }
            output.add("", true);
        })
    }

    fn add(&self, text: &str, over: bool) {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.push_str(text);
        state.1 = over;
        self.0.1.notify_all();
    }

    fn so_far(&self) -> String {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn wait_for(&self, text: &str) -> bool {
        let guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.0.1.wait_timeout_while(guard, LIMIT, |(output, over)| !output.contains(text) && !*over);
        waited.unwrap_or_else(PoisonError::into_inner).0.0.contains(text)
    }
}

/// No process and no wait of these tests takes longer, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(120);
const STEP: Duration = Duration::from_millis(10);

/// A script of the shell beside a disk of this size, the directory `small` in `scratch`. Absent, with the reason printed, where
/// mounting one is not permitted.
pub(super) fn on_a_small_disk(test: &str, scratch: &Scratch, size: &str, script: &str) -> Option<Ended> {
    std::fs::create_dir(scratch.0.join("small")).unwrap();
    let mounted = format!("mount -t tmpfs -o size={size} tmpfs small || exit 99\n{script}");
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &mounted]).current_dir(&scratch.0).stdin(Stdio::null());
    let output = command.env("PATHMETER", env!("CARGO_BIN_EXE_pathmeter")).output().expect("unshare(1)");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    if output.status.code() == Some(99) || stderr.starts_with("unshare:") {
        skip(test, &stderr);
        return None;
    }
    Some(Ended { code: output.status.code(), stdout, stderr })
}
