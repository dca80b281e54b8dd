//! The lines of iPerf2's text, one by one.

use super::super::block::{Lines, unresolved};
use super::super::number::{Printed, leading_number as number};
use super::super::row::{Id, IperfRow};
use model::plan::Transport;
use model::time::WallTime;
use std::net::{IpAddr, SocketAddr};

/// The facts in the lines of one output, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Output<'a> {
    /// The host of `Client connecting to`.
    pub(super) host: Option<String>,
    /// The port of `Server listening on`; a client that is sent to (`-d`, `-r`) has one, too.
    pub(super) listens: Option<u16>,
    pub(super) transport: Option<Transport>,
    /// `Sending 1470 byte datagrams`.
    pub(super) length: Option<u32>,
    pub(super) streams: Vec<Stream>,
    pub(super) rows: Vec<IperfRow<'a>>,
    /// Rows behind `Server Report:`, of what a client sent.
    pub(super) reports: Vec<IperfRow<'a>>,
    /// Rows of single bursts (`--burst-period`): they are parts of no interval.
    pub(super) bursts: Vec<IperfRow<'a>>,
    /// A column of frames was there (`--isochronous`).
    pub(super) frames: bool,
    /// Connections of round trips at a server: bytes of a request, and of its reply.
    pub(super) bounces: Vec<(u32, Bounce)>,
    /// Datagrams of each stream that arrived after later ones.
    pub(super) disordered: Vec<(u32, u64)>,
    /// `Sent N datagrams` of each stream.
    pub(super) sent: Vec<(u32, u64)>,
    /// A column of retransmitted segments was there.
    pub(super) resent: bool,
    pub(super) mss: Option<u32>,
    pub(super) connects: Option<Connects>,
    pub(super) started: Option<WallTime>,
    pub(super) failed: Option<String>,
    /// The server sent no report.
    pub(super) unacknowledged: bool,
}

/// `[  1] local 10.0.0.1 port 49550 connected with 10.0.0.2 port 5001 …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// The server sends (`-R`).
    pub(super) reverse: bool,
    /// Its line reports TCP's window and segments.
    pub(super) tcp: bool,
}

/// `(bb w/quickack req/reply/hold=100/300/0)`, `(bb len/hold=100/0)`: bytes of a request and of its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounce {
    pub(super) request: u32,
    pub(super) reply: u32,
}

/// `[ CT] final connect times (min/avg/max/stdev) = 0.627/1.794/2.292/0.494 ms (tot/err) = 10/0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Connects {
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) max: f64,
    pub(super) count: u64,
    pub(super) errors: u64,
}

/// A line with which an output begins.
pub(super) fn begins(line: &str) -> bool {
    let behind =
        line.strip_prefix("Client connecting to ").or_else(|| line.strip_prefix("Server listening on "));
    behind.is_some_and(|rest| rest.contains("TCP port ") || rest.contains("UDP port "))
}

/// Why an end did not begin: `tcp connect failed: Connection refused`, of older versions without the protocol, or joined to the line
/// before; a port that is taken; a name that is none.
pub(super) fn failure(line: &str) -> Option<String> {
    let calls = [
        ("connect failed: ", "unable to connect: "),
        ("bind failed: ", "unable to bind: "),
        ("listen failed: ", "unable to listen: "),
    ];
    let is_possible = line.contains(" failed: ");
    let call = calls.iter().filter(|_| is_possible).find_map(|(call, what)| {
        let (before, reason) = line.split_once(call)?;
        let is_own = ["", "tcp ", "udp "].contains(&before) || before.starts_with("TCP window size");
        is_own.then(|| format!("{what}{}", reason.trim()))
    });
    call.or_else(|| unresolved(line).map(|_| "unable to connect: the name of the host is not known".into()))
}

/// Why a connection broke: `write failed: Broken pipe`, `write1 failed: Broken pipe` and `recv failed: Connection refused` of a test.
fn broken(line: &str) -> Option<String> {
    let (call, reason) = line.trim().split_once(" failed: ")?;
    let call = call.rsplit(' ').next()?;
    let is_call = ["write", "read", "recv", "send"].iter().any(|name| call.starts_with(name));
    is_call.then(|| format!("{call} failed: {}", reason.trim()))
}

/// A line that belongs to an output and to nothing else.
pub(super) fn is_part(line: &str) -> bool {
    let starts = [
        "TCP window size",
        "UDP buffer size",
        "Sending ",
        "Write buffer",
        "Read buffer",
        "TOS set",
        "[ CT]",
        "[ ID]",
        "-----",
        "WARNING: did not receive ack",
        "WARNING: ack of last datagram failed",
        "[FD",
    ];
    starts.iter().any(|start| line.starts_with(start))
        || failure(line).is_some()
        || broken(line).is_some()
        || line.contains(" datagrams received out-of-order")
        || stream(line).is_some()
        || line.starts_with('[')
            && (line.contains("] Sent ") || line.contains("Server Report") || line.contains("-PDF:"))
}

