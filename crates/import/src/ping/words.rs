//! The lines of ping one by one: of iputils in any language, of BusyBox, BSD and macOS, and of Windows. What carries the meaning are
//! the numbers and the marks around them; words of a language are looked at only where nothing else decides.

use super::super::number::{Printed, leading_number};
use model::units::Nanos;
use std::net::IpAddr;

/// The heading: `PING host (1.2.3.4) 56(84) bytes of data.`, `PING6(56=40+8+8 bytes) a --> b`, `Pinging host [1.2.3.4] with 32 bytes
/// of data:`.
pub(super) fn begins(line: &str) -> bool {
    let unix = line.starts_with("PING ") && (line.contains(" data") || has_sizes(line));
    // Android's toybox and routers (H3C) print it so.
    let small = line.starts_with("Ping ") && (has_sizes(line) || line.contains(" data bytes"));
    unix || small
        || line.starts_with("PING6(") && line.contains(" --> ")
        || is_windows_heading(line)
        || size_of_ios(line).is_some()
}

/// The size of packets in a heading of Cisco's IOS: `Sending 5, 100-byte ICMP Echos to 192.0.2.1, timeout is 2 seconds:`.
pub(super) fn size_of_ios(line: &str) -> Option<u32> {
    let (_, size) = line.strip_prefix("Sending ")?.split_once("-byte ICMP Echos to ")?.0.split_once(", ")?;
    size.parse().ok()
}

/// Why IOS has no reply, by its mark for it: a line has a mark for each packet.
pub(super) fn reason_of_ios(line: &str) -> Option<&'static str> {
    let is_marks = line.bytes().all(|byte| b"!.UQM?&".contains(&byte));
    let reasons = [
        ('U', "a router answered that the destination is unreachable (U)"),
        ('M', "the packets are too large and must not be fragmented (M)"),
        ('&', "the packets outlived their time to live (&)"),
        ('Q', "the destination is too busy (Q)"),
    ];
    reasons.into_iter().filter(|_| is_marks).find(|(mark, _)| line.contains(*mark)).map(|(_, reason)| reason)
}

/// `56(84)`, in the heading of every language.
fn has_sizes(line: &str) -> bool {
    line.split_whitespace().any(|word| {
        let sizes =
            word.split_once('(').and_then(|(payload, packet)| Some((payload, packet.strip_suffix(')')?)));
        sizes.is_some_and(|(payload, packet)| payload.parse::<u32>().is_ok() && packet.parse::<u32>().is_ok())
    })
}

/// In every language of Windows it names an address and behind it the size, and ends with a colon. Languages in other letters than
/// ours translate the name of ping, too.
pub(super) fn is_windows_heading(line: &str) -> bool {
    let line = line.trim();
    line.ends_with(':')
        && (!line.is_ascii() || HEADINGS.iter().any(|word| line.to_ascii_lowercase().contains(word)))
        && !line.starts_with("PING")
        && !line.contains('=')
        && size_of_windows(line).is_some()
}

/// The size behind the address of a heading. Korean joins the unit to it: `32바이트`.
pub(super) fn size_of_windows(heading: &str) -> Option<u32> {
    let mut behind = heading.split_whitespace().skip_while(|word| address_in(word).is_none()).skip(1);
    behind.find_map(|word| word.trim_end_matches(|c: char| !c.is_ascii()).parse().ok())
}

/// Words of the heading in small letters; Portuguese and Polish do not name ping.
const HEADINGS: [&str; 3] = ["ping", "disparando", "badanie"];

/// The first word that is an address; letters of other scripts may be joined to it: `192.0.2.1의`.
pub(super) fn address_in(line: &str) -> Option<IpAddr> {
    let is_around = |c: char| !c.is_ascii() || "()[]<>,;'\"".contains(c);
    line.split_whitespace().find_map(|word| {
        let bare = word.trim_matches(is_around).trim_end_matches([':', '.']);
        bare.split('%').next()?.parse().ok()
    })
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// The time stamp of `-D`.
    pub(super) stamp: Option<Nanos>,
    /// Windows prints none.
    pub(super) sequence: Option<u64>,
    /// Absent: it was not printed, or cannot be.
    pub(super) rtt: Option<Nanos>,
    /// Printed in whole milliseconds below ten: `time<1ms`.
    pub(super) coarse: bool,
}

