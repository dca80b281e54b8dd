//! One direction of a path with a pathmeter at its far end, which states what arrives.

mod ahead;
mod edge;
mod holes;
mod pace;
mod receiver;
mod trace;

use super::pieces::{pieces, room};
use crate::error::Result;
use crate::work::probe::{Pace, ProbeTrain, Probes};
use ahead::{Ahead, Counted};
use model::path::{
    BlackHole, BlackHoleCause, Bound, CutDespiteDf, Discovery, FlowSize, FragmentDelivery, FragmentShape,
    FragmentTest, Fragments, HopSource, LimitingHop, PathDirection, Search, SizeProbe, TooBig, TracedHop,
    Unknown, least_mtu,
};
use model::plan::Direction;
use packet::header;
use wire::native::PathObservation;
use wire::native::probe::{MAX_SIZE, MIN_SIZE, SizeCount};

/// Finds out what a direction carries.
pub(crate) struct DirectionSearch<'a> {
    prober: &'a mut dyn Probes,
    direction: Direction,
    /// The sender's facts before anything was sent.
    sender: PathObservation,
    one_way: PathDirection,
    /// A round trip takes so long that probes go side by side.
    is_long: bool,
    ahead: Ahead,
    /// How fast probes follow each other.
    pace: Pace,
    /// Some probes are lost whatever the pace is.
    loses_anyway: bool,
}

