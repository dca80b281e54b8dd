//! Responsiveness against figures computed by hand, and its two stages step by step.

use super::meter::Phase;
use super::*;
use proptest::prelude::*;

fn millis(tcp: u64, tls: Option<u64>, http: u64) -> ForeignProbe {
    ForeignProbe {
        tcp: Nanos::from_millis(tcp),
        tls: tls.map(Nanos::from_millis),
        http: Nanos::from_millis(http),
    }
}

const FAST: BitRate = BitRate(100_000_000);

/// Goodput that is stable from the first interval, so that the path is saturated after four.
fn saturated() -> ResponsivenessMeter {
    let mut meter = ResponsivenessMeter::new(LONGEST_STAGE);
    for _ in 0..3 {
        assert_eq!(meter.interval(FAST, &[], &[]), Next::AddLoad);
    }
    assert_eq!(meter.interval(FAST, &[], &[]), Next::Hold);
    assert_eq!(meter.stage, Phase::Stability);
    meter
}

#[test]
fn the_drafts_formula() {
    // 60000 / ((20 + 30 + 40) / 3) = 2000 and 60000 / 100 = 600.
    let with_tls = Components::from_probes(&[millis(20, Some(30), 40)], &[Nanos::from_millis(100)]).unwrap();
    assert_eq!((with_tls.foreign, with_tls.loaded, with_tls.rpm), (2000.0, 600.0, 1300.0));
    // 60000 / ((20 + 40) / 2) = 2000.
    let plain = Components::from_probes(&[millis(20, None, 40)], &[Nanos::from_millis(100)]).unwrap();
    assert_eq!((plain.foreign, plain.rpm, plain.tls), (2000.0, 1300.0, None));
    // One probe without TLS among others: no TLS time counts.
    let mixed =
        Components::from_probes(&[millis(20, Some(30), 40), millis(20, None, 40)], &[Nanos::from_nanos(1)])
            .unwrap();
    assert_eq!(mixed.tls, None);
    assert_eq!(Components::from_probes(&[], &[Nanos::from_nanos(1)]), None);
    assert_eq!(Components::from_probes(&[millis(1, None, 1)], &[]), None);
}

#[test]
fn the_slowest_twentieth_is_cut() {
    let times: Vec<Nanos> = (1..=100).map(Nanos).collect();
    assert_eq!(trimmed_mean(&times), Some(48.0));
    let mut few = vec![Nanos::from_nanos(10); 19];
    few.push(Nanos::from_millis(1));
    assert_eq!(trimmed_mean(&few), Some(10.0));
    assert_eq!(trimmed_mean(&few[1..]), Some((18 * 10 + 1_000_000) as f64 / 19.0));
    assert_eq!(trimmed_mean(&[Nanos::from_nanos(7)]), Some(7.0));
    assert_eq!(trimmed_mean(&[]), None);
    assert_eq!(trimmed_mean(&[Nanos::MAX; 3]), Some(u64::MAX as f64));
}

#[test]
fn the_bands() {
    for (rpm, band) in [
        (299.9, Band::Poor),
        (300.0, Band::Fair),
        (999.9, Band::Fair),
        (1000.0, Band::Good),
        (6000.0, Band::Good),
        (6000.1, Band::Excellent),
    ] {
        assert_eq!(Band::for_rpm(rpm), band, "{rpm}");
    }
}

#[test]
fn a_steady_path_is_of_high_confidence_after_four_intervals_each() {
    let mut meter = saturated();
    let (foreign, loaded) = ([millis(20, Some(30), 40); 5], [Nanos::from_millis(100); 7]);
    for _ in 0..3 {
        assert_eq!(meter.interval(FAST, &foreign, &loaded), Next::Hold);
    }
    assert_eq!(meter.result().unwrap().confidence, Confidence::Low);
    assert_eq!(meter.interval(FAST, &foreign, &loaded), Next::Stop);
    let result = meter.result().unwrap();
    assert_eq!((result.rpm, result.band, result.confidence), (1300.0, Band::Good, Confidence::High));
    assert_eq!((result.foreign_probes, result.loaded_probes), (20, 28));
    assert_eq!((result.saturation_intervals, result.stability_intervals), (4, 4));
    assert_eq!((result.goodput, result.tls), (FAST, Some(Nanos::from_millis(30))));
    assert_eq!(meter.interval(FAST, &[], &[]), Next::Stop);
    assert_eq!(meter.result(), Some(result));
}

