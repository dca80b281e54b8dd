//! The search against paths made of rules: clean, lossy, lying, changing, with bands that cross again, absurd.

use super::*;
use proptest::prelude::*;

/// Runs a search to its end; `crosses(round, size)` is called for every copy.
fn run(search: &mut Search, mut crosses: impl FnMut(u32, u32) -> bool) -> (Outcome, u32) {
    let mut rounds = 0;
    while let Some(round) = search.round() {
        rounds += 1;
        assert!(rounds <= 2 * MOST_ROUNDS + WEIGHINGS, "ends");
        assert!(!round.sizes.is_empty() && round.sizes.len() <= MOST_SIZES, "{round:?}");
        assert!(round.sizes.is_sorted_by(|a, b| a < b), "{round:?}");
        assert!((1..=MOST_COPIES).contains(&round.copies), "{round:?}");
        assert!(round.sizes.iter().all(|size| (search.least..=search.most).contains(size)), "{round:?}");
        let mut results: Vec<SizeProbe> = round
            .sizes
            .iter()
            .map(|size| SizeProbe { size: *size, sent: round.copies, received: 0 })
            .collect();
        for _ in 0..round.copies {
            for result in &mut results {
                result.received += u32::from(crosses(rounds, result.size));
            }
        }
        search.take(&results);
    }
    (search.outcome(), rounds)
}

fn sent(outcome: &Outcome) -> u32 {
    outcome.probes.iter().map(|probe| probe.sent).sum()
}

/// The same losses in every run of these tests (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, share: f64) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits as f64) < share * u64::MAX as f64
    }
}

#[test]
fn a_clean_path_takes_one_round() {
    for (ipv6, least, most) in [(false, 52, 1500), (true, 1280, 1500), (true, 1280, 1280), (false, 52, 65536)]
    {
        let (outcome, rounds) = run(&mut Search::new(ipv6, least, most), |_, _| true);
        assert_eq!((outcome.path_mtu, outcome.bound, rounds), (Some(most), Bound::Exact, 1));
        assert!(sent(&outcome) <= 6 && !outcome.changed && outcome.holes.is_empty());
        assert_eq!((outcome.loss, outcome.size_loss), (0.0, None));
    }
}

#[test]
fn a_black_hole_is_found_with_few_packets() {
    for (mtu, most, packets) in [(1400, 1500, 199), (1371, 1500, 199), (1280, 1500, 199), (5555, 9000, 299)] {
        let (outcome, rounds) = run(&mut Search::new(false, 52, most), |_, size| size <= mtu);
        assert_eq!((outcome.path_mtu, outcome.bound), (Some(mtu), Bound::Exact));
        assert!(sent(&outcome) <= packets && rounds <= 6, "{mtu}: {} in {rounds}", sent(&outcome));
        assert!(!outcome.changed && outcome.holes.is_empty());
    }
}

#[test]
fn hints_save_packets_and_rounds() {
    let hints: [fn(&mut Search); 2] = [|search| search.hint_mtu(1397), |search| search.hint_fragment(1396)];
    for hint in hints {
        let mut search = Search::new(false, 52, 1500);
        hint(&mut search);
        let (outcome, rounds) = run(&mut search, |_, size| size <= 1397);
        assert_eq!((outcome.path_mtu, outcome.bound), (Some(1397), Bound::Exact));
        assert!(rounds == 3 && sent(&outcome) <= 60, "{} in {rounds}", sent(&outcome));
    }
}

#[test]
fn silence_is_unknown() {
    let mut search = Search::new(false, 52, 1500);
    let (outcome, rounds) = run(&mut search, |_, _| false);
    assert_eq!((outcome.path_mtu, outcome.bound, rounds), (None, Bound::Unknown, MOST_SILENT));
    assert_eq!(search.round(), None);
}

#[test]
fn less_than_the_least_that_hosts_take_is_found() {
    for mtu in [68, 296, 552, 575] {
        let (outcome, _) = run(&mut Search::new(false, 52, 1500), |_, size| size <= mtu);
        assert_eq!((outcome.path_mtu, outcome.bound), (Some(mtu), Bound::Exact));
    }
}

#[test]
fn a_path_that_changes_is_reported() {
    for (before, after) in [(1400, 1300), (1300, 1400), (1428, 1000), (1400, 1500)] {
        for at in 3..=4 {
            let mtu = |round| if round < at { before } else { after };
            let (outcome, rounds) = run(&mut Search::new(false, 52, 1500), |round, size| size <= mtu(round));
            if rounds >= at {
                assert_eq!(outcome.path_mtu, Some(after), "{before} {after} {at}: {outcome:?}");
                assert_eq!(outcome.bound, Bound::Exact);
                assert!(outcome.changed, "{before} {after} {at}");
            }
        }
    }
    let (outcome, _) = run(&mut Search::new(false, 52, 1500), |round, size| size <= 1300 + 50 * (round % 2));
    assert!(outcome.bound == Bound::AtLeast && outcome.path_mtu <= Some(1350), "no rest: {outcome:?}");
    assert_eq!(outcome.holes, []);
}

#[test]
fn a_band_that_crosses_again_is_reported() {
    let (outcome, _) =
        run(&mut Search::new(false, 52, 9000), |_, size| size <= 1400 || (1473..4200).contains(&size));
    assert_eq!((outcome.path_mtu, outcome.bound, outcome.changed), (Some(1400), Bound::Exact, false));
    let (from, to) = (outcome.holes.first().expect("a band").0, outcome.holes.last().expect("a band").1);
    assert!(1473 <= from && to < 4200, "{:?}", outcome.holes);
}

