//! The lines of iPerf3's text, one by one: who speaks, which streams there are, the rows.

use super::super::block::Lines;
use super::super::date;
use super::super::number::Printed;
use super::super::row::{Id, IperfRow};
use model::event::Outcome;
use model::plan::Transport;
use model::sample::CpuUse;
use model::time::WallTime;
use std::net::SocketAddr;

/// The facts in the lines of one output, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Output<'a> {
    pub(super) version: Option<String>,
    pub(super) host: Option<String>,
    pub(super) reverse: bool,
    pub(super) mss: Option<u32>,
    pub(super) transport: Option<Transport>,
    /// A column of retransmitted segments was there.
    pub(super) resent: bool,
    /// Rows by the end that printed them.
    pub(super) client: Part<'a>,
    pub(super) server: Part<'a>,
    pub(super) failed: Option<Outcome>,
    /// A protocol that is neither TCP nor UDP.
    pub(super) protocol: Option<String>,
    /// `iperf Done.` was there: the client has the server's results.
    pub(super) done: bool,
    /// Datagrams that arrived after later ones: as the summary reports, else as many lines as report one.
    pub(super) disordered: Option<u64>,
    out_of_order_lines: u64,
    /// The asked size of segments, not the one that is sent.
    pub(super) asked_mss: bool,
    /// An error behind the summary.
    pub(super) late_error: Option<String>,
    /// Options as `-V` prints them.
    pub(super) options: Options,
    pub(super) extra: Extra,
}

/// The lines of one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Part<'a> {
    /// Its streams: socket, its own address, the other end's.
    pub(super) streams: Vec<(u32, SocketAddr, SocketAddr)>,
    pub(super) intervals: Vec<IperfRow<'a>>,
    pub(super) finals: Vec<IperfRow<'a>>,
    /// `Sent N datagrams`.
    pub(super) sent: Option<i64>,
}

/// The line `Starting Test: …` of `-V`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    pub(super) length: Option<u32>,
    pub(super) omit: Option<u64>,
    pub(super) time: Option<u64>,
    pub(super) tos: Option<u8>,
}

/// The figures of `-V` for both ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    pub(super) started: Option<WallTime>,
    /// CPU of the end that sent and of the one that received.
    pub(super) cpu: [Option<CpuUse>; 2],
    /// Congestion control likewise.
    pub(super) congestion: [Option<String>; 2],
}

impl Extra {
    fn take(&mut self, line: &str) {
        if let Some(date) = line.strip_prefix("Time: ") {
            self.started = date::rfc1123(date);
        } else if let Some(ends) = line.strip_prefix("CPU Utilization: ") {
            for (end, place) in ["sender", "receiver"].into_iter().zip(&mut self.cpu) {
                *place = ends.split_once(&format!("/{end} ")).and_then(|(_, figures)| cpu(figures));
            }
        } else if let Some(name) = line.strip_prefix("snd_tcp_congestion ") {
            self.congestion[0] = Some(name.to_owned());
        } else if let Some(name) = line.strip_prefix("rcv_tcp_congestion ") {
            self.congestion[1] = Some(name.to_owned());
        }
    }
}

/// `3.0% (2.8%u/0.2%s), …`
fn cpu(figures: &str) -> Option<CpuUse> {
    let mut shares = figures.split('%').map(|part| part.trim_start_matches(['u', 's', ' ', '(', '/', ')']));
    let mut share = || Printed::from_text(shares.next()?).map(|printed| printed.value / 100.0);
    let (process, user, system) = (share()?, share()?, share()?);
    Some(CpuUse { process, user, system, ..CpuUse::default() })
}

