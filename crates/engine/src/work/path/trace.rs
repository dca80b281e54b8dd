//! The hop behind which large packets end, where no router reports it: probes of `hops` in two sizes whose TTL ends at each hop.

use crate::error::Result;
use crate::host::interrupt::Interrupt;
use crate::work::hops::{CLOSED_PORT, Channel, Datagrams, Heard, Probe};
use linux::clock::mono_now;
use model::hops::{AnswerKind, hops_back};
use model::path::{HopSource, LimitingHop, TracedHop};
use model::plan::LocalOptions;
use model::time::MonoTime;
use model::units::Nanos;
use std::net::{IpAddr, SocketAddr};

/// The sizes a trace compares, whole packets: one that does not arrive and one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// A size that does not arrive.
    pub(crate) large: u32,
    /// A size that arrives.
    pub(crate) small: u32,
}

/// The messages of the hops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traced {
    /// The hop that passes small packets on and not large ones; absent where the hops do not show it.
    pub(crate) limit: Option<LimitingHop>,
    /// The routers that answered, nearest first.
    pub(crate) hops: Vec<TracedHop>,
    /// A large packet reached the far end, which reported it.
    pub(crate) arrived: bool,
    /// A router sets the TTL of packets, for certain: behind it no hop is known.
    pub(crate) ttl_rewritten: bool,
}

/// Looks for the hop that passes small packets on and not large ones. Adds the packets it sent to `packets`.
/// `round_trip`: to the far end and back, where it is known.
///
/// Every probe is a flow of its own, so that a router that quotes only eight bytes of it (RFC 792) is understood. A port of `target` that is closed lets the far end answer too; port 0 is taken for one.
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
    let (mut hops, mut ttl_rewritten) = (Vec::new(), false);
    // A router may take longer to answer than to pass on.
    let mut timeout = round_trip.map_or(LONGEST_WAIT, |time| answer_time(time).max(UNHEARD_WAIT));
    while hops.len() < HOPS {
        let mut batch = Batch::open(remote, local, hops.len())?;
        for round in 0..ROUNDS {
            let sent = batch.ask(round, sizes)?;
            if interrupt.is_raised() || sent == 0 {
                break;
            }
            *packets += sent;
            batch.listen(&mut timeout)?;
            batch.hops.iter_mut().for_each(Hop::attribute);
        }
        ttl_rewritten |= batch.prober.quotes().rewritten.is_some();
        hops.append(&mut batch.hops);
        if interrupt.is_raised() || is_over(&hops) {
            break;
        }
    }
    let observed: Vec<Observation> = hops.iter().map(Hop::observed).collect();
    let arrived = observed.iter().any(|hop| hop.large == Answer::Arrived);
    let limit = judge(&observed).filter(|limit| !is_hidden(&hops, limit, ttl_rewritten));
    Ok(Traced { limit, hops: routers(&observed), arrived, ttl_rewritten })
}

/// Whether the far end seems to be right behind the hop that limits, and is not: the TTL is set on the path, or the far end's answers
/// came back over more hops where those of the hop before it did not.
fn is_hidden(hops: &[Hop], limit: &LimitingHop, ttl_rewritten: bool) -> bool {
    let Some(ttl) = limit.ttl.filter(|ttl| *ttl > 0 && limit.found_by == HopSource::Trace) else {
        return false;
    };
    let [Some(before), Some(next)] = [ttl - 1, ttl].map(|at| hops.get(usize::from(at))) else { return false };
    let longer = before.large.back == Some(before.ttl) && next.small.back > Some(next.ttl);
    next.small.answer == Answer::Arrived && (ttl_rewritten || longer)
}

