//! One-way delays of a whole test from four-stamp exchanges, with the clocks' error, or withheld.
//!
//! The far clock is fitted from the exchanges themselves (see [`clock`](crate::stats::clock)), which is known only at the end:
//! so the stamps are kept until then, all of them of a short test and an even selection of a long one.

use super::{ClockNote, OneWayDelays};
use crate::stats::clock::{ClockFit, ClockSync, Exchange};
use crate::stats::distribution::Distribution;
use crate::stats::histogram::Histogram;
use crate::units::Nanos;

/// Takes the exchanges of a test. At most 32,768 of them are kept, 1 MiB.
#[derive(Clone, Debug, Default)]
pub struct OneWayMeter {
    sync: ClockSync,
    kept: Vec<Exchange>,
    /// Exponent of two: one exchange of so many is kept.
    power: u32,
    extremes: Vec<Extremes>,
    count: u64,
}

impl OneWayMeter {
    /// Takes an exchange; one whose stamps contradict one another is ignored.
    pub fn record(&mut self, exchange: Exchange) {
        if exchange.round_trip().is_none() {
            return;
        }
        self.sync.record(exchange);
        if self.count.is_multiple_of(1 << self.power) {
            self.keep(exchange);
        }
        match self.extremes.last_mut() {
            Some(extremes) => extremes.merge(&Extremes::from_exchange(exchange)),
            None => self.extremes.push(Extremes::from_exchange(exchange)),
        }
        self.count += 1;
    }

    /// Exchanges taken.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Fits the clock and gives the delays.
    ///
    /// Of more than 32,768 exchanges an even selection of at least half as many makes up the distribution. Minimum and
    /// maximum are those of all exchanges still, to within what the clock drifts in a 256th of the test.
    #[must_use]
    pub fn finish(&self) -> OneWayDelays {
        let fit = self.sync.fit();
        let step = self.sync.step();
        let (error, delays) = fit.as_ref().map_or((Nanos::ZERO, None), |fit| {
            (self.error(fit), step.is_none().then(|| self.distributions(fit)))
        });
        let known = |delay: &Distribution| delay.p50 > error;
        let (up, down) = delays.unwrap_or_default();
        let (up, down) = (up.filter(known), down.filter(known));
        let note = match (&fit, &step) {
            (None, _) => ClockNote::TooFew,
            (_, Some(_)) => ClockNote::Stepped,
            _ if up.is_none() && down.is_none() => ClockNote::ErrorTooLarge,
            _ => ClockNote::Trusted,
        };
        OneWayDelays { up, down, error, note }
    }

    fn keep(&mut self, exchange: Exchange) {
        self.kept.push(exchange);
        if self.kept.len() >= MOST_KEPT {
            self.kept = self.kept.iter().step_by(2).copied().collect();
            self.power += 1;
        }
        // A new row of extremes for every 128th of what is kept.
        if self.kept.len().is_multiple_of(MOST_KEPT / MOST_EXTREMES) {
            self.extremes.push(Extremes::from_exchange(exchange));
        }
        if self.extremes.len() > MOST_EXTREMES {
            self.extremes = self.extremes.chunks(2).map(Extremes::all).collect();
        }
    }

    /// The error where it is largest: at one of the ends.
    fn error(&self, fit: &ClockFit) -> Nanos {
        let ends = [self.kept.first(), self.kept.last()].into_iter().flatten();
        ends.map(|exchange| fit.error_at(exchange.sent).max(fit.error_at(exchange.received)))
            .max()
            .unwrap_or(fit.error)
    }

    fn distributions(&self, fit: &ClockFit) -> (Option<Distribution>, Option<Distribution>) {
        let delays = |delay: fn(&Exchange, &ClockFit) -> u64| {
            let mut histogram = Histogram::default();
            self.kept.iter().for_each(|exchange| histogram.record(delay(exchange, fit)));
            let extremes = self.extremes.iter().flat_map(Extremes::each).map(|exchange| delay(exchange, fit));
            let (min, max) =
                extremes.fold((u64::MAX, 0), |(min, max), delay| (min.min(delay), max.max(delay)));
            let distribution = histogram.distribution()?;
            let (min, max) = (distribution.min.min(Nanos(min)), distribution.max.max(Nanos(max)));
            Some(Distribution { min, max, ..distribution })
        };
        (delays(up_delay), delays(down_delay))
    }
}

/// The delay to the far end. One below zero, by the clock's error, is zero.
fn up_delay(exchange: &Exchange, fit: &ClockFit) -> u64 {
    let apart = i128::from(exchange.remote_received.0) - i128::from(exchange.sent.0);
    (apart - i128::from(fit.offset_at(exchange.sent))).clamp(0, u64::MAX.into()) as u64
}

fn down_delay(exchange: &Exchange, fit: &ClockFit) -> u64 {
    let apart = i128::from(exchange.received.0) - i128::from(exchange.remote_sent.0);
    (apart + i128::from(fit.offset_at(exchange.received))).clamp(0, u64::MAX.into()) as u64
}

/// The exchanges of a stretch of time with the shortest and longest delays in each direction: the clock's offset is nearly the same
/// for all, so it need not be known.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    up: (Exchange, Exchange),
    down: (Exchange, Exchange),
}

impl Extremes {
    fn from_exchange(exchange: Exchange) -> Extremes {
        Extremes { up: (exchange, exchange), down: (exchange, exchange) }
    }

    fn merge(&mut self, other: &Extremes) {
        let up = |exchange: &Exchange| i128::from(exchange.remote_received.0) - i128::from(exchange.sent.0);
        let down = |exchange: &Exchange| i128::from(exchange.received.0) - i128::from(exchange.remote_sent.0);
        self.up.0 = std::cmp::min_by_key(self.up.0, other.up.0, up);
        self.up.1 = std::cmp::max_by_key(self.up.1, other.up.1, up);
        self.down.0 = std::cmp::min_by_key(self.down.0, other.down.0, down);
        self.down.1 = std::cmp::max_by_key(self.down.1, other.down.1, down);
    }

    fn all(rows: &[Extremes]) -> Extremes {
        let mut all = rows[0];
        rows.iter().skip(1).for_each(|row| all.merge(row));
        all
    }

    fn each(&self) -> [&Exchange; 4] {
        [&self.up.0, &self.up.1, &self.down.0, &self.down.1]
    }
}

const MOST_KEPT: usize = 1 << 15;
const MOST_EXTREMES: usize = 256;

#[cfg(test)]
mod tests;
