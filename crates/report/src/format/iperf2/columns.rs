//! What stands behind the bandwidth, and the line that names it.

use super::delay_millis;
use super::units::{net_power, one, unit};
use crate::format::units::two_digits;
use model::detail::{DelaySpread, FlowDetail};
use model::sample::{TcpCounters, UdpCounters};

/// The columns of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// Nothing more.
    Plain,
    /// UDP received.
    Losses,
    /// `-e`, TCP sent.
    Writes,
    /// `-e`, TCP received.
    Reads,
    /// `-e`, TCP received with `--trip-times`.
    Bursts,
    /// `-e`, UDP sent.
    Packets,
    /// `-e`, UDP received.
    Delays,
    /// `-e`, UDP both directions on one socket together.
    Datagrams,
}

/// What a row tells.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// Seconds.
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) bytes: u64,
    pub(super) tcp: Option<TcpCounters>,
    pub(super) udp: Option<UdpCounters>,
    pub(super) detail: Option<FlowDetail>,
}

impl Columns {
    /// The heading over rows of streams.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Columns::Plain => "[ ID] Interval       Transfer     Bandwidth",
            Columns::Losses => {
                "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams"
            }
            Columns::Writes => {
                "[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr"
            }
            Columns::Reads => "[ ID] Interval            Transfer    Bandwidth       Reads=Dist",
            Columns::Bursts => {
                "[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads=Dist"
            }
            Columns::Packets => "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS",
            Columns::Delays => {
                "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr"
            }
            Columns::Datagrams => "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS",
        }
    }

    /// The heading over rows that are sums alone (`--sum-only`).
    pub(super) fn sum_heading(self) -> &'static str {
        match self {
            Columns::Plain => "[SUM-cnt] Interval       Transfer     Bandwidth",
            Columns::Losses | Columns::Delays => {
                "[SUM-cnt] Interval     Transfer     Bandwidth       Lost/Total    PPS"
            }
            Columns::Writes => "[SUM-cnt] Interval            Transfer    Bandwidth       Write/Err  Rtry",
            Columns::Reads | Columns::Bursts => {
                "[SUM-cnt] Interval            Transfer    Bandwidth       Reads=Dist"
            }
            Columns::Packets => "[SUM-cnt] Interval            Transfer     Bandwidth      Write/Err  PPS",
            Columns::Datagrams => "[SUM-cnt] Interval       Transfer     Bandwidth    Datagrams   PPS",
        }
    }

    /// Which heading stands over a sum among other rows: iPerf2 has none of its own for UDP received.
    pub(super) fn over_sum(self) -> Columns {
        match self {
            Columns::Losses => Columns::Plain,
            Columns::Delays => Columns::Packets,
            Columns::Bursts => Columns::Reads,
            other => other,
        }
    }

    /// The columns of one stream.
    pub(super) fn row(self, figures: &Figures) -> String {
        let udp = figures.udp.clone().unwrap_or_default();
        match self {
            Columns::Plain => String::new(),
            Columns::Losses => losses(&udp),
            Columns::Writes => figures.writes(),
            Columns::Reads => figures.reads(),
            Columns::Bursts => figures.bursts(),
            Columns::Packets => figures.packets(udp.datagrams, udp.send_drops),
            Columns::Delays => format!("{} {}", losses(&udp), figures.delays(&udp)),
            Columns::Datagrams => format!(" {}{:8.0} pps", udp.datagrams, figures.rate(udp.datagrams)),
        }
    }

    /// The columns of a sum of several streams.
    pub(super) fn sum(self, figures: &Figures, alone: bool) -> String {
        let udp = figures.udp.clone().unwrap_or_default();
        let total = udp.datagrams + udp.lost;
        match self {
            Columns::Losses if !alone => {
                format!("   {}/{total} ({}%)", udp.lost, two_digits(percent(udp.lost, total)))
            }
            Columns::Losses | Columns::Delays => {
                format!("  {}/{total} {:8.0} pps", udp.lost, figures.rate(udp.datagrams))
            }
            Columns::Writes => {
                let retries = figures.tcp.as_ref().map_or(0, |tcp| tcp.retransmits);
                format!("  {}{retries:10}", figures.calls())
            }
            Columns::Bursts => figures.reads(),
            other => other.row(figures),
        }
    }
}

