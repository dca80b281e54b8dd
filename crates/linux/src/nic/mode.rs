//! The mode of a link: its speed, its duplex, and the fastest that both of its ends offer.
//!
//! Source: `struct ethtool_link_settings` and `enum ethtool_link_mode_bit_indices` of `linux/ethtool.h`.

use crate::netlink::u32_at;
use units::BitRate;

/// How a link runs, as its driver reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkMode {
    /// Its speed.
    pub speed: Option<BitRate>,
    /// The fastest that it could run at: what both ends offer, or this one where it does not negotiate.
    pub best: Option<BitRate>,
}

impl LinkMode {
    /// Reads the settings with their three bit maps: supported, advertised, advertised by the other end.
    pub(super) fn read(settings: &[u8]) -> LinkMode {
        let speed = match u32_at(settings, 4) {
            None | Some(0 | u32::MAX) => None,
            Some(megabits) => Some(megabits_per_second(megabits)),
        };
        let length = settings.get(WORDS).map_or(0, |count| usize::from(count.cast_signed().unsigned_abs()));
        let map = |which: usize| -> Vec<u32> {
            let word = |place: usize| u32_at(settings, MAPS + (which * length + place) * 4).unwrap_or(0);
            (0..length).map(word).collect()
        };
        let (supported, partner) = (map(0), map(2));
        let negotiates = settings.get(AUTONEG) == Some(&1);
        let common: Vec<u32> = supported.iter().zip(&partner).map(|(one, other)| one & other).collect();
        // A partner that offers nothing does not negotiate, or its driver does not report it.
        let best = match (negotiates, fastest(&common)) {
            (true, common) => common,
            (false, _) => fastest(&supported),
        };
        LinkMode { speed, best }
    }
}

fn megabits_per_second(megabits: u32) -> BitRate {
    BitRate(u64::from(megabits) * 1_000_000)
}

fn fastest(map: &[u32]) -> Option<BitRate> {
    let is_set = |bit: u32| map.get(bit as usize / 32).is_some_and(|word| word & (1 << (bit % 32)) != 0);
    let set = SPEEDS.iter().filter(|(first, last, _)| (*first..=*last).any(is_set));
    set.map(|(_, _, megabits)| megabits_per_second(*megabits)).max()
}

/// Bits of link modes, from one to another, and their speed in Mbit/s. Bits between that are no speeds are left out.
const SPEEDS: &[(u32, u32, u32)] = &[
    (0, 1, 10),
    (2, 3, 100),
    (4, 5, 1_000),
    (12, 12, 10_000),
    (15, 15, 2_500),
    (17, 17, 1_000),
    (18, 20, 10_000),
    (21, 22, 20_000),
    (23, 26, 40_000),
    (27, 30, 56_000),
    (31, 33, 25_000),
    (34, 35, 50_000),
    (36, 39, 100_000),
    (40, 40, 50_000),
    (41, 41, 1_000),
    (42, 46, 10_000),
    (47, 47, 2_500),
    (48, 48, 5_000),
    (52, 56, 50_000),
    (57, 61, 100_000),
    (62, 66, 200_000),
    (67, 67, 100),
    (68, 68, 1_000),
    (69, 73, 400_000),
    (75, 79, 100_000),
    (80, 84, 200_000),
    (85, 89, 400_000),
    (90, 91, 100),
    (92, 92, 10),
    (93, 98, 800_000),
];
const AUTONEG: usize = 11;
const WORDS: usize = 15;
const MAPS: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: u32 = 0b11;
    const HUNDRED: u32 = 0b11 << 2;
    const GIGABIT: u32 = 1 << 5;
    const PAUSE_AND_PORT: u32 = 1 << 6 | 1 << 7 | 1 << 13;

    /// Settings of a port of copper, made by hand in the layout of `struct ethtool_link_settings`.
    fn settings(speed: u32, negotiates: bool, partner: u32) -> Vec<u8> {
        let mut bytes = vec![0; MAPS];
        bytes[4..8].copy_from_slice(&speed.to_ne_bytes());
        (bytes[AUTONEG], bytes[WORDS]) = (u8::from(negotiates), 3);
        let own = TEN | HUNDRED | GIGABIT | PAUSE_AND_PORT;
        for first in [own, own, partner] {
            for word in [first, 0, 0] {
                bytes.extend(word.to_ne_bytes());
            }
        }
        bytes
    }

    #[test]
    fn a_link_below_what_both_ends_offer_is_found() {
        let pair = LinkMode::read(&settings(100, true, TEN | HUNDRED | GIGABIT | PAUSE_AND_PORT));
        assert_eq!((pair.speed, pair.best), (Some(BitRate(100_000_000)), Some(BitRate(1_000_000_000))));
        let old_switch = LinkMode::read(&settings(100, true, TEN | HUNDRED | PAUSE_AND_PORT));
        assert_eq!(old_switch.best, Some(BitRate(100_000_000)));
        let silent = LinkMode::read(&settings(100, true, 0));
        assert_eq!(silent.best, None, "the other end offers nothing that is known");
    }

    #[test]
    fn a_fixed_speed_is_found() {
        let fixed = LinkMode::read(&settings(10, false, 0));
        assert_eq!(fixed.best, Some(BitRate(1_000_000_000)));
    }

    /// `ETHTOOL_GLINKSETTINGS` of virtio_net, recorded with Linux 6.18: no speed, no duplex, no modes.
    #[test]
    fn a_port_that_knows_nothing_has_no_mode() {
        let mut recorded = vec![0; 96];
        recorded[..16].copy_from_slice(&[0x4c, 0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 4]);
        assert_eq!(LinkMode::read(&recorded), LinkMode::default());
        assert_eq!(LinkMode::read(&[]), LinkMode::default());
    }
}
