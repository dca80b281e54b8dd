//! The table of a transfer run: a row for each MTU and file, and its change against the baseline.

use super::{Transfer, TransferPlan, TransferTcp};
use crate::packets::{PacketDirection, PacketResult};
use crate::stats::compare::{self, Case, Comparison, Rules};
use crate::stats::spread::Moments;
use serde::{Deserialize, Serialize};

/// The results of a transfer run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TransferResult {
    /// A row for each MTU and file, in the plan's order.
    pub rows: Vec<TransferRow>,
    /// Every transfer, as they came.
    pub transfers: Vec<Transfer>,
}

/// All transfers of one file at one MTU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TransferRow {
    /// The property in which it differs from the other rows.
    pub label: String,
    /// Label of the file.
    pub file: String,
    /// The MTU set for it.
    pub mtu: Option<u32>,
    /// Whole transfers; the figures below are theirs.
    pub count: u32,
    /// Transfers that failed.
    pub failed: u32,
    /// Body bits per second, over the whole time of each transfer.
    #[serde(rename = "rate_bps")]
    pub rate: Option<Spread>,
    /// Time to the first byte of the answer.
    #[serde(rename = "first_byte_ns")]
    pub first_byte: Option<Spread>,
    /// Whole time.
    #[serde(rename = "total_ns")]
    pub total: Option<Spread>,
    /// Mean number of segments with payload in the direction of the body.
    pub data_segments: Option<f64>,
    /// Mean payload of these.
    #[serde(rename = "mean_payload_bytes")]
    pub mean_payload: Option<f64>,
    /// Largest payload of a segment in that direction.
    pub mss: Option<u32>,
    /// Segments that this end retransmitted, in all.
    pub retransmits: u64,
    /// Packets in a capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<RowPackets>,
    /// The change against the baseline.
    pub gain: Option<Gain>,
}

/// The packets of a row's transfers, captured. Each transfer is a flow of its own; redirects are others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowPackets {
    /// Transfers whose packets were captured; the figures below are theirs.
    pub transfers: u32,
    /// Mean number of packets from this host.
    pub up: f64,
    /// Mean number of packets to this host.
    pub down: f64,
    /// Mean size of the packets in the direction of the body, IP's header included.
    #[serde(rename = "mean_bytes")]
    pub mean: f64,
    /// The largest of these.
    #[serde(rename = "largest_bytes")]
    pub largest: u32,
}

/// Figures of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample; zero of a single run.
    pub stddev: f64,
    /// Least.
    pub min: f64,
    /// Middle one, or the mean of the two in the middle.
    pub median: f64,
    /// Greatest.
    pub max: f64,
}

/// A row's rates against the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    /// Label of the baseline's row.
    pub baseline: String,
    /// The difference of the rates, and its confidence.
    pub comparison: Comparison,
    /// The change in percent that the size of the packets alone accounts for, where the link's bits are the limit.
    pub expected_percent: Option<f64>,
}

/// A measured change beside the one that the packets' size accounts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// They agree.
    Agrees,
    /// Surely more was won than the packets' size accounts for.
    More,
    /// Surely less.
    Less,
    /// The measurement is too coarse for a decision.
    Unknown,
}

impl TransferResult {
    /// One more transfer.
    pub fn take(&mut self, transfer: &Transfer) {
        self.transfers.push(transfer.clone());
    }

    /// Makes the rows, once all transfers are here, and what a capture saw of them.
    pub fn conclude(&mut self, plan: &TransferPlan, packets: Option<&PacketResult>) {
        self.rows = plan.series().map(|(mtu, file)| self.row(plan, mtu, &file.label)).collect();
        if let Some(packets) = packets {
            let observed: Vec<_> = self.rows.iter().map(|row| self.packets(plan, row, packets)).collect();
            self.rows.iter_mut().zip(observed).for_each(|(row, observed)| row.packets = observed);
        }
        let gains = self.gains(plan);
        self.rows.iter_mut().zip(gains).for_each(|(row, gain)| row.gain = gain);
    }

