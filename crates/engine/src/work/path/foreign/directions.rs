//! From answers to directions: what each direction carries, and why not more.

use super::back::{self, Back};
use super::closed::Verdict;
use super::echo::note;
use super::facts::Facts;
use super::forward::{self, Reach, best};
use super::{EchoState, Methods};
use crate::error::Result;
use crate::work::path::trace::{Sizes, Traced, trace};
use crate::work::probe::flow::route_mtu;
use linux::clock::mono_now;
use linux::options::MtuDiscovery;
use model::event::Event;
use model::path::{
    BlackHole, BlackHoleCause, Bound, Discovery, EchoHole, FragmentDelivery, FragmentTest, HopSource,
    LimitingHop, Outcome, PathDirection, PathMethod, PathResult, TcpDirection, least_mtu,
};
use std::net::SocketAddr;

impl Methods<'_> {
    /// Looks at both directions.
    pub(super) fn conclude(&mut self, sink: &mut dyn FnMut(&Event)) -> Result<PathResult> {
        let mut result = PathResult { method: self.method(), ..PathResult::default() };
        let facts = self.facts;
        let blank = PathDirection { ipv6: facts.ipv6, ..PathDirection::default() };
        let mut up =
            PathDirection { interface_mtu: Some(facts.interface), cached_mtu: facts.cached, ..blank.clone() };
        up.route_mtu = route_mtu(self.plan.target.address.ip());
        let mut down = blank;
        if self.answers() {
            sink(&Event::progress("which packets arrive"));
            let echo = self.search_by_echo(sink)?;
            let port = self.search_by_port(echo.as_ref().and_then(|outcome| outcome.path_mtu))?;
            self.set_up(&mut up, echo.as_ref(), port);
            sink(&Event::progress("what comes back"));
            let back = self.look_back(&up)?;
            self.set_fragments(&mut up, &mut down, back.as_ref())?;
            set_down(&mut down, back.as_ref(), &up, echo.as_ref());
            sink(&Event::progress("where large packets end"));
            let (packets, doubt) = self.explain(&mut up, back.as_ref(), echo.as_ref(), port)?;
            result.packets += packets;
            result.echo_hole = doubt.or_else(|| unanswered(&up, &down, echo.as_ref(), facts.most));
            self.note_doubts(&mut result, &up, &down, echo.as_ref(), port);
        }
        result.packets += self.packets();
        result.elapsed = mono_now().saturating_since(self.began);
        result.up = Some(up);
        result.down = Some(down);
        self.note_unknown(&mut result);
        if self.tcp.is_some() {
            self.add_tcp(&mut result);
        }
        Ok(result)
    }

    /// Adds what TCP reported to the rest.
    pub(super) fn add_tcp(&mut self, result: &mut PathResult) {
        let Some(tcp) = self.tcp.take() else { return };
        result.packets += tcp.packets;
        result.elapsed = mono_now().saturating_since(self.began);
        if tcp.open.is_none() {
            self.note_no_tcp(result);
            return;
        }
        // Where the kernel believes in a smaller path MTU, that hides what was announced.
        let hidden = tcp.at_own_limit && tcp.path_mtu.is_some_and(|mtu| mtu < self.facts.interface);
        let mss_received = tcp.down.mss_received.filter(|_| !hidden);
        if let Some(up) = &mut result.up {
            up.tcp = Some(tcp.up);
        }
        if let Some(down) = &mut result.down {
            down.tcp = Some(TcpDirection { mss_received, ..tcp.down });
        }
    }

    fn method(&mut self) -> PathMethod {
        if self.port().is_some() {
            PathMethod::Udp
        } else if self.echo().is_some() {
            PathMethod::Icmp
        } else {
            PathMethod::Tcp
        }
    }

    fn search_by_echo(&mut self, sink: &mut dyn FnMut(&Event)) -> Result<Option<Outcome>> {
        let (facts, interrupt) = (self.facts, self.interrupt);
        let has_port = self.port().is_some();
        let Some(echo) = self.echo() else { return Ok(None) };
        let mut found = forward::by_echo(echo, &facts, interrupt)?;
        if !has_port && found.bound != Bound::Exact && !interrupt.is_raised() {
            sink(&Event::progress("few echo requests are answered: one per second"));
            forward::slowly(echo, &facts, &mut found, interrupt)?;
        }
        Ok(Some(found))
    }

    fn search_by_port(&mut self, hint: Option<u32>) -> Result<Option<Reach>> {
        let facts = self.facts;
        self.port().map(|port| forward::by_port(port, &facts, hint)).transpose()
    }

    fn set_up(&mut self, up: &mut PathDirection, echo: Option<&Outcome>, port: Option<Reach>) {
        let reach = best(echo, port);
        up.path_mtu = reach.path_mtu;
        up.bound = reach.bound;
        up.max_udp_payload = reach.path_mtu.map(|mtu| mtu.saturating_sub(up.headers()));
        if reach.path_mtu == Some(self.facts.most) {
            up.bound = if self.facts.most < self.facts.interface { Bound::AtLeast } else { Bound::Exact };
        }
        if let Some(echo) = echo {
            up.changed = echo.changed;
            up.size_dependent_loss = echo.size_loss;
        }
        let by_port = self.port().map(|port| port.tried.values().copied().collect::<Vec<_>>());
        up.sizes = match echo {
            Some(echo) if echo.path_mtu == reach.path_mtu => echo.probes.clone(),
            _ => by_port.unwrap_or_default(),
        };
        let of_port = self.port().map(|port| port.too_big.clone()).unwrap_or_default();
        let of_echo = self.echo().map(|echo| echo.too_big.clone()).unwrap_or_default();
        of_port.into_iter().chain(of_echo).for_each(|message| note(&mut up.too_big, message));
    }

    fn look_back(&mut self, up: &PathDirection) -> Result<Option<Back>> {
        let Some(forward) = up.path_mtu.filter(|_| self.echo().is_some()) else { return Ok(None) };
        let (facts, interrupt) =
            (Facts { cached: Facts::from_plan(self.plan)?.cached, ..self.facts }, self.interrupt);
        self.echo().map(|echo| back::find(echo, forward, &facts, interrupt)).transpose()
    }

    /// The delivery of fragments, there and back.
    fn set_fragments(
        &mut self,
        up: &mut PathDirection,
        down: &mut PathDirection,
        back: Option<&Back>,
    ) -> Result<()> {
        let facts = self.facts;
        let echoed = back.and_then(|back| back.cut.clone());
        let there = match (facts.cut_size(), up.path_mtu) {
            (Some(size), Some(mtu)) => self.cut_there(size, mtu)?,
            _ => None,
        };
        match (&there, &echoed) {
            // A reply proves in both directions.
            (_, Some(echoed)) if echoed.received > 0 => {
                up.fragments.tests.push(
                    there
                        .filter(|there| there.received > 0)
                        .unwrap_or_else(|| FragmentTest { largest_piece: None, ..echoed.clone() }),
                );
                if back.is_some_and(|back| !back.is_short) {
                    down.fragments.tests.push(echoed.clone());
                }
            }
            (Some(there), _) => {
                // Fragments as large as the interface may be lost for their size where that is more than the path carries.
                let fits = |mtu: Option<u32>| mtu >= Some(facts.interface);
                if there.received > 0 || facts.ipv6 || fits(up.path_mtu) {
                    up.fragments.tests.push(there.clone());
                }
                // They arrive, and the replies do not come.
                let back = back.and_then(|back| back.path_mtu);
                if let Some(echoed) = echoed.filter(|_| there.received > 0 && fits(back)) {
                    down.fragments.tests.push(echoed);
                }
            }
            (None, _) => {}
        }
        for direction in [up, down] {
            direction.fragments.delivery = FragmentDelivery::from_tests(&direction.fragments.tests);
        }
        Ok(())
    }

    fn cut_there(&mut self, size: u32, mtu: u32) -> Result<Option<FragmentTest>> {
        let facts = self.facts;
        let Some(port) = self.port() else { return Ok(None) };
        if facts.ipv6 {
            let piece = mtu.min(facts.interface);
            // The kernel makes none smaller, and such do not cross.
            if piece < least_mtu(true) {
                return Ok(None);
            }
            port.cut_to(piece)?;
        }
        let verdict = port.reaches(size, MtuDiscovery::Omit)?;
        let (sent, received) = match verdict {
            Verdict::Unclear => return Ok(None),
            Verdict::Arrives => (1, 1),
            Verdict::Lost => (port.tried.get(&size).map_or(0, |probe| probe.sent), 0),
        };
        Ok(Some(facts.cut_test(size, mtu, (sent, received))))
    }

    /// Why larger packets do not arrive, and where they end. Returns how many packets the trace took, and the sizes without a
    /// reply where it is not the forward path for certain that limits.
    fn explain(
        &mut self,
        up: &mut PathDirection,
        back: Option<&Back>,
        echo: Option<&Outcome>,
        port: Option<Reach>,
    ) -> Result<(u64, Option<EchoHole>)> {
        let Some(mtu) = up.path_mtu else { return Ok((0, None)) };
        if mtu >= self.facts.interface {
            let wrong = up.too_big.iter().any(|reported| reported.mtu < mtu && reported.size <= mtu);
            up.discovery = if wrong && !up.changed { Discovery::Lies } else { Discovery::NotNeeded };
            return Ok((0, None));
        }
        if up.bound != Bound::Exact {
            return Ok((0, None));
        }
        let mut packets = 0;
        let traced = self.trace(mtu, &mut packets)?;
        let reported = up.too_big.iter().find(|reported| reported.mtu == mtu).map(|reported| reported.from);
        let cut = back.and_then(|back| back.may_be_cut).is_some_and(|row| row.received > 0);
        let larger = back.is_some_and(|back| back.path_mtu > Some(mtu));
        let arrived = port.is_some_and(|port| port.bound == Bound::Exact);
        // Routers of IPv4 cut replies, as most hosts let them.
        let sure = arrived || reported.is_some() || larger || (cut && !up.ipv6) || traced.limit.is_some();
        up.hops = traced.hops;
        up.ttl_rewritten = traced.ttl_rewritten;
        if !sure && echo.is_some_and(|echo| echo.path_mtu == Some(mtu)) {
            return Ok((packets, Some(self.doubt(up, mtu, traced.arrived))));
        }
        up.limiting_hop = match reported {
            Some(from) if traced.limit.as_ref().is_none_or(|hop| hop.address != from) => {
                Some(LimitingHop { address: from, ttl: None, found_by: HopSource::TooBig })
            }
            _ => traced.limit,
        };
        let (discovery, silent) =
            Discovery::judge(&up.too_big, mtu, self.facts.interface, up.limiting_hop.as_ref(), &up.hops);
        up.discovery = discovery;
        if let Some(last) = silent {
            let cause = self.cause(up, back)?;
            up.black_hole = Some(BlackHole { first: mtu + 1, last, cause });
        }
        Ok((packets, None))
    }

    /// Where packets one byte larger than the path MTU end: larger ones may end before, at hops that limit less.
    fn trace(&mut self, mtu: u32, packets: &mut u64) -> Result<Traced> {
        let target = match self.port() {
            Some(port) => port.remote,
            None => SocketAddr::new(self.plan.target.address.ip(), 0),
        };
        let sizes = (Sizes { large: mtu + 1, small: mtu }, self.round_trip());
        trace(target, &self.plan.local, sizes, packets, self.interrupt)
    }

    /// Requests or replies above a size vanish: each direction carries that size, and one of them no more.
    fn doubt(&self, up: &mut PathDirection, mtu: u32, arrived: bool) -> EchoHole {
        let least = if arrived { mtu + 1 } else { mtu };
        (up.path_mtu, up.bound) = (Some(least), Bound::AtLeast);
        up.max_udp_payload = Some(least.saturating_sub(up.headers()));
        EchoHole { first: mtu + 1, last: self.facts.most, requests_arrive: arrived }
    }

    /// Why packets above the path MTU vanish: with leave to be cut they arrive, or they do not either.
    fn cause(&mut self, up: &mut PathDirection, back: Option<&Back>) -> Result<BlackHoleCause> {
        if up.ipv6 {
            // Its routers cut nothing.
            return Ok(BlackHoleCause::Unknown);
        }
        let size = self.facts.interface;
        let arrives = match self.port() {
            Some(port) => match port.reaches(size, MtuDiscovery::Interface)? {
                Verdict::Arrives => Some(true),
                Verdict::Lost => Some(false),
                Verdict::Unclear => None,
            },
            None => back.and_then(|back| back.may_be_cut).filter(|row| row.received > 0).map(|_| true),
        };
        Ok(match arrives {
            Some(true) => BlackHoleCause::IcmpFiltered,
            Some(false) if up.fragments.delivery == FragmentDelivery::Pass => BlackHoleCause::LinkMismatch,
            _ => BlackHoleCause::Unknown,
        })
    }

    /// Whether the echo socket is missing for want of a right.
    pub(super) fn lacks_right(&self) -> bool {
        matches!(self.echo, EchoState::Forbidden)
    }
}

