//! The columns behind the bandwidth, and their heading.

use super::units::{amount_in_unit, net_power, unit};
use crate::units::{percent, two_digits};
use engine::work::observer::{Detail, FrameCount, Spread};
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
    /// `-e`, TCP sent in frames.
    Frames,
    /// `-e`, TCP sent, with the times of writes.
    WriteTimes,
    /// `-e`, TCP received in frames, with `--trip-times`.
    FrameDelays,
    /// TCP received in bursts, each a row; of the whole time.
    SingleBursts,
    /// `-e`, UDP sent.
    Packets,
    /// `-e`, UDP sent in frames.
    FramePackets,
    /// `-e`, UDP received.
    Delays,
    /// `-e`, UDP received in frames, with `--trip-times`.
    FrameLosses,
    /// `-e`, UDP both directions on one socket together.
    Datagrams,
}

/// The figures of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// Seconds.
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) bytes: u64,
    pub(super) tcp: Option<TcpCounters>,
    pub(super) udp: Option<UdpCounters>,
    pub(super) detail: Option<Detail>,
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
            Columns::Frames => {
                "[ ID] Interval            Transfer     Bandwidth      Write/Err  Rtry     Cwnd/RTT     isoch:tx/miss/slip  NetPwr"
            }
            Columns::WriteTimes => {
                "[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr  write-times avg/min/max/stdev (cnt)"
            }
            Columns::FrameDelays => {
                "[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) NetPwr  Reads=Dist"
            }
            Columns::SingleBursts => {
                "[ ID] Burst (start-end)  Transfer     Bandwidth       XferTime  (DC%)     Reads=Dist          NetPwr"
            }
            Columns::Packets => "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS",
            Columns::FramePackets => {
                "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS  isoch:tx/miss/slip"
            }
            Columns::FrameLosses => {
                "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total Latency avg/min/max/stdev  PPS  Frame:rx/lost  latency  NetPwr"
            }
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
            Columns::Losses | Columns::Delays | Columns::FrameLosses => {
                "[SUM-cnt] Interval     Transfer     Bandwidth       Lost/Total    PPS"
            }
            Columns::Writes | Columns::Frames | Columns::WriteTimes => {
                "[SUM-cnt] Interval            Transfer    Bandwidth       Write/Err  Rtry"
            }
            Columns::Reads | Columns::Bursts | Columns::FrameDelays | Columns::SingleBursts => {
                "[SUM-cnt] Interval            Transfer    Bandwidth       Reads=Dist"
            }
            Columns::Packets | Columns::FramePackets => {
                "[SUM-cnt] Interval            Transfer     Bandwidth      Write/Err  PPS"
            }
            Columns::Datagrams => "[SUM-cnt] Interval       Transfer     Bandwidth    Datagrams   PPS",
        }
    }

    /// Which heading stands over a sum among other rows: iPerf2 has none of its own for UDP received.
    pub(super) fn over_sum(self) -> Columns {
        match self {
            Columns::Losses => Columns::Plain,
            Columns::Delays | Columns::FrameLosses | Columns::FramePackets => Columns::Packets,
            Columns::Frames | Columns::WriteTimes => Columns::Writes,
            Columns::Bursts | Columns::FrameDelays | Columns::SingleBursts => Columns::Reads,
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
            Columns::Bursts => figures.bursts(true),
            Columns::FrameDelays => figures.bursts(false),
            Columns::Frames => figures.frames(),
            Columns::WriteTimes => figures.write_times(),
            Columns::SingleBursts => figures.all_bursts(),
            Columns::FramePackets => figures.frame_packets(udp.datagrams, udp.send_drops),
            Columns::FrameLosses => format!("{} {}", losses(&udp), figures.frame_delays(&udp)),
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
            Columns::Losses | Columns::Delays | Columns::FrameLosses => {
                format!("  {}/{total} {:8.0} pps", udp.lost, figures.rate(udp.datagrams))
            }
            Columns::Writes | Columns::Frames | Columns::WriteTimes => {
                let retries = figures.tcp.as_ref().map_or(0, |tcp| tcp.retransmits);
                format!("  {}{retries:10}", figures.calls())
            }
            Columns::Bursts | Columns::FrameDelays | Columns::SingleBursts => figures.reads(),
            Columns::FramePackets => Columns::Packets.row(figures),
            other => other.row(figures),
        }
    }
}

impl Figures {
    /// `0.0000-1.0000 sec  2.72 GBytes  23.3 Gbits/sec`.
    pub(super) fn front(&self, letter: char) -> String {
        let amount = unit(self.bytes as f64, letter.to_ascii_uppercase());
        let rate = unit(self.rate(self.bytes), letter);
        format!("{:4.4}-{:4.4} sec  {amount}  {rate}/sec", self.start, self.end)
    }

    pub(super) fn seconds(&self) -> f64 {
        (self.end - self.start).max(0.0)
    }

