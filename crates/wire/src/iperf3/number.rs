//! JSON numbers as iPerf3 means them: integers may be written as floats, negative ones as huge positive ones.

use serde_json::Value;

/// A whole number; `None` when the value is not a number.
///
/// A fraction is cut off. A value of 2^63 or more is a negative number in two's complement: iPerf3 3.12 writes -1 as
/// 18446744073709551615.
pub(super) fn whole(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return None };
    number.as_i64().or_else(|| number.as_u64().map(u64::cast_signed)).or_else(|| {
        let float = number.as_f64()?;
        Some(if float >= TWO_TO_63 { -1 } else { float as i64 })
    })
}

/// A number with a fraction; `None` when the value is not a number.
pub(super) fn real(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_kinds_are_read() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-3", Some(-3)),
            ("9223372036854775807", Some(i64::MAX)),
            ("18446744073709551615", Some(-1)),
            ("18446744073709551616", Some(-1)),
            ("1.9e3", Some(1900)),
            ("2.75", Some(2)),
            ("-1e300", Some(i64::MIN)),
            ("1e300", Some(-1)),
            ("true", None),
            ("\"7\"", None),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(whole(&value), expected, "{text}");
        }
    }
}
