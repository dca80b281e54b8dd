//! The lines of SockPerf's statistics.

use super::super::block::Lines;
use super::super::number::Printed;
use model::plan::Transport;
use model::stats::distribution::{Distribution, PartialDistribution};
use model::units::Nanos;
use std::net::{IpAddr, SocketAddr};

/// The figures in the lines. Times are as printed: halves of round trips where `halved`.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) version: Option<String>,
    pub(super) host: Option<String>,
    pub(super) remote: Option<SocketAddr>,
    pub(super) transport: Option<Transport>,
    pub(super) size: Option<u32>,
    /// Not every message asks for a reply, so it was no ping-pong.
    pub(super) rated: bool,
    /// Messages went one way, and what is known of them (`throughput`).
    pub(super) one_way: Option<OneWay>,
    pub(super) elapsed: Option<Nanos>,
    pub(super) sent: Option<u64>,
    /// Messages sent and received in the whole run, the warm-up with it.
    pub(super) run: Option<(u64, u64)>,
    pub(super) received: Option<u64>,
    pub(super) halved: bool,
    pub(super) average: Option<Nanos>,
    pub(super) std_dev: Option<Nanos>,
    pub(super) median_ad: Option<Nanos>,
    pub(super) siqr: Option<Nanos>,
    pub(super) observations: u64,
    pub(super) percentiles: Vec<(f64, Nanos)>,
    pub(super) least: Option<Nanos>,
    pub(super) most: Option<Nanos>,
    pub(super) dropped: u64,
    pub(super) duplicated: u64,
    pub(super) disordered: u64,
    pub(super) failure: Option<String>,
}

/// The figures in the summary of `throughput`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OneWay {
    /// `--mps`, where it was given.
    pub(super) asked_rate: Option<u64>,
    /// Messages per second.
    rate: Option<f64>,
    /// Bytes per second, in units of 1024.
    bytes: Option<f64>,
    /// The same in bits, of whichever unit is printed.
    pub(super) bits: Option<f64>,
}

impl OneWay {
    /// Bytes of a message, by the two rates.
    pub(super) fn size(self) -> Option<u32> {
        let size = self.bytes? / self.rate.filter(|rate| *rate > 0.0)?;
        (0.0..1e9).contains(&size).then_some(size.round() as u32)
    }
}

impl Figures {
    pub(super) fn from_lines(lines: &Lines) -> Figures {
        let mut figures = Figures::default();
        for line in lines.iter() {
            let line = line.trim_start();
            figures.take(line.strip_prefix("sockperf: ").unwrap_or(line).trim_start());
        }
        figures
    }

    fn take(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("====> avg-") {
            // Half of each round trip, under either name; with `--full-rtt` it is `avg-rtt`.
            self.halved = rest.starts_with("lat");
            self.average = after(rest, "=").and_then(micros);
            self.std_dev = after(rest, "std-dev=").and_then(micros);
            self.median_ad = after(rest, "median-ad=").and_then(micros);
            self.siqr = after(rest, "siqr=").and_then(micros);
        } else if let Some(rest) = line.strip_prefix("---> percentile ") {
            let both = rest.split_once('=').and_then(|(percent, value)| {
                Some((Printed::from_text(percent.trim())?.value, micros(value)?))
            });
            self.percentiles.extend(both);
        } else if line.starts_with("---> <MAX>") {
            self.most = after(line, "=").and_then(micros);
        } else if line.starts_with("---> <MIN>") {
            self.least = after(line, "=").and_then(micros);
        } else if let Some(rest) =
            line.strip_prefix("--->").filter(|rest| rest.trim_start().starts_with("observation"))
        {
            // A web page took the words in angle brackets for tags: the longest stands above the percentiles.
            let value = after(rest, "=").and_then(micros);
            if self.percentiles.is_empty() { self.most = value } else { self.least = value }
        } else if let Some(rest) = line.strip_prefix("Total of ").filter(|rest| rest.contains(" sent in ")) {
            self.one_way.get_or_insert_default();
            self.sent = number(rest);
            self.elapsed =
                after(rest, " sent in ").and_then(|rest| super::super::number::seconds(word(rest)));
        } else if let Some(rest) = line.strip_prefix("Total ") {
            self.observations = number(rest).unwrap_or_default();
        } else {
            self.circumstance(line);
        }
    }

