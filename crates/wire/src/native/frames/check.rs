//! Range checks of the requests and replies in a session of frames, at both ends.

use super::{Addressing, Burst, FrameSpec, FramesAsk, FramesCounted, FramesReply, FramesWish, Sent};
use crate::Policy;
use crate::native::admit::{MAX_TIME, in_range, in_time, invalid, limit};
use crate::work::Refusal;
use model::units::{BitRate, Bytes};

/// Most frames of a burst, and most frames counted.
pub const MAX_FRAMES: u64 = 1 << 40;
/// Most sizes that are sent in turn.
pub const MAX_SIZES: usize = 4096;

/// Checks a client's request for an interface.
pub(in crate::native) fn check_wish(wish: &FramesWish) -> Result<(), Refusal> {
    let length = wish.interface.chars().count() as u64;
    in_range("length of the interface's name", length, 1, LONGEST_NAME)?;
    [&wish.addressing, &wish.fallback].into_iter().try_for_each(check_addressing)
}

fn check_addressing(addressing: &Addressing) -> Result<(), Refusal> {
    let Addressing { addresses, gateways } = addressing;
    in_range("number of addresses", addresses.len() as u64, 0, MAX_ADDRESSES)?;
    in_range("number of gateways", gateways.len() as u64, 0, MAX_ADDRESSES)?;
    addresses.iter().try_for_each(|(address, prefix)| {
        in_range("prefix", u64::from(*prefix), 1, if address.is_ipv4() { 32 } else { 128 })
    })
}

/// Checks a request from the server's point of view; `Err` names the field and the remedy.
pub(super) fn check(ask: &FramesAsk, policy: &Policy) -> Result<(), Refusal> {
    match ask {
        FramesAsk::Count { spec, frames, .. } => {
            check_spec(spec)?;
            in_range("frames", *frames, 1, MAX_FRAMES)
        }
        FramesAsk::Send { spec, burst, .. } => {
            check_spec(spec)?;
            check_burst(burst)?;
            in_time("a burst", burst.time, policy, "ask for shorter trials")?;
            check_rate(spec, burst, policy)
        }
        FramesAsk::NextHop { .. } | FramesAsk::Counted {} | FramesAsk::Sent {} | FramesAsk::Stop {} => Ok(()),
    }
}

fn check_spec(spec: &FrameSpec) -> Result<(), Refusal> {
    in_range("number of sizes", spec.sizes.len() as u64, 1, MAX_SIZES as u64)?;
    spec.sizes.iter().try_for_each(|size| in_range("size", size.0, SMALLEST, LARGEST))?;
    in_range("hop_limit", u64::from(spec.hop_limit), 1, 255)?;
    if spec.outer.is_some() && spec.destination.is_ipv6() {
        return Err(invalid("outer is for packets of IPv4, and these are of IPv6".into()));
    }
    in_range("vlan", u64::from(spec.vlan.unwrap_or(1)), 0, 4094)?;
    if spec.source.is_ipv4() != spec.destination.is_ipv4() {
        return Err(invalid(format!(
            "source {} and destination {} differ in family",
            spec.source, spec.destination
        )));
    }
    Ok(())
}

fn check_burst(burst: &Burst) -> Result<(), Refusal> {
    in_range("frames", burst.all_frames(), 1, MAX_FRAMES)?;
    in_range("interval_ps", burst.interval_ps, 0, LONGEST_INTERVAL_PS)?;
    in_range("then.interval_ps", burst.then.map_or(1, |pace| pace.interval_ps), 1, LONGEST_INTERVAL_PS)?;
    in_range("time (ns)", burst.time.0, 1, MAX_TIME.0)
}

/// The rate of the frames themselves, without preamble and gap, as rates of other tests are.
fn check_rate(spec: &FrameSpec, burst: &Burst, policy: &Policy) -> Result<(), Refusal> {
    let Some(allowed) = policy.max_rate else { return Ok(()) };
    let bytes: u64 = spec.sizes.iter().map(|size| size.0).sum();
    let shortest = burst.then.map_or(burst.interval_ps, |pace| pace.interval_ps.min(burst.interval_ps));
    let time = u128::from(shortest) * spec.sizes.len() as u128;
    let bits_and_time = u128::from(bytes) * 8 * 1_000_000_000_000;
    let rate = bits_and_time.checked_div(time).map(|rate| BitRate(u64::try_from(rate).unwrap_or(u64::MAX)));
    match rate {
        Some(rate) if rate <= allowed => Ok(()),
        _ => {
            let what = rate.map_or("as fast as can be".into(), |rate| rate.to_string());
            let most = allowed.0 * spec.sizes.len() as u64 / (bytes * 8);
            Err(limit(
                format!("frames at {what}, where this server allows {allowed} (--max-rate)"),
                format!("ask for at most {most} frames per second"),
            ))
        }
    }
}

/// The parts of a client's requests by which its replies are checked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    /// Number of frames to be counted.
    pub(super) counting: u64,
    /// The burst to be sent.
    pub(super) burst: Option<Burst>,
}