impl<'a> Output<'a> {
    pub(super) fn from_lines(lines: &'a Lines) -> Output<'a> {
        let mut output = Output::default();
        let mut place = LinePosition::default();
        // Most lines are rows of a client.
        output.client.intervals.reserve(lines.iter().len());
        lines.iter().for_each(|line| output.take(line.trim_start(), &mut place));
        output.drop_cut_row();
        output.settle();
        output
    }

    fn take(&mut self, line: &'a str, place: &mut LinePosition) {
        if let Some(row) = IperfRow::from_line(line) {
            self.row(row, place);
            return;
        }
        if let Some(count) = disordered(line) {
            self.disordered = Some(self.disordered.unwrap_or_default().max(count));
            return;
        }
        if is_header(line) {
            place.finals |= place.ruled;
            self.resent |= line.contains("Retr");
            if line.contains("Datagrams") {
                self.transport = Some(Transport::Udp);
            }
        }
        place.ruled = line.starts_with("- - - -") || place.ruled && line.is_empty();
        if line.starts_with("Server output") {
            *place = LinePosition { server: true, ..LinePosition::default() };
        } else if line.starts_with("Server listening") || line.starts_with("Accepted connection") {
            place.server = true;
        } else if line.starts_with("Test Complete. Summary Results") {
            place.finals = true;
        }
        // 3.0-beta has a line for each end, and its rows below it.
        place.end = match line {
            "Sent" | "Total sent" => Some(true),
            "Received" | "Total received" => Some(false),
            _ => place.end,
        };
        self.done |= line.starts_with("iperf Done");
        self.out_of_order_lines += u64::from(is_out_of_order(line));
        self.sentence(line, place);
    }

    fn sentence(&mut self, line: &str, place: &LinePosition) {
        self.extra.take(line);
        let part = if place.server { &mut self.server } else { &mut self.client };
        if let Some(rest) = line.strip_prefix(CONNECTING) {
            self.host = rest.split_once(", port").map(|(host, _)| host.to_owned());
        } else if line.starts_with("Reverse mode, remote host") {
            self.reverse = true;
        } else if let Some(version) = line.strip_prefix("iperf 3.") {
            self.version = version.split_whitespace().next().map(|minor| format!("3.{minor}"));
        } else if let Some(mss) = mss(line) {
            self.asked_mss = !mss.contains("default");
            self.mss = mss.split_whitespace().next().and_then(|mss| mss.parse().ok());
        } else if let Some(rest) = line.strip_prefix("Starting Test: protocol: ") {
            self.starting(rest);
        } else if let Some(error) = line
            .strip_prefix("iperf3: error - ")
            .or_else(|| line.strip_prefix("iperf3: parameter error - "))
            .or_else(|| unknown_option(line))
        {
            self.failed = Some(Outcome::Failed { reason: error.trim_end_matches([':', ' ']).to_owned() });
        } else if line.starts_with("iperf3: interrupt") || is_terminated(line) {
            self.failed = Some(Outcome::Interrupted);
        } else if let Some(stream) = stream(line) {
            part.streams.push(stream);
        } else if let Some((_, count)) = line.strip_prefix('[').and_then(|line| line.split_once("] Sent ")) {
            part.sent = count.split_whitespace().next().and_then(|count| count.parse().ok());
        }
    }

    /// `UDP, 1 streams, 1460 byte blocks, omitting 0 seconds, 10 second test, tos 0`.
    fn starting(&mut self, rest: &str) {
        self.protocol =
            rest.split(',').next().filter(|name| !["TCP", "UDP"].contains(name)).map(str::to_owned);
        self.transport = Some(if rest.starts_with("UDP") { Transport::Udp } else { Transport::Tcp });
        for part in rest.split(", ") {
            let number = part.split_whitespace().find_map(|word| word.parse::<u64>().ok());
            match number {
                Some(bytes) if part.ends_with("byte blocks") => {
                    self.options.length = u32::try_from(bytes).ok()
                }
                Some(seconds) if part.starts_with("omitting") => self.options.omit = Some(seconds),
                Some(seconds) if part.ends_with("second test") => self.options.time = Some(seconds),
                Some(tos) if part.starts_with("tos") => self.options.tos = u8::try_from(tos).ok(),
                _ => {}
            }
        }
    }

    fn row(&mut self, mut row: IperfRow<'a>, place: &mut LinePosition) {
        row.sender = row.sender.or(place.end);
        if row.losses().is_some() {
            self.transport = Some(Transport::Udp);
        }
        let part = if place.server { &mut self.server } else { &mut self.client };
        place.ruled = false;
        if row.sender.is_some() || place.finals {
            part.finals.push(row);
        } else {
            part.intervals.push(row);
        }
    }

    /// The last row of an output that is cut off may lack its end: its figures are not known. Where no row has a count of
    /// retransmits, as when a terminal broke the lines, there is none.
    fn drop_cut_row(&mut self) {
        let receives = |row: &IperfRow<'_>| row.role.is_some_and(|role| role.starts_with("RX"));
        let parts = [&mut self.client, &mut self.server];
        let (mut counted, mut broken) = (false, false);
        for part in parts {
            // Each row of a summary over TCP ends with the end that it is of.
            broken |= part.finals.iter().any(|row| row.sender.is_none() && row.losses().is_none());
            let has_counts = part.intervals.iter().any(|row| row.count().is_some());
            counted |= has_counts || part.finals.iter().any(|row| row.count().is_some());
            let is_cut = |row: &IperfRow<'_>| {
                row.rate.is_none() || self.resent && has_counts && row.count().is_none() && !receives(row)
            };
            if part.finals.is_empty() && part.intervals.last().is_some_and(is_cut) {
                part.intervals.pop();
            }
        }
        self.resent &= counted && !broken;
    }

