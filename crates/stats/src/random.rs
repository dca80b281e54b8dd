//! Random numbers of a fixed sequence, for simulations with the same result on every host.

/// SplitMix64, and normal numbers derived from it (Box and Muller).
pub(super) struct Random(pub(super) u64);

impl Random {
    /// Between 0 and 1.
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A number of runs about a mean, their standard deviation as a share of it.
    pub(super) fn runs(&mut self, count: usize, mean: f64, spread: f64) -> Vec<f64> {
        let run = |_| {
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            mean * (1.0 + spread * radius * (std::f64::consts::TAU * self.uniform()).cos())
        };
        (0..count).map(run).collect()
    }
}
