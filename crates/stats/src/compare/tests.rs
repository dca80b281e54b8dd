//! The comparison as a whole: judgements, fixtures, symmetry, false alarms and power.

use super::super::random::Random;
use super::*;
use proptest::prelude::*;

fn alone(base: &[f64], other: &[f64], rules: Rules) -> Comparison {
    table(&[Case { name: "rate", base, other, rules }]).unwrap().remove(0)
}

const A: [f64; 8] = [9.41, 9.39, 9.36, 9.40, 9.37, 9.42, 9.38, 9.35];

#[test]
fn the_judgements() {
    let scaled = |factor: f64| A.map(|value| value * factor);
    let word = |factor, higher| alone(&A, &scaled(factor), Rules::new(higher)).judgement;
    assert_eq!(word(0.9, true), Judgement::Worse);
    assert_eq!(word(0.9, false), Judgement::Better);
    assert_eq!(word(1.1, true), Judgement::Better);
    assert_eq!(word(1.1, false), Judgement::Worse);
    // The groups surely differ by 1 %, which does not count.
    let little = alone(&A, &scaled(0.99), Rules::new(true));
    assert!(little.q.unwrap() < 0.05);
    assert_eq!(little.judgement, Judgement::Same);
    let noisy = Rules { noise_floor_percent: 12.0, ..Rules::new(true) };
    assert_eq!(alone(&A, &scaled(0.9), noisy).judgement, Judgement::Same);
}

#[test]
fn no_significance_is_not_sameness() {
    let wide = [7.0, 11.0, 9.0, 8.0, 10.5, 9.9, 9.77, 10.1];
    let row = alone(&A, &wide, Rules::new(true));
    assert!(row.p.unwrap() > 0.05);
    let Judgement::CannotTell { more_runs } = row.judgement else { panic!("{row:?}") };
    assert!((20..1000).contains(&more_runs), "{more_runs}");
    assert_eq!(row.judgement.to_string(), format!("cannot tell: need about {more_runs} more runs a side"));
}

#[test]
fn few_runs_are_never_the_same() {
    let row = alone(&[9.0; 5], &[9.0; 8], Rules::new(true));
    assert_eq!(row.judgement, Judgement::TooFew { needed: 6 });
    assert_eq!(row.judgement.to_string(), "cannot tell: needs at least 6 runs a side");
    assert!(row.few && row.base.median_bounds.is_none());
    for (base, other) in [(&[][..], &[][..]), (&[1.0][..], &[2.0, 3.0][..]), (&A[..], &[][..])] {
        let row = alone(base, other, Rules::new(true));
        assert_eq!((row.judgement, row.p, row.q), (Judgement::TooFew { needed: 6 }, None, None));
    }
}

#[test]
fn what_is_no_figure_is_named() {
    let error = |base: &[f64], other: &[f64]| {
        table(&[Case { name: "rtt", base, other, rules: Rules::new(false) }]).unwrap_err().to_string()
    };
    assert_eq!(
        error(&[1.0, -2.0], &[1.0]),
        "compare \"rtt\": run 2 of base is -2, and only figures from 0 to 1e100 can be compared"
    );
    assert!(error(&[1.0], &[f64::NAN]).contains("run 1 of other is NaN"));
    let zero = alone(&[0.0; 6], &[1.0; 6], Rules::new(false));
    assert_eq!((zero.judgement, zero.shift), (Judgement::NoPercentage, None));
}

#[test]
fn medians_have_their_interval() {
    let group = Group::from_values(&A);
    assert_eq!((group.runs, group.median_bounds), (8, Some([9.35, 9.42])));
    assert!((group.median.unwrap() - 9.385).abs() < 1e-12);
    assert_eq!(Group::from_values(&[]), Group::default());
}

/// Seconds for 10 MB over an LTE line (`fixtures/README.md`): S3 down and up, Harvest down and up.
const MTU_1430: [[f64; 3]; 4] =
    [[10.61, 11.438, 10.54], [10.362, 10.661, 10.542], [10.743, 11.026, 10.613], [10.347, 10.519, 10.516]];