/// Checks that a reply fits its request and is plausible; `Err` names the contradiction.
pub(super) fn judge(ask: &FramesAsk, reply: &FramesReply, pending: &Pending) -> Result<(), String> {
    match (ask, reply) {
        (_, FramesReply::Refused(_))
        | (FramesAsk::NextHop { .. }, FramesReply::NextHop { .. })
        | (FramesAsk::Count { .. } | FramesAsk::Send { .. }, FramesReply::Begun {}) => Ok(()),
        (FramesAsk::Counted {}, FramesReply::Counted(counted)) => judge_counted(counted, pending),
        (FramesAsk::Sent {}, FramesReply::Sent(sent)) => judge_sent(sent, pending),
        _ => Err("an answer to another question".into()),
    }
}

fn judge_counted(counted: &FramesCounted, pending: &Pending) -> Result<(), String> {
    let FramesCounted { frames, bytes, duplicates, reordered, unchecked, last_missing, .. } = counted;
    let highest = [duplicates, reordered, unchecked].into_iter().max().unwrap_or(frames);
    if highest > frames {
        return Err(format!("{highest} duplicates or frames out of order of {frames}"));
    }
    if *bytes > Bytes(frames.saturating_mul(LARGEST)) {
        return Err(format!("{} bytes in {frames} frames", bytes.0));
    }
    if last_missing.is_some_and(|last| last >= pending.counting) {
        return Err(format!("a frame missing beyond the {} that were to be counted", pending.counting));
    }
    let rows = counted.variation.iter().flat_map(|variation| [&variation.shorter, &variation.longer]);
    let all = rows.flatten().fold(0_u64, |all, (_, count)| all.saturating_add(*count));
    if all > *frames {
        return Err(format!("{all} differences of delays of {frames} frames"));
    }
    Ok(())
}

fn judge_sent(sent: &Sent, pending: &Pending) -> Result<(), String> {
    let Some(burst) = &pending.burst else { return Err("frames sent that were not requested".into()) };
    if sent.frames > burst.all_frames() {
        return Err(format!("{} frames sent of {}", sent.frames, burst.all_frames()));
    }
    if sent.held > sent.time {
        return Err(format!("the schedule was moved by {} in {}", sent.held, sent.time));
    }
    Ok(())
}

/// Longest name: a path of a namespace and an interface.
const LONGEST_NAME: u64 = 300;
const MAX_ADDRESSES: u64 = 8;
/// Smallest frame of Ethernet, with the FCS.
const SMALLEST: u64 = 64;
/// Largest frame: an IP packet of 65,535 bytes, an Ethernet header, a tag and the FCS.
const LARGEST: u64 = 65_557;
/// One frame per day.
const LONGEST_INTERVAL_PS: u64 = MAX_TIME.0 * 1000;

#[cfg(test)]
mod tests {
    use super::super::Pace;
    use super::*;
    use model::dut::SourceKind;
    use model::units::Nanos;

    fn spec() -> FrameSpec {
        FrameSpec {
            source_mac: [2; 6],
            destination_mac: [4; 6],
            source: [198, 18, 0, 1].into(),
            destination: [198, 19, 0, 1].into(),
            hop_limit: 64,
            ports: None,
            vlan: None,
            outer: None,
            sizes: vec![Bytes(64)],
            tag: 7,
        }
    }

    fn burst() -> Burst {
        Burst { frames: 1000, interval_ps: 1_000_000, then: None, time: Nanos::from_secs(1) }
    }

    fn reason(spec: FrameSpec, burst: Burst, policy: &Policy) -> Option<String> {
        check(&FramesAsk::Send { source: SourceKind::Packet, spec, burst }, policy)
            .err()
            .map(|why| why.text())
    }

    #[test]
    fn every_field_out_of_range_is_named() {
        type Change = fn(&mut FrameSpec, &mut Burst);
        let wrong: [(&str, Change); 14] = [
            ("outer", |s, _| {
                let six = std::net::Ipv6Addr::LOCALHOST;
                (s.source, s.destination, s.outer) = (six.into(), six.into(), Some((six, six)));
            }),
            ("number of sizes", |s, _| s.sizes.clear()),
            ("number of sizes", |s, _| s.sizes = vec![Bytes(64); 4097]),
            ("size", |s, _| s.sizes.push(Bytes(63))),
            ("size", |s, _| s.sizes.push(Bytes(65_558))),
            ("hop_limit", |s, _| s.hop_limit = 0),
            ("vlan", |s, _| s.vlan = Some(4095)),
            ("source 198.18.0.1 and destination ::1", |s, _| {
                s.destination = std::net::Ipv6Addr::LOCALHOST.into()
            }),
            ("frames", |_, b| b.frames = 0),
            ("frames", |_, b| b.frames = MAX_FRAMES + 1),
            ("frames", |_, b| b.then = Some(Pace { frames: u64::MAX, interval_ps: 1 })),
            ("then.interval_ps", |_, b| b.then = Some(Pace { frames: 1, interval_ps: 0 })),
            ("interval_ps", |_, b| b.interval_ps = u64::MAX),
            ("time", |_, b| b.time = MAX_TIME + Nanos::from_nanos(1)),
        ];
        for (field, change) in wrong {
            let (mut spec, mut burst) = (spec(), burst());
            change(&mut spec, &mut burst);
            let text = reason(spec, burst, &Policy::default()).unwrap_or_default();
            assert!(text.starts_with(field), "{field}: {text}");
        }
        assert_eq!(reason(spec(), burst(), &Policy::default()), None);
    }

