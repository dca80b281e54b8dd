//! The block between two lines that an end prints first: what it will do.

use super::units::amount_in_unit;
use super::{Iperf2Options, Iperf2Role};
use engine::work::iperf2::Timing;
use model::plan::{TestSpec, Transport};
use model::stats::bins::BinShape;
use model::units::{Bytes, Nanos};
use std::net::IpAddr;

/// The content of the block of settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf2Settings {
    /// The test: a server has the transport, `-w`, `-M`, `-Z` and `-S` of it.
    pub test: TestSpec,
    /// The server as it was typed (client).
    pub host: String,
    /// Port listened on or connected to.
    pub port: u16,
    /// The last port of a server that listens on several.
    pub last_port: Option<u16>,
    /// Process id.
    pub pid: u32,
    /// Bytes of one write, datagram or read.
    pub length: u32,
    /// Size of the socket's buffer.
    pub window: Bytes,
    /// `-B`: the local address (server).
    pub bind: Option<String>,
    /// How a client spreads what it sends.
    pub pace: Pace,
    /// Timed settings beside those of every test; writes and the part of the RTT are a client's, jitter is a server's.
    pub timed: Timing,
}

/// How a client spreads what it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// TCP: as fast as it goes, or at `-b`.
    #[default]
    None,
    /// UDP: a datagram every so many microseconds.
    Gap(f64),
    /// `--isochronous`: frames/s; mean and deviation of their rate, bits/s; the gap in a frame, seconds.
    Frames(f64, f64, f64, f64),
    /// `--burst-period`: bytes, seconds.
    Bursts(u64, f64),
    /// `--bounceback`.
    Bounce(Bounceback),
}

/// `--bounceback` and what goes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounceback {
    /// Requests in a row.
    pub count: u32,
    /// Seconds between the rows.
    pub period: f64,
    /// Microseconds that the server is to hold a request.
    pub hold: u32,
    /// The server is to acknowledge at once.
    pub quick_ack: bool,
    /// Bytes of a reply, where they are not those of a request.
    pub reply: Option<u32>,
    /// The round trips begin so long after the working load.
    pub delay: Nanos,
    /// Both clocks are right: one-way delays in both directions are printed, too (`--trip-times`).
    pub trip_times: bool,
}

impl Default for Bounceback {
    fn default() -> Bounceback {
        Bounceback {
            count: 10,
            period: 1.0,
            hold: 0,
            quick_ack: true,
            reply: None,
            delay: Nanos::ZERO,
            trip_times: false,
        }
    }
}

impl Iperf2Settings {
    /// The block; nothing when settings are not to be printed.
    #[must_use]
    pub fn text(&self, options: &Iperf2Options) -> String {
        if options.exclude.settings || options.csv {
            return String::new();
        }
        let lines = match options.role {
            Iperf2Role::Client => self.client(options),
            Iperf2Role::Server => self.server(options),
        };
        let line = "-".repeat(60);
        let behind = self.behind_window(options.role);
        format!("{line}\n{}\n{}\n{behind}{line}\n", lines.join("\n"), self.window(options))
    }

    /// The last line of a client's settings: the bins of its writes, or of its round trips.
    fn behind_window(&self, role: Iperf2Role) -> String {
        let Some(shape) = self.timed.delays.filter(|_| role == Iperf2Role::Client) else {
            return String::new();
        };
        match self.pace {
            Pace::Bounce(_) => format!("Set bounceback histograms to {}\n", bins(shape)),
            _ => format!("Enabled write histograms {}\n", bins(shape)),
        }
    }

    fn server(&self, options: &Iperf2Options) -> Vec<String> {
        let pid = if options.enhanced { format!(" with pid {}", self.pid) } else { String::new() };
        let ports = match self.last_port {
            Some(last) => format!("ports {}-{last}", self.port),
            None => format!("port {}", self.port),
        };
        let mut lines = vec![format!("Server listening on {} {ports}{pid}", self.test.transport)];
        if options.enhanced {
            let is_group = |bind: &str| bind.parse().is_ok_and(|address: IpAddr| address.is_multicast());
            let bind = self.bind.as_ref().map(|bind| match is_group(bind) {
                true => format!("Joining multicast group  {bind}"),
                false => format!("Binding to local address {bind}"),
            });
            lines.extend(bind);
            let letter = options.unit.unwrap_or('A').to_ascii_uppercase();
            let (buffer, bin) =
                (amount_in_unit(self.length.into(), letter), amount_in_unit(f64::from(self.length / 8), 'A'));
            lines.push(format!("Read buffer size: {buffer} (Dist bin width={bin})"));
        }
        lines.extend(self.congestion_line());
        lines.extend(self.test.mss.map(mss_line));
        if self.test.tos > 0 {
            lines.push(format!("TOS will be set to 0x{:x}", self.test.tos));
        }
        let receive =
            |shape| format!("Enabled receive histograms {} (clients should use --trip-times)", bins(shape));
        let jitter =
            |shape: BinShape| format!("Enabled jitter histograms (bin-width={} us)", shape.width.0 / 1000);
        lines.extend(self.timed.delays.map(receive));
        lines.extend(self.timed.jitter.map(jitter));
        lines
    }

