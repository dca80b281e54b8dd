//! A value of `pathmeter rfc2544`: a share of loss.

use std::str::FromStr;

/// A share of frames, 0 to below 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossShare(pub f64);

impl FromStr for LossShare {
    type Err = String;

    fn from_str(text: &str) -> Result<LossShare, String> {
        let (number, whole) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), 100.0),
            None => (text.trim(), 1.0),
        };
        let share = number.parse::<f64>().ok().map(|number| number / whole);
        let share = share.filter(|share| (0.0..1.0).contains(share));
        share.map(LossShare).ok_or_else(|| "expected a share below 1, as 0.5% or 0.005".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_below_one() {
        assert_eq!(("0.5%".parse(), "0.005".parse()), (Ok(LossShare(0.005)), Ok(LossShare(0.005))));
        for text in ["100%", "1", "-0.1", "nan", "inf", "", "%"] {
            assert!(text.parse::<LossShare>().is_err(), "{text}");
        }
    }
}
