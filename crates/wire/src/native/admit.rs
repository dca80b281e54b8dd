//! Admission: every field of a client's plan is in range and within the server's own limits.

use super::datagram::HEADER_LEN;
use super::message::Limits;
use super::probe::MAX_ORDERS;
use crate::work::Refusal;
use crate::{Policy, sockperf};
use model::framing::LARGEST_UDP_PAYLOAD;
use model::latency::LatencySpec;
use model::plan::{End, TestSpec, Transport};
use model::units::{BitRate, Nanos, PacketRate};

/// Longest test, omitted time included.
pub const MAX_TIME: Nanos = Nanos::from_secs(86_400);
/// Most streams in each direction, unless the server allows fewer.
pub const MAX_STREAMS: u32 = 128;

/// Checks a plan from the server's point of view; `Err` names the field and the remedy.
pub(super) fn check(spec: &TestSpec, policy: &Policy) -> Result<(), Refusal> {
    check_ranges(spec)?;
    check_streams(spec, policy)?;
    check_time(spec, policy)?;
    check_rate(spec, policy)
}

/// The same for a latency session.
pub(super) fn check_latency(spec: &LatencySpec, policy: &Policy) -> Result<(), Refusal> {
    let (smallest, largest) = (sockperf::HEADER_LEN as u64, longest_message(spec.transport) as u64);
    in_range("size", u64::from(spec.size), smallest, largest)?;
    in_range("time (ns)", spec.time.0, 0, MAX_TIME.0)?;
    in_range("rate", spec.rate.map_or(1, |rate| rate.0), 1, 1 << 40)?;
    in_time("a test", spec.time, policy, "measure for a shorter time (--time)")?;
    let Some(allowed) = policy.max_rate else { return Ok(()) };
    let messages = spec.rate_within(allowed).0;
    match spec.bitrate() {
        Some(rate) if rate <= allowed || spec.rate == Some(PacketRate(1)) => Ok(()),
        _ => Err(limit(
            format!(
                "messages without a rate or at a higher one, where this server allows {allowed} (--max-rate)"
            ),
            format!("ask for at most {messages} messages per second (--rate {messages})"),
        )),
    }
}

/// Time for which the messages of a latency session are answered; its client need not know it.
pub(super) fn latency_time(spec: &LatencySpec, policy: &Policy) -> Nanos {
    if spec.time == Nanos::ZERO { longest(policy) } else { spec.time }
}

/// Longest message of a latency session, bytes.
pub(super) fn longest_message(transport: Transport) -> usize {
    match transport {
        Transport::Udp => LARGEST_UDP_PAYLOAD as usize,
        Transport::Tcp => sockperf::MAX_TCP_LEN,
    }
}

/// The limits of a policy, as sent to a client.
pub(super) fn limits(policy: &Policy) -> Limits {
    Limits {
        max_time: policy.max_time,
        max_rate: policy.max_rate,
        max_streams: Some(policy.max_streams.unwrap_or(MAX_STREAMS)),
        max_probe_requests: u32::try_from(MAX_ORDERS).ok(),
    }
}

/// The longest a test may run, omitted time included.
pub(super) fn longest(policy: &Policy) -> Nanos {
    policy.max_time.unwrap_or(MAX_TIME).min(MAX_TIME)
}

fn check_ranges(spec: &TestSpec) -> Result<(), Refusal> {
    let lengths = match spec.transport {
        Transport::Tcp => 0..=MAX_BLOCK,
        Transport::Udp => HEADER_LEN as u32..=LARGEST_UDP_PAYLOAD,
    };
    in_range(
        "length",
        spec.length.unwrap_or(0).into(),
        u64::from(*lengths.start()),
        u64::from(*lengths.end()),
    )?;
    in_range("burst", spec.burst.unwrap_or(0).into(), 0, 10_000)?;
    in_range("omit (ns)", spec.omit.0, 0, MAX_OMIT.0)?;
    in_range("mss", u64::from(spec.mss.unwrap_or(1460)), 88, 65_495)?;
    in_range("window", u64::from(spec.window.unwrap_or(4096)), 1, 512 << 20)?;
    in_range("flow_label", u64::from(spec.flow_label.unwrap_or(0)), 0, 0xf_ffff)?;
    in_range("bitrate", spec.bitrate.map_or(1, |rate| rate.0), 1, 1 << 50)?;
    match &spec.congestion {
        Some(name) if !is_algorithm(name) => {
            Err(invalid(format!("congestion `{name}` is not the name of an algorithm")))
        }
        _ => Ok(()),
    }
}

/// Names like the kernel's: TCP_CA_NAME_MAX is 16 with its NUL.
fn is_algorithm(name: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..16).contains(&name.len()) && name.bytes().all(letter)
}

pub(super) fn check_streams(spec: &TestSpec, policy: &Policy) -> Result<(), Refusal> {
    in_range("streams", u64::from(spec.streams), 1, u64::from(MAX_STREAMS))?;
    let allowed = policy.max_streams.unwrap_or(MAX_STREAMS);
    if spec.streams <= allowed {
        return Ok(());
    }
    Err(limit(
        format!("{} streams, where this server allows {allowed}", spec.streams),
        "use fewer (--parallel)",
    ))
}

