//! Numbers as iPerf3 prints them: four places and a unit.

use crate::units::scaled;

/// An amount of bytes in the largest unit it reaches, 1024 to a step: `1.25 MByte`.
pub(super) fn amount(bytes: f64) -> String {
    unit(bytes, 'A')
}

/// A number of bytes (per second) in the unit of a letter.
pub(super) fn unit(bytes: f64, letter: char) -> String {
    match scaled(bytes, letter) {
        (small, name) if small < 9.995 => format!("{small:4.2} {name}"),
        (middle, name) if middle < 99.95 => format!("{middle:4.1} {name}"),
        (large, name) => format!("{large:4.0} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_places_and_a_unit() {
        for (bytes, letter, text) in [
            (0.0, 'A', "0.00 Byte"),
            (1_310_720.0, 'A', "1.25 MByte"),
            (1_310_720.0, 'a', "10.5 Mbit"),
            (50_121_932.0, 'a', " 401 Mbit"),
            (50_121_932.0, 'k', "400975 Kbit"),
            (50_121_932.0, 'M', "47.8 MByte"),
            (50_121_932.0, 'G', "0.05 GByte"),
            (1_047_552.0, 'A', "1023 KByte"),
            (1_249_374.0, 'a', "9.99 Mbit"),
            (1_249_376.0, 'a', "10.0 Mbit"),
            (1e16, 'A', "9095 TByte"),
        ] {
            assert_eq!(unit(bytes, letter), text, "{bytes} {letter}");
        }
    }
}