    fn rate(&self, count: u64) -> f64 {
        if self.seconds() > 0.0 { count as f64 / self.seconds() } else { 0.0 }
    }

    /// Writes, and those that failed: an end reports no failure without ending.
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

    /// The delays of bursts. `queued`: with the bytes that were in flight.
    fn bursts(&self, queued: bool) -> String {
        let known = self.detail.as_ref().and_then(|detail| Some((detail.bursts?, detail.burst_bytes)));
        let (bursts, bytes) = known.unwrap_or((NO_TIMES, 0));
        let delay = bursts.mean / 1e9;
        let in_flight = self.rate(self.bytes) * delay;
        let queued = if queued { format!(" {}", amount_in_unit(in_flight, 'A')) } else { String::new() };
        format!(
            "  {} ms ({}/{}){queued} {}{}",
            millis(&bursts),
            bursts.count,
            bytes.checked_div(bursts.count).unwrap_or(0),
            net_power(self.bytes, self.seconds(), delay),
            self.reads()
        )
    }

    /// The delays of single bursts, over the whole time.
    fn all_bursts(&self) -> String {
        let bursts = self.detail.as_ref().and_then(|detail| detail.bursts).unwrap_or(NO_TIMES);
        format!("  {} ms{}", millis(&bursts), self.reads())
    }

    /// Frames sent, passed over, and how often.
    fn frame_counts(&self) -> (u64, String) {
        let frames = self.detail.as_ref().and_then(|detail| detail.frames);
        let FrameCount { moved, missed, slips } = frames.unwrap_or_default();
        (moved, format!("{missed}/{slips}"))
    }

    fn frames(&self) -> String {
        let tcp = self.tcp.clone().unwrap_or_default();
        let micros = tcp.rtt.0 / 1000;
        let power = net_power(self.bytes, self.seconds(), tcp.rtt.as_secs_f64());
        let (moved, rest) = self.frame_counts();
        let calls = self.calls();
        match tcp.cwnd.0 {
            0 => {
                format!("  {calls} {:10}    NA/{micros} us  {moved:9}/{rest} {power}", tcp.retransmits)
            }
            cwnd => format!(
                "  {calls} {:8} {:8}K/{micros} us  {moved:9}/{rest}        {power}",
                tcp.retransmits,
                cwnd / 1024
            ),
        }
    }

    fn write_times(&self) -> String {
        let writes = self.detail.as_ref().and_then(|detail| detail.writes).unwrap_or(NO_TIMES);
        format!("{}  {} ms ({})", self.writes(), millis(&writes), writes.count)
    }

    fn frame_packets(&self, sent: u64, failed: u64) -> String {
        let (moved, rest) = self.frame_counts();
        format!("{}  {moved:3}/{rest}", self.packets(sent, failed))
    }

    fn packets(&self, sent: u64, failed: u64) -> String {
        format!("  {sent}/{failed} {:8.0} pps", self.rate(sent))
    }

    fn frame_delays(&self, udp: &UdpCounters) -> String {
        let rate = self.rate(udp.datagrams);
        let detail = self.detail.clone().unwrap_or_default();
        let Some(delay) = detail.delay.filter(is_real) else {
            return format!("-/-/-/- ms {rate:.0} pps");
        };
        let FrameCount { moved, missed, .. } = detail.frames.unwrap_or_default();
        format!(
            "{} ms {rate:.0} pps  {moved:3}/{missed}  {} ms {}",
            millis(&delay),
            millis(&detail.bursts.unwrap_or(NO_TIMES)),
            net_power(self.bytes, self.seconds(), delay.mean / 1e9)
        )
    }

