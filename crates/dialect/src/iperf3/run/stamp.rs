//! The text of `--timestamps` before each line.

use jiff::Zoned;
use jiff::fmt::strtime::{BrokenDownTime, Config, PosixCustom};

/// Now, by the clock on the wall, in this format of strftime(3) and the words of the C locale.
pub(super) fn now(format: &str) -> String {
    let config = Config::new().custom(PosixCustom::new()).lenient(true);
    let time = BrokenDownTime::from(&Zoned::now());
    // A lenient format leaves as it is what it does not know.
    time.to_string_with_config(&config, format).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_of_c() {
        let year: i16 = now("%Y").parse().expect("a year");
        assert!(year > 2000);
        assert_eq!(now("%H:%M:%S ").len(), 9);
        let usual = now("%c ");
        assert_eq!(usual.len(), "Sat Nov 21 01:02:03 2026 ".len(), "{usual}");
        assert!(usual.ends_with(&format!("{year} ")), "{usual}");
        assert_eq!(now("100%% %!"), "100% %!");
        assert_eq!(now(""), "");
    }
}
