//! Words for the sentences of findings; numbers are written by `units`.

use model::units::BitRate;
pub(crate) use model::units::{count, grouped, percent, significant};

/// A rate as the options take it, rounded down to two digits: `4.2G`, `950K`.
pub(super) fn option(rate: BitRate) -> String {
    let digits = rate.0.max(1).ilog10();
    let step = 10_u64.pow(digits.saturating_sub(1));
    let rounded = rate.0 / step * step;
    let in_unit = |unit: u64, name: &str| format!("{}{name}", rounded as f64 / unit as f64);
    match digits {
        9.. => in_unit(1_000_000_000, "G"),
        6.. => in_unit(1_000_000, "M"),
        3.. => in_unit(1_000, "K"),
        _ => rounded.to_string(),
    }
}

/// For the beginning of a sentence; an address stays as it is.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !begins_with_a_name(text) => first.to_uppercase().chain(letters).collect(),
        _ => text.into(),
    }
}

/// For the middle of a sentence; names in capitals (TCP, UDP) and addresses stay.
pub(crate) fn lower(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() && !begins_with_a_name(text) => {
            first.to_lowercase().chain([second]).chain(letters).collect()
        }
        _ => text.into(),
    }
}

/// Whether a text begins with the name of a host: an address, or a name with a domain.
fn begins_with_a_name(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.trim_end_matches([':', '.', ',']).contains([':', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_print_as_options_take_them() {
        assert_eq!(option(BitRate(4_250_000_000)), "4.2G");
        assert_eq!(option(BitRate(12_400_000_000)), "12G");
        assert_eq!(option(BitRate(954_321)), "950K");
        assert_eq!(option(BitRate(7)), "7");
        assert_eq!(option(BitRate(0)), "0");
        assert_eq!(option(BitRate(4_250_000_000)).parse(), Ok(BitRate(4_200_000_000)));
    }

    #[test]
    fn addresses_are_no_words() {
        for text in
            ["fd77:4::2 limits it", "fe80::1%eth0: no answer", "far.example reports it", "192.0.2.1 too"]
        {
            assert_eq!((capital(text), lower(text)), (text.to_owned(), text.to_owned()));
        }
        assert_eq!((capital("up: dead"), lower("Up: dead")), ("Up: dead".into(), "up: dead".into()));
        assert_eq!((capital("ended."), lower("TCP ended.")), ("Ended.".into(), "TCP ended.".into()));
    }
}