impl DirectionSearch<'_> {
    /// Finds it out, and what could not be found out. `largest`: no larger packet is tried; `also`: packets of these sizes are
    /// probed whatever is found, such as those of a test that lost them.
    pub(crate) fn find(
        prober: &mut dyn Probes,
        direction: Direction,
        largest: Option<u32>,
        also: &[u32],
    ) -> Result<(PathDirection, Vec<Unknown>)> {
        let sender = prober.sender(direction)?;
        DirectionSearch::find_and_report(prober, direction, (sender, largest), also, &mut |_| {})
    }

    /// The same, where the `sender`'s facts are known; `known` gets it for what other flows need: where round trips take long, as soon as the
    /// size is known and what limits it.
    pub(crate) fn find_and_report(
        prober: &mut dyn Probes,
        direction: Direction,
        (sender, largest): (PathObservation, Option<u32>),
        also: &[u32],
        known: &mut dyn FnMut(&PathDirection),
    ) -> Result<(PathDirection, Vec<Unknown>)> {
        let mut finder = DirectionSearch::begin(prober, direction, sender);
        finder.search(largest)?;
        if finder.one_way.path_mtu.is_some() {
            let is_traced = finder.explain()?;
            let is_early = finder.is_long;
            if is_early {
                known(&finder.one_way);
                finder.go_on(is_traced)?;
            }
            if is_traced {
                finder.locate()?;
            }
            finder.holes(also)?;
            finder.edge(!also.is_empty())?;
            finder.fragments()?;
            finder.attribute()?;
            finder.confirm()?;
            finder.look_at_receiver()?;
            // TCP beside the probes would take what a slow path carries.
            if !is_early {
                known(&finder.one_way);
            }
        }
        let unknown = finder.unknown();
        Ok((finder.one_way, unknown))
    }

    /// The path MTU of a further flow beside one of which it is `known`; `None`: not found out.
    pub(crate) fn size(
        prober: &mut dyn Probes,
        direction: Direction,
        known: &PathDirection,
    ) -> Result<Option<FlowSize>> {
        let Some(mtu) = known.path_mtu.filter(|_| known.bound.is_lower()) else { return Ok(None) };
        let flow = prober.flow(direction);
        let tried = around(known, mtu);
        let train = ProbeTrain { sizes: &tried, count: COPIES, cut: None, trace: false };
        if crossed(&prober.probe_train(direction, train)?, &tried) == (true, false) {
            return Ok(Some(FlowSize { flow, path_mtu: mtu, bound: known.bound }));
        }
        let sender = prober.sender(direction)?;
        let mut finder = DirectionSearch::begin(prober, direction, sender);
        // The search for its size is all that is wanted of it.
        finder.is_long = false;
        finder.search(None)?;
        let found = finder.one_way.path_mtu;
        Ok(found.map(|path_mtu| FlowSize { flow, path_mtu, bound: finder.one_way.bound }))
    }

    /// Asks once more what crosses: a path that changed meanwhile has given answers that belong to no path.
    fn confirm(&mut self) -> Result<()> {
        let Some(mtu) = self.one_way.path_mtu.filter(|_| self.one_way.bound == Bound::Exact) else {
            return Ok(());
        };
        let tried = around(&self.one_way, mtu);
        let mut answer = crossed(&self.send(&tried, SURE_COPIES)?, &tried);
        if answer == (false, false) && self.is_lost_by_rate(&[mtu])? {
            answer = crossed(&self.send(&tried, SURE_COPIES)?, &tried);
        }
        let now = match answer {
            (true, false) => return Ok(()),
            (_, true) => Bound::AtLeast,
            (false, false) => Bound::AtMost,
        };
        (self.one_way.changed, self.one_way.bound) = (true, now);
        Ok(())
    }

    fn begin(
        prober: &mut dyn Probes,
        direction: Direction,
        mut sender: PathObservation,
    ) -> DirectionSearch<'_> {
        let ipv6 = prober.is_ipv6();
        sender.interface_mtu = sender.interface_mtu.map(|mtu| mtu.max(least_mtu(ipv6)));
        let one_way = PathDirection {
            ipv6,
            flow: Some(prober.flow(direction)),
            interface_mtu: sender.interface_mtu,
            cached_mtu: sender.cached_mtu,
            route_mtu: sender.route_mtu.clone(),
            ..PathDirection::default()
        };
        let is_long = prober.is_long();
        prober.set_pace(Pace::FAST);
        let (ahead, pace) = (Ahead::default(), Pace::FAST);
        let loses_anyway = false;
        DirectionSearch { prober, direction, sender, one_way, is_long, ahead, pace, loses_anyway }
    }

    /// The path MTU, to the byte. A path whose rate loses probes is searched again, more slowly.
    fn search(&mut self, largest: Option<u32>) -> Result<()> {
        loop {
            self.search_once(largest)?;
            if !self.is_misled_by_rate()? {
                return Ok(());
            }
            let one_way = &mut self.one_way;
            (one_way.cut_despite_df, one_way.fragments) = (None, Fragments::default());
        }
    }

    /// The result of the search is an effect of the rate: the next larger size crosses one by one, or the largest loses far less.
    fn is_misled_by_rate(&mut self) -> Result<bool> {
        let sizes = || self.one_way.sizes.iter();
        let is_lossy = sizes().any(|probe| probe.received > 0) && sizes().any(|probe| probe.received == 0);
        let mtu = self.one_way.path_mtu;
        // A limit of size lets all copies of a size pass, or none.
        let is_mixed = sizes().any(|probe| Some(probe.size) <= mtu && probe.received < probe.sent);
        match (mtu, self.one_way.bound) {
            (Some(mtu), Bound::Exact) if is_mixed && self.is_lost_by_rate(&[mtu + 1])? => return Ok(true),
            (_, Bound::Exact) => {}
            // Losses left it open what crosses.
            _ if is_lossy => return Ok(self.slow_down()),
            _ => {}
        }
        match self.one_way.size_dependent_loss {
            Some(loss) => self.is_share_by_rate(loss.size, loss.large),
            None => Ok(false),
        }
    }

    fn search_once(&mut self, largest: Option<u32>) -> Result<()> {
        let (ipv6, headers) = (self.one_way.ipv6, self.one_way.headers());
        let interface = self.sender.interface_mtu.unwrap_or(USUAL_MTU);
        let most = largest.unwrap_or(interface).min(interface).clamp(MIN_SIZE + headers, MAX_SIZE + headers);
        let mut search = Search::new(ipv6, MIN_SIZE + headers, most);
        let mut hinted = false;
        while let Some(round) = search.round() {
            let sizes: Vec<u32> = round.sizes.iter().map(|size| size.saturating_sub(headers)).collect();
            if self.is_long && !hinted {
                self.go_ahead(&sizes, round.copies, most)?;
            }
            let rows = self.send(&sizes, round.copies)?;
            self.note_cut(&rows);
            let mut became: Vec<SizeProbe> = round
                .sizes
                .iter()
                .zip(&sizes)
                .map(|(&size, &payload)| SizeProbe {
                    size,
                    sent: round.copies,
                    received: whole(&rows, payload),
                })
                .collect();
            if !hinted && became.iter().any(|probe| probe.received == 0) {
                became.extend(self.swept_for_search());
            }
            search.take(&became);
            if !hinted && search.round().is_some() {
                self.hint(&mut search, most)?;
            }
            hinted = true;
        }
        let outcome = search.outcome();
        self.one_way.path_mtu = outcome.path_mtu;
        self.one_way.max_udp_payload = outcome.path_mtu.map(|mtu| mtu - headers);
        self.one_way.bound = outcome.bound;
        // More may cross than was tried.
        if outcome.path_mtu == Some(most) && most < interface {
            self.one_way.bound = Bound::AtLeast;
        }
        // A piece shows cuts below the search's own sizes: it is the path MTU, to within seven bytes.
        if let (Some(cut), Some(mtu)) = (&mut self.one_way.cut_despite_df, outcome.path_mtu) {
            cut.first = mtu.saturating_add(1).min(cut.last);
        }
        self.one_way.changed = outcome.changed;
        self.one_way.sizes = outcome.probes;
        self.one_way.size_dependent_loss = outcome.size_loss;
        Ok(())
    }

    /// Packets that no one may cut and that arrived in pieces did not cross whole.
    fn note_cut(&mut self, rows: &[SizeCount]) {
        let headers = self.one_way.headers();
        for row in rows {
            let Some(piece) = row.fragment else { continue };
            let size = row.size + headers;
            let cut = self.one_way.cut_despite_df.get_or_insert(CutDespiteDf {
                first: size,
                last: size,
                largest_piece: piece,
            });
            (cut.first, cut.last) = (cut.first.min(size), cut.last.max(size));
            cut.largest_piece = cut.largest_piece.max(piece);
        }
    }

    /// The messages of routers about large packets, and the fragments in which one arrives that they may cut.
    fn hint(&mut self, search: &mut Search, most: u32) -> Result<()> {
        self.one_way.too_big = self.reported()?;
        self.one_way.too_big.iter().for_each(|reported| search.hint_mtu(reported.mtu));
        if !self.one_way.ipv6 {
            let payload = most - self.one_way.headers();
            let mut test = self.planned((FragmentShape::MayBeCut, payload, 1), FEW);
            let cut = Some(test.shape);
            let rows = self.train(ProbeTrain { sizes: &[payload], count: test.sent, cut, trace: false })?;
            take(&mut test, &rows);
            test.largest_piece.into_iter().for_each(|piece| search.hint_fragment(piece));
            self.one_way.fragments.tests.push(test);
        }
        Ok(())
    }

    /// How fragments are handled.
    fn fragments(&mut self) -> Result<()> {
        let groups = self.planned_fragments();
        self.keep_counts_of(&groups);
        let begin = self.counted()?;
        let (mut end, mut of_datagrams) = (begin, None);
        for group in groups {
            end = self.fragment_tests(group, end)?;
            of_datagrams = of_datagrams.or(begin.pieces.zip(end.pieces));
        }
        let Fragments { delivery, tests } = &mut self.one_way.fragments;
        if let Some((before, after)) = of_datagrams {
            separate_pieces(tests, after.saturating_sub(before));
        }
        *delivery = FragmentDelivery::from_tests(tests);
        self.note_receivers_fragments(begin, end);
        Ok(())
    }

    /// The tests of fragments: shape, payload and pieces. Datagrams that may arrive go all at once; single fragments show in the receiver's
    /// counters alone, and so one kind after the other.
    fn planned_fragments(&self) -> Vec<Vec<(FragmentShape, u32, u32)>> {
        let kernel = self.kernel_pieces().map(|(payload, pieces)| (FragmentShape::ByKernel, payload, pieces));
        let by_hand = self.sender.makes_packets.then(|| self.by_hand());
        let in_two = [FragmentShape::InOrder, FragmentShape::Reversed];
        let alone = [FragmentShape::FirstAlone, FragmentShape::RestAlone];
        let mut groups = vec![kernel.into_iter().collect::<Vec<_>>()];
        if let Some(payload) = by_hand {
            groups[0].extend(in_two.map(|shape| (shape, payload, 2)));
            groups.extend(alone.map(|shape| vec![(shape, payload, 1)]));
        }
        groups
    }

    /// A payload that is cut by hand into two pieces, which the path carries.
    fn by_hand(&self) -> u32 {
        let ipv6 = self.one_way.ipv6;
        let usual = crate::work::probe::flow::piece(ipv6);
        match self.one_way.path_mtu {
            // A datagram that fits one fragment of the usual size is cut in halves.
            Some(mtu) if mtu < usual => (2 * room(ipv6, mtu) - 8).min(room(ipv6, usual)) - 8,
            _ if ipv6 => BY_HAND_V6,
            _ => BY_HAND_V4,
        }
    }

    /// A payload that the sender's kernel must cut into at least three pieces, and into how many they arrive; `None`:
    /// its interface carries every datagram whole, or the kernel makes no pieces as small as the path wants.
    fn kernel_pieces(&self) -> Option<(u32, u32)> {
        let interface = self.sender.interface_mtu?;
        let ipv6 = self.one_way.ipv6;
        let own = if ipv6 { crate::work::probe::flow::piece(ipv6) } else { interface };
        if ipv6 && self.one_way.path_mtu.is_some_and(|mtu| mtu < own) {
            return None;
        }
        let least = interface.saturating_sub(header::ip(ipv6) as u32);
        // Three pieces, the last of a hundred bytes; and more than the interface carries. 8 bytes are UDP's header.
        let datagram = (2 * room(ipv6, own) + 100).max(least + 8);
        let payload = Some(datagram - 8).filter(|payload| *payload <= MAX_SIZE)?;
        Some((payload, pieces(ipv6, datagram, own, self.one_way.path_mtu.unwrap_or(own))))
    }

    fn planned(&self, (shape, payload, pieces): (FragmentShape, u32, u32), sent: u32) -> FragmentTest {
        FragmentTest { shape, payload, pieces, sent, received: 0, pieces_received: None, largest_piece: None }
    }

    /// Carries out tests, all at once. `before`: what the receiver had counted; returns what it has since.
    fn fragment_tests(
        &mut self,
        planned: Vec<(FragmentShape, u32, u32)>,
        before: Counted,
    ) -> Result<Counted> {
        if planned.is_empty() {
            return Ok(before);
        }
        let (tests, after) = self.send_fragments(&planned, before)?;
        // A kernel's pieces are as large as its interface allows, and vanish like other packets of that size.
        let is_cut = |test: &FragmentTest| test.shape == FragmentShape::MayBeCut && test.received == 0;
        let are_too_large = self.one_way.fragments.tests.iter().any(is_cut);
        let is_lossy = |tests: &[FragmentTest]| {
            let is_expected = |test: &&FragmentTest| match test.shape {
                FragmentShape::FirstAlone | FragmentShape::RestAlone => true,
                shape => shape == FragmentShape::ByKernel && are_too_large,
            };
            tests.iter().filter(|test| !is_expected(test)).any(|test| test.received < test.sent)
        };
        let arrived = |tests: &[FragmentTest]| tests.iter().map(|test| test.received).sum::<u32>();
        if !is_lossy(&tests) || self.pace == Pace::SLOW {
            self.one_way.fragments.tests.extend(tests);
            return Ok(after);
        }
        // Pieces follow each other at once, and a short queue may lose one of every datagram: one by one it does not.
        self.prober.set_pace(Pace::SLOW);
        self.ahead = Ahead::default();
        let again = self.send_fragments(&planned, after);
        self.prober.set_pace(self.pace);
        let (slow, after) = again?;
        // A size whose packets arrive one by one crosses; else both are one test of twice as many.
        let better = if arrived(&slow) > arrived(&tests) { slow } else { both(tests, slow) };
        self.one_way.fragments.tests.extend(better);
        Ok(after)
    }

    fn send_fragments(
        &mut self,
        planned: &[(FragmentShape, u32, u32)],
        before: Counted,
    ) -> Result<(Vec<FragmentTest>, Counted)> {
        let mut tests: Vec<FragmentTest> =
            planned.iter().map(|test| self.planned(*test, DATAGRAMS)).collect();
        let trains: Vec<ProbeTrain<'_>> = tests
            .iter()
            .map(|test| ProbeTrain {
                sizes: std::slice::from_ref(&test.payload),
                count: test.sent,
                cut: Some(test.shape),
                trace: false,
            })
            .collect();
        let rows = self.trains(&trains)?;
        let sent = tests.iter().map(all_pieces).sum();
        let after = self.counted_since(before, sent)?;
        let counted = before.pieces.zip(after.pieces).map(|(before, after)| after.saturating_sub(before));
        tests.iter_mut().zip(rows).for_each(|(test, rows)| take(test, &rows));
        count_pieces(&mut tests, counted);
        Ok((tests, after))
    }

    /// Totals of the receiver's kernel once the fragments of a test are there, `sent` of them: where some are missing, a busy host
    /// may not have counted them yet.
    fn counted_since(&mut self, before: Counted, sent: u64) -> Result<Counted> {
        let mut after = self.counted()?;
        let is_whole = |after: Counted| {
            let both = after.pieces.zip(before.pieces);
            both.is_none_or(|(after, before)| after.saturating_sub(before) >= sent)
        };
        // On a long path they are counted beside the probes, one group well behind the other.
        while !self.is_long && !is_whole(after) {
            self.prober.wait_for_stragglers()?;
            let again = self.counted()?;
            if again == after {
                break;
            }
            after = again;
        }
        Ok(after)
    }

    /// Why larger packets do not cross; whether a trace is to show where they end.
    fn explain(&mut self) -> Result<bool> {
        let Some(mtu) = self.one_way.path_mtu else { return Ok(false) };
        let interface = self.sender.interface_mtu.unwrap_or(USUAL_MTU);
        self.one_way.too_big = self.reported()?;
        if mtu >= interface {
            self.one_way.discovery = needless(&self.one_way, mtu);
            return Ok(false);
        }
        if self.one_way.bound != Bound::Exact {
            return Ok(false);
        }
        // They arrive nevertheless: nothing is to be reported, and nothing vanishes.
        if self.one_way.cut_despite_df.is_some() {
            return Ok(false);
        }
        if self.prober.is_refused(self.direction, mtu + 1 - self.one_way.headers()) {
            self.one_way.discovery = Discovery::NotNeeded;
            self.one_way.limiting_hop =
                Some(LimitingHop { address: None, ttl: Some(0), found_by: HopSource::Sender });
            return Ok(false);
        }
        let reported = self.one_way.too_big.iter().find(|reported| reported.mtu == mtu);
        self.one_way.limiting_hop =
            reported.map(|one| LimitingHop { address: one.from, ttl: None, found_by: HopSource::TooBig });
        self.judge(mtu);
        Ok(self.one_way.limiting_hop.is_none())
    }

    /// Reports of routers about packets that are too large.
    fn reported(&mut self) -> Result<Vec<TooBig>> {
        let observed = self.messages()?;
        self.one_way.untranslated = self.one_way.untranslated.max(observed.untranslated);
        Ok(observed.too_big)
    }

    /// The hop at which larger packets end.
    fn locate(&mut self) -> Result<()> {
        let Some(mtu) = self.one_way.path_mtu else { return Ok(()) };
        (self.one_way.limiting_hop, self.one_way.hops) = self.trace(mtu)?;
        self.judge(mtu);
        Ok(())
    }

    /// Whether routers reported the limit, by the messages that came so far.
    fn judge(&mut self, mtu: u32) {
        let interface = self.sender.interface_mtu.unwrap_or(USUAL_MTU);
        let (limit, hops) = (self.one_way.limiting_hop.as_ref(), &self.one_way.hops);
        let (discovery, silent) = Discovery::judge(&self.one_way.too_big, mtu, interface, limit, hops);
        self.one_way.discovery = discovery;
        let cause = BlackHoleCause::Unknown;
        self.one_way.black_hole = silent.map(|last| BlackHole { first: mtu + 1, last, cause });
    }

    /// Why packets vanish, which is known by fragments too, and by messages that took longer than the probes which they answer.
    fn attribute(&mut self) -> Result<()> {
        if let (Discovery::Silent, Some(mtu)) = (self.one_way.discovery, self.one_way.path_mtu) {
            let too_big = self.reported()?;
            if too_big != self.one_way.too_big {
                self.one_way.too_big = too_big;
                if let Some(reported) = self.one_way.too_big.iter().find(|reported| reported.mtu == mtu) {
                    let address = reported.from;
                    self.one_way.limiting_hop =
                        Some(LimitingHop { address, ttl: None, found_by: HopSource::TooBig });
                }
                self.judge(mtu);
            }
        }
        let cause = self.cause();
        if let Some(hole) = &mut self.one_way.black_hole {
            hole.cause = cause;
        }
        Ok(())
    }

    /// Messages that came after a direction was looked at: one that refuses what crosses is wrong however late it comes.
    pub(crate) fn late_messages(
        prober: &mut dyn Probes,
        direction: Direction,
        one_way: &mut PathDirection,
    ) -> Result<()> {
        let Some(mtu) = one_way.path_mtu.filter(|_| one_way.discovery == Discovery::NotNeeded) else {
            return Ok(());
        };
        one_way.too_big = prober.sender(direction)?.too_big;
        one_way.discovery = needless(one_way, mtu);
        Ok(())
    }

    /// Why packets above the path MTU vanish: with leave to be cut they cross, or they do not either.
    fn cause(&self) -> BlackHoleCause {
        let cut = self.one_way.fragments.tests.iter().find(|test| test.shape == FragmentShape::MayBeCut);
        match cut {
            Some(cut) if cut.received > 0 => BlackHoleCause::IcmpFiltered,
            Some(_) if !self.one_way.fragments.delivery.is_lossy() => BlackHoleCause::LinkMismatch,
            // Packets that routers fragment may have been dropped as fragments; routers of IPv6 fragment nothing.
            _ => BlackHoleCause::Unknown,
        }
    }

    /// Where packets one byte larger than the path MTU end: larger ones may end before, at hops that limit less.
    fn trace(&mut self, mtu: u32) -> Result<(Option<LimitingHop>, Vec<TracedHop>)> {
        let headers = self.one_way.headers();
        let sizes = [mtu + 1 - headers, mtu - headers];
        let probe_train = ProbeTrain { sizes: &sizes, count: MOST_HOPS, cut: None, trace: true };
        let rows = self.train(probe_train)?;
        let expired = self.prober.sender(self.direction)?.expired;
        let distance = trace::distance(count(&rows, sizes[1]), MOST_HOPS);
        let hops = trace::hops(&expired, sizes, distance);
        // One of them arrived with its last hop, unless their TTL was set.
        let least = self.least_ttl()?;
        self.one_way.ttl_rewritten =
            distance.is_some() && least.is_some_and(|ttl| u32::from(ttl) > MOST_HOPS);
        // How many hops there are is not known then.
        let distance = distance.filter(|_| !self.one_way.ttl_rewritten);
        Ok((trace::limit(&hops, distance), hops))
    }

    fn unknown(&self) -> Vec<Unknown> {
        let direction = Some(self.direction);
        let mut unknown = Vec::new();
        if !self.sender.makes_packets && self.one_way.path_mtu.is_some() {
            let place = if self.direction == Direction::Up { "this host" } else { "the server" };
            unknown.push(Unknown {
                direction,
                what: "whether fragments out of order cross, and whether a box on the path reassembles them".into(),
                why: format!(
                    "packets made by hand need CAP_NET_RAW at {place}: run it as root there, or as `pathmeter doctor` states"
                ),
            });
        }
        if self.one_way.fragments.delivery == FragmentDelivery::Unknown && self.one_way.path_mtu.is_some() {
            let tested =
                self.one_way.fragments.tests.iter().any(|test| test.shape == FragmentShape::ByKernel);
            let too_small = self.one_way.ipv6 && self.one_way.path_mtu < Some(least_mtu(true));
            let why = match tested {
                true => {
                    "those that the sender's kernel makes are as large as its interface, and such do not cross"
                }
                false if too_small => {
                    "the sender's kernel makes none below 1280 bytes, and such do not cross"
                }
                false => "the sender's interface carries every datagram whole",
            };
            unknown.push(Unknown { direction, what: "how fragments are handled".into(), why: why.into() });
        }
        unknown
    }

    fn send(&mut self, sizes: &[u32], count: u32) -> Result<Vec<SizeCount>> {
        self.train(ProbeTrain { sizes, count, cut: None, trace: false })
    }

    fn train(&mut self, train: ProbeTrain<'_>) -> Result<Vec<SizeCount>> {
        Ok(self.trains(&[train])?.pop().unwrap_or_default())
    }
}