#[test]
fn growing_goodput_takes_load_until_it_stands() {
    let mut meter = ResponsivenessMeter::new(LONGEST_STAGE);
    let mut goodput = 10_000_000;
    let mut steps = 0;
    while meter.interval(BitRate(goodput), &[], &[]) == Next::AddLoad {
        steps += 1;
        goodput = if steps < 5 { goodput * 2 } else { goodput };
    }
    // Goodput is stable from the sixth on; the averages of four are within 5 % four later.
    assert_eq!((meter.stage, steps), (Phase::Stability, 9));
    assert_eq!(meter.result(), None);
}

#[test]
fn what_never_stands_ends_all_the_same() {
    let mut meter = ResponsivenessMeter::new(LONGEST_STAGE);
    let doubling = |step: u64| BitRate(1 << (20 + step));
    assert!((0..9).all(|step| meter.interval(doubling(step), &[], &[]) == Next::AddLoad));
    assert_eq!(meter.interval(doubling(9), &[], &[]), Next::Hold);
    let slower = |step: u64| ([millis(9 << step, None, 9 << step)], [Nanos::from_millis(10 << step)]);
    for step in 0..9 {
        let (foreign, loaded) = slower(step);
        assert_eq!(meter.interval(FAST, &foreign, &loaded), Next::Hold);
    }
    assert_eq!(meter.interval(FAST, &slower(9).0, &slower(9).1), Next::Stop);
    let result = meter.result().unwrap();
    assert_eq!((result.confidence, result.stability_intervals), (Confidence::Medium, 10));
}

#[test]
fn only_the_last_intervals_count() {
    let mut meter = saturated();
    meter.interval(FAST, &[millis(900, None, 900)], &[Nanos::from_millis(900)]);
    for _ in 0..4 {
        meter.interval(FAST, &[millis(30, None, 30)], &[Nanos::from_millis(60)]);
    }
    assert_eq!(meter.result().unwrap().rpm, 1500.0);
}

#[test]
fn silence_is_no_result() {
    let mut meter = saturated();
    let last = (0..10).map(|_| meter.interval(BitRate(0), &[], &[])).last();
    assert_eq!((last, meter.result()), (Some(Next::Stop), None));
    // Goodput of zero is not stable.
    let mut dead = ResponsivenessMeter::new(LONGEST_STAGE);
    assert!((0..9).all(|_| dead.interval(BitRate(0), &[], &[]) == Next::AddLoad));
}

proptest! {
    #[test]
    fn any_probes_end_in_time_with_finite_figures(
        intervals in prop::collection::vec(
            (any::<u64>(), prop::collection::vec(any::<(u64, Option<u64>, u64)>(), 0..9), prop::collection::vec(any::<u64>(), 0..9)),
            20,
        ),
    ) {
        let mut meter = ResponsivenessMeter::new(LONGEST_STAGE);
        let mut next = Next::AddLoad;
        for (goodput, foreign, loaded) in intervals {
            let probe = |&(tcp, tls, http): &(u64, Option<u64>, u64)| ForeignProbe {
                tcp: Nanos(tcp), tls: tls.map(Nanos), http: Nanos(http),
            };
            let foreign: Vec<_> = foreign.iter().map(probe).collect();
            let loaded: Vec<_> = loaded.into_iter().map(Nanos).collect();
            next = meter.interval(BitRate(goodput), &foreign, &loaded);
        }
        prop_assert_eq!(next, Next::Stop);
        if let Some(result) = meter.result() {
            prop_assert!(result.rpm.is_finite() && result.rpm > 0.0);
            let (low, high) = (result.foreign.min(result.loaded), result.foreign.max(result.loaded));
            prop_assert!((low..=high).contains(&result.rpm));
            let text = serde_json::to_string(&result).unwrap();
            prop_assert_eq!(serde_json::from_str::<Responsiveness>(&text).unwrap(), result);
        }
    }
}
