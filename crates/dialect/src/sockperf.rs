//! SockPerf's command line: every option of 3.7 and of 3.10, read as sockperf reads it.
//!
//! Where sockperf shows its help and ends with 0 after a bad option, the error is printed and the exit code is its number.

mod aopt;
mod feed;
mod finish;
mod help;
mod numbers;
mod options;
pub mod output;
mod run;

pub(crate) use feed::parse as feed;
pub(crate) use help::{help_text, version_name, version_text};
pub use run::run;

use crate::sockperf::output::{Mode, RequestedTest};
use aopt::Found;
use model::cpus::CpuList;
use model::units::Nanos;
use std::ffi::OsString;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Show the help of one sub-command, or of all.
    Help(Option<Command>),
    /// `--version`.
    Version,
    /// A test, or a server; sentences for standard error, each after `sockperf: `.
    Run(Box<SockperfJob>, Vec<String>),
}

/// A sub-command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// One of the tests.
    Client(Mode),
    /// `sr`.
    Server,
}

/// The job to do: nothing is opened or resolved yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SockperfJob {
    /// Where from or to, and how sockets are.
    pub(crate) both: Both,
    /// The part of this end.
    pub(crate) role: Role,
}

/// The part of this end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    /// Tests.
    Client(Client),
    /// Answers.
    Server(Server),
}

/// Options of both ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Both {
    /// The far end, or where to listen.
    pub(crate) places: Places,
    /// `-F`: the call that sockperf waits in, which the text names.
    pub(crate) call: &'static str,
    /// TCP_NODELAY.
    pub(crate) nodelay: bool,
    /// `--nonblocked`: asks again and again instead of sleeping.
    pub(crate) spin: bool,
    /// `--tcp-skip-blocking-send`.
    pub(crate) skip_blocking_send: bool,
    /// `--tos`.
    pub(crate) tos: u8,
    /// `--lls`: SO_BUSY_POLL.
    pub(crate) busy_poll: Option<Nanos>,
    /// `--buffer-size`: bytes, in each direction.
    pub(crate) buffer: Option<u32>,
    /// `--rate-limit`: SO_MAX_PACING_RATE, bytes per second.
    pub(crate) pacing: Option<u32>,
    /// `--uc-reuseaddr`.
    pub(crate) reuse_address: bool,
    /// Multicast.
    pub(crate) multicast: Multicast,
    /// The warm-up is printed (and sent, on multicast sockets).
    pub(crate) warm_up: bool,
    /// `--pre-warmup-wait`.
    pub(crate) pause: Nanos,
    /// `--daemonize`.
    pub(crate) daemon: bool,
    /// `-a`, `-A`.
    pub(crate) activity: Option<Activity>,
    /// `--tls`: the suite.
    pub(crate) tls: Option<String>,
    /// The version whose output is printed and whose options are known.
    pub(crate) version: crate::sockperf::output::Version,
}

/// The sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// `-i`, `-p`, `--tcp`.
    One(SocketSpec),
    /// `-f`: to be read by [`feed()`].
    Feed(PathBuf),
}

impl Default for Places {
    fn default() -> Places {
        Places::One(SocketSpec::default())
    }
}

/// One socket: a far end, or where to listen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SocketSpec {
    /// A name or an address; absent: any, or this host.
    pub(crate) host: Option<String>,
    /// Its port.
    pub(crate) port: u16,
    /// TCP; else UDP.
    pub(crate) tcp: bool,
    /// The only sender heard, of a multicast group.
    pub(crate) source: Option<String>,
}

/// How multicast sockets are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Multicast {
    /// `--mc-rx-if`: an address or an interface's number.
    pub(crate) receive: Option<String>,
    /// `--mc-tx-if`: likewise.
    pub(crate) send: Option<String>,
    /// `--mc-loopback-enable`.
    pub(crate) loopback: bool,
    /// `--mc-ttl`.
    pub(crate) ttl: u8,
    /// `--mc-source-filter`.
    pub(crate) source: Option<String>,
}

/// A sign of life each so many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// `-a`: a dot.
    Dots(u64),
    /// `-A`: a row of a table.
    Rows(u64),
}

/// Options of a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Client {
    /// The test, as far as its text shows it.
    pub(crate) asked: RequestedTest,
    /// The largest message that the transport carries, bytes: `-r` goes no further.
    pub(crate) largest: u32,
    /// `--client_ip`, `--client_port`.
    pub(crate) bind: (Option<String>, Option<u16>),
    /// `--full-log`.
    pub(crate) full_log: Option<PathBuf>,
    /// `--data-integrity`: replies must have the bytes of the request.
    pub(crate) integrity: bool,
    /// `--data-file`.
    pub(crate) playback: Option<PathBuf>,
    /// `--sender-affinity`.
    pub(crate) sender_cpus: Option<CpuList>,
    /// `--receiver-affinity`.
    pub(crate) receiver_cpus: Option<CpuList>,
    /// `--tcp_nb_connect_timeout_ms`.
    pub(crate) connect_timeout: Nanos,
}

/// Options of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Server {
    /// `-m`: the longest message taken, bytes.
    pub(crate) max: u32,
    /// `--threads-num`.
    pub(crate) threads: u32,
    /// `--cpu-affinity`.
    pub(crate) cpus: Option<CpuList>,
    /// `--dont-reply`.
    pub(crate) silent: bool,
    /// `--force-unicast-reply`.
    pub(crate) unicast_reply: bool,
    /// `-g`.
    pub(crate) gaps: bool,
}

/// Why a command line is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Sockperf's number of the fault, and the exit code: 1, a bad argument.
    pub(crate) code: u8,
    what: String,
}

impl Fault {
    fn bad(what: impl Into<String>) -> Fault {
        Fault { code: BAD_ARGUMENT, what: what.into() }
    }

    /// An option that sockperf has and this program does not serve.
    fn not_served(option: &str, why: &str) -> Fault {
        Fault::bad(format!("{option} is not served by pathmeter: {why}"))
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "sockperf: {}\nType: 'sockperf <subcommand> --help' for the options.\n", self.what)
    }
}

/// Reads the words after the program's name.
///
/// # Errors
/// At the first word that sockperf would refuse, and for what this program does not serve.
pub(crate) fn parse(args: &[OsString]) -> Result<Request, Fault> {
    let mut texts = Vec::with_capacity(args.len());
    for word in args {
        let text =
            word.to_str().ok_or_else(|| Fault::bad(format!("'{}' is not UTF-8", word.to_string_lossy())))?;
        texts.push(text);
    }
    let Some((first, rest)) = texts.split_first() else { return Ok(Request::Help(None)) };
    let command = match *first {
        "ping-pong" | "pp" => Command::Client(Mode::PingPong),
        "under-load" | "ul" => Command::Client(Mode::UnderLoad),
        "throughput" | "tp" => Command::Client(Mode::Throughput),
        "playback" | "pb" => Command::Client(Mode::Playback),
        "server" | "sr" => Command::Server,
        "help" | "h" | "?" | "-h" | "--help" | "--usage" => return Ok(Request::Help(None)),
        "--version" => return Ok(Request::Version),
        other => return Err(Fault::bad(format!("there is no subcommand '{other}'"))),
    };
    let mut line = finish::Line::new();
    for Found { row, name, value } in aopt::split(&options::ALL, rest, command)? {
        (row.take)(&mut line, value.unwrap_or_default(), &name)?;
        if line.help {
            return Ok(Request::Help(Some(command)));
        }
    }
    finish::finish(line, command)
}

/// Sockperf's number for a bad argument.
const BAD_ARGUMENT: u8 = 1;

#[cfg(test)]
mod tests;
