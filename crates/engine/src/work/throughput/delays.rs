//! Figures of transit times, without keeping them.

/// Transit times, signed nanoseconds: their number, extremes, mean and spread, by Welford's method.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delays {
    pub(crate) count: u64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) mean: f64,
    /// Sum of the squared differences from the mean.
    pub(crate) squares: f64,
    /// Times are taken as differences from the first: sums of large numbers are not exact.
    pub(crate) origin: i64,
}

impl Delays {
    /// Adds `count` transits of this time.
    pub(crate) fn add(&mut self, transit: i64, count: u32) {
        if self.count == 0 {
            (self.min, self.max, self.origin) = (transit, transit, transit);
        }
        self.min = self.min.min(transit);
        self.max = self.max.max(transit);
        let at = transit.wrapping_sub(self.origin) as f64;
        let (old, new) = (self.count as f64, f64::from(count));
        self.count += u64::from(count);
        let difference = at - self.mean;
        self.mean += difference * new / (old + new);
        self.squares += difference * difference * old * new / (old + new);
    }

    /// These and those that came after them.
    pub(crate) fn with(self, later: Delays) -> Delays {
        if self.count == 0 || later.count == 0 {
            return if self.count == 0 { later } else { self };
        }
        let (old, new) = (self.count as f64, later.count as f64);
        let difference = later.mean + later.origin.wrapping_sub(self.origin) as f64 - self.mean;
        Delays {
            count: self.count + later.count,
            min: self.min.min(later.min),
            max: self.max.max(later.max),
            mean: self.mean + difference * new / (old + new),
            squares: self.squares + later.squares + difference * difference * old * new / (old + new),
            origin: self.origin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_of_parts_are_those_of_the_whole() {
        let all = [1_700_000_000_000_000_005_i64, 1_700_000_000_000_000_009, 1_700_000_000_000_000_001];
        let delays_of = |transits: &[i64]| {
            let mut delays = Delays::default();
            transits.iter().for_each(|transit| delays.add(*transit, 2));
            delays
        };
        let (whole, parts) = (delays_of(&all), delays_of(&all[..1]).with(delays_of(&all[1..])));
        for delays in [whole, parts] {
            assert_eq!((delays.count, delays.min, delays.max), (6, all[2], all[1]));
            assert!((delays.mean + (delays.origin - all[0]) as f64).abs() < 1e-9, "{delays:?}");
            assert!((delays.squares - 64.0).abs() < 1e-9, "{delays:?}");
        }
        assert_eq!(delays_of(&all).with(Delays::default()).count, 6);
        assert_eq!(Delays::default().with(delays_of(&all)).count, 6);
    }
}