    /// Rows of a piece without any heading are the server's when its senders say they sent nothing: a server does not know.
    fn settle(&mut self) {
        let zero = |sender| {
            let mut rows = self.client.finals.iter().filter(move |row| row.sender == Some(sender)).peekable();
            rows.peek().is_some() && rows.all(|row| row.bytes.value == 0.0)
        };
        if self.host.is_none() && self.client.streams.is_empty() && zero(true) && !zero(false) {
            self.server = std::mem::take(&mut self.client);
        }
        self.disordered = self.disordered.or(Some(self.out_of_order_lines).filter(|lines| *lines > 0));
        self.settle_failure();
    }

    /// An error behind a summary is not of the test that the summary ends. A client that prints a summary without its last line was
    /// interrupted: of what the server counted it knows nothing.
    fn settle_failure(&mut self) {
        let both = |part: &Part<'_>| {
            part.finals.iter().any(|row| row.sender == Some(true))
                && part.finals.iter().any(|row| row.sender == Some(false))
                || part.finals.iter().any(|row| row.sender.is_none())
        };
        let is_server = !self.server.is_empty() && self.client.is_empty();
        let finished = self.done || is_server && !self.server.finals.is_empty() || both(&self.client);
        if let Some(Outcome::Failed { reason }) =
            self.failed.take_if(|failed| finished && *failed != Outcome::Interrupted)
        {
            self.late_error = Some(reason);
        }
        if is_server && finished {
            self.failed = None;
        }
        let last = self.client.finals.iter().map(|row| row.end).max().unwrap_or_default();
        let is_whole = last.0 % 1_000_000_000 == 0;
        if self.failed.is_none() && self.host.is_some() && finished && !self.done && !is_whole {
            self.failed = Some(Outcome::Interrupted);
        }
    }

    /// A server that was stopped while it waited.
    pub(super) fn is_idle(&self) -> bool {
        self.client.is_empty()
            && self.server.is_empty()
            && self.host.is_none()
            && self.failed == Some(Outcome::Interrupted)
    }
}

/// Where in the output a line stands.
#[derive(Clone, Copy, Debug, Default)]
struct LinePosition {
    server: bool,
    /// The line before was a rule.
    ruled: bool,
    /// Rows are final from here on.
    finals: bool,
    /// Rows are of the end that sent (true) or received, from here on.
    end: Option<bool>,
}

impl<'a> Part<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.intervals.is_empty() && self.finals.is_empty()
    }

    /// The rows of single streams; where there are sums alone, these.
    pub(super) fn single<'b>(rows: &'b [IperfRow<'a>]) -> Vec<&'b IperfRow<'a>> {
        let single: Vec<&IperfRow<'a>> = rows.iter().filter(|row| row.id != Id::Sum).collect();
        if single.is_empty() { rows.iter().collect() } else { single }
    }
}

/// `iperf3: unrecognized option '--bandwith'`, as getopt prints it.
fn unknown_option(line: &str) -> Option<&str> {
    let reason = line.strip_prefix("iperf3: ")?;
    let starts = [
        "unrecognized option ",
        "invalid option ",
        "option requires an argument ",
        "option '",
        "unrecognised option ",
    ];
    starts.iter().any(|start| reason.starts_with(start)).then_some(reason)
}

