//! The hop behind which large packets end, where no router says so: datagrams of two sizes whose TTL ends at each hop.

use super::numbered::{Numbered, Said, Sent};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use linux::clock::mono_now;
use linux::options::{self, MtuDiscovery};
use linux::poll::{Interest, wait};
use model::path::{HopSource, LimitingHop, TracedHop};
use model::plan::LocalOptions;
use model::time::MonoTime;
use model::units::Nanos;
use std::net::{IpAddr, SocketAddr};

/// The sizes a trace compares, whole packets: one that does not arrive and one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// It does not arrive.
    pub(crate) large: u32,
    /// It does.
    pub(crate) small: u32,
}

/// What the hops said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traced {
    /// The hop that passes small packets on and not large ones; absent where the hops do not tell.
    pub(crate) limit: Option<LimitingHop>,
    /// The routers that answered, nearest first.
    pub(crate) hops: Vec<TracedHop>,
    /// A large packet reached the far end, which said so.
    pub(crate) arrived: bool,
}

/// Looks for the hop that passes small packets on and not large ones. Adds the packets it sent to `packets`.
/// `round_trip`: to the far end and back, where it is known.
///
/// Every probe has a socket of its own, so that a router that quotes only eight bytes of it (RFC 792) is understood. A
/// port of `target` that is closed lets the far end answer too; port 0 is taken for one.
///
/// # Errors
/// A socket that this host refuses.
pub(crate) fn trace(
    target: SocketAddr,
    local: &LocalOptions,
    (sizes, round_trip): (Sizes, Option<Nanos>),
    packets: &mut u64,
    interrupt: &Interrupt,
) -> Result<Traced> {
    let mut remote = target;
    if remote.port() == 0 {
        remote.set_port(CLOSED_PORT);
    }
    let mut hops = Vec::new();
    // A router may take longer to answer than to pass on.
    let mut patience = round_trip.map_or(LONGEST_WAIT, |time| answer_time(time).max(UNHEARD_WAIT));
    while hops.len() < HOPS {
        let mut batch = open_batch(remote, local, hops.len())?;
        for round in 0..ROUNDS {
            let sent = ask(&mut batch, round, sizes)?;
            if interrupt.is_raised() || sent == 0 {
                break;
            }
            *packets += sent;
            listen(&mut batch, &mut patience)?;
            batch.iter_mut().for_each(Hop::blame);
        }
        hops.append(&mut batch);
        if interrupt.is_raised() || is_over(&hops) {
            break;
        }
    }
    let seen: Vec<Seen> = hops.iter().map(Hop::seen).collect();
    let arrived = seen.iter().any(|hop| hop.large == Answer::Arrived);
    Ok(Traced { limit: judge(&seen), hops: routers(&seen), arrived })
}

fn routers(hops: &[Seen]) -> Vec<TracedHop> {
    let router = |answer| if let Answer::Router(router) = answer { Some(router) } else { None };
    let hop = |(at, seen): (usize, &Seen)| {
        let [large, small] = [seen.large, seen.small].map(router);
        Some(TracedHop {
            ttl: u8::try_from(at + 1).ok()?,
            address: Some(large.or(small)?),
            large: large.is_some(),
            small: small.is_some(),
        })
    };
    hops.iter().enumerate().filter_map(hop).collect()
}

fn answer_time(round_trip: Nanos) -> Nanos {
    Nanos(round_trip.0.saturating_mul(ROUND_TRIPS)).clamp(SHORTEST_WAIT, LONGEST_WAIT)
}

/// One hop, asked with both sizes.
struct Hop {
    large: Probe,
    small: Probe,
    /// Rounds in which the small packet was answered and the large one not.
    blamed: u32,
}

/// One probe size at one hop.
struct Probe {
    socket: Numbered,
    sent: MonoTime,
    answer: Answer,
    /// In the present round.
    answered: bool,
}

/// What came of the probes of one size at one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing.
    Silence,
    /// Its TTL ended at this router.
    Router(IpAddr),
    /// It reached the far end.
    Arrived,
    /// Too big for the link behind this router.
    TooBig(Option<IpAddr>),
    /// Refused on the way for another reason than its size.
    Refused,
    /// Too long for this host's own interface.
    NotSent,
}

/// Both answers of one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    large: Answer,
    small: Answer,
    blamed: u32,
}

fn open_batch(remote: SocketAddr, local: &LocalOptions, from: usize) -> Result<Vec<Hop>> {
    let probe = |hops: u8| {
        let socket = Numbered::open(remote, local, MtuDiscovery::Probe)?;
        options::set_hops(socket.socket(), hops)?;
        Ok::<_, Error>(Probe { socket, sent: mono_now(), answer: Answer::Silence, answered: false })
    };
    let last = (from + BATCH).min(HOPS);
    (from..last)
        .map(|at| {
            let hops = u8::try_from(at + 1).unwrap_or(u8::MAX);
            Ok::<_, Error>(Hop { large: probe(hops)?, small: probe(hops)?, blamed: 0 })
        })
        .collect()
}