fn routers(hops: &[Observation]) -> Vec<TracedHop> {
    let router = |answer| if let Answer::Router(router) = answer { Some(router) } else { None };
    let hop = |(at, observed): (usize, &Observation)| {
        let [large, small] = [observed.large, observed.small].map(router);
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

/// Hops that are probed at once: flow 0 has the large packets of the first, flow 1 the small ones, and so on.
struct Batch {
    hops: Vec<Hop>,
    prober: Datagrams,
}

/// One hop, probed with both sizes.
struct Hop {
    ttl: u8,
    large: SentProbe,
    small: SentProbe,
    /// Rounds in which the small packet was answered and the large one not.
    large_lost: u32,
}

/// One probe size at one hop.
#[derive(Clone, Copy)]
struct SentProbe {
    flow: u32,
    sent: Option<MonoTime>,
    answer: Answer,
    /// In the present round.
    answered: bool,
    /// Hops that the answer took.
    back: Option<u8>,
}

/// The outcome of the probes of one size at one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing.
    Silence,
    /// Its TTL ended at this router.
    Router(IpAddr),
    /// The probe reached the far end.
    Arrived,
    /// Too big for the link behind this router.
    TooBig(Option<IpAddr>),
    /// Refused on the path for another reason than its size.
    Refused,
    /// Too long for this host's own interface.
    NotSent,
}

/// Both answers of one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Observation {
    large: Answer,
    small: Answer,
    large_lost: u32,
}

impl Batch {
    fn open(remote: SocketAddr, local: &LocalOptions, from: usize) -> Result<Batch> {
        let probe =
            |flow| SentProbe { flow, sent: None, answer: Answer::Silence, answered: false, back: None };
        let hop = |(at, flow): (usize, u32)| Hop {
            ttl: u8::try_from(at + 1).unwrap_or(u8::MAX),
            large: probe(flow),
            small: probe(flow + 1),
            large_lost: 0,
        };
        let hops: Vec<Hop> = (from..(from + BATCH).min(HOPS)).zip((0..).step_by(2)).map(hop).collect();
        Ok(Batch { prober: Datagrams::toward(remote, local, FLOWS, LONGEST_WAIT)?, hops })
    }

    /// Sends both sizes to every hop that has not answered both; how many packets left. The small one goes last: where a
    /// router limits its answers, one to it shows that the large one could have been answered too.
    fn ask(&mut self, round: u32, sizes: Sizes) -> Result<u64> {
        let arrived = self.hops.iter().position(|hop| hop.small.answer == Answer::Arrived);
        let last = arrived.unwrap_or(self.hops.len());
        self.hops.iter_mut().for_each(|hop| (hop.large.sent, hop.small.sent) = (None, None));
        for hop in self.hops.iter_mut().take(last + 1) {
            if hop.large.answer == Answer::Silence || hop.small.answer == Answer::Silence {
                for (probe, size) in [(&mut hop.large, sizes.large), (&mut hop.small, sizes.small)] {
                    probe.answered = false;
                    let number = round * FLOWS + probe.flow;
                    self.prober.send_sized(Probe { number, ttl: hop.ttl, flow: probe.flow }, size)?;
                }
            }
        }
        self.take()?;
        Ok(self.probes().count() as u64)
    }

    /// Waits for the answers of a round: as long as `timeout`, which shrinks once the far end is heard.
    fn listen(&mut self, timeout: &mut Nanos) -> Result<()> {
        let start = mono_now();
        loop {
            if let Some(round_trip) = self.take()? {
                *timeout = answer_time(round_trip);
            }
            let deadline = start + *timeout;
            if self.probes().all(|probe| probe.answered) || mono_now() >= deadline {
                return Ok(());
            }
            self.prober.wait(deadline)?;
        }
    }

    /// Probes that left in this round.
    fn probes(&self) -> impl Iterator<Item = &SentProbe> {
        let both = self.hops.iter().flat_map(|hop| [&hop.large, &hop.small]);
        both.filter(|probe| probe.sent.is_some())
    }

    /// Takes what happened; the round trip to the far end, where it answered.
    fn take(&mut self) -> Result<Option<Nanos>> {
        let mut heard = Vec::new();
        self.prober.take(&mut heard)?;
        let mut round_trip = None;
        for heard in heard {
            let (Heard::Sent(number, _) | Heard::Refused(number) | Heard::Answer(number, _)) = heard;
            let both = self.hops.iter_mut().flat_map(|hop| [&mut hop.large, &mut hop.small]);
            let probe = both.into_iter().find(|probe| probe.flow == number % FLOWS);
            round_trip = probe.and_then(|probe| probe.hear(heard)).or(round_trip);
        }
        Ok(round_trip)
    }
}

impl Hop {
    fn observed(&self) -> Observation {
        Observation { large: self.large.answer, small: self.small.answer, large_lost: self.large_lost }
    }