    fn client(&self, options: &Iperf2Options) -> Vec<String> {
        let host = if options.hide_ips { "(**hidden**)" } else { &self.host };
        let pid = match options.enhanced {
            true => format!(" with pid {} ({} flows)", self.pid, self.test.streams),
            false => String::new(),
        };
        let mut lines =
            vec![format!("Client connecting to {host}, {} port {}{pid}", self.test.transport, self.port)];
        let tcp = self.test.transport == Transport::Tcp;
        if (options.enhanced || self.timed.rtt_part.is_some()) && tcp {
            let timer = if self.timed.writes { " (write timer enabled)" } else { "" };
            lines.push(format!("Write buffer size: {}{timer}", amount_in_unit(self.length.into(), 'B')));
        }
        lines.extend(self.pace_lines());
        lines.extend(self.test.mss.map(mss_line));
        lines.extend(self.congestion_line());
        if options.enhanced {
            let nagle = if self.test.nodelay { "and nodelay (Nagle off)" } else { "(Nagle on)" };
            lines.push(format!("TOS set to 0x{:x} {nagle}", self.test.tos));
        }
        lines.extend(self.timed.rtt_part.map(near_line));
        if let Pace::Gap(micros) = self.pace {
            lines.push(format!("Sending {} byte datagrams, IPG target: {micros:.2} us", self.length));
        }
        lines
    }

    fn pace_lines(&self) -> Vec<String> {
        match self.pace {
            Pace::None | Pace::Gap(_) => Vec::new(),
            Pace::Frames(rate, mean, deviation, gap) => vec![format!(
                "Isochronous: {rate:.2} frames/sec mean={}/s, stddev={}/s, Period/IPG={:.2}/{:.3} ms",
                amount_in_unit(mean / 8.0, 'a'),
                amount_in_unit(deviation / 8.0, 'a'),
                1e3 / rate,
                gap * 1e3
            )],
            Pace::Bursts(bytes, period) => {
                vec![format!("Bursting: {} every {period:.2} second(s)", amount_in_unit(bytes as f64, 'A'))]
            }
            Pace::Bounce(Bounceback { reply, count, period, hold, quick_ack, .. }) => {
                let size = amount_in_unit(self.length.into(), 'A');
                // Only 2.2 knows replies with a size of their own; the text is its text.
                let what = match reply {
                    Some(reply) => {
                        format!(
                            "Bounceback test (req/reply size ={size}/{})",
                            amount_in_unit(reply.into(), 'A')
                        )
                    }
                    None => format!("Bounce-back test (size={size})"),
                };
                let ack = if quick_ack { " & tcp_quickack" } else { "" };
                vec![
                    format!("Bursting: {size} writes {count} times every {period:.2} second(s)"),
                    format!("{what} (server hold req={hold} usecs{ack})"),
                ]
            }
        }
    }

    fn congestion_line(&self) -> Option<String> {
        self.test.congestion.as_ref().map(|name| format!("TCP congestion control set to {name}"))
    }

    fn window(&self, options: &Iperf2Options) -> String {
        let name = if self.test.transport == Transport::Udp { "UDP buffer size" } else { "TCP window size" };
        let size = amount_in_unit(self.window.0 as f64, 'A');
        let remark = match self.test.window.map(|asked| Bytes(asked.into())) {
            None => " (default)".to_owned(),
            Some(asked) if asked != self.window => {
                let letter = options.unit.unwrap_or('A').to_ascii_uppercase();
                format!(" (WARNING: requested {})", amount_in_unit(asked.0 as f64, letter))
            }
            Some(_) => String::new(),
        };
        format!("{name}: {size}{remark}")
    }
}

fn near_line(part: f64) -> String {
    let hint = if part == HALF { " (use --near-congestion=<value> to change)" } else { "" };
    format!("TCP near-congestion delay weight set to {part:2.4}{hint}")
}

/// `bin-width=0.100 ms, bins=100000`.
fn bins(shape: BinShape) -> String {
    format!("bin-width={:.3} ms, bins={}", shape.width.0 as f64 / 1e6, shape.count)
}

fn mss_line(mss: u32) -> String {
    format!("MSS req size {mss} bytes (per TCP_MAXSEG)")
}

/// The part of the RTT where none is given.
const HALF: f64 = 0.5;
