//! The two programs: ours as client and server of iPerf2, and the real one.

pub(crate) use crate::ports::free_port;
use crate::ports::is_bound;
pub(crate) use crate::running::{Running, ToolOutput, wait_until};
use std::process::Command;

/// A line of `-y C`: figures of one stream, or of all.
#[derive(Debug, PartialEq)]
pub(crate) struct CsvRow {
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
pub(crate) fn their_client(port: u16, options: &str) -> ToolOutput {
    start_their_client(port, options).wait()
}

/// Starts the real client.
pub(crate) fn start_their_client(port: u16, options: &str) -> Running {
    start("iperf", &format!("-c 127.0.0.1 -p {port} {options}"))
}

/// A server of theirs.
pub(crate) fn their_server(port: u16, options: &str) -> Running {
    let mut server = start("iperf", &format!("-s -p {port} -y C {options}"));
    wait_until("the server listens", || {
        assert!(server.runs(), "it has ended: {}", server.output_so_far());
        is_bound(options.contains("-u"), port)
    });
    server
}

/// Our server; it prints on standard error the bytes of each session.
pub(crate) fn our_server(port: u16, options: &str) -> Running {
    let own = free_port();
    let options = format!("serve --bind 127.0.0.1 -p {own} --iperf2={port} {options}");
    let server = start(env!("CARGO_BIN_EXE_pathmeter"), &options);
    server.wait_for("iPerf2");
    server
}

/// Our client, and its result.
pub(crate) fn our_client(port: u16, options: &str) -> (ToolOutput, serde_json::Value) {
    let options = format!("throughput 127.0.0.1 --protocol iperf2 -p {port} --format json {options}");
    let output = start(env!("CARGO_BIN_EXE_pathmeter"), &options).wait();
    let run = serde_json::from_str(&output.stdout).unwrap_or(serde_json::Value::Null);
    (output, run)
}

/// Our client by its other command line, that of iPerf2.
pub(crate) fn our_dialect(port: u16, options: &str) -> ToolOutput {
    start(env!("CARGO_BIN_EXE_pathmeter"), &format!("iperf -c 127.0.0.1 -p {port} {options}")).wait()
}

/// Our round trips, and their result.
pub(crate) fn our_round_trips(port: u16, options: &str) -> (ToolOutput, serde_json::Value) {
    let options = format!("latency 127.0.0.1 --protocol iperf2 -p {port} --format json {options}");
    let output = start(env!("CARGO_BIN_EXE_pathmeter"), &options).wait();
    let run = serde_json::from_str(&output.stdout).unwrap_or(serde_json::Value::Null);
    (output, run)
}

impl Running {
    /// Waits until its output contains this.
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until(&format!("{text:?} of {}", self.output_so_far()), || self.output_so_far().contains(text));
    }

    /// Waits until its output has the figures of so many whole tests, each a line that begins with the test.
    pub(crate) fn wait_for_rows(&self, rows: usize) {
        let printed = || self.printed().lines().filter(|line| line.contains(",0.0-")).count();
        wait_until(&format!("{rows} rows of {}", self.output_so_far()), || printed() >= rows);
    }

    /// Asks it to end (SIGTERM), and waits.
    pub(crate) fn stop(self) -> ToolOutput {
        self.signal("TERM");
        self.wait()
    }
}

/// Starts a program with these options, apart at blanks.
fn start(program: &str, options: &str) -> Running {
    let mut command = Command::new(program);
    command.args(options.split_whitespace());
    Running::start(command)
}

impl ToolOutput {
    /// The figures of whole tests in `-y C`: of single streams.
    pub(crate) fn rows(&self) -> Vec<CsvRow> {
        let rows = self.stdout.lines().filter_map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
            let datagrams = number(10).zip(number(11));
            Some(CsvRow { id: fields.get(5)?.parse().ok()?, bytes: number(7)?, datagrams })
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