/// Sends both sizes to every hop that has not answered both; how many packets left. The small one goes last: where a
/// router limits its answers, one to it shows that the large one could have been answered too.
fn ask(batch: &mut [Hop], round: u32, sizes: Sizes) -> Result<u64> {
    let last = batch.iter().position(|hop| hop.small.answer == Answer::Arrived).unwrap_or(batch.len());
    let mut sent = 0;
    for hop in batch.iter_mut().take(last + 1) {
        if hop.large.answer == Answer::Silence || hop.small.answer == Answer::Silence {
            sent += hop.large.send(round, sizes.large)?;
            sent += hop.small.send(round, sizes.small)?;
        }
    }
    Ok(sent)
}

/// Waits for the answers of a round: as long as `patience`, which shrinks once the far end is heard.
fn listen(batch: &mut [Hop], patience: &mut Nanos) -> Result<()> {
    let start = mono_now();
    loop {
        let deadline = start + *patience;
        let open = |probe: &&mut Probe| !probe.answered;
        let mut waiting: Vec<&mut Probe> =
            batch.iter_mut().flat_map(|hop| [&mut hop.large, &mut hop.small]).filter(open).collect();
        if waiting.is_empty() || mono_now() >= deadline {
            return Ok(());
        }
        let mut interests: Vec<Interest<'_>> =
            waiting.iter().map(|probe| Interest::readable(probe.socket.socket())).collect();
        wait(&mut interests, Some(deadline))?;
        drop(interests);
        for probe in &mut waiting {
            probe.hear()?;
            if probe.answered && probe.answer == Answer::Arrived {
                let round_trip = mono_now().saturating_since(probe.sent);
                *patience = answer_time(round_trip);
            }
        }
    }
}

impl Hop {
    fn seen(&self) -> Seen {
        Seen { large: self.large.answer, small: self.small.answer, blamed: self.blamed }
    }

    fn blame(&mut self) {
        self.blamed += u32::from(self.small.answered && self.large.answer == Answer::Silence);
    }
}

impl Probe {
    /// Sends it; how many packets left.
    fn send(&mut self, round: u32, size: u32) -> Result<u64> {
        self.sent = mono_now();
        self.answered = false;
        match self.socket.send(round, size)? {
            Sent::Left => Ok(1),
            Sent::TooLong => {
                self.answer = Answer::NotSent;
                Ok(0)
            }
        }
    }

    /// Takes the answers.
    fn hear(&mut self) -> Result<()> {
        for word in self.socket.hear()? {
            self.answer = match (word.said, word.from) {
                (Said::Answer | Said::Closed, _) => Answer::Arrived,
                (Said::Expired, Some(router)) => Answer::Router(router),
                (Said::Expired, None) => continue,
                (Said::TooBig(_), from) => Answer::TooBig(from),
                (Said::Refused(..), _) => Answer::Refused,
            };
            self.answered = true;
        }
        Ok(())
    }
}

/// Whether more hops can tell more: not once the far end was reached, or nothing answered for long.
fn is_over(hops: &[Hop]) -> bool {
    let told = |hop: &Hop| matches!(hop.small.answer, Answer::Router(_));
    let ended = |hop: &Hop| {
        matches!(hop.small.answer, Answer::Arrived | Answer::Refused) || hop.large.answer == Answer::Arrived
    };
    hops.iter().any(ended) || (hops.len() >= SILENT_HOPS && !hops.iter().rev().take(SILENT_HOPS).any(told))
}

/// The hop that limits, from the answers of all hops in order.
fn judge(hops: &[Seen]) -> Option<LimitingHop> {
    if hops.iter().any(|hop| hop.large == Answer::NotSent) {
        return Some(LimitingHop { address: None, ttl: Some(0), found_by: HopSource::Sender });
    }
    // A router looks at the TTL before the size, so it complains of the size of what would have lived on.
    let refused = hops.iter().enumerate().find_map(|(at, hop)| match hop.large {
        Answer::TooBig(from) => Some((at, from)),
        _ => None,
    });
    if let Some((at, from)) = refused {
        let named = hops.iter().position(|hop| from.is_some_and(|from| hop.small == Answer::Router(from)));
        let ttl = u8::try_from(named.map_or(at, |named| named + 1)).ok();
        return Some(LimitingHop { address: from, ttl, found_by: HopSource::TooBig });
    }
    let passes = |hop: &Seen| matches!(hop.large, Answer::Router(_) | Answer::Arrived);
    let last = hops.iter().rposition(passes);
    if last.is_some_and(|last| hops[last].large == Answer::Arrived) {
        return None;
    }
    // Were the one right behind it silent to both, it might be that one which limits.
    let behind = hops.get(last.map_or(0, |last| last + 1))?;
    if behind.large != Answer::Silence || behind.blamed < ENOUGH {
        return None;
    }
    let address = last.and_then(|last| match hops[last].large {
        Answer::Router(router) => Some(router),
        _ => None,
    });
    let ttl = u8::try_from(last.map_or(0, |last| last + 1)).ok();
    Some(LimitingHop { address, ttl, found_by: HopSource::Trace })
}

