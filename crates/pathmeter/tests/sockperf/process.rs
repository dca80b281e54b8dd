//! The two programs: ours as SockPerf, and the real one.

pub(crate) use crate::ports::free_port;
use crate::ports::is_bound;
pub(crate) use crate::running::{Running, ToolOutput};
use crate::running::{STEP, TIMEOUT, wait_until};
pub(crate) use crate::scratch::Scratch;
use std::process::Command;
use std::time::Instant;

/// The program that plays a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `pathmeter sockperf`.
    Ours,
    /// The real `sockperf`.
    Theirs,
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
    pub(crate) fn run(self, options: &str) -> ToolOutput {
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
    /// Ends it as Ctrl-C does.
    pub(crate) fn stop(self) -> ToolOutput {
        self.signal("INT");
        self.wait()
    }
}

impl ToolOutput {
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

impl Scratch {
    /// Reads a file in it.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {path}: {error}"))
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
    let dropped_in = |table: &str| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        let own = |line: &&str| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&suffix));
        let count = |line: &str| line.split_whitespace().last()?.parse::<u64>().ok();
        text.lines().filter(own).filter_map(count).sum::<u64>()
    };
    dropped_in("/proc/net/udp") + dropped_in("/proc/net/udp6")
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
