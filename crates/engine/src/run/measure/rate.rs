//! The rate of a UDP test of `measure`: the highest without loss, as far as a few short trials show it.

use super::super::limit::frame_overhead;
use super::super::{Options, test};
use insight::limit::lossless_rate;
use insight::run_of_events;
use linux::clock::mono_now;
use model::event::Event;
use model::plan::{Direction, End, Plan};
use model::run::Run;
use model::units::{BitRate, Nanos};

/// Where the trials begin: at what a load after the TCP test passed, else at a part of what TCP carried.
pub(super) fn first(plan: &Plan, direction: Direction, tests: &[Run]) -> BitRate {
    let of_direction = |run: &&Run| run.summary.direction(direction).is_some();
    let tcp = tests.iter().rev().find(of_direction);
    let carried = tcp.and_then(|run| run.summary.direction(direction)).map_or(0, |figures| figures.goodput.0);
    let overhead = frame_overhead(plan);
    let payload = f64::from(plan.test.length.unwrap_or(0));
    let in_payload =
        |frames: BitRate| BitRate((frames.0 as f64 * payload / (payload + f64::from(overhead))) as u64);
    let passed = tcp.and_then(|run| lossless_rate(run, direction)).map(in_payload);
    passed.unwrap_or(BitRate(carried / 100 * PERCENT_OF_TCP)).max(LEAST_RATE)
}

/// A rate a little below the highest of a few trials that lost nothing. Where all of them lost: below the last of them, or the first
/// rate, if they lost alike.
pub(super) fn lossless(plan: &Plan, options: &Options, quick: bool) -> BitRate {
    let first = plan.test.bitrate.unwrap_or(LEAST_RATE);
    let (time, limit) = if quick { (QUICK_TRIAL, QUICK_SEARCH) } else { (TRIAL, SEARCH) };
    let deadline = mono_now() + limit;
    search(first, |rate| {
        let is_over = mono_now() >= deadline || options.stop.is_raised();
        (!is_over).then(|| trial(plan, options, rate, time)).flatten()
    })
}

/// The shares that a trial lost: in all, and on the path.
#[derive(Clone, Copy)]
struct Lost {
    all: f64,
    path: f64,
}

/// The search itself: `lost_at` gives what a trial at a rate loses; `None` ends the search.
fn search(first: BitRate, mut lost_at: impl FnMut(BitRate) -> Option<Lost>) -> BitRate {
    let (mut passed, mut failed): (Option<f64>, f64) = (None, f64::INFINITY);
    let mut rate = first.0 as f64;
    // The shares that the first and the last trial lost, while all do.
    let mut losses: Option<(Lost, Lost)> = None;
    let alike = |losses: Option<(Lost, Lost)>| losses.is_none_or(|(first, last)| last.path > first.all * 0.8);
    while let Some(lost) = lost_at(BitRate(rate as u64)) {
        if lost.all <= LOSSLESS {
            passed = Some(rate);
            if failed / rate < CLOSE {
                break;
            }
        } else {
            failed = rate;
            losses = Some((losses.map_or(lost, |losses| losses.0), lost));
            // Loss that stays where the rate is a fraction of the first does not come from the rate.
            if rate < first.0 as f64 * FRACTION && alike(losses) {
                break;
            }
        }
        let arrived = failed * (1.0 - lost.all) * BELOW;
        rate = passed.map_or((failed * LOWER).min(arrived), |passed| (passed + failed) / 2.0);
        if rate < LEAST_RATE.0 as f64 || !rate.is_finite() {
            break;
        }
    }
    match passed {
        Some(passed) if failed.is_finite() => BitRate((passed * BELOW) as u64),
        Some(passed) => BitRate(passed as u64),
        None if alike(losses) => first,
        None => BitRate(rate as u64),
    }
}

/// Returns the loss at a rate; `None`: the trial failed.
fn trial(plan: &Plan, options: &Options, rate: BitRate, time: Nanos) -> Option<Lost> {
    let mut plan = plan.clone();
    (plan.test.bitrate, plan.test.end) = (Some(rate), End::Time(time));
    // A large buffer would hold what a receiver that is too slow has not taken by the end of a short trial.
    plan.test.window = plan.test.window.or(Some(TRIAL_WINDOW));
    let mut events: Vec<Event> = Vec::new();
    test(&plan, options, &mut |_| {}, &mut events).ok()?;
    let run = run_of_events("", "throughput", &events);
    let figures = plan.test.directions.each().find_map(|direction| run.summary.direction(direction))?;
    let sent = figures.sent.datagrams;
    (sent > 0).then(|| {
        let path = figures.loss.map_or(0, |loss| loss.path) as f64 / sent as f64;
        Lost { all: figures.loss.map_or(0.0, |loss| loss.share), path }
    })
}

/// The share of TCP's rate to begin with, where nothing else is known.
const PERCENT_OF_TCP: u64 = 95;
const LEAST_RATE: BitRate = BitRate(1_000_000);
/// A smaller share that is lost is none.
const LOSSLESS: f64 = 0.001;
/// A rate that lost is so much higher than one that did not: close enough.
const CLOSE: f64 = 1.15;
/// A longer test loses at a rate that a trial only just passed.
const BELOW: f64 = 0.9;
/// The next rate after one that lost.
const LOWER: f64 = 0.6;
const FRACTION: f64 = 0.25;
const TRIAL_WINDOW: u32 = 4 << 20;
const TRIAL: Nanos = Nanos::from_millis(300);
const SEARCH: Nanos = Nanos::from_millis(2500);
const QUICK_TRIAL: Nanos = Nanos::from_millis(150);
const QUICK_SEARCH: Nanos = Nanos::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn found(first: u64, limit: f64, base: f64) -> f64 {
        let mut trials = 0;
        let rate = search(BitRate(first), |rate| {
            trials += 1;
            let over = 1.0 - (limit / rate.0 as f64).min(1.0);
            (trials <= 8).then_some(Lost { all: over.max(base), path: base })
        });
        rate.0 as f64
    }

    #[test]
    fn the_rate_is_close_below_the_limit() {
        for limit in [11e9, 6e9, 3e9, 1.1e9] {
            let rate = found(10_000_000_000, limit, 0.0);
            assert!(rate <= limit && rate > limit.min(1e10) * BELOW / 1.2, "{rate} for {limit}");
        }
    }

    #[test]
    fn where_every_trial_lost_the_rate_is_below_the_last() {
        let rate = |lost: &[Lost]| {
            let mut trials = lost.iter().copied();
            search(BitRate(10_000_000_000), |_| trials.next()).0
        };
        let at_path = |share: f64| Lost { all: share, path: share };
        // Half of the first arrived, and of 4.5 Gbit/s seven tenths: six tenths of it is less.
        assert_eq!(rate(&[at_path(0.5), at_path(0.3)]), 2_700_000_000);
        assert_eq!(rate(&[at_path(0.01), at_path(0.01)]), 10_000_000_000);
        // The receiver takes less, the more it is sent.
        let at_receiver = Lost { all: 0.5, path: 0.0 };
        assert_eq!(rate(&[at_receiver, at_receiver]), 2_025_000_000);
    }

    #[test]
    fn loss_at_every_rate_changes_nothing() {
        assert_eq!(found(100_000_000, 1e12, 0.01), 1e8);
    }

    #[test]
    fn without_a_trial_the_first_rate_holds() {
        assert_eq!(search(BitRate(5), |_| None), BitRate(5));
    }
}