/// `[1795245247.056618] 64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.014 ms`, `Reply from 1.2.3.4: bytes=32 time<1ms TTL=57`.
pub(super) fn reply(line: &str) -> Option<Reply> {
    let (stamp, rest) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((stamp, rest)) => (stamp_of(stamp), rest),
        None => (None, line),
    };
    common_reply(stamp, rest).or_else(|| any_reply(stamp, rest))
}

/// Reads a reply as nearly all are printed: `64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.014 ms`; `None` of every other line, which
/// may be a reply all the same.
fn common_reply(stamp: Option<Nanos>, rest: &str) -> Option<Reply> {
    let size = leading_digits(rest);
    let (from, behind) = rest[size.len()..].strip_prefix(" bytes from ")?.split_once(": icmp_seq=")?;
    let sequence = leading_digits(behind);
    let behind = behind[sequence.len()..].strip_prefix(" ttl=")?;
    let behind = behind[leading_digits(behind).len()..].strip_prefix(" time=")?;
    let rtt = milliseconds(behind.strip_suffix(" ms")?)?;
    let is_plain = size.parse::<u32>().is_ok() && is_host(from);
    is_plain.then_some(Reply { stamp, sequence: Some(sequence.parse().ok()?), rtt: Some(rtt), coarse: false })
}

/// An address, a name, or a name with an address, without a word that could be something else.
fn is_host(from: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".:-() ".contains(&byte);
    from.bytes().all(is_part)
        && !from.contains("nreachable")
        && from.split(' ').all(|word| word.parse::<u32>().is_err())
}

fn leading_digits(text: &str) -> &str {
    let length = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    &text[..length]
}

fn any_reply(stamp: Option<Nanos>, rest: &str) -> Option<Reply> {
    let sequence = sequence(rest);
    let is_router = sequence.is_some() && rest.contains("Sequence=") && is_from_address(rest);
    let is_unix = sequence.is_some() && starts_with_size(rest) || is_router;
    let is_windows = sequence.is_none() && rest.contains("TTL=") && is_from_address(rest);
    // IPv6 replies of Windows have no TTL.
    let is_windows = is_windows
        || sequence.is_none()
            && is_from_address(rest)
            && ends_with_time(rest)
            && address_in(rest).is_some_and(|address| address.is_ipv6());
    if !is_unix && !is_windows || is_unix && rest.contains("nreachable") {
        return None;
    }
    let (rtt, coarse) = time(rest);
    (rtt.is_some() || is_unix).then_some(Reply { stamp, sequence, rtt, coarse: coarse || is_windows })
}

/// `64 bytes from 1.2.3.4: icmp_seq=`, `64 octets de 1.2.3.4 : icmp_seq=`, `16 bytes from fe80::1, icmp_seq=`: a number, and no other one.
fn starts_with_size(rest: &str) -> bool {
    let Some(at) = ["icmp_seq", "icmp_req", "seq="].iter().find_map(|key| rest.find(key)) else {
        return false;
    };
    let mut tokens = rest[..at].split_whitespace();
    let is_number = |word: &str| word.parse::<u32>().is_ok();
    // Some languages write without blanks: `64 比特，来自 192.0.2.1`.
    tokens.next().is_some_and(is_number)
        && tokens.next().is_some_and(|unit| unit.chars().all(|c| c.is_alphabetic() || !c.is_ascii()))
        && rest[..at].trim_end().ends_with([':', ','])
        && !tokens.any(is_number)
}

/// `Reply from 1.2.3.4: …`: an address and words of a language, and no other figure, as the head of a line would have.
fn is_from_address(rest: &str) -> bool {
    let has_figure = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    // In Greek a colon stands before the address, too.
    rest.match_indices(": ")
        .map(|(at, _)| &rest[..at])
        .any(|from| from.split_whitespace().filter(has_figure).count() == 1 && address_in(from).is_some())
}

fn ends_with_time(rest: &str) -> bool {
    MILLISECONDS.iter().any(|unit| rest.trim_end().ends_with(unit)) && rest.contains(['=', '<'])
}

