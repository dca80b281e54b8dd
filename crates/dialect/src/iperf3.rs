//! iPerf3's command line: every option of 3.21, read as iPerf3 reads it, refused as iPerf3 refuses it.

pub(crate) mod auth;
mod check;
mod help;
mod numbers;
mod options;
pub mod output;
mod password;
mod plan;
mod run;

pub(crate) use help::{help_text, refusal, version_text};
pub(crate) use password::password;
pub use run::{run, text_report};

use super::getopt::{self, Fault, Role, Word};
use model::plan::{LocalOptions, TestSpec};
use model::units::{BitRate, Nanos};
use std::ffi::OsString;
use std::path::PathBuf;
use wire::iperf3::Extras;

/// A parsed command line.
pub(crate) type Request = getopt::Request<CommandLine>;

/// A command line, read and checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CommandLine {
    /// Options of both roles.
    pub(crate) both: Both,
    /// Options of a client.
    pub(crate) client: Client,
    /// Options of a server.
    pub(crate) server: Server,
    /// Sentences for standard error, each after `warning: `.
    pub(crate) warnings: Vec<String>,
    stop: Option<Request>,
    client_only: bool,
    server_only: bool,
}

/// Options of both roles.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Both {
    /// `-p`: control and data.
    pub(crate) port: u16,
    /// `-f`: the letter of the bitrate's unit; `a` chooses by size.
    pub(crate) unit: char,
    /// Choices of this end: `-i`, `-A n`, `-F`, `--cport`, `--connect-timeout`, `--rcv-timeout` and `--bind-dev`, which may also
    /// stand after `%` of `-B` or `-c`.
    pub(crate) local: LocalOptions,
    /// `-I`: where to write the process id.
    pub(crate) pidfile: Option<PathBuf>,
    /// `-B`: local host or address, without its device.
    pub(crate) bind: Option<String>,
    /// `-V`.
    pub(crate) verbose: bool,
    /// `-d`: level, 4 without one.
    pub(crate) debug: Option<u32>,
    /// `-J` and its kin.
    pub(crate) json: Json,
    /// `--logfile`.
    pub(crate) logfile: Option<PathBuf>,
    /// `--forceflush`.
    pub(crate) forceflush: bool,
    /// `--timestamps`: a format of `strftime`.
    pub(crate) timestamps: Option<String>,
    /// `--snd-timeout`: TCP_USER_TIMEOUT.
    pub(crate) send_timeout: Option<Nanos>,
    /// `--cntl-ka`: keepalive of the control connection.
    pub(crate) keepalive: Option<Keepalive>,
    /// `-4`.
    pub(crate) ipv4: bool,
    /// `-6`.
    pub(crate) ipv6: bool,
}

/// Options of a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Client {
    /// `-c`.
    pub(crate) host: Option<String>,
    /// The test, as far as it is not part of `Both`.
    pub(crate) test: TestSpec,
    /// `-t` was given.
    time_given: bool,
    /// `-b` was given.
    rate_given: bool,
    /// `--gsro`.
    pub(crate) gsro: bool,
    /// Options of the protocol outside of the test.
    pub(crate) extras: Extras,
    /// `--username`.
    pub(crate) username: Option<String>,
    /// `--rsa-public-key-path`.
    pub(crate) public_key: Option<PathBuf>,
    /// `--use-pkcs1-padding`: for servers before 3.17. (iPerf3 itself takes it from servers only.)
    pub(crate) pkcs1: bool,
}

/// Options of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Server {
    asked: bool,
    /// `-D`.
    pub(crate) daemon: bool,
    /// `-1`.
    pub(crate) one_off: bool,
    /// `--server-bitrate-limit`: of all streams together; averaged over the time.
    pub(crate) bitrate_limit: Option<(BitRate, Nanos)>,
    /// `--server-max-duration`.
    pub(crate) max_duration: Option<Nanos>,
    /// `--idle-timeout`.
    pub(crate) idle_timeout: Option<Nanos>,
    /// `--rsa-private-key-path`.
    pub(crate) private_key: Option<PathBuf>,
    /// `--authorized-users-path`.
    pub(crate) users: Option<PathBuf>,
    /// `--time-skew-threshold`.
    pub(crate) skew: Nanos,
    /// `--use-pkcs1-padding`: for clients before 3.17.
    pub(crate) pkcs1: bool,
}

/// How much JSON is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Json {
    /// Text.
    #[default]
    Off,
    /// `-J`: one document at the end.
    Document,
    /// `--json-stream`: one event a line.
    Stream {
        /// `--json-stream-full-output`: and the document at the end.
        document: bool,
    },
}

/// Keepalive of the control connection; absent: the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keepalive {
    /// Idle time before the first probe.
    pub(crate) idle: Option<Nanos>,
    /// Time between probes.
    pub(crate) interval: Option<Nanos>,
    /// Probes without an answer before giving up.
    pub(crate) count: Option<u32>,
}

/// Reads the words after the program's name.
///
/// # Errors
/// At the first word that iPerf3 would refuse, and for what this program does not serve.
pub(crate) fn parse(args: &[OsString]) -> Result<Request, Fault> {
    let local = LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() };
    let both = Both { port: wire::iperf3::PORT, unit: 'a', local, ..Both::default() };
    let server = Server { skew: Nanos::from_secs(10), ..Server::default() };
    let mut line = CommandLine { both, server, ..CommandLine::default() };
    line.client.test.wide_counters = false;
    for word in getopt::split(args, &options::ALL)? {
        match word {
            Word::Option(role, option, value) => {
                (option.take)(&mut line, &value)?;
                line.client_only |= role == Role::Client;
                line.server_only |= role == Role::Server;
            }
            Word::Other(word) => line.warnings.push(format!("'{word}' belongs to no option and is ignored")),
        }
        if let Some(stop) = line.stop.take() {
            return Ok(stop);
        }
    }
    check::finish(line)
}

#[cfg(test)]
mod tests;