/// The first port that traceroute(8) uses: one that nothing listens on.
pub(crate) const CLOSED_PORT: u16 = 33434;
/// Hops asked at most.
const HOPS: usize = 30;
/// Hops asked at once: a router that limits its answers gives at least six in a burst.
const BATCH: usize = 4;
/// Times that each unanswered probe is sent.
const ROUNDS: u32 = 3;
/// Rounds that have to agree.
const ENOUGH: u32 = 2;
/// Silent hops in a row after which the rest is taken for silent too.
const SILENT_HOPS: usize = 8;
const ROUND_TRIPS: u64 = 4;
const SHORTEST_WAIT: Nanos = Nanos::from_millis(60);
/// The same where the far end has not answered such packets yet.
const UNHEARD_WAIT: Nanos = Nanos::from_millis(150);
const LONGEST_WAIT: Nanos = Nanos::from_millis(700);

#[cfg(test)]
mod tests {
    use super::*;
    use Answer::{Arrived, NotSent, Refused, Router, Silence, TooBig};

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn found(hops: &[(Answer, Answer)]) -> Option<(Option<IpAddr>, u8, HopSource)> {
        let seen: Vec<Seen> = hops
            .iter()
            .map(|&(large, small)| Seen { large, small, blamed: u32::from(small != Silence) * ENOUGH })
            .collect();
        judge(&seen).map(|hop| (hop.address, hop.ttl.unwrap(), hop.found_by))
    }

    #[test]
    fn the_last_hop_that_answers_large_packets_is_it() {
        let (one, two) = (Router(ip(1)), Router(ip(2)));
        let hole = Some((Some(ip(1)), 1, HopSource::Trace));
        assert_eq!(found(&[(one, one), (Silence, two), (Silence, Arrived)]), hole);
        let second = Some((Some(ip(2)), 2, HopSource::Trace));
        assert_eq!(found(&[(Silence, one), (two, Silence), (Silence, Arrived)]), second, "a hop was lazy");
        let first_link = Some((None, 0, HopSource::Trace));
        assert_eq!(found(&[(Silence, one), (Silence, Arrived)]), first_link);
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        let one = Router(ip(1));
        for hops in [
            &[][..],
            &[(Silence, Silence); 8],
            &[(one, one), (Silence, Silence), (Silence, Silence)],
            &[(one, one), (Silence, Silence), (Silence, Router(ip(3))), (Silence, Silence)],
            &[(one, one), (Arrived, Arrived)],
            &[(one, one), (Silence, one), (Arrived, Silence)],
            &[(one, one), (Refused, Refused)],
        ] {
            assert_eq!(found(hops), None, "{hops:?}");
        }
        let once = Seen { large: Silence, small: one, blamed: ENOUGH - 1 };
        assert_eq!(judge(&[once]), None, "it may have been chance");
    }

    #[test]
    fn a_router_that_complains_is_one_hop_nearer_than_its_probe() {
        let (one, two) = (Router(ip(1)), Router(ip(2)));
        let told = Some((Some(ip(1)), 1, HopSource::TooBig));
        assert_eq!(found(&[(one, one), (TooBig(Some(ip(1))), two), (TooBig(Some(ip(1))), Arrived)]), told);
        assert_eq!(found(&[(Silence, Silence), (TooBig(Some(ip(9))), two)]).unwrap().1, 1);
        assert_eq!(found(&[(NotSent, one)]), Some((None, 0, HopSource::Sender)));
    }

    #[test]
    fn loopback_is_one_hop_and_limits_by_its_own_mtu() {
        let mut packets = 0;
        let run = |large, packets: &mut u64| {
            let target = SocketAddr::from(([127, 0, 0, 1], 0));
            let sizes = Sizes { large, small: 500 };
            trace(target, &LocalOptions::default(), (sizes, None), packets, &Interrupt::default()).unwrap()
        };
        let whole = run(1500, &mut packets);
        assert_eq!((whole.limit, whole.arrived), (None, true));
        assert!((2..=4 * BATCH as u64).contains(&packets), "{packets}");
        let own = run(70_000, &mut packets).limit.unwrap();
        assert_eq!((own.ttl, own.found_by), (Some(0), HopSource::Sender));
    }
}