    fn delays(&self, udp: &UdpCounters) -> String {
        let rate = self.rate(udp.datagrams);
        match self.detail.as_ref().and_then(|detail| detail.delay).filter(is_real) {
            None => format!("-/-/-/- ms {rate:.0} pps"),
            Some(delay) => format!(
                "{} ms {rate:.0} pps {}/{:.0}({:.0}) pkts {}",
                millis(&delay),
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

/// `0.081/0.016/4.237/0.176`, milliseconds.
fn millis(times: &Spread) -> String {
    let millis = |nanos: f64| format!("{:.3}", nanos / 1e6);
    let stddev = times.stddev.map_or_else(|| "-".into(), millis);
    format!("{}/{}/{}/{stddev}", millis(times.mean), millis(times.min as f64), millis(times.max as f64))
}

/// Is there a delay, of clocks that agree?
fn is_real(delay: &Spread) -> bool {
    delay.count > 0 && (-UNREAL..UNREAL).contains(&delay.min)
}

/// The row of one burst, behind its bandwidth. `rate`: bursts a second.
pub(super) fn single_burst(figures: &Figures, rate: f64) -> String {
    let taken = figures.seconds();
    let share = two_digits(100.0 * taken * rate);
    let power = net_power(figures.bytes, taken, taken);
    format!("  {:6.3} ms ({share}%)  {}  {power}", taken * 1e3, figures.reads())
}

/// A delay of a minute is none: the clocks are not set by one another.
const UNREAL: i64 = 60_000_000_000;
const NO_TIMES: Spread = Spread { count: 0, min: 0, mean: 0.0, max: 0, stddev: Some(0.0) };

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::{Bytes, Nanos};

    fn figures(detail: Detail) -> Figures {
        Figures { start: 0.0, end: 1.0, bytes: 626_000, detail: Some(detail), ..Figures::default() }
    }

    fn spread(count: u64, millis: [f64; 4]) -> Option<Spread> {
        let [mean, min, max, stddev] = millis.map(|millis| millis * 1e6);
        Some(Spread { count, min: min as i64, mean, max: max as i64, stddev: Some(stddev) })
    }

    fn tcp() -> Option<TcpCounters> {
        let (cwnd, rtt, rttvar) = (Bytes(326_656), Nanos::from_micros(23), Nanos::from_micros(11));
        Some(TcpCounters { retransmits: 2, cwnd, rtt, rttvar, ..TcpCounters::default() })
    }

    /// The shapes of 2.1.8's rows.
    #[test]
    fn frames_that_were_sent() {
        let sent = figures(Detail {
            calls: 28,
            frames: Some(FrameCount { moved: 28, missed: 4, slips: 2 }),
            ..Detail::default()
        });
        let tcp = Figures { tcp: tcp(), ..sent.clone() };
        assert_eq!(Columns::Frames.row(&tcp), "  28/0        2      319K/23 us         28/4/2        27217");
        let udp = UdpCounters { datagrams: 423, send_drops: 1, ..UdpCounters::default() };
        let udp = Figures { udp: Some(udp), ..sent };
        assert_eq!(Columns::FramePackets.row(&udp), "  423/1      423 pps   28/4/2");
        assert_eq!(Columns::FramePackets.sum(&udp, false), "  423/1      423 pps");
    }

    #[test]
    fn frames_that_came() {
        let bursts = spread(27, [4.174, 0.046, 72.754, 13.885]);
        let detail = Detail {
            calls: 26,
            reads: [0, 25, 1, 0, 0, 0, 0, 0],
            frames: Some(FrameCount { moved: 27, missed: 1, slips: 1 }),
            bursts,
            burst_bytes: 27 * 20_833,
            delay: spread(452, [6.175, 0.066, 32.246, 7.861]),
            ..Detail::default()
        };
        let came = figures(detail);
        assert_eq!(
            Columns::FrameDelays.row(&came),
            "  4.174/0.046/72.754/13.885 ms (27/20833) 150  26=0:25:1:0:0:0:0:0"
        );
        // With the bytes that were in flight: the rate times the delay.
        assert_eq!(
            Columns::Bursts.row(&came),
            "  4.174/0.046/72.754/13.885 ms (27/20833) 2.55 KByte 150  26=0:25:1:0:0:0:0:0"
        );
        let udp = UdpCounters { datagrams: 452, jitter: Nanos::from_micros(356), ..UdpCounters::default() };
        let udp = Figures { udp: Some(udp), ..came };
        assert_eq!(
            Columns::FrameLosses.row(&udp),
            "   0.356 ms 0/452 (0%) 6.175/0.066/32.246/7.861 ms 452 pps   27/1  4.174/0.046/72.754/13.885 ms 101"
        );
        let nothing = figures(Detail::default());
        assert_eq!(
            Columns::FrameDelays.row(&nothing),
            "  0.000/0.000/0.000/0.000 ms (0/0) NAN  0=0:0:0:0:0:0:0:0"
        );
    }

    #[test]
    fn bursts_and_writes() {
        let burst = Detail { calls: 3, reads: [0, 0, 0, 0, 2, 0, 0, 1], ..Detail::default() };
        let burst =
            Figures { start: 0.2, end: 0.2005, bytes: 262_144, detail: Some(burst), ..Figures::default() };
        assert_eq!(single_burst(&burst, 5.0), "   0.500 ms (0.25%)    3=0:0:0:0:2:0:0:1  1048576");
        let whole = figures(Detail {
            calls: 12,
            bursts: spread(5, [0.708, 0.041, 3.352, 1.322]),
            ..Detail::default()
        });
        assert_eq!(Columns::SingleBursts.row(&whole), "  0.708/0.041/3.352/1.322 ms  12=0:0:0:0:0:0:0:0");
        let writes = spread(20, [0.425, 0.029, 4.103, 1.033]);
        let writes = Figures { tcp: tcp(), ..figures(Detail { calls: 20, writes, ..Detail::default() }) };
        assert_eq!(
            Columns::WriteTimes.row(&writes),
            format!("{}  0.425/0.029/4.103/1.033 ms (20)", Columns::Writes.row(&writes))
        );
    }
}
