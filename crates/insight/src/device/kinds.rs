//! The limit of each row's rate, in the kinds of `throughput`: the link, the generator, loss by chance, or the device, of which
//! rows of several sizes show whether it counts packets or bits.

use super::random::{is_chance, share};
use model::dut::{DeviceReport, LoadLimit, RateReport, Setup, StreamReport};
use model::limit::{Confidence, Limit, LimitKind};
use model::units::BitRate;

/// Fills in the limit of each rate. Earlier values are replaced.
pub(super) fn fill(device: &mut DeviceReport, setup: &Setup) {
    let limits: Vec<Option<Limit>> = device.rows.iter().map(|row| limit(device, row, setup)).collect();
    for (row, limit) in device.rows.iter_mut().zip(limits) {
        row.set_by = limit.map(Box::new);
    }
}

fn limit(device: &DeviceReport, row: &StreamReport, setup: &Setup) -> Option<Limit> {
    let rate = row.headline()?;
    if is_chance(row, rate, setup) {
        return Some(Limit {
            share: share(row).map(|lost| lost.share),
            ..of_kind(LimitKind::Loss, Confidence::High)
        });
    }
    rate.lower?;
    if row.is_at_line_rate(rate) {
        return Some(Limit { rate: setup.link, ..of_kind(LimitKind::LineRate, Confidence::High) });
    }
    if device.shares_cpu == Some(true) {
        let cause = Some("the device works on the generator's CPU".into());
        return Some(Limit { cause, ..of_kind(LimitKind::SenderCpu, Confidence::Medium) });
    }
    match row.bound_by(rate) {
        Some(LoadLimit::Generator) => {
            let cause = Some("the generator reaches no more".into());
            Some(Limit { cause, ..of_kind(LimitKind::SenderCpu, Confidence::High) })
        }
        Some(LoadLimit::Asked | LoadLimit::LineRate) => {
            Some(of_kind(LimitKind::Application, Confidence::High))
        }
        None => Some(of_device(device, row, rate, setup)),
    }
}

fn of_kind(kind: LimitKind, confidence: Confidence) -> Limit {
    Limit { kind, confidence, ..Limit::default() }
}

/// The device forwards no more: by rows of other sizes it counts packets or bits.
fn of_device(device: &DeviceReport, row: &StreamReport, rate: &RateReport, setup: &Setup) -> Limit {
    let not_known = |why: &str| Limit { ruled_out: vec![why.into()], ..Limit::default() };
    let own = Figures::from_row(row, rate);
    let others =
        device.rows.iter().filter(|other| other.stream.network == row.stream.network).filter_map(|other| {
            let rate = other.headline()?;
            let is_own = other.bound_by(rate).is_none()
                && !other.is_at_line_rate(rate)
                && !is_chance(other, rate, setup);
            Figures::from_row(other, rate).filter(|_| is_own)
        });
    let Some(own) = own else {
        return not_known("frames of several sizes do not show what the device counts");
    };
    let others: Vec<Figures> = others.filter(|other| other.differs_in_size(&own)).collect();
    if others.is_empty() {
        return not_known(
            "the device forwards no more, and one size of frames does not show whether it counts packets or bits",
        );
    }
    let alike = |of: fn(&Figures) -> f64, within: f64| {
        others.iter().all(|other| (of(other) / of(&own) - 1.0).abs() <= within)
    };
    if alike(|figures| figures.packets, SAME_PACKETS) {
        return Limit {
            packets: rate.lower.map(|load| load.rounded()),
            ..of_kind(LimitKind::PacketRate, Confidence::Medium)
        };
    }
    if alike(|figures| figures.bits, SAME_BITS) {
        let text = format!(
            "the device forwards {} whatever the size: a shaper, a slow link or a policer, which loads below the rate do not distinguish",
            BitRate(own.bits.round() as u64)
        );
        return not_known(&text);
    }
    not_known("the device forwards neither the same packets nor the same bits per second at each size")
}

/// A rate of frames of one size.
#[derive(Clone, Copy, Debug)]
struct Figures {
    size: f64,
    packets: f64,
    /// Bits of the frames, their FCS included.
    bits: f64,
}

impl Figures {
    fn from_row(row: &StreamReport, rate: &RateReport) -> Option<Figures> {
        let [size] = row.stream.frames.sizes.as_slice() else { return None };
        let (size, packets) = (size.0 as f64, rate.lower?.0);
        (packets > 0.0).then_some(Figures { size, packets, bits: packets * size * 8.0 })
    }

    fn differs_in_size(&self, other: &Figures) -> bool {
        self.size / other.size >= OTHER_SIZE || other.size / self.size >= OTHER_SIZE
    }
}

/// Rates in packets that differ by no more are one: larger frames cost a CPU somewhat more.
const SAME_PACKETS: f64 = 0.15;
/// Rates in bits that differ by no more are one.
const SAME_BITS: f64 = 0.05;
/// Ratio of sizes that distinguishes packets from bits.
const OTHER_SIZE: f64 = 1.5;
