//! Responsiveness of one phase: its intervals and probes, given to the draft's two stages.

use model::stats::responsiveness::{
    Confidence, DISTANCE, ForeignProbe, LONGEST_STAGE, Next, Responsiveness, ResponsivenessMeter,
};
use model::time::MonoTime;
use model::units::{BitRate, Nanos};

/// The measurement of one phase.
#[derive(Debug)]
pub(super) struct Rpm {
    meter: ResponsivenessMeter,
    interval: Nanos,
    /// When the next interval ends.
    next: MonoTime,
    /// Answered probes over connections of their own, of the interval that runs.
    pub(super) foreign: Vec<ForeignProbe>,
    /// RTTs of the connections that carry the load, likewise.
    pub(super) loaded: Vec<Nanos>,
}

impl Rpm {
    /// The figure of a phase that begins now and is to last for `time`.
    pub(super) fn new(began: MonoTime, time: Nanos) -> Rpm {
        let interval = Nanos((time.0 / LEAST_INTERVALS).clamp(1, INTERVAL.0));
        let intervals = u32::try_from(time.0 / interval.0).unwrap_or(u32::MAX);
        // The second stage needs as many intervals as the figure looks back on.
        let room = intervals.saturating_sub(DISTANCE as u32);
        let meter = ResponsivenessMeter::new(room.clamp(1, LONGEST_STAGE));
        Rpm { meter, interval, next: began + interval, foreign: Vec::new(), loaded: Vec::new() }
    }

    /// The interval that is over, if one is.
    pub(super) fn over(&self, now: MonoTime) -> Option<(MonoTime, MonoTime)> {
        let begin = MonoTime(self.next.0.saturating_sub(self.interval.0));
        (now >= self.next).then_some((begin, self.next))
    }

    /// Closes it, with its goodput in all directions together.
    pub(super) fn close(&mut self, goodput: BitRate) -> Next {
        self.next += self.interval;
        let (foreign, loaded) = (std::mem::take(&mut self.foreign), std::mem::take(&mut self.loaded));
        self.meter.interval(goodput, &foreign, &loaded)
    }

    /// The figure. Intervals shorter than the draft's do not show whether a path is stable.
    pub(super) fn result(&self) -> Option<Responsiveness> {
        let result = self.meter.result()?;
        let confidence = if self.interval < INTERVAL { Confidence::Low } else { result.confidence };
        Some(Responsiveness { confidence, ..result })
    }
}

/// ID of the draft.
const INTERVAL: Nanos = Nanos::from_secs(5);
/// MAD for each stage: a phase shorter than so many intervals has shorter ones, and low confidence.
const LEAST_INTERVALS: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn run(time: Nanos, goodput: BitRate) -> (Rpm, u32) {
        let began = MonoTime(1_000);
        let (mut rpm, mut added) = (Rpm::new(began, time), 0);
        while let Some((from, until)) = rpm.over(began + time) {
            assert_eq!(until - from, rpm.interval);
            let tcp = Nanos::from_millis(10);
            (0..3).for_each(|_| rpm.foreign.push(ForeignProbe { tcp, tls: None, http: tcp }));
            rpm.loaded.extend(vec![Nanos::from_millis(20); 4]);
            added += u32::from(rpm.close(goodput) == Next::AddLoad);
        }
        (rpm, added)
    }

    #[test]
    fn a_long_phase_has_the_intervals_of_the_draft() {
        let (rpm, added) = run(Nanos::from_secs(60), BitRate(1_000_000));
        let result = rpm.result().unwrap();
        assert_eq!((result.confidence, result.saturation_intervals, added), (Confidence::High, 4, 3));
        assert!((result.foreign - 6000.0).abs() < 1e-6 && (result.loaded - 3000.0).abs() < 1e-6);
        assert!((result.rpm - 4500.0).abs() < 1e-6);
    }

    #[test]
    fn a_short_phase_has_a_figure_of_low_confidence() {
        for time in [Nanos::from_millis(200), Nanos::from_secs(1), Nanos::from_secs(39)] {
            let result = run(time, BitRate(1_000_000)).0.result().unwrap();
            assert_eq!(result.confidence, Confidence::Low, "{time}");
            assert_eq!((result.foreign_probes, result.loaded_probes), (12, 16));
        }
    }

    #[test]
    fn a_path_that_never_saturates_leaves_time_for_the_figure() {
        let began = MonoTime(0);
        let mut rpm = Rpm::new(began, Nanos::from_secs(40));
        let mut goodput = 1;
        while rpm.over(began + Nanos::from_secs(40)).is_some() {
            goodput *= 2;
            let time = Nanos::from_millis(10);
            rpm.foreign.push(ForeignProbe { tcp: time, tls: Some(time), http: time });
            rpm.loaded.extend(vec![time]);
            rpm.close(BitRate(goodput));
        }
        let result = rpm.result().unwrap();
        assert_eq!((result.saturation_intervals, result.stability_intervals), (4, 4));
        assert_eq!(result.confidence, Confidence::Medium, "never saturated, and the figure stood");
    }
}
