//! Many comparisons at once: the false discovery rate.

/// For each `p` the `q` of Benjamini and Hochberg (1995): when every row with `q` up to a level is called different, at most that
/// share of the calls is false. Rows without a `p` do not count.
pub(super) fn benjamini_hochberg(probabilities: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut ranked: Vec<(usize, f64)> =
        probabilities.iter().enumerate().filter_map(|(row, p)| Some((row, (*p)?))).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut corrected = vec![None; probabilities.len()];
    let mut least: f64 = 1.0;
    for (index, &(row, p)) in ranked.iter().enumerate().rev() {
        least = least.min(p * ranked.len() as f64 / (index + 1) as f64);
        corrected[row] = Some(least);
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_paper() {
        // Benjamini and Hochberg 1995, section 3.2; scipy.stats.false_discovery_control.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719,
            0.6528, 0.759, 1.0,
        ];
        let q = benjamini_hochberg(&p.map(Some));
        assert_eq!(q.iter().flatten().filter(|q| **q < 0.05).count(), 4);
        assert!((q[0].unwrap() - 0.0015).abs() < 1e-12 && (q[3].unwrap() - 0.035_625).abs() < 1e-12);
        assert!((q[5].unwrap() - 0.063_857_142_857).abs() < 1e-9, "{q:?}");
        assert_eq!(q[14], Some(1.0));
    }

    #[test]
    fn rows_without_one_do_not_count() {
        assert_eq!(benjamini_hochberg(&[None, Some(0.03), None]), [None, Some(0.03), None]);
        assert_eq!(benjamini_hochberg(&[]), []);
    }
}