/// The size of segments, as `-V` prints it.
fn mss(line: &str) -> Option<&str> {
    // Few lines have the short word, which is found fastest.
    let line = Some(line).filter(|line| line.contains("MSS"))?;
    line.split_once("TCP MSS: ").map(|(_, mss)| mss)
}

/// `[SUM]  0.0- 2.0 sec  12 datagrams received out-of-order`.
fn disordered(line: &str) -> Option<u64> {
    line.strip_prefix('[')?;
    // Few lines have the short words, which are found fastest.
    let line = Some(line).filter(|line| line.contains("-of-"))?;
    let (before, _) = line.split_once(" datagrams received out-of-order")?;
    before.split_whitespace().next_back()?.parse().ok()
}

/// A server's line about a datagram that arrived after later ones.
fn is_out_of_order(line: &str) -> bool {
    // Few lines have the short word, which is found fastest.
    line.contains("ORDER") && line.contains("OUT OF ORDER - incoming packet")
}

/// `iperf3: error - the client has terminated`.
fn is_terminated(line: &str) -> bool {
    line.contains("client h") && line.contains("the client has terminated")
}

/// `iperf 3.12`, with which `-V` begins.
pub(super) fn is_version(line: &str) -> bool {
    line.strip_prefix("iperf 3.").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// A line with which an output begins.
pub(super) fn begins(line: &str) -> bool {
    line.starts_with(CONNECTING) && line.contains(", port ")
        || line.starts_with("Accepted connection from ") && line.contains(", port ")
        || line.starts_with("Server listening on ") && !line.contains("port")
        || is_version(line)
}

/// A line of columns; a web page may have made one blank of several.
pub(super) fn is_header(line: &str) -> bool {
    let Some(columns) = line.strip_prefix("[ ID]") else { return false };
    // Nearly every header has these blanks, and they are found fastest at its begin.
    if columns.starts_with(INTERVAL) {
        return true;
    }
    let mut columns = columns.trim_start_matches("[Role]").split_whitespace();
    let [first, second, rate, next] = std::array::from_fn(|_| columns.next());
    let is_own = match rate {
        Some("Bitrate") => true,
        Some("Bandwidth") => matches!(next, Some("Retr" | "Total")),
        _ => false,
    };
    line.contains(INTERVAL.trim_start()) || (first, second) == (Some("Interval"), Some("Transfer")) && is_own
}

/// A line that belongs to an output and to nothing else.
pub(super) fn is_part(line: &str) -> bool {
    let starts = [
        "Server output",
        "iperf Done",
        "- - - -",
        "Test Complete",
        "CPU Utilization",
        "snd_tcp_congestion",
        "rcv_tcp_congestion",
        "iperf3: ",
        "OUT OF ORDER - incoming packet",
        "Reverse mode",
        "Starting Test",
        "Control connection MSS",
        "Time: ",
        "      Cookie",
        "      TCP MSS",
        "-----",
        "Cookie",
        "TCP MSS",
        "Linux ",
    ];
    is_header(line)
        || starts.iter().any(|start| line.starts_with(start))
        || disordered(line).is_some()
        || line.starts_with('[') && (line.contains("] Sent ") || line.contains(" connected to "))
}

/// `[  5] local 10.0.0.1 port 5201 connected to 10.0.0.2 port 40000`.
fn stream(line: &str) -> Option<(u32, SocketAddr, SocketAddr)> {
    let (id, rest) = line.strip_prefix('[')?.split_once("] local ")?;
    let (local, remote) = rest.split_once(" connected to ")?;
    let address = |text: &str| {
        let (address, port) = text.split_once(" port ")?;
        Some(SocketAddr::new(address.trim().parse().ok()?, port.split_whitespace().next()?.parse().ok()?))
    };
    Some((id.trim().parse().ok()?, address(local)?, address(remote)?))
}

/// The begin of a header behind its id.
const INTERVAL: &str = " Interval           Transfer";
/// The begin of a client's heading.
pub(super) const CONNECTING: &str = "Connecting to host ";
