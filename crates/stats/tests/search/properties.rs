//! Properties of every search, whatever the device does.

use crate::device::{Device, Kind, any_kind};
use pathmeter_stats::search::{
    Binary, BinaryConfig, Goal, GoalOutcome, Irregular, Limits, Load, Mlr, MlrConfig, Search, SearchError,
    TrialResult,
};
use proptest::prelude::*;
use units::Nanos;

const MIN: f64 = 1_000.0;
const MAX: f64 = 14_880_952.0;

fn limits() -> Limits {
    Limits { min: Load(MIN), max: Load(MAX) }
}

/// The configuration of CSIT.
fn ndr_pdr() -> MlrConfig {
    MlrConfig {
        limits: limits(),
        goals: vec![Goal::ndr(), Goal::pdr()],
        warm_up: Some(Nanos::from_secs(1)),
        budget: Nanos::from_secs(1200),
    }
}

fn goals() -> impl Strategy<Value = Vec<Goal>> {
    let goal = (0.0..0.2_f64, 0.0..0.9_f64, 0.001..0.3_f64, 1_u64..5, 1_u64..20, 0_u32..4, 2_u32..5);
    let goal = goal.prop_map(|(loss_ratio, exceed_ratio, width, trial, more, preceding, expansion)| Goal {
        loss_ratio,
        exceed_ratio,
        width,
        initial_duration: Nanos::from_secs(if preceding == 0 { trial + more } else { 1 }),
        final_duration: Nanos::from_secs(if preceding == 0 { trial + more } else { trial }),
        duration_sum: Nanos::from_secs(trial + more),
        preceding,
        expansion,
        fail_fast: false,
    });
    prop::collection::vec(goal, 1..4)
}

/// Runs a search, whose trials must keep to its limits, and returns the number of trials and their time.
fn run(search: &mut impl Search, device: &mut Device) -> (u32, Nanos) {
    let (mut trials, mut spent) = (0, Nanos::ZERO);
    while let Some(trial) = search.trial() {
        trials += 1;
        spent += trial.duration;
        assert!(trials < 20_000, "the search does not end");
        assert!((MIN..=MAX).contains(&trial.load.0), "{trial:?}");
        assert!(trial.duration > Nanos::ZERO && trial.frames > 0);
        search.take(&device.measure(&trial));
    }
    (trials, spent)
}

fn mlr(goals: Vec<Goal>, kind: Kind) -> Vec<GoalOutcome> {
    let config = MlrConfig { goals, budget: Nanos::from_secs(1_000_000), ..ndr_pdr() };
    let mut search = Mlr::new(&config).expect("the goals are good");
    let (trials, _) = run(&mut search, &mut Device::new(kind, Nanos::ZERO));
    assert!(trials > 0);
    search.outcome()
}

