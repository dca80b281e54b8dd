//! Under-load with bursts or changing sizes: every message written out beforehand, as for a playback.

use super::end::{End, Told};
use model::playback::Item;
use model::units::Nanos;
use report::format::sockperf::{Asked, End as AskedEnd, Mode};

/// The messages of such a test; none of any other. `most` is the largest size, `seed` chooses the sizes.
///
/// As sockperf: a burst goes at once, all of one size, and sizes are uniform in what `-m` and `-r` allow.
pub(super) fn items(asked: &Asked, most: u32, seed: u64) -> Told<Vec<Item>> {
    let even = asked.burst == 1 && asked.range == 0;
    let (Mode::UnderLoad, false, AskedEnd::Seconds(seconds)) = (asked.mode, even, asked.end) else {
        return Ok(Vec::new());
    };
    let Some(rate) = asked.rate else {
        return Err(End::bad("-b and -r with --mps=max are not served by pathmeter: give a rate"));
    };
    let (burst, rate) = (u64::from(asked.burst), u64::from(rate));
    let count = u64::from(seconds).saturating_mul(rate);
    if count > MOST {
        return Err(End::bad(format!("-b and -r are served for up to {MOST} messages: lower -t or --mps")));
    }
    let (least, most) = (
        asked.size.saturating_sub(asked.range).max(SHORTEST),
        asked.size.saturating_add(asked.range).min(most),
    );
    let choices = u64::from(most.saturating_sub(least)) + 1;
    let item = |number: u64| {
        let first = number / burst * burst;
        let at = u128::from(first) * 1_000_000_000 / u128::from(rate);
        let size = least + u32::try_from(scatter(seed ^ first) % choices).unwrap_or(0);
        Item { at: Nanos(u64::try_from(at).unwrap_or(u64::MAX)), size }
    };
    Ok((0..count).map(item).collect())
}

/// A number that looks like chance (SplitMix64).
fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Of a message, bytes.
const SHORTEST: u32 = 14;
/// Messages that are kept in memory: 16 bytes each.
const MOST: u64 = 20_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn asked() -> Asked {
        Asked {
            mode: Mode::UnderLoad,
            rate: Some(1000),
            reply_every: 10,
            size: 64,
            end: AskedEnd::Seconds(2),
            ..Asked::default()
        }
    }

    #[test]
    fn bursts_go_at_once() {
        let items = items(&Asked { burst: 4, ..asked() }, 65_507, 1).unwrap();
        assert_eq!(items.len(), 2000);
        let times: Vec<u64> = items[..9].iter().map(|item| item.at.0).collect();
        assert_eq!(times, [0, 0, 0, 0, 4_000_000, 4_000_000, 4_000_000, 4_000_000, 8_000_000]);
        assert!(items.iter().all(|item| item.size == 64));
    }

    #[test]
    fn sizes_are_spread_over_all_that_is_allowed() {
        let sizes = |size, range, most| -> BTreeSet<u32> {
            let asked = Asked { size, range, ..asked() };
            items(&asked, most, 7).unwrap().iter().map(|item| item.size).collect()
        };
        assert_eq!(sizes(100, 5, 65_507), (95..=105).collect());
        assert_eq!(sizes(16, 5, 65_507), (14..=21).collect());
        assert_eq!(sizes(98, 5, 100), (93..=100).collect());
        let one_burst = items(&Asked { burst: 10, range: 50, ..asked() }, 1000, 3).unwrap();
        assert!(one_burst.chunks(10).all(|burst| burst.iter().all(|item| item.size == burst[0].size)));
    }

    #[test]
    fn other_tests_have_none_and_endless_ones_are_refused() {
        assert_eq!(items(&asked(), 100, 1), Ok(Vec::new()));
        assert_eq!(items(&Asked { mode: Mode::PingPong, range: 5, ..asked() }, 100, 1), Ok(Vec::new()));
        assert!(items(&Asked { rate: None, range: 5, ..asked() }, 100, 1).is_err());
        assert!(items(&Asked { rate: Some(1 << 30), range: 5, ..asked() }, 100, 1).is_err());
    }
}