/// `icmp_seq=7`, `icmp_req=7` of older versions, `seq=7` of BusyBox, `Sequence=7` of routers (VRP).
pub(super) fn sequence(rest: &str) -> Option<u64> {
    let (_, number) = rest
        .split_once("seq=")
        .or_else(|| rest.split_once("req="))
        .or_else(|| rest.split_once("Sequence="))
        .or_else(|| rest.split_once("icmp_seq "))?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The number before `ms`, behind `=` or `<`; true: less than is printed.
fn time(rest: &str) -> (Option<Nanos>, bool) {
    for (at, _) in MILLISECONDS.iter().flat_map(|unit| rest.rmatch_indices(unit)) {
        let before = rest[..at].trim_end();
        let Some(mark) = before.rfind(['=', '<']) else { continue };
        let (below, text) = (before[mark..].starts_with('<'), before[mark + 1..].trim());
        let Some(printed) = milliseconds(text) else { continue };
        // Somewhere below: half of it is the most it can be off.
        return (Some(if below { Nanos(printed.0 / 2) } else { printed }), below);
    }
    (None, false)
}

/// The unit of times, in Latin and in Cyrillic letters, in Chinese and in Japanese.
const MILLISECONDS: [&str; 4] = ["ms", "мс", "毫秒", "ミリ秒"];

/// The counters of ping: `4 packets transmitted, 4 received, +2 duplicates, 0% packet loss, time 3004ms`, in any language, and
/// `Packets: Sent = 5, Received = 4, Lost = 1 (20% loss),`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    pub(super) transmitted: u64,
    pub(super) received: u64,
    pub(super) duplicates: u64,
    pub(super) elapsed: Option<Nanos>,
}

pub(super) fn statistics(line: &str) -> Option<Statistics> {
    windows_statistics(line)
        .or_else(|| unix_statistics(line).filter(|_| line.contains('%')))
        .or_else(|| ios_statistics(line))
}

/// `Success rate is 80 percent (4/5), round-trip min/avg/max = 1/2/4 ms`
fn ios_statistics(line: &str) -> Option<Statistics> {
    let (_, counts) = line.strip_prefix("Success rate is ")?.split_once(" percent (")?;
    let (received, transmitted) = counts.split_once(')')?.0.split_once('/')?;
    let (transmitted, received) = (transmitted.parse().ok()?, received.parse().ok()?);
    Some(Statistics { transmitted, received, ..Statistics::default() })
}

fn windows_statistics(line: &str) -> Option<Statistics> {
    // In German the share of the lost ones stands in the next line.
    let is_counts = line.contains('%') || line.trim_end().ends_with(|c: char| c.is_ascii_digit());
    let counts = line.split('(').next().filter(|_| is_counts)?;
    let numbers: Vec<u64> = counts.split('=').skip(1).filter_map(leading_number).collect();
    let [transmitted, received, lost] = numbers.as_slice() else { return None };
    (received.checked_add(*lost) == Some(*transmitted)).then_some(Statistics {
        transmitted: *transmitted,
        received: *received,
        ..Statistics::default()
    })
}

fn unix_statistics(line: &str) -> Option<Statistics> {
    let parts: Vec<&str> = line.split([',', '،', '、', '，']).map(str::trim).collect();
    let [first, second, more @ ..] = parts.as_slice() else { return None };
    if [first, second].iter().any(|part| part.contains('%')) {
        return None;
    }
    let (transmitted, received) = (any_number(first)?, any_number(second)?);
    // A row of CSV is none.
    let has_words = |part: &&&str| part.contains(char::is_alphabetic);
    if more.is_empty() || [first, second].iter().filter(|part| has_words(part)).count() < 2 {
        return None;
    }
    let duplicates = more
        .iter()
        .find(|part| part.starts_with('+') && is_duplicates(part))
        .and_then(|part| any_number(part));
    let last = more.last().and_then(|part| MILLISECONDS.iter().find_map(|unit| part.strip_suffix(unit)));
    let last = last.map(str::trim_end);
    let elapsed = last.and_then(|last| milliseconds(last.rsplit(|c: char| !c.is_ascii_digit()).next()?));
    Some(Statistics { transmitted, received, duplicates: duplicates.unwrap_or_default(), elapsed })
}

