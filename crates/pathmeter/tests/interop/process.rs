//! The two programs: ours as iPerf3, and the real one.

pub(crate) use crate::ports::free_port;
use crate::ports::is_bound;
pub(crate) use crate::running::{Running, ToolOutput, wait_until};
use crate::running::{STEP, TIMEOUT};
pub(crate) use crate::scratch::Scratch;
use serde_json::Value;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

/// The program that plays a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `pathmeter iperf3`.
    Ours,
    /// The real `iperf3`.
    Theirs,
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
    pub(crate) fn run(self, options: &str) -> ToolOutput {
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
    /// Sockets that it has open.
    pub(crate) fn open_sockets(&self) -> usize {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", self.id())).into_iter().flatten().flatten();
        let links = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    }

    /// Ends it with SIGTERM.
    pub(crate) fn stop(self) -> ToolOutput {
        self.signal("TERM");
        self.wait()
    }
}

impl ToolOutput {
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
        let printed = Command::new("iperf3").arg("--version").output();
        let printed = printed.expect("the real iperf3 is needed to test against: apt-get install iperf3");
        let text = String::from_utf8_lossy(&printed.stdout);
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
