//! Paths that are simulated, for tests: two hosts, two routers, and faults at either, of which the truth is known.

use crate::error::Result;
use crate::work::probe::{GroupsReport, Pace, ProbeTrain, Probes, is_settled};
use model::path::{Flow, FragmentShape, TooBig, headers};
use model::plan::{Direction, Transport};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use wire::native::probe::SizeCount;
use wire::native::{Expired, PathObservation};

/// The behaviour of a router towards packets of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Router {
    /// MTU of the link behind it.
    pub(super) limit: Option<u32>,
    /// The router sends no packet-too-big messages.
    pub(super) silent: bool,
    /// The router reports this instead of the MTU of its link.
    pub(super) lie: Option<u32>,
    /// The router does not answer packets whose TTL ends there.
    pub(super) untraceable: bool,
    /// The router drops fragments.
    pub(super) drops_fragments: bool,
    /// The router drops fragments below this size.
    pub(super) drops_pieces_below: u32,
    /// The router clears the don't-fragment bit of what it passes on.
    pub(super) clears_df: bool,
    /// The router drops packets of these sizes, and those alone.
    pub(super) hole: Option<(u32, u32)>,
    /// The router sets the TTL of what it passes on.
    pub(super) sets_ttl: bool,
    /// The router loses so many of a thousand packets of this size and more.
    pub(super) loses: Option<(u32, u64)>,
}

/// A path between two hosts whose interfaces have an MTU of 1500.
pub(super) struct Simulated {
    pub(super) ipv6: bool,
    /// The two routers up, nearest to the sender first, and down.
    pub(super) routers: [[Router; 2]; 2],
    pub(super) observed: [PathObservation; 2],
    /// Round trips that were waited for.
    pub(super) round_trips: u32,
    /// Waits for stragglers.
    pub(super) waits: u32,
    /// A round trip takes long.
    pub(super) is_long: bool,
    /// The state of the random numbers by which a router loses packets.
    pub(super) random: u64,
    /// The receivers' firewalls drop larger packets.
    pub(super) receiver_limit: Option<u32>,
    /// The receivers count so many pieces of the next fragments later.
    pub(super) counts_late: u64,
    /// The first router of each direction is a NAT that hands on the messages of the second without translating what they quote.
    pub(super) keeps_quotes: bool,
    /// A policer in each direction: bits per second, and bytes that pass at once.
    pub(super) policer: Option<(f64, f64)>,
    /// Bytes that are left in the bucket of each.
    tokens: [f64; 2],
    pace: Pace,
    /// Pieces that have arrived and that each end has not counted yet.
    late_pieces: [u64; 2],
}

/// The outcome of a packet.
enum Passage {
    Arrived { largest_piece: Option<u32> },
    Lost,
}

impl Simulated {
    pub(super) fn new(ipv6: bool, routers: [[Router; 2]; 2]) -> Simulated {
        let end = PathObservation {
            interface_mtu: Some(INTERFACE),
            cached_mtu: Some(INTERFACE),
            makes_packets: true,
            fragments_received: Some(0),
            undelivered: Some(0),
            ..PathObservation::default()
        };
        Simulated {
            ipv6,
            routers,
            observed: [end.clone(), end],
            round_trips: 0,
            waits: 0,
            is_long: false,
            random: 1,
            receiver_limit: None,
            counts_late: 0,
            keeps_quotes: false,
            policer: None,
            tokens: [0.0; 2],
            pace: Pace::FAST,
            late_pieces: [0; 2],
        }
    }

    /// The time between two probes, or a pause, passes.
    fn fill(&mut self, at: usize, seconds: f64) {
        if let Some((rate, burst)) = self.policer {
            self.tokens[at] = (self.tokens[at] + rate / 8.0 * seconds).min(burst);
        }
    }

    /// Whether the policer lets a packet of so many bytes pass.
    fn is_policed(&mut self, at: usize, size: u32) -> bool {
        let size = f64::from(size);
        let drops = self.policer.is_some() && self.tokens[at] < size;
        self.tokens[at] -= if drops { 0.0 } else { size };
        drops
    }

    pub(super) fn address(&self, direction: usize, hop: usize) -> IpAddr {
        let number = if direction == 0 { hop } else { 1 - hop };
        match self.ipv6 {
            true => IpAddr::from([0xfd71, 0, 0, 0, 0, 0, 0, number as u16 + 1]),
            false => IpAddr::from([10, 71, 0, number as u8 + 1]),
        }
    }