/// Ping prints such counts of errors and of damaged replies, too.
fn is_duplicates(part: &str) -> bool {
    let lower = part.to_lowercase();
    ["dup", "dop", "zdup"].iter().any(|word| lower.contains(word))
}

/// A count in a line of its own, as routers print it: `5 packet(s) transmitted`.
pub(super) fn count_of(line: &str, what: &str) -> Option<u64> {
    line.trim().strip_suffix(what)?.trim_end().strip_suffix("packet(s)")?.trim_end().parse().ok()
}

/// In every language but Russian the flag has its English name: `Packet needs to be fragmented but DF set.`
pub(super) fn is_too_large_of_windows(sentence: &str) -> bool {
    sentence.split(|c: char| !c.is_alphanumeric()).any(|word| word == "DF")
        || sentence.contains("Требуется фрагментация")
}

fn any_number(text: &str) -> Option<u64> {
    text.split(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty())?.parse().ok()
}

/// The shortest, the mean, the longest and the standard deviation: `rtt min/avg/max/mdev = 0.030/0.034/0.037/0.003 ms`, and
/// `Minimum = 0ms, Maximum = 13ms, Average = 9ms`. BusyBox and others leave the last out.
pub(super) fn extremes(line: &str) -> Option<[Nanos; 4]> {
    if let Some((before, figures)) = line.split_once("= ")
        && before.contains('/')
        && !before.contains("/ewma/")
    {
        let figures = figures.split_whitespace().next()?.trim_end_matches("ms");
        let times: Vec<Nanos> = figures.split('/').map(milliseconds).collect::<Option<_>>()?;
        return match times.as_slice() {
            [min, mean, max] => Some([*min, *mean, *max, Nanos::ZERO]),
            [min, mean, max, deviation] => Some([*min, *mean, *max, *deviation]),
            _ => None,
        };
    }
    let times: Vec<Nanos> = line
        .split('=')
        .skip(1)
        .filter(|part| {
            let unit = part.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
            MILLISECONDS.iter().any(|known| unit.starts_with(known))
        })
        .filter_map(|part| milliseconds(part.trim_start().split(|c: char| !c.is_ascii_digit()).next()?))
        .collect();
    let [min, max, mean] = times.as_slice() else { return None };
    (line.matches('=').count() == 3).then_some([*min, *mean, *max, Nanos::ZERO])
}

/// `--- host ping statistics ---`, in any language: the host is the word that is not a word of the language.
pub(super) fn statistics_heading(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("--- ")?.strip_suffix(" ---")?;
    let lower = inside.to_ascii_lowercase();
    (lower.contains("ping") && !lower.contains("hping")).then_some(inside)
}

/// An objection of a router, a host or this host to a packet, and whom it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) from: Option<IpAddr>,
    pub(super) what: String,
}

/// `From 192.0.2.1 icmp_seq=1 Destination Host Unreachable`, `92 bytes from 10.0.0.1: Time to live exceeded`, `Reply from 10.0.0.1:
/// Destination host unreachable.`, `ping: sendmsg: Operation not permitted`.
pub(super) fn refusal(line: &str) -> Option<Refusal> {
    let local = [
        "ping: sendmsg: ",
        "ping: sendto: ",
        "ping6: sendmsg: ",
        "ping6: sendto: ",
        "PING: transmit failed. ",
    ];
    if let Some(what) = local.iter().find_map(|start| line.strip_prefix(start)) {
        let what = what.trim_end_matches('.').to_owned();
        return (!what.to_ascii_lowercase().contains("message too long"))
            .then_some(Refusal { from: None, what });
    }
    let unix = line.strip_prefix("From ").or_else(|| line.split_once(" bytes from ").map(|(_, rest)| rest));
    let rest =
        unix.or_else(|| line.strip_prefix("Reply from ")).or_else(|| line.split_once(": ").map(|_| line))?;
    let from = address_in(rest.split_once(": ").map_or(rest, |(address, _)| address))
        .or_else(|| address_in(rest))?;
    let at = SAYINGS.iter().find_map(|saying| find(rest, saying))?;
    let what = rest[at..].trim_end_matches(['.', ' ']).split(" (").next().unwrap_or_default().to_owned();
    let lower = what.to_ascii_lowercase();
    (!lower.contains("frag") && !lower.contains("too big")).then_some(Refusal { from: Some(from), what })
}