fn check_time(spec: &TestSpec, policy: &Policy) -> Result<(), Refusal> {
    match spec.end {
        End::Time(time) => {
            in_range("end.time (ns)", time.0, 1, MAX_TIME.0)?;
            in_time("a test", time + spec.omit, policy, "test for a shorter time (--time)")
        }
        End::Bytes(bytes) => in_range("end.bytes", bytes.0, 1, 1 << 59),
        End::Blocks(blocks) => in_range("end.blocks", blocks, 1, 1 << 48),
    }
}

/// Checks that the server allows so long a time.
pub(super) fn in_time(what: &str, time: Nanos, policy: &Policy, advice: &str) -> Result<(), Refusal> {
    let allowed = longest(policy);
    if time <= allowed {
        return Ok(());
    }
    Err(limit(format!("{what} of {time}, where this server allows {allowed} (--max-time)"), advice))
}

fn check_rate(spec: &TestSpec, policy: &Policy) -> Result<(), Refusal> {
    let Some(allowed) = policy.max_rate else { return Ok(()) };
    check_burst(spec, allowed)?;
    let each = BitRate(allowed.0 / u64::from(spec.streams));
    let advice = format!("ask for at most {each} in each stream (`pathmeter throughput HOST -b {}`)", each.0);
    match spec.bitrate {
        Some(rate) if rate <= each => Ok(()),
        Some(rate) => {
            let total = BitRate(rate.0.saturating_mul(u64::from(spec.streams)));
            Err(limit(format!("{total} in all, where this server allows {allowed}"), advice))
        }
        None => Err(limit(format!("no rate is given, where this server allows {allowed}"), advice)),
    }
}

/// Data sent back to back is little beside the data of a second.
fn check_burst(spec: &TestSpec, allowed: BitRate) -> Result<(), Refusal> {
    let burst = u64::from(spec.burst.unwrap_or(1)).saturating_mul(spec.length.unwrap_or(0).into());
    let most = (allowed.0 / 8 / 100).max(SMALLEST_BURST);
    if burst.saturating_mul(spec.streams.into()) <= most {
        return Ok(());
    }
    Err(limit(
        format!("bursts of {burst} bytes, where this server allows {allowed}"),
        format!("send at most {most} bytes back to back in all streams (--length, --burst)"),
    ))
}

pub(super) fn in_range(field: &str, value: u64, lowest: u64, highest: u64) -> Result<(), Refusal> {
    if (lowest..=highest).contains(&value) {
        return Ok(());
    }
    Err(invalid(format!("{field} is {value}, which is not between {lowest} and {highest}")))
}

pub(super) fn invalid(reason: String) -> Refusal {
    Refusal::new("invalid", reason, "")
}

pub(super) fn limit(reason: String, advice: impl Into<String>) -> Refusal {
    Refusal::new("limit", reason, advice)
}

const MAX_BLOCK: u32 = 16 << 20;
/// In bytes: a single datagram of any length fits.
const SMALLEST_BURST: u64 = 64 << 10;
const MAX_OMIT: Nanos = Nanos::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Bytes;

    fn spec(change: impl FnOnce(&mut TestSpec)) -> TestSpec {
        let mut spec = TestSpec::new(Transport::Tcp);
        change(&mut spec);
        spec
    }

    fn reason(spec: &TestSpec, policy: &Policy) -> String {
        check(spec, policy).unwrap_err().text()
    }

    #[test]
    fn every_field_out_of_range_is_named() {
        type Change = fn(&mut TestSpec);
        let wrong: [(&str, Change); 13] = [
            ("streams", |s| s.streams = 0),
            ("streams", |s| s.streams = 129),
            ("length", |s| s.length = Some(MAX_BLOCK + 1)),
            ("length", |s| (s.transport, s.length) = (Transport::Udp, Some(15))),
            ("length", |s| (s.transport, s.length) = (Transport::Udp, Some(65_508))),
            ("omit", |s| s.omit = Nanos::from_secs(601)),
            ("mss", |s| s.mss = Some(87)),
            ("window", |s| s.window = Some(u32::MAX)),
            ("flow_label", |s| s.flow_label = Some(1 << 20)),
            ("congestion", |s| s.congestion = Some("../cubic".into())),
            ("end.time", |s| s.end = End::Time(Nanos::ZERO)),
            ("end.bytes", |s| s.end = End::Bytes(Bytes(0))),
            ("bitrate", |s| s.bitrate = Some(BitRate(0))),
        ];
        for (field, change) in wrong {
            let text = reason(&spec(change), &Policy::default());
            assert!(text.starts_with(field), "{field}: {text}");
        }
        assert_eq!(check(&spec(|_| {}), &Policy::default()), Ok(()));
    }

    #[test]
    fn limits_name_the_option_that_helps() {
        let policy = Policy {
            max_time: Some(Nanos::from_secs(5)),
            max_rate: Some(BitRate(1_000_000)),
            max_streams: Some(2),
        };
        let fits = spec(|s| {
            (s.streams, s.end) = (2, End::Time(Nanos::from_secs(5)));
            s.bitrate = Some(BitRate(500_000));
        });
        assert_eq!(check(&fits, &policy), Ok(()));
        assert!(reason(&TestSpec { streams: 3, ..fits.clone() }, &policy).contains("--parallel"));
        assert!(reason(&TestSpec { omit: Nanos::from_nanos(1), ..fits.clone() }, &policy).contains("--time"));
        assert!(reason(&TestSpec { bitrate: None, ..fits.clone() }, &policy).contains("-b 500000`"));
        assert!(
            reason(&TestSpec { bitrate: Some(BitRate(500_001)), ..fits }, &policy)
                .contains("1.00 Mbit/s in all")
        );
    }
}