const MTU_1280: [[f64; 3]; 4] =
    [[11.131, 11.746, 11.155], [11.033, 10.615, 10.423], [14.182, 14.429, 14.648], [10.896, 10.538, 10.467]];
const MTU_2000: [[f64; 3]; 4] =
    [[10.443, 10.990, 10.918], [10.802, 10.277, 10.582], [10.988, 10.657, 10.553], [10.526, 11.063, 10.429]];

#[test]
fn only_one_of_the_lte_transfers_differs() {
    let rules = Rules::new(false);
    let case = |(base, other): (&'static [f64; 3], &'static [f64; 3])| Case { name: "s", base, other, rules };
    let cases: Vec<Case<'_>> =
        MTU_1430.iter().cycle().zip(MTU_1280.iter().chain(&MTU_2000)).map(case).collect();
    let rows = table(&cases).unwrap();
    for (index, row) in rows.iter().enumerate() {
        let expected = if index == 2 { Judgement::Worse } else { Judgement::TooFew { needed: 6 } };
        assert_eq!((row.judgement, row.method, row.few), (expected, Some(Method::Welch), true), "{index}");
    }
    // scipy.stats.ttest_ind(equal_var=False) and its confidence_interval, false_discovery_control.
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    let shift = rows[2].shift.unwrap();
    // The medians, which are printed beside it.
    near(shift.percent, (rows[2].other.median.unwrap() / rows[2].base.median.unwrap() - 1.0) * 100.0);
    assert!(shift.low.unwrap() < shift.percent && shift.percent < shift.high.unwrap(), "{shift:?}");
    near(rows[2].p.unwrap(), 4.000_568_061_106_781e-5);
    near(rows[2].q.unwrap(), 3.200_454_45e-4);
    near(rows[0].q.unwrap(), 0.741_023_157);
    near(rows[7].p.unwrap(), 0.396_666_537_514_949_4);
}

#[test]
fn the_change_is_that_of_the_two_figures_beside_it() {
    let sets: [(&[f64], &[f64]); 4] = [
        (&[9.1, 9.2, 30.0], &[9.0, 9.3, 1.0]),
        (&[11.6, 10.7], &[1.17, 1.19]),
        (&[1.0, 2.0, 3.0, 50.0, 60.0, 70.0], &[2.0, 2.1, 2.2, 40.0, 41.0, 90.0]),
        (&[5.0], &[1.0]),
    ];
    for (base, other) in sets {
        let row = alone(base, other, Rules::new(true));
        let (shift, medians) = (row.shift.unwrap(), row.other.median.unwrap() / row.base.median.unwrap());
        assert!((shift.percent - (medians - 1.0) * 100.0).abs() < 1e-9, "{row:?}");
        assert!(shift.low.is_none_or(|low| (-100.0..=shift.percent).contains(&low)), "{row:?}");
        assert!(shift.high.is_none_or(|high| high >= shift.percent), "{row:?}");
    }
}

#[test]
fn nothing_changed_raises_no_alarm() {
    let mut random = Random(4);
    let pairs: Vec<(Vec<f64>, Vec<f64>)> =
        (0..1000).map(|_| (random.runs(6, 9.4e9, 0.02), random.runs(6, 9.4e9, 0.02))).collect();
    let case = |(base, other): &'static (Vec<f64>, Vec<f64>)| Case {
        name: "x",
        base,
        other,
        rules: Rules::new(true),
    };
    let rows = table(&pairs.leak().iter().map(case).collect::<Vec<_>>()).unwrap();
    // Judged alone: the exact test of 6 and 6 runs at 5 % alarms in 4.1 % of cases.
    let alarms = rows.iter().filter(|row| row.p.unwrap() < 0.05).count();
    assert!((25..60).contains(&alarms), "{alarms} of 1000");
    let judgements =
        rows.iter().filter(|row| matches!(row.judgement, Judgement::Better | Judgement::Worse)).count();
    assert_eq!(judgements, 0);
    // The interval contains the truth, which is no shift, in at least 95 % of cases.
    let holds = |row: &&Comparison| {
        let shift = row.shift.unwrap();
        shift.low.unwrap() <= 0.0 && shift.high.unwrap() >= 0.0
    };
    assert!(rows.iter().filter(holds).count() >= 940);
}