/// The same of Windows in any language, of a line that is a sentence: `Risposta da 10.0.0.1: Host di destinazione non raggiungibile.`
pub(super) fn windows_refusal(line: &str) -> Option<Refusal> {
    let (from, what) = line.split_once(": ").filter(|_| is_from_address(line))?;
    let what = what.trim().trim_end_matches(['.', '。']).to_owned();
    Some(Refusal { from: address_in(from), what })
}

/// Where a saying begins, whatever its capitals.
fn find(text: &str, saying: &str) -> Option<usize> {
    text.to_ascii_lowercase().find(saying)
}

/// Why there was nothing to send to, in any language: a name that is none, no route, no permission.
pub(super) fn failure(line: &str) -> Option<String> {
    let own = ["ping: ", "ping6: "].iter().find_map(|start| line.strip_prefix(start));
    let lower = own.unwrap_or_default().to_ascii_lowercase();
    let remarks = ["warning", "sendmsg", "sendto", "recvmsg", "local error"];
    // `ping -v` prints its sockets: `ping: sock4.fd: 3 …`.
    let is_remark = remarks.iter().any(|word| lower.starts_with(word)) || lower.contains(".fd: ");
    let windows = NOT_FOUND.iter().any(|start| line.starts_with(start));
    let rest = own.filter(|_| !is_remark);
    let rest = rest.or_else(|| (windows || line == "connect: Network is unreachable").then_some(line))?;
    Some(rest.trim_end_matches('.').split(". ").next().unwrap_or(rest).to_owned())
}

pub(in super::super) fn milliseconds(text: &str) -> Option<Nanos> {
    let printed = Printed::from_text(text).filter(|printed| (0.0..1e12).contains(&printed.value))?;
    Some(Nanos((printed.value * 1e6).round() as u64))
}

/// `1795967311.984455`: seconds with six decimals, which a float does not keep.
pub(in super::super) fn stamp_of(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.')?;
    let nanos: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos).map(Nanos)
}

/// The words of Windows for a name without an address, in English, German, French, Spanish and Chinese.
const NOT_FOUND: [&str; 5] = [
    "Ping request could not find host ",
    "Ping-Anforderung konnte Host ",
    "La requête Ping n'a pas pu trouver l'hôte ",
    "La solicitud de ping no pudo encontrar el host ",
    "Ping 请求找不到主机 ",
];
/// How the message begins, in small letters.
const SAYINGS: [&str; 12] = [
    "destination host",
    "destination net",
    "destination port",
    "destination protocol",
    "destination unreachable",
    "dest unreachable",
    "packet filtered",
    "communication",
    "time to live exceeded",
    "ttl expired",
    "source route failed",
    "unknown code",
];

#[cfg(test)]
mod tests {
    use super::super::super::mutated::mutated;
    use super::*;

    #[test]
    fn replies_of_the_common_shape_are_what_they_are_in_any() {
        let lines = [
            "64 bytes from 10.0.0.2: icmp_seq=17 ttl=64 time=0.283 ms",
            "64 bytes from host-1.example (2001:db8::1): icmp_seq=65535 ttl=117 time=12 ms",
            "1480 bytes from fe80::1: icmp_seq=2 ttl=255 time=104.5 ms",
            "64 bytes from 10.0.0.2: seq=0 ttl=64 time=0.123 ms",
            "From 10.0.0.1 icmp_seq=1 Destination Host Unreachable",
            "Reply from 10.0.0.2: bytes=32 time<1ms TTL=57",
        ];
        let mut count = 0;
        for line in mutated(&lines) {
            let common = common_reply(None, &line);
            count += usize::from(common.is_some());
            assert!(common.is_none() || common == any_reply(None, &line), "{line:?}: {common:?}");
        }
        assert!(count > 5000, "{count}");
        for line in &lines[..3] {
            assert!(common_reply(None, line).is_some(), "{line}");
        }
    }
}