    /// The rows against their baselines: one table, in which each is judged with the others in mind.
    fn gains(&self, plan: &TransferPlan) -> Vec<Option<Gain>> {
        let pairs: Vec<Option<&TransferRow>> = self.rows.iter().map(|row| self.baseline(plan, row)).collect();
        let rates: Vec<Vec<f64>> = self.rows.iter().map(|row| self.rates(row)).collect();
        let place = |row: &TransferRow| self.rows.iter().position(|other| other.label == row.label);
        let case = |(index, base): (usize, &Option<&TransferRow>)| {
            let base = &rates[place((*base)?)?];
            Some(Case { name: &self.rows[index].label, base, other: &rates[index], rules: RULES })
        };
        let cases: Vec<Case<'_>> = pairs.iter().enumerate().filter_map(case).collect();
        // Rates are neither negative nor endless, which is all that cannot be compared.
        let mut compared = compare::table(&cases).unwrap_or_default().into_iter();
        let gain = |(row, base): (&TransferRow, &Option<&TransferRow>)| {
            let base = (*base)?;
            let comparison = compared.next()?;
            Some(Gain {
                baseline: base.label.clone(),
                comparison,
                expected_percent: self.expected(plan, row, base),
            })
        };
        self.rows.iter().zip(&pairs).map(gain).collect()
    }

    /// The row that this one is compared with, unless it is the baseline itself, or one of them has no whole transfer.
    fn baseline(&self, plan: &TransferPlan, row: &TransferRow) -> Option<&TransferRow> {
        let (mtu, file) = plan.baseline_of(&row.file);
        let found = self.rows.iter().find(|other| (other.mtu, other.file.as_str()) == (mtu, file))?;
        (found.label != row.label && found.count > 0 && row.count > 0).then_some(found)
    }

    /// Rows whose packets stayed smaller than their MTU, with the size they had: the far end or the path took no larger.
    pub fn kept_small(&self) -> impl Iterator<Item = (&TransferRow, u32)> {
        let headers = self.headers();
        self.rows.iter().filter_map(move |row| {
            let packet = packet(row, headers)?;
            // A transfer of less than a segment fills none.
            let fills = row.data_segments.is_some_and(|count| count > 10.0);
            (fills && packet < row.mtu?).then_some((row, packet))
        })
    }

    fn packets(&self, plan: &TransferPlan, row: &TransferRow, packets: &PacketResult) -> Option<RowPackets> {
        let (mut observed, mut body) = (RowPackets::default(), PacketDirection::default());
        for local in self.whole(row).filter_map(|one| one.local) {
            let own = |key: &crate::packets::FlowKey| {
                (key.local.to_canonical(), key.local_port) == (local.ip().to_canonical(), Some(local.port()))
            };
            let Some(flow) = packets.flows.iter().find(|flow| own(&flow.key)) else { continue };
            observed.transfers += 1;
            observed.up += flow.up.packets as f64;
            observed.down += flow.down.packets as f64;
            body.merge(plan.method.direction().choose(&flow.up, &flow.down));
        }
        let count = f64::from(observed.transfers);
        (body.packets > 0).then(|| RowPackets {
            up: observed.up / count,
            down: observed.down / count,
            mean: body.bytes.0 as f64 / body.packets as f64,
            largest: body.sizes.largest().unwrap_or(0),
            ..observed
        })
    }

    /// The transfers of a row that came to their end.
    fn whole<'a>(&'a self, row: &'a TransferRow) -> impl Iterator<Item = &'a Transfer> {
        let own = |one: &&Transfer| one.mtu == row.mtu && one.label == row.file && one.error.is_none();
        self.transfers.iter().filter(own)
    }

    fn rates(&self, row: &TransferRow) -> Vec<f64> {
        self.whole(row).map(|one| one.rate.0 as f64).collect()
    }

    fn expected(&self, plan: &TransferPlan, row: &TransferRow, base: &TransferRow) -> Option<f64> {
        let headers = self.headers();
        let share = |row: &TransferRow| packet_share(packet(row, headers)?, headers, plan.framing);
        let (new, old) = (share(row)?, share(base)?);
        Some((new / old - 1.0) * 100.0)
    }