    fn attribute(&mut self) {
        self.large_lost += u32::from(self.small.answered && self.large.answer == Answer::Silence);
    }
}

impl SentProbe {
    /// Takes what happened to it; the round trip to the far end.
    fn hear(&mut self, heard: Heard) -> Option<Nanos> {
        let (from, kind, at) = match heard {
            Heard::Sent(_, at) => {
                self.sent = Some(at);
                return None;
            }
            Heard::Refused(_) => {
                self.answer = Answer::NotSent;
                return None;
            }
            Heard::Answer(_, answer) => {
                self.back = answer.ttl.and_then(hops_back);
                (answer.from, answer.kind, answer.at)
            }
        };
        self.answered = true;
        self.answer = match kind {
            AnswerKind::Arrived => Answer::Arrived,
            AnswerKind::Expired => Answer::Router(from),
            AnswerKind::TooBig(_) => Answer::TooBig(Some(from)),
            AnswerKind::Refused(..) => Answer::Refused,
        };
        let sent = self.sent.filter(|_| self.answer == Answer::Arrived);
        sent.map(|sent| at.saturating_since(sent))
    }
}

/// Whether more hops can show more: not once the far end was reached, or nothing answered for long.
fn is_over(hops: &[Hop]) -> bool {
    let reported = |hop: &Hop| matches!(hop.small.answer, Answer::Router(_));
    let ended = |hop: &Hop| {
        matches!(hop.small.answer, Answer::Arrived | Answer::Refused) || hop.large.answer == Answer::Arrived
    };
    hops.iter().any(ended)
        || (hops.len() >= SILENT_HOPS && !hops.iter().rev().take(SILENT_HOPS).any(reported))
}

/// The hop that limits, from the answers of all hops in order.
fn judge(hops: &[Observation]) -> Option<LimitingHop> {
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
    let passes = |hop: &Observation| matches!(hop.large, Answer::Router(_) | Answer::Arrived);
    let last = hops.iter().rposition(passes);
    if last.is_some_and(|last| hops[last].large == Answer::Arrived) {
        return None;
    }
    // Were the one right behind it silent to both, it might be that one which limits.
    let behind = hops.get(last.map_or(0, |last| last + 1))?;
    if behind.large != Answer::Silence || behind.large_lost < ENOUGH {
        return None;
    }
    let address = last.and_then(|last| match hops[last].large {
        Answer::Router(router) => Some(router),
        _ => None,
    });
    let ttl = u8::try_from(last.map_or(0, |last| last + 1)).ok();
    Some(LimitingHop { address, ttl, found_by: HopSource::Trace })
}

/// Hops probed at most.
const HOPS: usize = 30;
/// Hops probed at once: a router that limits its answers gives at least six in a burst.
const BATCH: usize = 4;
/// Two for each of them.
const FLOWS: u32 = 2 * BATCH as u32;
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
        let observed: Vec<Observation> = hops
            .iter()
            .map(|&(large, small)| Observation {
                large,
                small,
                large_lost: u32::from(small != Silence) * ENOUGH,
            })
            .collect();
        judge(&observed).map(|hop| (hop.address, hop.ttl.unwrap(), hop.found_by))
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
    fn what_cannot_be_known_is_not_claimed() {
        let first = Router(ip(1));
        for hops in [
            &[][..],
            &[(Silence, Silence); 8],
            &[(first, first), (Silence, Silence), (Silence, Silence)],
            &[(first, first), (Silence, Silence), (Silence, Router(ip(3))), (Silence, Silence)],
            &[(first, first), (Arrived, Arrived)],
            &[(first, first), (Silence, first), (Arrived, Silence)],
            &[(first, first), (Refused, Refused)],
        ] {
            assert_eq!(found(hops), None, "{hops:?}");
        }
        let once = Observation { large: Silence, small: first, large_lost: ENOUGH - 1 };
        assert_eq!(judge(&[once]), None, "it may have been chance");
    }

    #[test]
    fn a_router_that_complains_is_one_hop_nearer_than_its_probe() {
        let (one, two) = (Router(ip(1)), Router(ip(2)));
        let reported = Some((Some(ip(1)), 1, HopSource::TooBig));
        assert_eq!(
            found(&[(one, one), (TooBig(Some(ip(1))), two), (TooBig(Some(ip(1))), Arrived)]),
            reported
        );
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