    fn circumstance(&mut self, line: &str) {
        if line.starts_with("[Total Run]") && self.sent.is_none() {
            self.run = after(line, "SentMessages=")
                .and_then(number)
                .zip(after(line, "ReceivedMessages=").and_then(number));
        } else if line.starts_with("[Valid Duration]") {
            self.elapsed = after(line, "RunTime=").and_then(|rest| super::super::number::seconds(word(rest)));
            self.sent = after(line, "SentMessages=").and_then(number);
            self.received = after(line, "ReceivedMessages=").and_then(number);
        } else if line.starts_with("# dropped messages") {
            let counts: Vec<u64> = line.split("= ").skip(1).filter_map(number).collect();
            if let [dropped, duplicated, disordered] = counts.as_slice() {
                (self.dropped, self.duplicated, self.disordered) = (*dropped, *duplicated, *disordered);
            }
        } else if let Some(version) = line.strip_prefix("== version #") {
            self.version = version.split(['-', ' ']).next().map(str::to_owned);
        } else if line.starts_with("[ 0] IP = ") {
            self.address(line);
        } else if line.starts_with(super::LOG) {
            self.size = after(line, "--msg-size=").and_then(number).and_then(|size| u32::try_from(size).ok());
            self.rated = after(line, "--reply-every=").and_then(number).is_some_and(|every| every > 1);
        } else if let (Some(one_way), true) =
            (&mut self.one_way, line.starts_with("NOTE: test was performed"))
        {
            self.size = after(line, "msg-size=").and_then(number).and_then(|size| u32::try_from(size).ok());
            one_way.asked_rate = after(line, "mps=").and_then(number);
        } else if let (Some(one_way), true) = (&mut self.one_way, line.starts_with("Summary: ")) {
            let figure =
                |mark| after(line, mark).and_then(|rest| Some(Printed::from_text(word(rest))?.value));
            one_way.rate = figure("Message Rate is ").or(one_way.rate);
            one_way.bits = after(line, "BandWidth is ").and_then(bandwidth).or(one_way.bits);
            one_way.bytes = one_way.bits.map(|bits| bits / 8.0);
        } else if line.starts_with("No messages were received")
            || line.starts_with("No valid observations found")
            || line.starts_with("No messages were sent")
            || line.contains("' Invalid address: ")
            || line.starts_with("ERROR: ")
        {
            self.failure = Some(line.trim_start_matches("ERROR: ").trim_end_matches('.').replace('`', "'"));
        }
    }

    fn address(&mut self, line: &str) {
        let address: Option<IpAddr> = after(line, "IP = ").and_then(|rest| word(rest).parse().ok());
        let port = after(line, "PORT = ").and_then(number).and_then(|port| u16::try_from(port).ok());
        self.remote = address.zip(port).map(|(address, port)| SocketAddr::new(address, port));
        self.host = address.map(|address| address.to_string());
        self.transport = Some(if line.contains("# TCP") { Transport::Tcp } else { Transport::Udp });
    }

    /// The figures as printed; `None` without an average.
    pub(super) fn figures(&self) -> Option<Printout> {
        let at = |percent: f64| {
            let near = self.percentiles.iter().find(|(of, _)| (of - percent).abs() < 1e-6);
            near.map(|(_, value)| *value)
        };
        Some(Printout(PartialDistribution {
            count: self.observations.max(self.received.unwrap_or_default().min(1)),
            min: self.least,
            mean: self.average?,
            stddev: self.std_dev,
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p999: at(99.9),
            p9999: at(99.99),
            max: self.most,
            missing: 0,
        }))
    }
}

/// Figures whose times are still as printed.
pub(super) struct Printout(PartialDistribution);

impl Printout {
    pub(super) fn map(self, trip: impl Fn(Nanos) -> Nanos) -> Distribution {
        let PartialDistribution { count, min, mean, stddev, p50, p90, p99, p999, p9999, max, missing } =
            self.0;
        let [min, stddev, p50, p90] = [min, stddev, p50, p90].map(|time| time.map(&trip));
        let [p99, p999, p9999, max] = [p99, p999, p9999, max].map(|time| time.map(&trip));
        PartialDistribution { count, min, mean: trip(mean), stddev, p50, p90, p99, p999, p9999, max, missing }
            .into()
    }
}

/// `1140.378 MBps (9123.026 Mbps)`, and of `--giga-size` `1.140 GBps (9.123 Gbps)`, which are thousands of the former: a megabyte is
/// 1024 × 1024 bytes in both.
fn bandwidth(text: &str) -> Option<f64> {
    let (figure, unit) = text.split_once(' ')?;
    let mega = match unit.split("Bps").next()? {
        "M" => 1.0,
        "G" => 1000.0,
        "K" => 1.0 / 1024.0,
        _ => return None,
    };
    Some(Printed::from_text(figure)?.value * mega * 1_048_576.0 * 8.0)
}

fn after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.split_once(mark).map(|(_, rest)| rest.trim_start())
}

/// Up to what does not belong to a figure.
fn word(text: &str) -> &str {
    text.split(|c: char| c.is_whitespace() || matches!(c, ';' | ')'))
        .next()
        .unwrap_or_default()
        .trim_end_matches(',')
}

fn number(text: &str) -> Option<u64> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn micros(text: &str) -> Option<Nanos> {
    let printed =
        Printed::from_text(word(text.trim_start())).filter(|printed| (0.0..1e15).contains(&printed.value))?;
    Some(Nanos((printed.value * 1000.0).round() as u64))
}