impl<'a> Output<'a> {
    pub(super) fn from_lines(lines: &'a Lines) -> Output<'a> {
        let mut output = Output::default();
        let mut reported = Vec::new();
        lines.iter().for_each(|line| output.take(line, &mut reported));
        output
    }

    fn take(&mut self, line: &'a str, reported: &mut Vec<Id>) {
        if let Some(row) = IperfRow::from_line(line) {
            match reported.iter().position(|id| *id == row.id) {
                Some(at) => {
                    reported.swap_remove(at);
                    self.reports.push(row);
                }
                None if is_burst(&row) => self.bursts.push(row),
                None => self.rows.push(row),
            }
        } else if line.contains("] Server Report") {
            reported.extend(id(line).map(Id::Stream));
        } else if let Some(stream) = stream(line) {
            self.streams.push(stream);
            self.bounces.extend(bounce(line).map(|bounce| (stream.id, bounce)));
            self.mss = mss(line).or(self.mss);
            self.started = self.started.or_else(|| started(line));
        } else {
            self.sentence(line);
        }
    }

    fn sentence(&mut self, line: &str) {
        if let Some((before, _)) = line.split_once(" datagrams received out-of-order") {
            let count = before.split_whitespace().next_back().and_then(|count| count.parse().ok());
            self.disordered.extend(id(line).zip(count));
            return;
        }
        self.resent |= line.starts_with("[ ID]") && line.contains("Rtry");
        self.frames |= line.starts_with("[ ID]") && FRAMES.iter().any(|column| line.contains(column));
        if begins(line) {
            self.transport = Some(if line.contains("UDP port ") { Transport::Udp } else { Transport::Tcp });
            if line.starts_with("Server") {
                let port = line.split_once(" port ").and_then(|(_, port)| number(port));
                self.listens = port.and_then(|port| u16::try_from(port).ok());
            }
            let host = line.strip_prefix("Client connecting to ").and_then(|rest| rest.split_once(','));
            self.host = host.map(|(host, _)| host.to_owned()).or(self.host.take());
        } else if let Some(rest) = line.strip_prefix("Sending ") {
            self.length = small_number(rest);
        } else if let Some((_, rest)) = line.split_once("] Sent ") {
            self.sent.extend(id(line).zip(number(rest)));
        } else if line.starts_with("[ CT]") {
            self.connects = connects(line).or(self.connects);
        } else if let Some((_, rest)) = line.split_once("] MSS size ") {
            self.mss = small_number(rest);
        } else if let Some(reason) = failure(line) {
            self.failed = Some(reason);
            self.host = self.host.take().or_else(|| unresolved(line)?.map(str::to_owned));
        } else if let Some(reason) = broken(line) {
            self.failed = Some(reason);
        } else if line.contains("did not receive ack") || line.contains("ack of last datagram failed") {
            self.unacknowledged = true;
        }
    }
}

/// The connection of a stream.
pub(super) fn stream(line: &str) -> Option<Stream> {
    let (_, rest) = line.strip_prefix('[')?.split_once("] local ")?;
    let (local, remote) = rest.split_once(" connected with ")?;
    let id = id(line)?;
    Some(Stream {
        id,
        local: address(local)?,
        remote: address(remote)?,
        reverse: remote.contains("(reverse"),
        tcp: remote.contains("icwnd/mss/irtt="),
    })
}

/// The replies that a client requests of the server.
fn bounce(line: &str) -> Option<Bounce> {
    let (_, words) = line.split_once("(bb ")?;
    let sizes = words.split_once("/hold=")?.1;
    let mut sizes = sizes.split('/').map_while(small_number);
    let request = sizes.next()?;
    let own_reply = words.contains("req/reply/hold=");
    Some(Bounce { request, reply: if own_reply { sizes.next()? } else { request } })
}

/// `0.617 ms (0.062%)` behind the rate: how long the burst took, and the share of its period.
fn is_burst(row: &IperfRow<'_>) -> bool {
    let share = row.token(2).is_some_and(|word| word.starts_with('(') && word.ends_with("%)"));
    share && row.token(1) == Some("ms")
}

/// `10.0.0.1%lo port 49550`.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(" port ")?;
    let host: IpAddr = host.split('%').next()?.trim().parse().ok()?;
    Some(SocketAddr::new(host, u16::try_from(number(port)?).ok()?))
}

fn id(line: &str) -> Option<u32> {
    line.strip_prefix('[')?.split_once(']')?.0.trim().trim_start_matches('*').parse().ok()
}

/// `(MSS=1448)`, `(icwnd/mss/irtt=319/32741/35)`.
fn mss(line: &str) -> Option<u32> {
    let plain = line.split_once("MSS=").map(|(_, rest)| rest);
    let listed = || {
        line.split_once("icwnd/mss/irtt=").and_then(|(_, rest)| rest.split_once('/')).map(|(_, rest)| rest)
    };
    plain.or_else(listed).and_then(small_number)
}

/// `… on 2026-11-21 07:21:47 (UTC)`: of other zones the offset is not known.
fn started(line: &str) -> Option<WallTime> {
    let (_, rest) = line.split_once(" on ")?;
    let (time, _) = rest.split_once(" (UTC)")?;
    format!("{}Z", time.trim()).parse().ok()
}

fn connects(line: &str) -> Option<Connects> {
    let mut figures = line.split("= ").skip(1);
    let times: Vec<f64> = figures
        .next()?
        .split(' ')
        .next()?
        .split('/')
        .filter_map(|time| Some(Printed::from_text(time)?.value))
        .collect();
    let [min, mean, max, ..] = times.as_slice() else { return None };
    let (count, errors) = figures.next()?.split_once('/')?;
    Some(Connects { min: *min, mean: *mean, max: *max, count: number(count)?, errors: number(errors)? })
}

fn small_number(text: &str) -> Option<u32> {
    number(text)?.try_into().ok()
}

/// Columns of a client's frames, and of a server's.
const FRAMES: [&str; 3] = ["isoch:tx/miss/slip", "Frame:rx/lost", "Isoch:rx/lost"];
