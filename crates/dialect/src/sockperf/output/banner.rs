//! SockPerf's lines before and during a test.

use super::{MAGENTA, Mode, PLAIN};
use std::fmt::Write;
use std::net::SocketAddr;

/// A socket of the test, or a group that one has joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestSocket {
    /// Where it sends to or listens.
    pub address: SocketAddr,
    /// TCP; else UDP.
    pub tcp: bool,
}

/// How a test came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its time was over.
    Timer,
    /// SIGINT.
    User,
    /// The number of observations was reached (`-n`).
    Number,
    /// All of the file was played: sockperf prints nothing.
    Played,
}

/// The first line. `name` is that of the version.
#[must_use]
pub fn version(name: &str) -> String {
    format!("sockperf: {MAGENTA}== version #{name} == {PLAIN}\n")
}

/// Where a client sends to. `call` is the system call that waits (`recvfrom`, `select`, `poll`, `epoll`).
#[must_use]
pub fn client(mode: Mode, call: &str, places: &[TestSocket]) -> String {
    let waits = match mode {
        Mode::Throughput => String::new(),
        _ => format!("sockperf: using {call}() to block on socket(s)\n"),
    };
    format!("sockperf[CLIENT] send on:{waits}\n{}", list(places))
}

/// Where a server listens.
#[must_use]
pub fn server(places: &[TestSocket]) -> String {
    format!("sockperf: [SERVER] listen on:\n{}", list(places))
}

/// How a server waits, in which thread.
#[must_use]
pub fn server_waits(thread: u64, call: &str) -> String {
    format!("sockperf: [tid {thread}] using {call}() to block on socket(s)\n")
}

/// How a test came to its end.
#[must_use]
pub fn ended(how: Ended) -> String {
    let how = match how {
        Ended::Timer => "interrupted by timer".to_owned(),
        Ended::User => "interrupted by user".to_owned(),
        Ended::Number => "reached packet number".to_owned(),
        Ended::Played => return String::new(),
    };
    format!("sockperf: Test end ({how})\n")
}

/// The warm-up that sockperf prints, in milliseconds, for so many sockets.
#[must_use]
pub const fn warm_up_millis(sockets: u32) -> u32 {
    let sum = 50 + sockets / 10;
    if sum > 400 { sum } else { 400 }
}

fn list(places: &[TestSocket]) -> String {
    let mut text = String::new();
    for (number, TestSocket { address, tcp }) in places.iter().enumerate() {
        let (ip, port, protocol) =
            (address.ip().to_string(), address.port(), if *tcp { "TCP" } else { "UDP" });
        let _ = writeln!(text, "[{number:2}] IP = {ip:<15} PORT = {port:>5} # {protocol}");
    }
    text
}

/// Printed unless `--dontwarmup`.
pub const WARM_UP: &str = "sockperf: Warmup stage (sending a few dummy messages)...\n";
/// The first message follows.
pub const STARTING: &str = "sockperf: Starting test...\n";
/// The last replies are in.
pub const TEST_ENDED: &str = "sockperf: Test ended\n";
/// The rate could not be kept: the client never had to wait.
pub const TOO_FAST: &str = "sockperf: Info: The requested message-per-second rate is too high. \
    Try tuning --mps or --burst arguments\n";