fn outcome_of(goal: Goal, kind: Kind) -> GoalOutcome {
    mlr(vec![Goal { fail_fast: false, ..goal }], kind).remove(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn bounds_are_as_close_as_requested_or_marked(goals in goals(), kind in any_kind(500.0..2e7, 1_000_000)) {
        for outcome in mlr(goals, kind) {
            let irregular = &outcome.irregular;
            prop_assert!(!irregular.contains(&Irregular::Unfinished), "{:?}", outcome);
            match (&outcome.lower, outcome.upper) {
                (Some(lower), Some(upper)) => {
                    prop_assert!(lower.load < upper);
                    let width = (upper.0 - lower.load.0) / upper.0;
                    prop_assert!(width <= outcome.goal.width, "{} is wider than {}", width, outcome.goal.width);
                    prop_assert!(lower.conditional_throughput <= lower.load);
                    let least = lower.load.0 * (1.0 - outcome.goal.loss_ratio);
                    prop_assert!(lower.conditional_throughput.0 >= least * (1.0 - 1e-12));
                }
                (Some(lower), None) => {
                    prop_assert_eq!(lower.load, Load(MAX));
                    prop_assert!(irregular.contains(&Irregular::NoUpperBound));
                }
                (None, upper) => {
                    prop_assert_eq!(upper, Some(Load(MIN)));
                    prop_assert!(irregular.contains(&Irregular::NoLowerBound));
                }
            }
        }
    }

    #[test]
    fn a_sharp_limit_is_between_the_bounds(capacity in 2.0 * MIN..MAX * 0.99) {
        for goal in [Goal::ndr(), Goal::rfc2544()] {
            let outcome = outcome_of(goal, Kind::Sharp { capacity });
            let (lower, upper) = (outcome.lower.unwrap(), outcome.upper.unwrap());
            // A frame more or less in a trial is below the resolution of its count.
            prop_assert!(lower.load.0 <= capacity + 1.0 && capacity <= upper.0 + 1.0);
            prop_assert_eq!(lower.conditional_throughput, lower.load);
            prop_assert_eq!(outcome.irregular, []);
        }
    }

    #[test]
    fn halving_ends_and_keeps_its_promise(kind in any_kind(500.0..2e7, 1_000_000), resolution in 0.0001..0.2_f64, short: bool) {
        let short = short.then_some(Nanos::from_secs(1));
        let config = BinaryConfig { resolution, short, limits: limits(), loss_ratio: 0.0, duration: Nanos::from_secs(60) };
        let most = config.most_trials();
        let mut search = Binary::new(config).unwrap();
        let (trials, _) = run(&mut search, &mut Device::new(kind, Nanos::ZERO));
        prop_assert!(trials <= most, "{} of at most {}", trials, most);
        let outcome = search.outcome();
        if let (Some(lower), Some(upper)) = (outcome.throughput, outcome.upper) {
            prop_assert!(lower < upper && upper.0 - lower.0 <= resolution * MAX);
        }
        if let Kind::Sharp { capacity } = kind && capacity > MIN && capacity < MAX {
            prop_assert!(outcome.throughput.unwrap().0 <= capacity + 1.0);
            prop_assert!(outcome.upper.unwrap().0 + 1.0 >= capacity);
        }
    }
}

#[test]
fn partial_drop_rate_is_above_no_drop_rate() {
    let kind = Kind::Sharp { capacity: 1_000_000.0 };
    let config = ndr_pdr();
    let mut search = Mlr::new(&config).unwrap();
    let (_, spent) = run(&mut search, &mut Device::new(kind, Nanos::ZERO));
    let [ndr, pdr] = search.outcome().try_into().unwrap();
    let (ndr, pdr) = (ndr.lower.unwrap(), pdr.lower.unwrap());
    assert!(ndr.load < pdr.load);
    assert_eq!(ndr.conditional_throughput, ndr.load);
    assert!((pdr.conditional_throughput.0 / 1_000_000.0 - 1.0).abs() < 0.005);
    assert!(spent < config.budget);
}

#[test]
fn irregular_results_are_marked() {
    let slow = outcome_of(Goal::ndr(), Kind::SlowGenerator { most: 2_000_000.0 });
    assert_eq!(slow.irregular, [Irregular::GeneratorLimited]);
    let doubled = outcome_of(Goal::ndr(), Kind::Duplicating { from: 3_000_000.0 });
    assert_eq!(doubled.irregular, [Irregular::Duplicates]);
    assert_eq!(outcome_of(Goal::ndr(), Kind::Dead).irregular, [Irregular::NoLowerBound]);
    let fast = outcome_of(Goal::ndr(), Kind::Sharp { capacity: 1e9 });
    assert_eq!((fast.irregular, fast.lower.unwrap().load), (vec![Irregular::NoUpperBound], Load(MAX)));
    let livelock = outcome_of(Goal::ndr(), Kind::Livelock { capacity: 1_070_000.0 });
    assert_eq!(livelock.irregular, []);
}

/// Loses one of a hundred up to 7 Mpps and none from there to 9 Mpps: a goal that allows 2 % goes up and detects it.
#[test]
fn loss_that_shrinks_with_load_is_marked_and_the_lower_load_counts() {
    let goals = [Goal::ndr(), Goal { loss_ratio: 0.02, ..Goal::ndr() }];
    let mut search = Mlr::new(&MlrConfig { goals: goals.to_vec(), ..ndr_pdr() }).unwrap();
    while let Some(trial) = search.trial() {
        let received = match trial.load.0 {
            ..400_000.0 | 7_000_000.0..9_000_000.0 => trial.frames,
            9_000_000.0.. => trial.frames / 10,
            _ => trial.frames - trial.frames / 100,
        };
        search.take(&TrialResult {
            intended: trial.frames,
            sent: trial.frames,
            received,
            duplicates: 0,
            duration: trial.duration,
        });
    }
    let [ndr, pdr] = search.outcome().try_into().unwrap();
    assert_eq!(ndr.irregular, [Irregular::LossInversion]);
    assert!((ndr.upper.unwrap().0 / 400_000.0 - 1.0).abs() < 0.005, "{ndr:?}");
    assert!((pdr.lower.unwrap().load.0 / 9_000_000.0 - 1.0).abs() < 0.005, "{pdr:?}");
}

#[test]
fn noise_within_the_exceed_ratio_costs_no_throughput() {
    let noisy = Kind::Noisy { capacity: 1_000_000.0, every: 4, per: 1000 };
    let robust = outcome_of(Goal::ndr(), noisy).lower.unwrap().load;
    assert!((robust.0 / 1_000_000.0 - 1.0).abs() < 0.01, "{robust}");
}

#[test]
fn the_budget_ends_the_search() {
    let config = MlrConfig { budget: Nanos::from_secs(10), ..ndr_pdr() };
    let mut search = Mlr::new(&config).unwrap();
    let (_, spent) = run(&mut search, &mut Device::new(Kind::Sharp { capacity: 1e6 }, Nanos::ZERO));
    assert!(spent <= Nanos::from_secs(11));
    assert!(search.outcome().iter().all(|goal| goal.irregular.contains(&Irregular::Unfinished)));
}

#[test]
fn a_dead_device_ends_the_search_of_all_goals_at_once() {
    let goals = vec![Goal::ndr(), Goal { fail_fast: false, ..Goal::pdr() }];
    let config = MlrConfig { goals, ..ndr_pdr() };
    let mut search = Mlr::new(&config).unwrap();
    let (trials, _) = run(&mut search, &mut Device::new(Kind::Dead, Nanos::ZERO));
    assert!(trials < 40, "{trials}");
    assert!(search.outcome()[0].irregular.contains(&Irregular::NoLowerBound));
}

#[test]
fn senseless_searches_are_refused() {
    let refused = |config: MlrConfig| Mlr::new(&config).unwrap_err();
    let config = ndr_pdr();
    let swapped = Limits { min: Load(2e6), max: Load(1e6) };
    assert_eq!(
        refused(MlrConfig { limits: swapped, ..config.clone() }).to_string(),
        "search: the least load (2000000 frames/s) must be above 0 and below the most (1000000 frames/s)"
    );
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let limits = Limits { min: Load(bad), max: Load(1e6) };
        assert!(matches!(refused(MlrConfig { limits, ..config.clone() }), SearchError::Limits { .. }));
    }
    assert_eq!(refused(MlrConfig { goals: vec![], ..config.clone() }), SearchError::Goals);
    let twice = vec![Goal::ndr(), Goal::ndr()];
    assert_eq!(refused(MlrConfig { goals: twice, ..config.clone() }), SearchError::Goals);
    let slow = Limits { min: Load(0.5), max: Load(1e6) };
    assert!(matches!(refused(MlrConfig { limits: slow, ..config }), SearchError::EmptyTrial { .. }));
}
