//! Dates as tools and logs print them, in wall time.

use model::time::WallTime;

/// `Sat, 21 Nov 2026 00:31:23 GMT` (RFC 1123), as iPerf3 prints it.
pub(super) fn rfc1123(text: &str) -> Option<WallTime> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT" | "UTC"] = tokens.as_slice() else { return None };
    let month = MONTHS.iter().position(|name| name == month)? + 1;
    format!("{year}-{month:02}-{day:0>2}T{time}Z").parse().ok()
}

/// The time of a head of a line: a date of RFC 3339 or of `ctime`, seconds since 1970, or a time of day alone, which counts from 1970 and
/// states only how far lines are apart. Without a zone it is taken to be UTC.
pub(super) fn stamp(head: &str) -> Option<WallTime> {
    let tokens: Vec<&str> = head
        .split([' ', '"'])
        .filter(|word| !word.is_empty())
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .collect();
    let dated = tokens.iter().find_map(|word| rfc3339(word));
    dated.or_else(|| ctime(&tokens)).or_else(|| tokens.iter().find_map(|word| epoch(word)))
}

/// Whether a word is that of a day or a month.
pub(super) fn is_name(word: &str) -> bool {
    let start = word.get(..3).unwrap_or_default();
    let is_day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&start);
    word.len() <= 9 && (is_day || MONTHS.contains(&start)) && word.chars().all(char::is_alphabetic)
}

/// `2026-11-25T10:00:00.123456Z`, `2026-11-25T10:00:00+01:00`.
fn rfc3339(word: &str) -> Option<WallTime> {
    let (date, time) = word.split_once('T')?;
    let (time, zone) = match time.find(['Z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => (time, ""),
    };
    let day = day_of(date)?;
    let offset = match zone.get(..1) {
        Some(sign @ ("+" | "-")) => {
            let (hours, minutes) = zone[1..].split_once(':').or_else(|| zone[1..].split_at_checked(2))?;
            let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
            if sign == "+" { seconds } else { -seconds }
        }
        _ => 0,
    };
    let nanos = i128::from(day) * DAY + i128::from(time_of_day(time)?) - i128::from(offset) * 1_000_000_000;
    u64::try_from(nanos).ok().map(WallTime)
}

/// `Tue Mar 03 09:15:02 2026`, `Wed Nov 25 14:00:10 UTC 2026`, `Nov 25 14:00:10`, `2026-11-25 14:00:10`, `14:00:10`.
fn ctime(words: &[&str]) -> Option<WallTime> {
    let time = words.iter().find_map(|word| time_of_day(word))?;
    let day = words.iter().find_map(|word| day_of(word)).or_else(|| {
        let at = words.iter().position(|word| MONTHS.contains(word))?;
        let month = MONTHS.iter().position(|name| *name == words[at])? as u64 + 1;
        let number = |word: &&str| word.parse::<u64>().ok().filter(|day| (1..=31).contains(day));
        let day = words.get(at + 1).and_then(number).or_else(|| number(words.get(at.checked_sub(1)?)?))?;
        let year = words.iter().filter(|word| word.len() == 4).find_map(|word| word.parse::<u64>().ok());
        days(year.unwrap_or(1970), month, day)
    });
    let nanos = i128::from(day.unwrap_or_default()) * DAY + i128::from(time);
    u64::try_from(nanos).ok().map(WallTime)
}

/// `1795245000.011138`: seconds since 1970.
fn epoch(word: &str) -> Option<WallTime> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let seconds =
        whole.parse::<u64>().ok().filter(|seconds| (946_684_800..10_000_000_000).contains(seconds))?;
    Some(WallTime(seconds * 1_000_000_000 + nanos_of(fraction)?))
}

/// `2026-11-25` or `2026/11/25` in days since 1970.
fn day_of(text: &str) -> Option<u64> {
    let mut parts = text.split(['-', '/']);
    let (year, month, day) =
        (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (parts.next().is_none() && (1970..3000).contains(&year)).then(|| days(year, month, day)).flatten()
}

/// `09:15:02`, `09:15:02.123`, `09:15:02:123` in nanoseconds.
fn time_of_day(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (seconds, fraction) =
        seconds.split_once(['.', ',']).unwrap_or((seconds, parts.next().unwrap_or_default()));
    let number =
        |text: &str, below: u64| text.parse::<u64>().ok().filter(|value| text.len() <= 2 && *value < below);
    let whole = number(hours, 24)? * 3600 + number(minutes, 60)? * 60 + number(seconds, 61)?;
    Some(whole * 1_000_000_000 + nanos_of(fraction)?)
}

fn nanos_of(fraction: &str) -> Option<u64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let digits: String = fraction.chars().take(9).collect();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("{digits:0<9}").parse().ok()).flatten()
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    (shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + of_year).checked_sub(719_468)
}

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;
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

    #[test]
    fn times_of_heads() {
        for (head, time) in [
            ("Tue Mar 03 09:15:02 2026 ", "2026-03-03T09:15:02.000Z"),
            ("Wed Nov 25 14:00:10 UTC 2026: ", "2026-11-25T14:00:10.000Z"),
            ("2026-11-25T10:00:00.123456789Z stdout F ", "2026-11-25T10:00:00.123Z"),
            ("2026-11-25T10:00:00+01:00 ", "2026-11-25T09:00:00.000Z"),
            ("[2024-02-29 23:59:59] ", "2024-02-29T23:59:59.000Z"),
            ("1795245000.011138 ", "2026-11-21T07:10:00.011Z"),
            ("16:19:18:760| ", "1970-01-01T16:19:18.760Z"),
        ] {
            assert_eq!(stamp(head).map(|time| time.to_string()).as_deref(), Some(time), "{head}");
        }
        assert_eq!(stamp("client-1  | "), None);
        assert!(is_name("Nov") && is_name("Tuesday") && !is_name("Monitor-1"));
    }
}