    fn row(&self, plan: &TransferPlan, mtu: Option<u32>, file: &str) -> TransferRow {
        let all = || self.transfers.iter().filter(|one| one.mtu == mtu && one.label == file);
        let whole: Vec<&Transfer> = all().filter(|one| one.error.is_none()).collect();
        let spread = |figure: fn(&Transfer) -> Option<f64>| {
            Spread::from_values(&whole.iter().filter_map(|one| figure(one)).collect::<Vec<_>>())
        };
        let mean = |figure: fn(&TransferTcp) -> Option<f64>| {
            let values: Vec<f64> = whole.iter().filter_map(|one| one.tcp.as_ref().and_then(figure)).collect();
            Moments::from_values(&values).mean()
        };
        TransferRow {
            label: plan.row_label(mtu, file),
            file: file.to_owned(),
            mtu,
            count: u32::try_from(whole.len()).unwrap_or(u32::MAX),
            failed: u32::try_from(all().count() - whole.len()).unwrap_or(u32::MAX),
            rate: spread(|one| Some(one.rate.0 as f64)),
            first_byte: spread(|one| one.times.first_byte.map(|time| time.0 as f64)),
            total: spread(|one| Some(one.times.total.0 as f64)),
            data_segments: mean(|tcp| tcp.data_segments.map(f64::from)),
            mean_payload: mean(|tcp| tcp.mean_payload),
            mss: whole.iter().filter_map(|one| one.tcp.as_ref()?.mss).max(),
            retransmits: all().filter_map(|one| one.tcp.as_ref()).map(|tcp| u64::from(tcp.retransmits)).sum(),
            packets: None,
            gain: None,
        }
    }

    /// Does this end's TCP put timestamps into its segments, and is it IPv6?
    fn headers(&self) -> u32 {
        let found = self.transfers.iter().find_map(|one| Some((one.remote?, one.tcp.as_ref()?.timestamps)));
        let (remote, timestamps) = found.unwrap_or((([0, 0, 0, 0], 0).into(), true));
        let ip = if remote.ip().to_canonical().is_ipv4() { 20 } else { 40 };
        ip + 20 + if timestamps { 12 } else { 0 }
    }
}

impl Spread {
    /// The figures of these values; none of no value.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        let moments = Moments::from_values(values);
        let (mean, stddev) = (moments.mean()?, moments.stddev().unwrap_or_default());
        Some(Spread { mean, stddev, min, median: f64::midpoint(low, high), max })
    }
}

impl Gain {
    /// Does the packets' size account for the change?
    #[must_use]
    pub fn fit(&self) -> Fit {
        let (Some(expected), Some(shift)) = (self.expected_percent, self.comparison.shift) else {
            return Fit::Unknown;
        };
        let (Some(low), Some(high)) = (shift.low, shift.high) else { return Fit::Unknown };
        let slack = RULES.least_percent;
        match (low > expected + slack, high < expected - slack) {
            (true, _) => Fit::More,
            (_, true) => Fit::Less,
            _ if high - low <= 4.0 * slack => Fit::Agrees,
            _ => Fit::Unknown,
        }
    }
}

/// The share of a link's bits that is TCP payload, when packets of this size fill it: the packet without its headers, over
/// the packet with what the link adds. `None` where the headers leave no room.
#[must_use]
pub fn packet_share(packet: u32, headers: u32, framing: u32) -> Option<f64> {
    let payload = packet.checked_sub(headers).filter(|payload| *payload > 0)?;
    Some(f64::from(payload) / (f64::from(packet) + f64::from(framing)))
}

/// The packets of a row: its MTU, or less where the far end or the path allowed no larger segments.
fn packet(row: &TransferRow, headers: u32) -> Option<u32> {
    let sent = row.mss.map(|mss| mss.saturating_add(headers));
    Some(row.mtu?.min(sent.unwrap_or(u32::MAX)))
}

/// A gain of 2 % is all that larger packets can give: differences from half a percent on count.
const RULES: Rules =
    Rules { higher_is_better: true, noise_floor_percent: 0.0, least_percent: 0.5, margin_percent: 0.5 };

#[cfg(test)]
mod tests {
    use super::super::tests::{plan, transfer};
    use super::*;
    use crate::stats::compare::Judgement;
    use proptest::prelude::*;

    #[test]
    fn the_gain_of_larger_packets_is_small() {
        let share = |mtu| packet_share(mtu, 52, 14).expect("there is room");
        assert!((share(2000) / share(1280) - 1.0192).abs() < 0.0001);
        assert!((share(1280) * 20.0 - 18.98).abs() < 0.01);
        assert_eq!(packet_share(52, 52, 14), None);
    }

