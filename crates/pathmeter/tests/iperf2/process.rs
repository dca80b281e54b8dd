//! Starting the two programs, waiting for them with a deadline, and reading what they say.

pub(crate) use crate::ports::free_port;
use crate::ports::is_bound;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A program that runs, and its output so far; killed on drop.
pub(crate) struct Running {
    child: Child,
    said: [Arc<Mutex<String>>; 2],
    readers: Vec<std::thread::JoinHandle<()>>,
    named: String,
}

/// The output of a program that has ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A line of `-y C`: figures of one stream, or of all.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) bytes: u64,
    /// Lost and all datagrams, where it is a receiver's of UDP.
    pub(crate) datagrams: Option<(u64, u64)>,
}

/// Can the real program be run?
pub(crate) fn has_iperf() -> bool {
    let there = Command::new("iperf").arg("-v").output().is_ok();
    if !there {
        skip::skip("no iperf: apt-get install iperf");
    }
    there
}

/// Runs the real client.
pub(crate) fn their_client(port: u16, options: &str) -> Said {
    start_their_client(port, options).wait()
}

/// Starts the real client.
pub(crate) fn start_their_client(port: u16, options: &str) -> Running {
    Running::start("iperf", &format!("-c 127.0.0.1 -p {port} {options}"))
}

/// A server of theirs.
pub(crate) fn their_server(port: u16, options: &str) -> Running {
    let mut server = Running::start("iperf", &format!("-s -p {port} -y C {options}"));
    until("the server listens", || {
        assert!(server.runs(), "it has ended: {}", server.said());
        is_bound(options.contains("-u"), port).then_some(())
    });
    server
}

/// Our server; it prints on standard error the bytes of each session.
pub(crate) fn our_server(port: u16, options: &str) -> Running {
    let own = free_port();
    let options = format!("serve --bind 127.0.0.1 -p {own} --iperf2={port} {options}");
    let server = Running::start(env!("CARGO_BIN_EXE_pathmeter"), &options);
    server.wait_for("iPerf2");
    server
}

/// Our client, and its result.
pub(crate) fn our_client(port: u16, options: &str) -> (Said, serde_json::Value) {
    let options = format!("throughput 127.0.0.1 --protocol iperf2 -p {port} --format json {options}");
    let said = Running::start(env!("CARGO_BIN_EXE_pathmeter"), &options).wait();
    let run = serde_json::from_str(&said.stdout).unwrap_or(serde_json::Value::Null);
    (said, run)
}

/// Our client by its other command line, that of iPerf2.
pub(crate) fn our_dialect(port: u16, options: &str) -> Said {
    Running::start(env!("CARGO_BIN_EXE_pathmeter"), &format!("iperf -c 127.0.0.1 -p {port} {options}")).wait()
}

/// Our round trips, and their result.
pub(crate) fn our_round_trips(port: u16, options: &str) -> (Said, serde_json::Value) {
    let options = format!("latency 127.0.0.1 --protocol iperf2 -p {port} --format json {options}");
    let said = Running::start(env!("CARGO_BIN_EXE_pathmeter"), &options).wait();
    let run = serde_json::from_str(&said.stdout).unwrap_or(serde_json::Value::Null);
    (said, run)
}

impl Running {
    fn start(program: &str, options: &str) -> Running {
        let mut command = Command::new(program);
        command.args(options.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("start {command:?}: {e}"));
        let said = [Arc::<Mutex<String>>::default(), Arc::<Mutex<String>>::default()];
        let out = read_along(child.stdout.take().expect("piped"), said[0].clone());
        let err = read_along(child.stderr.take().expect("piped"), said[1].clone());
        Running { child, said, readers: vec![out, err], named: format!("{command:?}") }
    }

    /// Standard output and error so far.
    pub(crate) fn said(&self) -> String {
        let text = |at: usize| self.said[at].lock().expect("readers do not panic").clone();
        text(0) + &text(1)
    }

    /// Waits until its output contains this.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        until(&format!("{text:?} of {}: {}", self.named, self.said()), || {
            Some(self.said()).filter(|said| said.contains(text))
        })
    }

    /// Is it still there?
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// Waits until its output has the figures of so many whole tests, each a line that begins with the test.
    pub(crate) fn wait_for_rows(&self, rows: usize) {
        until(&format!("{rows} rows of {}: {}", self.named, self.said()), || {
            (self.said().lines().filter(|line| line.contains(",0.0-")).count() >= rows).then_some(())
        });
    }

    /// Ends it at once.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a child of ours");
    }

    /// Asks it to end (SIGTERM), and waits.
    pub(crate) fn stop(self) -> Said {
        let sent = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {}", self.named);
        self.wait()
    }

    /// Waits for its end. One that hangs is a failure.
    pub(crate) fn wait(mut self) -> Said {
        let named = self.named.clone();
        let status =
            until(&format!("the end of {named}"), || self.child.try_wait().expect("a child of ours"));
        for reader in self.readers.drain(..) {
            reader.join().expect("readers do not panic");
        }
        let text = |at: usize| self.said[at].lock().expect("readers do not panic").clone();
        Said { code: status.code(), stdout: text(0), stderr: text(1) }
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
    /// The figures of whole tests in `-y C`: of single streams.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let rows = self.stdout.lines().filter_map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
            let datagrams = number(10).zip(number(11));
            Some(Row { id: fields.get(5)?.parse().ok()?, bytes: number(7)?, datagrams })
        });
        rows.filter(|row| row.id >= 0).collect()
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.rows().iter().map(|row| row.bytes).sum()
    }
}

/// The number before or behind these words.
pub(crate) fn number_before(text: &str, argv: &str) -> u64 {
    let at = text.find(argv).unwrap_or_else(|| panic!("no {argv:?} in {text}"));
    let digits: String = text[..at].chars().rev().take_while(char::is_ascii_digit).collect();
    digits.chars().rev().collect::<String>().parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

/// Asks again and again until there is an answer.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "not within {TIMEOUT:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn read_along(mut from: impl Read + Send + 'static, said: Arc<Mutex<String>>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            said.lock().expect("nobody panics with it").push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    })
}

const TIMEOUT: Duration = Duration::from_secs(40);