#[test]
fn a_tenth_less_is_found() {
    let mut random = Random(5);
    for _ in 0..100 {
        let (base, other) = (random.runs(8, 1.0, 0.02), random.runs(8, 0.9, 0.02));
        assert_eq!(alone(&base, &other, Rules::new(true)).judgement, Judgement::Worse);
    }
}

/// The mesh of 100 sites of `docs/methods/comparison.md`: nothing has changed on any of its 9,900 paths.
#[test]
fn a_mesh_in_which_nothing_changed_raises_no_alarm() {
    let mut random = Random(9);
    let runs: Vec<[Vec<f64>; 2]> = (0..9900).map(|_| [(); 2].map(|()| random.runs(6, 9.4e9, 0.02))).collect();
    let rules = Rules::new(true);
    let cases: Vec<Case<'_>> =
        runs.iter().map(|[base, other]| Case { name: "path", base, other, rules }).collect();
    let rows = table(&cases).unwrap();
    let alone = rows.iter().filter(|row| row.p.unwrap() < 0.05).count();
    assert!((300..500).contains(&alone), "{alone} would be called different without the correction");
    let called = |row: &&Comparison| matches!(row.judgement, Judgement::Better | Judgement::Worse);
    assert_eq!(rows.iter().filter(called).count(), 0);
}

/// How often 6 and 6, and 10 and 10 runs find a loss, at a spread of 2 %.
#[test]
fn a_loss_is_found_as_often_as_the_method_promises() {
    let mut random = Random(10);
    for (runs, loss, least, most) in
        [(6, 0.02, 20, 45), (6, 0.05, 90, 100), (6, 0.10, 100, 100), (10, 0.02, 38, 65), (10, 0.05, 98, 100)]
    {
        let mut is_found = || {
            let (base, other) = (random.runs(runs, 1.0, 0.02), random.runs(runs, 1.0 - loss, 0.02));
            alone(&base, &other, Rules::new(true)).p.unwrap() < 0.05
        };
        let found = (0..200).filter(|_| is_found()).count() / 2;
        assert!((least..=most).contains(&found), "{runs} runs, {loss}: {found} %");
    }
}

/// Interleaved runs resist a drift of 0.3 % per run, and runs of one group after the other do not.
#[test]
fn interleaved_runs_stand_a_drift() {
    let mut random = Random(11);
    let mut alarms = [0; 2];
    for _ in 0..500 {
        let drifting: Vec<f64> = random
            .runs(12, 1.0, 0.02)
            .iter()
            .zip(0..)
            .map(|(run, at)| run * (1.0 - 0.003 * f64::from(at)))
            .collect();
        let is_even = |at: &usize| at.is_multiple_of(2);
        let turns = |wanted: bool| {
            (0..12).filter(|at| is_even(at) == wanted).map(|at| drifting[at]).collect::<Vec<_>>()
        };
        let (even, odd) = (turns(true), turns(false));
        for (alarms, (base, other)) in
            alarms.iter_mut().zip([(&drifting[..6], &drifting[6..]), (even.as_slice(), odd.as_slice())])
        {
            *alarms += u32::from(alone(base, other, Rules::new(true)).p.unwrap() < 0.05);
        }
    }
    let [after, interleaved] = alarms;
    assert!(after > 75 && interleaved < 35, "one after the other {after}, in turn {interleaved} of 500");
}