    /// Sends one packet whole, with or without leave to be cut, through as many routers as its TTL lets.
    fn whole(&mut self, at: usize, size: u32, may_be_cut: bool, ttl: Option<u8>) -> Passage {
        let (mut cut, payload) = (None, size - headers(self.ipv6));
        let mut may_be_cut = may_be_cut;
        let mut left = ttl.unwrap_or(USUAL_TTL);
        if self.is_policed(at, size) {
            return Passage::Lost;
        }
        for hop in 0..2 {
            let router = self.routers[at][hop];
            let from = Some(self.address(at, hop));
            if left == 1 {
                if self.keeps_quotes && hop > 0 {
                    self.observed[at].untranslated += 1;
                } else if !router.untraceable {
                    let reported = Expired { size: payload, hops: hop as u8 + 1, from, ..Expired::default() };
                    self.observed[at].expired.push(reported);
                }
                return Passage::Lost;
            }
            if cut.is_some() && router.drops_fragments {
                return Passage::Lost;
            }
            may_be_cut |= router.clears_df;
            if router.hole.is_some_and(|(first, last)| (first..=last).contains(&cut.unwrap_or(size))) {
                return Passage::Lost;
            }
            if let Some((_, of_thousand)) = router.loses.filter(|(from, _)| cut.unwrap_or(size) >= *from)
                && self.draw() % 1_000 < of_thousand
            {
                return Passage::Lost;
            }
            match router.limit {
                Some(limit) if cut.unwrap_or(size) > limit => {
                    if may_be_cut && !self.ipv6 {
                        // Fragments carry multiples of eight bytes.
                        cut = Some(20 + (limit - 20) / 8 * 8);
                        continue;
                    }
                    if self.keeps_quotes && hop > 0 {
                        self.observed[at].untranslated += 1;
                    } else if !router.silent {
                        self.report(at, TooBig { size, mtu: router.lie.unwrap_or(limit), from, count: 1 });
                    }
                    return Passage::Lost;
                }
                _ => {}
            }
            left = if router.sets_ttl { USUAL_TTL } else { left - 1 };
        }
        let least = &mut self.observed[1 - at].least_ttl;
        *least = Some(least.map_or(left, |least| least.min(left)));
        if self.is_dropped_by_receiver(at, size) {
            return Passage::Lost;
        }
        Passage::Arrived { largest_piece: cut }
    }

    /// A random number (SplitMix64).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn report(&mut self, at: usize, message: TooBig) {
        // As a sender's kernel and this program's listener do.
        let same = |known: &&mut TooBig| {
            (known.size, known.mtu, known.from) == (message.size, message.mtu, message.from)
        };
        match self.observed[at].too_big.iter_mut().find(same) {
            Some(known) => known.count += 1,
            None => self.observed[at].too_big.push(message),
        }
    }

    fn train(&mut self, direction: Direction, probe_train: ProbeTrain<'_>) -> Vec<SizeCount> {
        let (at, headers) = (index(direction), headers(self.ipv6));
        let mut rows: BTreeMap<u32, SizeCount> = BTreeMap::new();
        self.fill(at, BETWEEN_TRAINS);
        for number in 0..probe_train.count {
            let ttl = probe_train.trace.then_some(number as u8 + 1);
            for &payload in probe_train.sizes {
                self.fill(at, self.pace.gap().as_secs_f64());
                let (arrived, fragment) = match probe_train.cut {
                    None | Some(FragmentShape::MayBeCut) => {
                        match self.whole(at, payload + headers, probe_train.cut.is_some(), ttl) {
                            Passage::Arrived { largest_piece } => (true, largest_piece),
                            Passage::Lost => (false, None),
                        }
                    }
                    Some(shape) => (self.in_pieces(at, payload, shape), None),
                };
                if arrived {
                    let row = rows.entry(payload).or_insert(SizeCount { size: payload, count: 0, fragment });
                    row.count += 1;
                    row.fragment = row.fragment.max(fragment);
                }
            }
        }
        rows.into_values().collect()
    }

    /// Sends a datagram in pieces of this size; how many of them arrive.
    fn pieces(&mut self, at: usize, pieces: &[u32]) -> usize {
        let passes = |piece: u32, routers: &[Router; 2], ipv6: bool| {
            routers.iter().all(|router| {
                let fits = router.limit.is_none_or(|limit| piece <= limit);
                let is_in_hole = router.hole.is_some_and(|(first, last)| (first..=last).contains(&piece));
                !router.drops_fragments
                    && !is_in_hole
                    && (fits || !ipv6)
                    && piece >= router.drops_pieces_below
            })
        };
        let routers = self.routers[at];
        let ipv6 = self.ipv6;
        let passed: Vec<u32> = pieces.iter().copied().filter(|piece| !self.is_policed(at, *piece)).collect();
        passed.into_iter().filter(|piece| passes(*piece, &routers, ipv6)).count()
    }

    /// The receiver's firewall drops a packet of this size, which its kernel has put together.
    fn is_dropped_by_receiver(&mut self, at: usize, size: u32) -> bool {
        let is_dropped = self.receiver_limit.is_some_and(|most| size > most);
        if let Some(count) = self.observed[1 - at].undelivered.as_mut().filter(|_| is_dropped) {
            *count += 1;
        }
        is_dropped
    }

    fn in_pieces(&mut self, at: usize, payload: u32, shape: FragmentShape) -> bool {
        let usual = crate::work::probe::flow::piece(self.ipv6);
        let headers = packet::header::of_fragment(self.ipv6);
        let by_kernel = shape == FragmentShape::ByKernel && !self.ipv6;
        let most = if by_kernel { INTERFACE } else { usual };
        let datagram = payload + 8;
        let room = match datagram <= (usual - headers) / 8 * 8 {
            true => datagram.div_ceil(2).next_multiple_of(8),
            false => (most - headers) / 8 * 8,
        };
        let sizes = shape.arrange::<u32>(
            (0..datagram.div_ceil(room)).map(|n| (datagram - n * room).min(room) + headers).collect(),
        );
        let arrived = self.pieces(at, &sizes);
        let whole = arrived == sizes.len();
        let late = self.counts_late.min(arrived as u64);
        self.counts_late -= late;
        self.late_pieces[1 - at] += late;
        let counted = self.observed[1 - at].fragments_received.get_or_insert(0);
        *counted += arrived as u64 - late;
        let whole = whole && !self.is_dropped_by_receiver(at, payload + model::path::headers(self.ipv6));
        whole && !matches!(shape, FragmentShape::FirstAlone | FragmentShape::RestAlone)
    }
}