/// Takes the packets of a test that arrived.
fn take(test: &mut FragmentTest, rows: &[SizeCount]) {
    let row = rows.iter().find(|row| row.size == test.payload);
    test.received = row.map_or(0, |row| row.count);
    test.largest_piece = row.and_then(|row| row.fragment);
}

/// Tests that were repeated, as one.
fn both(mut tests: Vec<FragmentTest>, again: Vec<FragmentTest>) -> Vec<FragmentTest> {
    for (test, again) in tests.iter_mut().zip(again) {
        test.sent += again.sent;
        test.received += again.received;
        test.pieces_received =
            test.pieces_received.zip(again.pieces_received).map(|(one, other)| one + other);
        test.largest_piece = test.largest_piece.max(again.largest_piece);
    }
    tests
}

/// Pieces of a test that left, or that routers made of them.
fn all_pieces(test: &FragmentTest) -> u64 {
    u64::from(test.sent) * u64::from(test.pieces)
}

/// How many pieces of each test the receiver's kernel has counted, `counted` of all together: of those that arrived all, and of one that did
/// not what is left. Of several that did not it is not known which pieces were whose.
fn count_pieces(tests: &mut [FragmentTest], counted: Option<u64>) {
    let is_whole = |test: &FragmentTest| test.received == test.sent && test.sent > 0;
    let whole: u64 = tests.iter().filter(|test| is_whole(test)).map(all_pieces).sum();
    let is_one = tests.iter().filter(|test| !is_whole(test)).count() == 1;
    let all = tests.iter().map(all_pieces).sum();
    for test in tests {
        test.pieces_received = match counted {
            None | Some(0) => counted,
            Some(counted) if is_whole(test) || counted >= all => Some(all_pieces(test)),
            Some(counted) if is_one => Some(counted.saturating_sub(whole)),
            Some(_) => None,
        };
    }
}