#[test]
fn large_packets_that_are_lost_oftener_are_reported() {
    let probe = |size, received| SizeProbe { size, sent: 200, received };
    let reported = size_loss(&[probe(576, 199), probe(1000, 198), probe(1400, 180), probe(1500, 170)])
        .expect("reported");
    assert_eq!((reported.size, reported.large), (1500, 0.125));
    assert_eq!(size_loss(&[probe(576, 190), probe(1500, 189)]), None);
    assert_eq!(size_loss(&[]), None);
}

#[test]
fn losses_are_weighed_by_size() {
    let (mut reported, mut alike) = (0, 0);
    for seed in 0..100 {
        let mut chance = Chance(seed);
        let large = |size| if size > 1000 { 0.3 } else { 0.02 };
        let (outcome, _) = run(&mut Search::new(false, 52, 1500), |_, size| !chance.below(large(size)));
        assert_eq!((outcome.path_mtu, outcome.bound), (Some(1500), Bound::Exact), "{seed}");
        reported +=
            u32::from(outcome.size_loss.is_some_and(|loss| loss.size == 1500 && loss.large > loss.small));
        let (outcome, _) = run(&mut Search::new(false, 52, 1500), |_, _| !chance.below(0.3));
        alike += u32::from(outcome.size_loss.is_none());
        assert!(sent(&outcome) <= 500, "{}", sent(&outcome));
    }
    assert!(reported >= 50 && alike >= 98, "{reported} {alike}");
}

#[test]
fn losses_never_make_a_wrong_answer_exact() {
    let mut exact = 0;
    for (percent, seeds) in [(10, 400), (30, 400), (60, 100)] {
        for seed in 0..seeds {
            let (ipv6, least, mtu) =
                if seed % 2 == 0 { (false, 52, 300 + seed * 3) } else { (true, 1280, 1280 + seed / 2) };
            let mut chance = Chance(u64::from(seed) << 32 | percent);
            let mut search = Search::new(ipv6, least, 1500 + seed % 3 * 3750);
            if seed % 5 == 0 {
                search.hint_mtu(mtu);
            }
            let (outcome, _) =
                run(&mut search, |_, size| size <= mtu && !chance.below(percent as f64 / 100.0));
            match outcome.bound {
                Bound::Exact => {
                    exact += 1;
                    assert_eq!(outcome.path_mtu, Some(mtu.min(search.most)), "{percent} % {seed}");
                }
                Bound::AtLeast => assert!(outcome.path_mtu <= Some(mtu), "{percent} % {seed}"),
                _ => assert_eq!(outcome.path_mtu, None),
            }
            assert!(outcome.holes.is_empty() && !outcome.changed, "{percent} % {seed}: {outcome:?}");
        }
    }
    assert!(exact > 700, "most are found to the byte: {exact}");
}

proptest! {
    #[test]
    fn any_mtu_is_found_to_the_byte(ipv6: bool, mtu in 68u32..=65536, most in 68u32..=65536) {
        let least = if ipv6 { 1280 } else { 52 };
        let (mtu, most) = (mtu.max(least), most.max(least));
        let (outcome, rounds) = run(&mut Search::new(ipv6, least, most), |_, size| size <= mtu);
        prop_assert_eq!((outcome.path_mtu, outcome.bound), (Some(mtu.min(most)), Bound::Exact));
        prop_assert!(rounds <= 8, "{} rounds", rounds);
        prop_assert!(sent(&outcome) <= 400, "{} packets", sent(&outcome));
        prop_assert!(outcome.holes.is_empty() && !outcome.changed);
    }

    #[test]
    fn lying_hints_do_no_harm(mtu in 68u32..=9000, lies in prop::collection::vec((any::<bool>(), any::<u32>()), 0..20),
            near in prop::collection::vec(0u32..9100, 0..20)) {
        let mut search = Search::new(false, 52, 9000);
        let lies = lies.into_iter().chain(near.into_iter().map(|size| (size % 2 == 0, size)));
        for (mtu, size) in lies {
            if mtu { search.hint_mtu(size) } else { search.hint_fragment(size) }
        }
        let (outcome, rounds) = run(&mut search, |_, size| size <= mtu);
        prop_assert_eq!((outcome.path_mtu, outcome.bound), (Some(mtu), Bound::Exact));
        prop_assert!(rounds <= 12);
    }

    #[test]
    fn a_change_never_makes_a_wrong_answer_exact(before in 68u32..=1500, after in 68u32..=1500, at in 2u32..8) {
        let mtu = |round| if round < at { before } else { after };
        let (outcome, rounds) = run(&mut Search::new(false, 52, 1500), |round, size| size <= mtu(round));
        let now = if rounds < at { before } else { after };
        prop_assert!(outcome.bound != Bound::Exact || outcome.path_mtu == Some(now), "{:?}", outcome);
    }

    #[test]
    fn anything_ends(ipv6: bool, least: u32, most: u32, seed: u64, results in prop::collection::vec(any::<(u32, u32, u32)>(), 0..40)) {
        let mut search = Search::new(ipv6, least, most);
        let mut chance = Chance(seed);
        let nonsense: Vec<SizeProbe> =
            results.into_iter().map(|(size, sent, received)| SizeProbe { size, sent, received }).collect();
        search.take(&nonsense);
        let mut search = if chance.below(0.5) { search } else { Search::new(ipv6, least, most) };
        let (outcome, _) = run(&mut search, |_, _| chance.below(0.5));
        prop_assert!(outcome.path_mtu.is_none_or(|mtu| mtu <= most.max(1)));
        let mut search = Search::new(ipv6, least, most);
        for _ in 0..3 * MOST_ROUNDS {
            search.take(&nonsense);
            let _ = (search.round(), search.outcome());
        }
        prop_assert_eq!(search.round(), None);
    }
}
