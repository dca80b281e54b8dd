//! The block between two lines that an end prints first: what it will do.

use super::units::one;
use super::{Iperf2Options, Iperf2Role};
use model::plan::Transport;
use model::units::Bytes;

/// What the block says.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf2Settings {
    /// TCP or UDP.
    pub transport: Transport,
    /// The server as it was typed (client).
    pub host: String,
    /// Port listened on or connected to.
    pub port: u16,
    /// Process id.
    pub pid: u32,
    /// `-P`.
    pub flows: u32,
    /// Bytes of one write, datagram or read.
    pub length: u32,
    /// What the socket's buffer is.
    pub window: Bytes,
    /// What `-w` asked for.
    pub window_asked: Option<Bytes>,
    /// `-B`: the local address (server).
    pub bind: Option<String>,
    /// `-M`.
    pub mss: Option<u32>,
    /// `-Z`.
    pub congestion: Option<String>,
    /// `-S`.
    pub tos: u8,
    /// `-N`.
    pub nodelay: bool,
    /// How a client spreads what it sends.
    pub pace: Pace,
}

/// How a client spreads what it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// TCP: as fast as it goes, or at `-b`.
    #[default]
    None,
    /// UDP: a datagram every so many microseconds.
    Gap(f64),
    /// `--isochronous`: frames a second; mean and deviation of their rate, bits a second; the gap in a frame, seconds.
    Frames(f64, f64, f64, f64),
    /// `--burst-period`: bytes, seconds.
    Bursts(u64, f64),
    /// `--bounceback`: bytes of a request, requests in a row, seconds; microseconds the server is to hold them.
    Bounce(u32, u32, f64, u32),
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
        format!("{line}\n{}\n{}\n{line}\n", lines.join("\n"), self.window(options))
    }

    fn server(&self, options: &Iperf2Options) -> Vec<String> {
        let pid = if options.enhanced { format!(" with pid {}", self.pid) } else { String::new() };
        let mut lines = vec![format!("Server listening on {} port {}{pid}", self.transport, self.port)];
        if options.enhanced {
            let bind = self.bind.as_ref().map(|bind| format!("Binding to local address {bind}"));
            lines.extend(bind);
            let letter = options.unit.unwrap_or('A').to_ascii_uppercase();
            let (buffer, bin) = (one(self.length.into(), letter), one(f64::from(self.length / 8), 'A'));
            lines.push(format!("Read buffer size: {buffer} (Dist bin width={bin})"));
        }
        lines.extend(self.congestion_line());
        lines.extend(self.mss.map(mss_line));
        if self.tos > 0 {
            lines.push(format!("TOS will be set to 0x{:x}", self.tos));
        }
        lines
    }

    fn client(&self, options: &Iperf2Options) -> Vec<String> {
        let host = if options.hide_ips { "(**hidden**)" } else { &self.host };
        let pid = match options.enhanced {
            true => format!(" with pid {} ({} flows)", self.pid, self.flows),
            false => String::new(),
        };
        let mut lines =
            vec![format!("Client connecting to {host}, {} port {}{pid}", self.transport, self.port)];
        let tcp = self.transport == Transport::Tcp;
        if options.enhanced && tcp {
            lines.push(format!("Write buffer size: {}", one(self.length.into(), 'B')));
        }
        lines.extend(self.pace_lines());
        lines.extend(self.mss.map(mss_line));
        lines.extend(self.congestion_line());
        if options.enhanced {
            let nagle = if self.nodelay { "and nodelay (Nagle off)" } else { "(Nagle on)" };
            lines.push(format!("TOS set to 0x{:x} {nagle}", self.tos));
        }
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
                one(mean / 8.0, 'a'),
                one(deviation / 8.0, 'a'),
                1e3 / rate,
                gap * 1e3
            )],
            Pace::Bursts(bytes, period) => {
                vec![format!("Bursting: {} every {period:.2} second(s)", one(bytes as f64, 'A'))]
            }
            Pace::Bounce(size, count, period, hold) => {
                let size = one(size.into(), 'A');
                vec![
                    format!("Bursting: {size} writes {count} times every {period:.2} second(s)"),
                    format!("Bounce-back test (size={size}) (server hold req={hold} usecs & tcp_quickack)"),
                ]
            }
        }
    }

    fn congestion_line(&self) -> Option<String> {
        self.congestion.as_ref().map(|name| format!("TCP congestion control set to {name}"))
    }

    fn window(&self, options: &Iperf2Options) -> String {
        let name = if self.transport == Transport::Udp { "UDP buffer size" } else { "TCP window size" };
        let size = one(self.window.0 as f64, 'A');
        let remark = match self.window_asked {
            None => " (default)".to_owned(),
            Some(asked) if asked != self.window => {
                let letter = options.unit.unwrap_or('A').to_ascii_uppercase();
                format!(" (WARNING: requested {})", one(asked.0 as f64, letter))
            }
            Some(_) => String::new(),
        };
        format!("{name}: {size}{remark}")
    }
}

fn mss_line(mss: u32) -> String {
    format!("MSS req size {mss} bytes (per TCP_MAXSEG)")
}
