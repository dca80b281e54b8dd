//! An exact fraction: a rate or a share before it is rounded for print.

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt::{Display, Formatter};

/// A non-negative fraction in lowest terms. Prints as a decimal rounded half up (`{:.2}`; 3 decimals by default),
/// serialises as the nearest JSON number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// `numerator / denominator`; `None` for a denominator of zero.
    #[must_use]
    pub fn reduced(numerator: u64, denominator: u64) -> Option<Ratio> {
        (denominator > 0).then(|| Ratio::new(numerator.into(), denominator.into()))
    }

    /// For the arithmetic of this module, whose terms stay far below 2^120 so that nothing here overflows.
    pub(super) fn new(numerator: u128, denominator: u128) -> Ratio {
        debug_assert!(denominator > 0 && numerator.max(denominator) < 1 << 120);
        let common = greatest_common_divisor(numerator, denominator).max(1);
        Ratio { numerator: numerator / common, denominator: denominator / common }
    }

    /// The whole part: the largest rate that can be reached, when this is a rate of packets.
    #[must_use]
    pub fn floor(self) -> u64 {
        clamp(self.numerator / self.denominator)
    }

    /// The nearest whole number, halves up.
    #[must_use]
    pub fn rounded(self) -> u64 {
        clamp((self.numerator + self.denominator / 2) / self.denominator)
    }

    /// The same share in percent.
    pub fn percent(self) -> Ratio {
        Ratio::new(self.numerator * 100, self.denominator)
    }

    /// The nearest floating-point number, for print and for JSON.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl Display for Ratio {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let decimals = f.precision().unwrap_or(3).min(MAX_DECIMALS);
        let mut whole = self.numerator / self.denominator;
        let mut left = self.numerator % self.denominator;
        let mut digits = 0_u64;
        for _ in 0..decimals {
            digits = digits * 10 + (left * 10 / self.denominator) as u64;
            left = left * 10 % self.denominator;
        }
        digits += u64::from(left * 2 >= self.denominator);
        let carry = 10_u64.pow(decimals as u32);
        whole += u128::from(digits / carry);
        let text = match decimals {
            0 => whole.to_string(),
            _ => format!("{whole}.{:0decimals$}", digits % carry),
        };
        write!(f, "{text:>width$}", width = f.width().unwrap_or(0))
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Ratio {
    fn schema_name() -> Cow<'static, str> {
        "Ratio".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "description": "An exact fraction, rounded to a JSON number." })
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn clamp(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

const MAX_DECIMALS: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    // Only tests compare fractions.
    impl PartialOrd for Ratio {
        fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Ratio {
        /// Compares whole parts, then the reciprocals of the remainders, as cross products could exceed 128 bits.
        fn cmp(&self, other: &Ratio) -> Ordering {
            let (mut a, mut b) = (*self, *other);
            let mut reversed = false;
            loop {
                let whole = (a.numerator / a.denominator).cmp(&(b.numerator / b.denominator));
                let (a_left, b_left) = (a.numerator % a.denominator, b.numerator % b.denominator);
                let decided = match (whole, a_left, b_left) {
                    (Ordering::Equal, 1.., 1..) => None,
                    (Ordering::Equal, _, _) => Some(a_left.cmp(&b_left)),
                    _ => Some(whole),
                };
                if let Some(order) = decided {
                    return if reversed { order.reverse() } else { order };
                }
                a = Ratio { numerator: a.denominator, denominator: a_left };
                b = Ratio { numerator: b.denominator, denominator: b_left };
                reversed = !reversed;
            }
        }
    }

    fn ratio(numerator: u64, denominator: u64) -> Ratio {
        Ratio::reduced(numerator, denominator).unwrap()
    }

    #[test]
    fn rounds_only_when_asked() {
        let third = ratio(2, 3);
        assert_eq!((third.floor(), third.rounded()), (0, 1));
        assert_eq!(third.to_string(), "0.667");
        assert_eq!(format!("{third:.0}"), "1");
        assert_eq!(format!("{:.1}", ratio(1999, 2000)), "1.0");
        assert_eq!(format!("{:.2}", ratio(1199, 100)), "11.99");
        assert_eq!(format!("{:.1}", ratio(956, 1000).percent()), "95.6");
        assert_eq!(ratio(4, 6), third);
        assert_eq!(Ratio::reduced(1, 0), None);
        assert_eq!(serde_json::to_string(&ratio(1, 4)).unwrap(), "0.25");
    }

    proptest! {
        #[test]
        fn order_is_that_of_cross_products(a: u32, b in 1_u32.., c: u32, d in 1_u32..) {
            let expected = (u64::from(a) * u64::from(d)).cmp(&(u64::from(c) * u64::from(b)));
            prop_assert_eq!(ratio(a.into(), b.into()).cmp(&ratio(c.into(), d.into())), expected);
        }

        #[test]
        fn printing_reads_back_as_the_float(a: u32, b in 1_u32..) {
            let printed: f64 = format!("{:.12}", ratio(a.into(), b.into())).parse().unwrap();
            let exact = f64::from(a) / f64::from(b);
            prop_assert!((printed - exact).abs() <= 1e-12 + exact * 1e-12);
        }
    }
}
