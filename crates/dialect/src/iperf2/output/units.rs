//! Numbers as iPerf2 prints them: four places and a unit.

use crate::units::scaled;

/// A number of bytes (per second) in the unit of a letter, plural: ` 926 MBytes`, `7.77 Gbits`.
pub(super) fn unit(bytes: f64, letter: char) -> String {
    amount_in_unit(bytes, letter) + "s"
}

/// The same of a thing that is so large: `16.0 KByte`.
pub(super) fn amount_in_unit(bytes: f64, letter: char) -> String {
    match scaled(bytes, letter) {
        (least, name) if least < 0.9995 => format!("{least:4.3} {name}"),
        (small, name) if small < 9.995 => format!("{small:4.2} {name}"),
        (middle, name) if middle < 99.95 => format!("{middle:4.1} {name}"),
        (large, name) => format!("{large:4.0} {name}"),
    }
}

/// Bytes per second over seconds, divided by a delay: Kleinrock's power. None where there was no delay.
pub(super) fn net_power(bytes: u64, seconds: f64, delay: f64) -> String {
    if delay <= 0.0 || seconds <= 0.0 {
        return "NAN".into();
    }
    match 1e-6 * (bytes as f64 / seconds / delay) {
        large if large > 100.0 => format!("{large:.0}"),
        middle if middle > 10.0 => format!("{middle:.2}"),
        small => format!("{small:.6}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected texts are those that 2.1.8 printed.
    #[test]
    fn four_places_and_a_unit() {
        for (bytes, letter, text) in [
            (0.0, 'A', "0.000 Bytes"),
            (0.0, 'a', "0.000 bits"),
            (1_310_720.0, 'A', "1.25 MBytes"),
            (2_920_577_761.0, 'A', "2.72 GBytes"),
            (970_981_376.0, 'A', " 926 MBytes"),
            (135_240.0, 'A', " 132 KBytes"),
            (135_240.0, 'a', "1.08 Mbits"),
            (3_084_648_448.0, 'K', "3012352 KBytes"),
            (100.0, 'B', " 100 Bytes"),
        ] {
            assert_eq!(unit(bytes, letter), text, "{bytes} {letter}");
        }
        assert_eq!(amount_in_unit(16_384.0, 'A'), "16.0 KByte");
    }

    #[test]
    fn power_as_printed() {
        assert_eq!(net_power(2_885_943_296, 1.0, 55e-6), "52471696");
        assert_eq!(net_power(1_000_000, 1.0, 0.05), "20.00");
        assert_eq!(net_power(1_000_000, 1.0, 1.0), "1.000000");
        assert_eq!(net_power(1, 1.0, 0.0), "NAN");
    }
}