/// The pieces of datagrams that did not arrive, where single pieces show that all of those which are made by hand are dropped: what was
/// `counted` is of the others.
fn separate_pieces(tests: &mut [FragmentTest], counted: u64) {
    let is_single =
        |test: &&FragmentTest| matches!(test.shape, FragmentShape::FirstAlone | FragmentShape::RestAlone);
    let singles: Vec<Option<u64>> = tests.iter().filter(is_single).map(|test| test.pieces_received).collect();
    if singles.is_empty() || singles.iter().any(|pieces| *pieces != Some(0)) {
        return;
    }
    for test in tests.iter_mut().filter(|test| test.pieces_received.is_none()) {
        test.pieces_received = match test.shape {
            FragmentShape::ByKernel => Some(counted.min(all_pieces(test))),
            FragmentShape::InOrder | FragmentShape::Reversed if test.received == 0 => Some(0),
            _ => None,
        };
    }
}

/// Where the path carries all that the interface sends, a message that refuses what crosses is wrong, unless the path changed
/// meanwhile.
fn needless(one_way: &PathDirection, mtu: u32) -> Discovery {
    let wrong = one_way.too_big.iter().any(|reported| reported.mtu < mtu && reported.size <= mtu);
    if wrong && !one_way.changed { Discovery::Lies } else { Discovery::NotNeeded }
}