    #[test]
    fn an_ethernet_address_is_twelve_digits() {
        let json = serde_json::to_value(spec()).unwrap();
        assert_eq!(json["source_mac"], "020202020202");
        assert_eq!(serde_json::from_value::<FrameSpec>(json.clone()).unwrap(), spec());
        for wrong in ["", "02", "0202020202020", "02020202020g", "+20202020202", "０２０２"] {
            let mut other = json.clone();
            other["source_mac"] = wrong.into();
            assert!(serde_json::from_value::<FrameSpec>(other).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_an_interface_is_to_have_is_bounded() {
        let address = ([198, 18, 0, 2].into(), 24);
        let wish = |change: fn(&mut FramesWish)| {
            let mut wish = FramesWish { interface: "eth1".into(), ..FramesWish::default() };
            wish.addressing.addresses.push(address);
            change(&mut wish);
            check_wish(&wish).map_err(|refusal| refusal.text())
        };
        assert_eq!(wish(|_| {}), Ok(()));
        type Change = fn(&mut FramesWish);
        let wrong: [(&str, Change); 5] = [
            ("length of the interface's name is 0", |w| w.interface.clear()),
            ("length of the interface's name", |w| w.interface = "x".repeat(301)),
            ("prefix is 33", |w| w.addressing.addresses[0].1 = 33),
            ("number of addresses", |w| w.fallback.addresses = vec![w.addressing.addresses[0]; 9]),
            ("number of gateways", |w| w.addressing.gateways = vec![[198, 18, 0, 1].into(); 9]),
        ];
        for (field, change) in wrong {
            let text = wish(change).unwrap_err();
            assert!(text.starts_with(field), "{field}: {text}");
        }
    }

    #[test]
    fn the_servers_limits_hold_for_frames() {
        // 64 bytes per microsecond are 512 Mbit/s.
        let policy =
            |rate, time| Policy { max_rate: Some(BitRate(rate)), max_time: Some(time), max_streams: None };
        let second = Nanos::from_secs(1);
        assert_eq!(reason(spec(), burst(), &policy(512_000_000, second)), None);
        let text = reason(spec(), burst(), &policy(511_999_999, second)).unwrap();
        assert!(text.contains("512 Mbit/s") && text.contains("at most 999999 frames"), "{text}");
        let flood = Burst { interval_ps: 0, ..burst() };
        assert!(reason(spec(), flood, &policy(u64::MAX, second)).unwrap().contains("as fast as can be"));
        assert!(
            reason(spec(), burst(), &policy(u64::MAX, Nanos::from_nanos(5))).unwrap().contains("--max-time")
        );
    }

    #[test]
    fn answers_that_cannot_be_are_known() {
        let pending = Pending { counting: 10, burst: Some(burst()) };
        let counted = |change: fn(&mut FramesCounted)| {
            let mut counted = FramesCounted { frames: 8, bytes: Bytes(480), ..FramesCounted::default() };
            change(&mut counted);
            judge(&FramesAsk::Counted {}, &FramesReply::Counted(Box::new(counted)), &pending)
        };
        assert_eq!(counted(|c| c.last_missing = Some(9)), Ok(()));
        assert!(counted(|c| c.last_missing = Some(10)).is_err());
        assert!(counted(|c| c.duplicates = 9).is_err());
        assert!(counted(|c| c.bytes = Bytes(8 * LARGEST + 1)).is_err());
        assert!(counted(|c| c.variation.get_or_insert_default().longer = vec![(5, 9)]).is_err());
        let sent = Sent {
            frames: 1000,
            time: Nanos::from_nanos(5),
            late: Nanos::ZERO,
            held: Nanos::from_nanos(5),
            gaps: 0,
        };
        let held = FramesReply::Sent(Sent { held: Nanos::from_nanos(6), ..sent });
        assert!(judge(&FramesAsk::Sent {}, &held, &pending).is_err());
        let sent = |frames| FramesReply::Sent(Sent { frames, ..sent });
        assert_eq!(judge(&FramesAsk::Sent {}, &sent(1000), &pending), Ok(()));
        assert!(judge(&FramesAsk::Sent {}, &sent(1001), &pending).is_err());
        assert!(judge(&FramesAsk::Counted {}, &sent(1), &pending).is_err());
    }
}