    fn result(rates: &[(u32, u64)]) -> TransferResult {
        let mut result = TransferResult::default();
        rates.iter().for_each(|(mtu, rate)| result.take(&transfer(*mtu, *rate)));
        result
    }

    #[test]
    fn rows_are_in_the_plans_order_and_compared_with_the_baseline() {
        let plan = plan(&[1280, 2000], "1280");
        let mut result = result(&[(1280, 100), (2000, 110), (1280, 100), (2000, 112)]);
        let mut failed = transfer(2000, 1);
        failed.error = Some("it broke".into());
        result.take(&failed);
        result.conclude(&plan, None);
        let labels: Vec<_> =
            result.rows.iter().map(|row| (row.label.as_str(), row.count, row.failed)).collect();
        assert_eq!(labels, [("MTU 1280", 2, 0), ("MTU 2000", 2, 1)]);
        assert_eq!(result.rows[0].gain, None);
        let gain = result.rows[1].gain.as_ref().expect("there is a baseline");
        assert!((gain.comparison.shift.expect("a percentage").percent - 11.0).abs() < 1e-9, "{gain:?}");
        assert!((gain.expected_percent.expect("packets are known") - 1.92).abs() < 0.01, "{gain:?}");
        assert_eq!(result.rows[1].rate.expect("two transfers").stddev, 2_f64.sqrt());
    }

    #[test]
    fn what_did_not_come_through_is_compared_with_nothing() {
        let plan = plan(&[1280, 1430, 2000], "1280");
        let mut result = result(&[(1280, 100), (1430, 110), (1280, 100), (1430, 112)]);
        let mut failed = transfer(2000, 1);
        failed.error = Some("it stalled".into());
        result.take(&failed);
        result.conclude(&plan, None);
        let compared: Vec<bool> = result.rows.iter().map(|row| row.gain.is_some()).collect();
        assert_eq!(compared, [false, true, false]);
    }

    #[test]
    fn packets_that_stay_small_promise_no_gain() {
        let plan = plan(&[1500, 9000], "1500");
        let mut result = TransferResult::default();
        for mtu in [1500, 9000] {
            let mut transferred = transfer(mtu, 100);
            let tcp = TransferTcp { mss: Some(1448), timestamps: true, ..TransferTcp::default() };
            transferred.tcp = Some(TransferTcp { data_segments: Some(700), ..tcp });
            result.take(&transferred);
        }
        result.conclude(&plan, None);
        let small: Vec<_> = result.kept_small().map(|(row, packet)| (row.label.as_str(), packet)).collect();
        assert_eq!(small, [("MTU 9000", 1500)]);
        assert_eq!(result.rows[1].gain.as_ref().expect("a baseline").expected_percent, Some(0.0));
    }

    #[test]
    fn the_arithmetic_is_held_against_the_measurement() {
        let fit = |rates: [u64; 6]| {
            let pairs = rates.iter().flat_map(|rate| [(1280, 19_000 + rate % 7), (2000, *rate)]);
            let mut result = result(&pairs.collect::<Vec<_>>());
            result.conclude(&plan(&[1280, 2000], "1280"), None);
            let gain = result.rows[1].gain.clone().expect("a baseline");
            (gain.fit(), matches!(gain.comparison.judgement, Judgement::Better | Judgement::Worse))
        };
        assert_eq!(fit([19_370, 19_365, 19_372, 19_361, 19_368, 19_366]), (Fit::Agrees, true));
        assert_eq!(fit([21_370, 21_365, 21_372, 21_361, 21_368, 21_366]), (Fit::More, true));
        assert_eq!(fit([19_005, 19_001, 19_003, 19_004, 19_002, 19_000]), (Fit::Less, false));
        assert_eq!(fit([15_000, 24_000, 19_000, 17_000, 22_000, 20_000]), (Fit::Unknown, false));
    }

    proptest! {
        #[test]
        fn spreads_are_in_order(values in proptest::collection::vec(0.0..1e12_f64, 1..40)) {
            let spread = Spread::from_values(&values).expect("there are values");
            prop_assert!(spread.min <= spread.median && spread.median <= spread.max);
            prop_assert!(spread.min <= spread.mean * (1.0 + 1e-9) && spread.mean <= spread.max * (1.0 + 1e-9));
        }
    }
}