impl Probes for Simulated {
    fn is_ipv6(&self) -> bool {
        self.ipv6
    }

    fn flow(&self, _: Direction) -> Flow {
        let port = |number| SocketAddr::from(([10, 71, 0, 9], number));
        Flow { transport: Transport::Udp, from: port(40_000), to: port(5210) }
    }

    fn sender(&mut self, direction: Direction) -> Result<PathObservation> {
        // The far end has to be asked.
        self.round_trips += u32::from(direction == Direction::Down);
        Ok(self.observed[index(direction)].clone())
    }

    fn probe_trains(
        &mut self,
        direction: Direction,
        trains: &[ProbeTrain<'_>],
    ) -> Result<Vec<Vec<SizeCount>>> {
        let rows: Vec<Vec<SizeCount>> = trains.iter().map(|train| self.train(direction, *train)).collect();
        let arrived = |rows: &Vec<SizeCount>| rows.iter().map(|row| u64::from(row.count)).sum::<u64>();
        let whole = trains.iter().zip(&rows).all(|(train, rows)| arrived(rows) >= train.awaited())
            || is_settled(trains.iter().zip(rows.iter().map(Vec::as_slice)));
        let awaited = trains.iter().any(|train| train.awaited() > 0);
        // The real one does the same: the sender is asked what arrived, once more where something is missing; the receiver knows.
        self.round_trips += match direction {
            Direction::Up => u32::from(awaited) + u32::from(!whole),
            Direction::Down => 1,
        };
        self.waits += u32::from(!whole);
        Ok(rows)
    }

    fn probe_groups(&mut self, direction: Direction, groups: &[Vec<ProbeTrain<'_>>]) -> Result<GroupsReport> {
        let at = index(direction);
        let sender = (direction == Direction::Down).then(|| self.observed[at].clone());
        let mut report =
            GroupsReport { rows: Vec::new(), receiver: vec![self.observed[1 - at].clone()], sender };
        for group in groups {
            report.rows.extend(group.iter().map(|train| self.train(direction, *train)).collect::<Vec<_>>());
            report.receiver.push(self.observed[1 - at].clone());
        }
        let trains = || groups.iter().flatten();
        let arrived = |rows: &Vec<SizeCount>| rows.iter().map(|row| u64::from(row.count)).sum::<u64>();
        let whole = trains().zip(&report.rows).all(|(train, rows)| arrived(rows) >= train.awaited())
            || is_settled(trains().zip(report.rows.iter().map(Vec::as_slice)));
        self.round_trips += 1 + u32::from(direction == Direction::Up && !whole);
        self.waits += u32::from(!whole);
        Ok(report)
    }

    fn is_long(&self) -> bool {
        self.is_long
    }

    fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    fn wait_for_stragglers(&mut self) -> Result<()> {
        self.waits += 1;
        for (end, late) in self.observed.iter_mut().zip(&mut self.late_pieces) {
            end.fragments_received = end.fragments_received.map(|count| count + std::mem::take(late));
        }
        Ok(())
    }

    fn is_refused(&self, _: Direction, payload: u32) -> bool {
        payload + headers(self.ipv6) > INTERFACE
    }
}

fn index(direction: Direction) -> usize {
    usize::from(direction == Direction::Down)
}

const USUAL_TTL: u8 = 64;
/// Seconds.
const BETWEEN_TRAINS: f64 = 0.03;
/// MTU of both hosts' interfaces.
pub(super) const INTERFACE: u32 = 1500;