#[test]
fn the_number_of_more_runs_suffices() {
    // A loss of 5 % at a spread of 5 %: the number of runs requested after 6 runs finds it in most cases.
    let mut random = Random(6);
    let (mut asked, mut found) = (0, 0);
    for _ in 0..200 {
        let (mut base, mut other) = (random.runs(6, 1.0, 0.05), random.runs(6, 0.95, 0.05));
        let first = alone(&base, &other, Rules::new(true));
        let Judgement::CannotTell { more_runs } = first.judgement else { continue };
        if more_runs > 100 {
            continue;
        }
        asked += 1;
        base.extend(random.runs(more_runs as usize, 1.0, 0.05));
        other.extend(random.runs(more_runs as usize, 0.95, 0.05));
        let second = alone(&base, &other, Rules::new(true)).judgement;
        found += u32::from(second == Judgement::Worse);
    }
    assert!(asked > 50 && found * 10 > asked * 6, "{found} of {asked}");
}

#[test]
fn it_is_written_and_read_again() {
    let row = alone(&A, &A.map(|value| value * 1.5), Rules::new(false));
    let text = serde_json::to_string(&row).unwrap();
    assert!(
        text.contains(r#""method":"mann-whitney-exact""#) && text.contains(r#"{"word":"worse"}"#),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), row);
    let word = serde_json::to_string(&Judgement::CannotTell { more_runs: 7 }).unwrap();
    assert_eq!(word, r#"{"word":"cannot_tell","more_runs":7}"#);
}

fn runs() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((80_u32..120).prop_map(f64::from), 2..40)
}

proptest! {
    // Exact distributions are slow.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn exchanging_the_groups_turns_the_shift(base in runs(), other in runs()) {
        let (there, back) = (alone(&base, &other, Rules::new(true)), alone(&other, &base, Rules::new(true)));
        prop_assert!((there.p.unwrap() - back.p.unwrap()).abs() < 1e-9);
        if !there.few {
            let ratio = |shift: f64| 1.0 + shift / 100.0;
            let (one, two) = (there.shift.unwrap(), back.shift.unwrap());
            prop_assert!((ratio(one.percent) * ratio(two.percent) - 1.0).abs() < 1e-9);
            prop_assert!((ratio(one.low.unwrap()) * ratio(two.high.unwrap()) - 1.0).abs() < 1e-9);
            let turned = match back.judgement {
                Judgement::Better => Judgement::Worse,
                Judgement::Worse => Judgement::Better,
                other => other,
            };
            // Near the threshold +2 % is not −2 %.
            if (one.percent.abs() - 2.0).abs() > 0.1 && !matches!(turned, Judgement::CannotTell { .. } | Judgement::Same) {
                prop_assert_eq!(there.judgement, turned);
            }
        }
    }

    #[test]
    fn the_order_of_runs_does_not_matter(base in runs(), other in runs(), by in 0_usize..40) {
        let mut turned = base.clone();
        turned.rotate_left(by % base.len());
        let mut backwards = other.clone();
        backwards.reverse();
        let (one, two) = (alone(&base, &other, Rules::new(true)), alone(&turned, &backwards, Rules::new(true)));
        prop_assert!((one.p.unwrap() - two.p.unwrap()).abs() < 1e-9);
        prop_assert!((one.shift.unwrap().percent - two.shift.unwrap().percent).abs() < 1e-9);
    }

    #[test]
    fn any_figures_are_an_answer(base in prop::collection::vec(prop_oneof![0.0..1e100, Just(0.0)], 0..80), other in prop::collection::vec(prop_oneof![0.0_f64..1e-300, Just(0.0)], 0..80)) {
        let row = alone(&base, &other, Rules::new(true));
        if let Some(p) = row.p {
            prop_assert!((0.0..=1.0).contains(&p), "{}", p);
        }
        if let Some(Shift { percent, low: Some(low), high: Some(high) }) = row.shift {
            prop_assert!(low <= percent && percent <= high, "{low} {percent} {high}");
        }
        let _ = row.judgement.to_string();
    }
}
