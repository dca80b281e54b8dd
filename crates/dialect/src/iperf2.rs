//! iPerf2's command line: the options of 2.1 and 2.2, read as iPerf2 reads them. Values that iPerf2 reads as 0 or ignores
//! silently are refused, and so are, by name, options that this program does not support.

mod check;
mod help;
mod numbers;
mod options;
pub mod output;
mod plan;
mod run;

pub(crate) use help::{help_text, refusal, version_text};
pub use run::run;

use super::getopt::{self, Fault, Role, Word};
use crate::iperf2::output::{Bounceback, Iperf2Options};
use engine::work::iperf2::Extras;
use model::plan::{Directions, TestSpec};
use model::stats::bins::BinShape;
use model::units::{BitRate, Bytes, Nanos};
use std::ffi::OsString;
use std::path::PathBuf;

/// A parsed command line.
pub(crate) type Request = getopt::Request<CommandLine>;

/// A command line, read and checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandLine {
    /// Options of both roles.
    pub(crate) both: Both,
    /// Options of a client.
    pub(crate) client: Client,
    /// Options of a server.
    pub(crate) server: Server,
    /// Sentences for standard error.
    pub(crate) warnings: Vec<String>,
    stop: Option<Request>,
    /// Options given that only a client, or only a server, has.
    client_only: Vec<String>,
    server_only: Vec<String>,
}

/// Options of both roles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Both {
    /// `-p`.
    pub(crate) port: u16,
    /// The options that change the output, as far as they are known here.
    pub(crate) shown: Iperf2Options,
    /// `-i`; absent: the end alone.
    pub(crate) interval: Option<Nanos>,
    /// `-o`.
    pub(crate) output: Option<PathBuf>,
    /// `-B`: local host or address.
    pub(crate) bind: Option<String>,
    /// `-B host:port`.
    pub(crate) bind_port: Option<u16>,
    /// The part behind `%` of `-B` or `-c`.
    pub(crate) device: Option<String>,
    /// `-m`.
    pub(crate) print_mss: bool,
    /// `-4`.
    pub(crate) ipv4: bool,
    /// `-V`, `-6`.
    pub(crate) ipv6: bool,
    /// `--permit-key`.
    pub(crate) key: Option<String>,
    /// `-p N-M`: a server's last port.
    pub(crate) last_port: Option<u16>,
    /// `-t`, where it was given; zero: for ever.
    pub(crate) time: Option<Nanos>,
    /// `--utc`: times of day are not the host's zone's.
    pub(crate) utc: bool,
    /// `--histograms`.
    pub(crate) histograms: Option<Histograms>,
}

/// `--histograms` and its bins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Histograms {
    /// The width of a bin, where it was given.
    pub(crate) width: Option<Nanos>,
    /// How many there are, likewise.
    pub(crate) count: Option<u32>,
}

impl Histograms {
    /// The shape of the bins: by default as in 2.2.1, of 100 µs, up to ten seconds.
    pub(crate) fn shape(self) -> BinShape {
        let width = self.width.unwrap_or(Nanos::from_micros(100));
        BinShape { width, count: self.count.unwrap_or(100_000) }
    }
}

/// Options of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// `-c`.
    pub(crate) host: Option<String>,
    /// The test; a server takes its length, window, MSS, TOS and congestion control from it too.
    pub(crate) test: TestSpec,
    /// Options of iPerf2 beside the test.
    pub(crate) extras: Extras,
    /// `-n` was given.
    bytes: Option<Bytes>,
    /// `-b` was given.
    rate_given: bool,
    /// `-R`, `--full-duplex`, `-d` and `-r`, those that were given.
    directions: Vec<&'static str>,
    /// `--bounceback`.
    pub(crate) bounceback: Option<Bounceback>,
    /// `--connect-only=N`: so many connections, one after the other.
    pub(crate) connects: Option<u32>,
    /// `--isochronous`: frames/s, mean and deviation of their bits/s.
    pub(crate) frames: Option<(f64, f64, f64)>,
    /// `--ipg`, seconds.
    pub(crate) gap: Option<f64>,
    /// `--burst-period`, seconds.
    pub(crate) burst_period: Option<f64>,
    /// `--burst-size`.
    pub(crate) burst_size: Option<u64>,
    /// `-F`, or `-I`: what is sent.
    pub(crate) file: Option<PathBuf>,
    /// `--fq-rate-step`, and how often it is taken.
    rate_step: Option<BitRate>,
    rate_step_interval: Option<Nanos>,
    /// `--working-load`: where to, and in how many streams. A server of UDP takes TCP, too, then.
    pub(crate) load: Option<(Directions, u32)>,
    /// `--working-load-cca`.
    pub(crate) load_congestion: Option<String>,
}

/// Options of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    asked: bool,
    /// `-D`.
    pub(crate) daemon: bool,
    /// `-1`: one client at a time.
    pub(crate) one_at_a_time: bool,
    /// `-P`: end after so many clients.
    pub(crate) clients: Option<u32>,
    /// `--test-exchange-timeout`.
    pub(crate) timeout: Option<Nanos>,
    /// `--jitter-histograms`.
    pub(crate) jitter: Option<BinShape>,
    /// `--udp-reverse`: UDP is sent to clients that nothing proves to be there.
    pub(crate) udp_reverse: bool,
}

/// Reads the words after the program's name.
///
/// # Errors
/// At the first word that cannot be, and for what this program does not serve.
pub(crate) fn parse(args: &[OsString]) -> Result<Request, Fault> {
    let both = Both { port: wire::iperf2::PORT, ..Both::default() };
    let mut line = CommandLine { both, ..CommandLine::default() };
    for word in getopt::split(args, &options::ALL)? {
        match word {
            Word::Option(role, option, value) => {
                (option.take)(&mut line, &value)?;
                match role {
                    Role::Both => {}
                    Role::Client => line.client_only.push(option.usage.brief()),
                    Role::Server => line.server_only.push(option.usage.brief()),
                }
            }
            Word::Other(word) => line.warnings.push(format!("iperf: ignoring extra argument -- {word}")),
        }
        if let Some(stop) = line.stop.take() {
            return Ok(stop);
        }
    }
    check::finish(line)
}

#[cfg(test)]
mod tests;
