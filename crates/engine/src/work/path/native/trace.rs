//! The hop behind which packets of a size end, from the hops that answered a trace with two sizes.

use model::path::{HopSource, LimitingHop, TracedHop};
use std::collections::BTreeMap;
use wire::native::Expired;

/// How many hops away the far end is, by how many of `sent` packets with growing TTLs arrived; `None`: none did.
pub(super) fn distance(arrived: u32, sent: u32) -> Option<u8> {
    u8::try_from(sent.checked_sub(arrived)? + 1).ok().filter(|_| arrived > 0)
}

/// The hops that answered, nearest first. `sizes`: payload of the large and of the small packets; `distance`: of the far
/// end, whose own messages are no hop's.
pub(super) fn hops(expired: &[Expired], sizes: [u32; 2], distance: Option<u8>) -> Vec<TracedHop> {
    let mut hops: BTreeMap<u8, TracedHop> = BTreeMap::new();
    let ours = |reported: &&Expired| {
        sizes.contains(&reported.size) && distance.is_none_or(|far| reported.hops < far)
    };
    for reported in expired.iter().filter(ours) {
        let new = TracedHop { ttl: reported.hops, address: reported.from, large: false, small: false };
        let hop = hops.entry(reported.hops).or_insert(new);
        hop.large |= reported.size == sizes[0];
        hop.small |= reported.size == sizes[1];
    }
    hops.into_values().collect()
}

/// The last hop that answers large packets, where the one right behind it passes small ones on or answers them: without a
/// sign from there, the limit may be at any of the silent hops.
pub(super) fn limit(hops: &[TracedHop], distance: Option<u8>) -> Option<LimitingHop> {
    let last = hops.iter().rev().find(|hop| hop.large);
    let ttl = last.map_or(0, |hop| hop.ttl);
    let next = ttl.checked_add(1)?;
    let heard = distance == Some(next) || hops.iter().any(|hop| hop.small && hop.ttl == next);
    heard.then(|| LimitingHop {
        address: last.and_then(|hop| hop.address),
        ttl: Some(ttl),
        found_by: HopSource::Trace,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u32; 2] = [1373, 1372];

    fn expired_answer(hops: u8, size: u32) -> Expired {
        Expired { size, hops, from: Some([10, 0, 0, hops].into()), ..Expired::default() }
    }

    fn limit_of(answers: &[(u8, u32)], arrived: u32) -> Option<u8> {
        let expired: Vec<Expired> = answers.iter().map(|(ttl, size)| expired_answer(*ttl, *size)).collect();
        let distance = distance(arrived, 16);
        limit(&hops(&expired, SIZES, distance), distance).and_then(|hop| hop.ttl)
    }

    #[test]
    fn the_limit_lies_between_the_last_large_answer_and_the_next_small_one() {
        assert_eq!(limit_of(&[(1, 1373), (1, 1372), (2, 1372)], 14), Some(1));
        assert_eq!(limit_of(&[(1, 1373), (1, 1372), (2, 1373), (2, 1372)], 14), Some(2), "the last link");
        assert_eq!(limit_of(&[(1, 1372), (2, 1372)], 14), Some(0), "the first link");
        assert_eq!(limit_of(&[(2, 1373), (3, 1372)], 13), Some(2), "hop 1 answers nothing");
    }

    #[test]
    fn a_silent_hop_behind_it_may_be_the_one() {
        assert_eq!(
            limit_of(&[(1, 1373), (1, 1372)], 14),
            None,
            "hop 2 answers nothing, the far end is the third"
        );
        assert_eq!(limit_of(&[(1, 1373), (1, 1372), (3, 1372)], 13), None);
        assert_eq!(limit_of(&[], 14), None);
        assert_eq!(limit_of(&[(1, 1373), (1, 1372)], 15), Some(1), "the far end is the second");
    }

    #[test]
    fn what_other_packets_met_does_not_count() {
        let expired = [expired_answer(1, 1472), expired_answer(2, 1372), expired_answer(9, 1372)];
        let hops = hops(&expired, SIZES, Some(3));
        assert_eq!(
            hops,
            [TracedHop { ttl: 2, address: Some([10, 0, 0, 2].into()), large: false, small: true }]
        );
    }
}