impl Figures {
    /// `0.0000-1.0000 sec  2.72 GBytes  23.3 Gbits/sec`.
    pub(super) fn front(&self, letter: char) -> String {
        let bytes = self.bytes as f64;
        let amount = unit(bytes, letter.to_ascii_uppercase());
        let per_second = if self.seconds() > 0.0 { bytes / self.seconds() } else { 0.0 };
        let rate = unit(per_second, letter);
        format!("{:4.4}-{:4.4} sec  {amount}  {rate}/sec", self.start, self.end)
    }

    pub(super) fn seconds(&self) -> f64 {
        (self.end - self.start).max(0.0)
    }

    fn rate(&self, count: u64) -> f64 {
        if self.seconds() > 0.0 { count as f64 / self.seconds() } else { 0.0 }
    }

    /// Writes, and those that failed: an end tells of no failure without ending.
    fn calls(&self) -> String {
        self.detail.as_ref().map_or_else(|| "-/-".into(), |detail| format!("{}/0", detail.calls))
    }

    fn writes(&self) -> String {
        let tcp = self.tcp.clone().unwrap_or_default();
        let micros = tcp.rtt.0 / 1000;
        let power = net_power(self.bytes, self.seconds(), tcp.rtt.as_secs_f64());
        let window = match tcp.cwnd.0 {
            0 => format!("{:>9}/{micros} us", "NA"),
            cwnd => format!("{:8}K/{micros}({}) us", cwnd / 1024, tcp.rttvar.0 / 1000),
        };
        format!("  {} {:10} {window}  {power}", self.calls(), tcp.retransmits)
    }

    fn reads(&self) -> String {
        let Some(detail) = &self.detail else { return String::new() };
        let bins: Vec<String> = detail.reads.iter().map(u64::to_string).collect();
        format!("  {}={}", detail.calls, bins.join(":"))
    }

    fn bursts(&self) -> String {
        let bursts = self.detail.as_ref().and_then(|detail| Some((detail.bursts?, detail.burst_bytes)));
        let Some((bursts, bytes)) = bursts.filter(|(bursts, _)| bursts.count > 0) else {
            return self.reads();
        };
        let delay = bursts.mean / 1e9;
        let queued =
            one(if self.seconds() > 0.0 { self.bytes as f64 / self.seconds() * delay } else { 0.0 }, 'A');
        format!(
            "  {} ms ({}/{}) {queued} {}{}",
            delay_millis(&bursts),
            bursts.count,
            bytes / bursts.count,
            net_power(self.bytes, self.seconds(), delay),
            self.reads()
        )
    }

    fn packets(&self, sent: u64, failed: u64) -> String {
        format!("  {sent}/{failed} {:8.0} pps", self.rate(sent))
    }

    fn delays(&self, udp: &UdpCounters) -> String {
        let rate = self.rate(udp.datagrams);
        let known = |delay: &DelaySpread| delay.count > 0 && (-UNREAL..UNREAL).contains(&delay.min);
        match self.detail.as_ref().and_then(|detail| detail.delay).filter(known) {
            None => format!("-/-/-/- ms {rate:.0} pps"),
            Some(delay) => format!(
                "{} ms {rate:.0} pps {}/{:.0}({:.0}) pkts {}",
                delay_millis(&delay),
                udp.datagrams,
                rate * delay.mean / 1e9,
                rate * delay.stddev.unwrap_or_default() / 1e9,
                net_power(self.bytes, self.seconds(), delay.mean / 1e9)
            ),
        }
    }
}

/// `   0.000 ms 0/893 (0%)`.
fn losses(udp: &UdpCounters) -> String {
    let (lost, total) = (udp.lost, udp.datagrams + udp.lost);
    let share = two_digits(percent(lost, total));
    format!("  {:6.3} ms {lost}/{total} ({share}%)", udp.jitter.0 as f64 / 1e6)
}

pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 }
}

/// A delay of a minute is none: the clocks are not set by one another.
const UNREAL: f64 = 60e9;