/// Payloads of packets of this size and of one byte more. Of a path MTU that is not known to the byte, or is the interface's, no more is
/// tried.
fn around(one_way: &PathDirection, mtu: u32) -> Vec<u32> {
    let more = one_way.bound == Bound::Exact && Some(mtu) < one_way.interface_mtu;
    [mtu, mtu + 1].into_iter().take(1 + usize::from(more)).map(|size| size - one_way.headers()).collect()
}

/// Whether packets of the first of these sizes cross, and whether those of the second do.
fn crossed(rows: &[SizeCount], tried: &[u32]) -> (bool, bool) {
    let crosses = |at: usize| tried.get(at).is_some_and(|payload| whole(rows, *payload) > 0);
    (crosses(0), crosses(1))
}

fn count(rows: &[SizeCount], payload: u32) -> u32 {
    rows.iter().find(|row| row.size == payload).map_or(0, |row| row.count)
}

/// How many arrived whole, where none may be cut: the copies of one size are treated alike.
fn whole(rows: &[SizeCount], payload: u32) -> u32 {
    rows.iter().find(|row| row.size == payload && row.fragment.is_none()).map_or(0, |row| row.count)
}

/// Datagrams of each size of a last look: of these some come through also where three of ten are lost.
const SURE_COPIES: u32 = 8;
/// Datagrams of each size in a further flow.
const COPIES: u32 = 3;
/// Datagrams in each test of fragments.
const DATAGRAMS: u32 = 5;
/// Datagrams of the interface's size that routers may cut.
const FEW: u32 = 3;
/// Payloads of datagrams cut by hand: two pieces of [`crate::work::probe::flow::piece`].
const BY_HAND_V4: u32 = 1000;
const BY_HAND_V6: u32 = 2000;
/// Where the sender's interface is not known.
const USUAL_MTU: u32 = 1500;
/// How far a trace goes.
const MOST_HOPS: u32 = 16;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worlds;
