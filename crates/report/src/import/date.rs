//! Dates as tools print them, in wall time.

use model::time::WallTime;

/// `Sat, 21 Nov 2026 00:31:23 GMT` (RFC 1123), as iPerf3 prints it.
pub(super) fn rfc1123(text: &str) -> Option<WallTime> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT" | "UTC"] = words.as_slice() else { return None };
    let month = MONTHS.iter().position(|name| name == month)? + 1;
    format!("{year}-{month:02}-{day:0>2}T{time}Z").parse().ok()
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(rfc1123("Sat, 21 Nov 2026 00:31:23 GMT").unwrap().to_string(), "2026-11-21T00:31:23.000Z");
        assert_eq!(rfc1123("Sat, 1 Nov 2026 00:31:23 GMT").unwrap().to_string(), "2026-11-01T00:31:23.000Z");
        assert_eq!(rfc1123("yesterday"), None);
    }
}