/// The return path: what replies show, and what it means that large ones do not come though their requests arrive.
fn set_down(down: &mut PathDirection, back: Option<&Back>, up: &PathDirection, echo: Option<&Outcome>) {
    let Some(back) = back.filter(|back| !back.is_short) else { return };
    down.path_mtu = back.path_mtu;
    down.bound = back.bound;
    down.sizes.clone_from(&back.sizes);
    let echoed = echo.filter(|echo| echo.bound == Bound::Exact).and_then(|echo| echo.path_mtu);
    if let Some(echoed) =
        echoed.filter(|echoed| up.path_mtu > Some(*echoed) && back.path_mtu <= Some(*echoed))
    {
        // A host that answers no echo requests so large looks the same, and is no limit of the path.
        let hole = EchoHole { first: echoed + 1, last: echoed + 1, requests_arrive: true };
        down.path_mtu = Some(echoed);
        down.bound = if hole.is_likely_filter() { Bound::AtLeast } else { Bound::Exact };
    }
    down.max_udp_payload = down.path_mtu.map(|mtu| mtu.saturating_sub(down.headers()));
}

/// Datagrams larger than any reply arrive: what is lost are the replies.
fn unanswered(
    up: &PathDirection,
    down: &PathDirection,
    echo: Option<&Outcome>,
    most: u32,
) -> Option<EchoHole> {
    let echoed = echo.filter(|echo| echo.bound == Bound::Exact)?.path_mtu?;
    let lost = up.path_mtu > Some(echoed) && down.path_mtu == Some(echoed) && echoed < most;
    lost.then_some(EchoHole { first: echoed + 1, last: up.path_mtu.unwrap_or(most), requests_arrive: true })
}
