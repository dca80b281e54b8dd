//! The hops of the return path, where the far end is a pathmeter: it sends packets with growing TTLs over the one flow of a probe
//! session, and so to no other address than the one that opened it and proved to receive there. The dialogue names the routers that ended them;
//! this end counts which arrived, so that loss is that of this direction alone.

use super::{HopsJob, schedule};
use crate::error::{Error, Result};
use crate::work::probe::{Prober, Probes, TracedBack};
use linux::clock::mono_now;
use model::hops::{Answer, AnswerKind, HopProtocol, HopsResult, Probed, Tracer};
use model::path::Flow;
use model::plan::{Direction, LocalOptions, Target};
use model::units::Nanos;
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use wire::native::Expired;

/// The result of the far end's trace.
#[derive(Debug, Default)]
pub(super) struct Back {
    /// Absent: there is no pathmeter, or nothing was found.
    pub(super) found: Option<HopsResult>,
    /// Why there is no more.
    pub(super) error: Option<Error>,
}

/// Asks for round after round, as often and as long as this end traces.
pub(super) fn trace(job: &HopsJob<'_>) -> Back {
    let mut rounds = Rounds::default();
    let mut outcome;
    loop {
        let before = rounds.asked;
        outcome = ask(job, &mut rounds);
        // A server ends long sessions; what is watched goes on in the next one.
        let goes_on = job.plan.watch && outcome.is_err() && rounds.asked > before;
        if !goes_on || job.interrupt.is_raised() {
            break;
        }
    }
    let error = outcome.err().filter(|_| !job.interrupt.is_raised());
    Back { found: rounds.result(job), error }
}

fn ask(job: &HopsJob<'_>, rounds: &mut Rounds) -> Result<()> {
    let plan = job.plan;
    let Some(port) = plan.back_port else { return Ok(()) };
    let mut target: Target = plan.target.clone();
    target.address.set_port(port);
    // Where nothing answers at all, this must not take longer than the trace.
    let trace = plan.interval.saturating_mul(plan.probes.into()).max(LEAST_CONNECT);
    let timeout = plan.local.connect_timeout.unwrap_or(trace);
    let local = LocalOptions { connect_timeout: Some(timeout.min(trace)), ..plan.local.clone() };
    let Some(mut prober) = Prober::open_if_there(&target, &local, job.security, job.interrupt)? else {
        return Ok(());
    };
    rounds.flow = Some(prober.flow(Direction::Down));
    let mut before = None;
    let mut number = 0;
    while (plan.watch || number < plan.probes) && !job.interrupt.is_raised() {
        let began = mono_now();
        let round = prober.trace_back(plan.size, rounds.top(plan.max_hops), before)?;
        before = Some(round.id);
        rounds.take(round, plan.probes);
        number += 1;
        if plan.watch || number < plan.probes {
            prober.pause((began + plan.interval).saturating_since(mono_now()))?;
        }
    }
    prober.close();
    Ok(())
}

/// The rounds so far.
#[derive(Debug, Default)]
struct Rounds {
    flow: Option<Flow>,
    /// Since the beginning.
    asked: u64,
    /// The routers of each are those that answered its own packets, the first message of each hop.
    kept: VecDeque<TracedBack>,
}

impl Rounds {
    /// How far the packets of the next round go: to this end once its distance is known, else as far as is looked.
    fn top(&self, most: u8) -> u8 {
        let distances = self.kept.iter().filter(|round| round.arrived != 0);
        let nearest = distances.map(|round| round.arrived.trailing_zeros() as u8 + 1).min();
        let heard = self
            .kept
            .iter()
            .filter_map(|round| round.expired.iter().map(|reported| reported.hops).max())
            .max();
        let silent = heard.filter(|_| !self.kept.is_empty()).map(|hop| hop.saturating_add(1));
        nearest.or(silent).unwrap_or(most).min(most)
    }

    /// Takes a round, and late answers of routers to the one before. `most`: older ones are forgotten.
    fn take(&mut self, mut round: TracedBack, most: u32) {
        let expired = std::mem::take(&mut round.expired);
        self.asked += 1;
        self.kept.push_back(round);
        while self.kept.len() > most as usize {
            self.kept.pop_front();
        }
        for reported in expired {
            let is_own = |round: &&mut TracedBack| round.id == reported.id && reported.hops <= round.hops;
            if let Some(round) = self.kept.iter_mut().rev().find(is_own)
                && round.reported(reported.hops).is_none()
            {
                round.expired.push(reported);
            }
        }
    }

    /// The result of all rounds; `None`: none was carried out.
    fn result(self, job: &HopsJob<'_>) -> Option<HopsResult> {
        let (flow, first) = (self.flow?, self.kept.front()?.began);
        let packets = self.kept.iter().map(|round| u64::from(round.hops)).sum();
        let here = flow.to.ip().to_canonical();
        let probes = self.kept.iter().flat_map(|round| (1..=round.hops).map(|ttl| round.probed(ttl, here)));
        let requested = schedule(job.plan);
        let schedule = model::hops::Schedule { protocol: HopProtocol::Udp, ..requested };
        let mut found = Tracer::carried_out(schedule, probes.collect()).result();
        let timeless: BTreeSet<u8> = self.kept.iter().flat_map(TracedBack::timeless).collect();
        for hop in found.hops.iter_mut().filter(|hop| hop.far_end || timeless.contains(&hop.ttl)) {
            // Probes that arrived were counted there and made no round trip; older servers time no answers of routers.
            (hop.rtt, hop.jitter) = (None, None);
            hop.routers.iter_mut().for_each(|router| router.rtt_p50 = None);
        }
        for known in &mut found.flows {
            known.flow = Some(flow);
        }
        found.packets = packets;
        found.counted_on_arrival = true;
        found.elapsed = mono_now().saturating_since(first);
        Some(found.judged())
    }
}

impl TracedBack {
    /// The router that ended the packet of so many hops.
    fn reported(&self, hops: u8) -> Option<&Expired> {
        self.expired.iter().find(|reported| reported.hops == hops)
    }

    fn probed(&self, ttl: u8, here: IpAddr) -> Probed {
        let arrived = self.arrived & (1 << (ttl - 1)) != 0;
        let answer = if arrived { Some((here, AnswerKind::Arrived, Nanos::ZERO)) } else { self.router(ttl) };
        let reported = self.reported(ttl).filter(|_| !arrived);
        let answer = answer.map(|(from, kind, rtt)| Answer {
            from,
            at: self.began + rtt,
            kind,
            ttl: reported.and_then(|reported| reported.reply_ttl),
            labels: reported.map(|reported| reported.labels.clone()).unwrap_or_default(),
        });
        Probed { ttl, at: self.began, answer }
    }

    /// Hops for which the server sent no time.
    fn timeless(&self) -> impl Iterator<Item = u8> {
        self.expired.iter().filter(|reported| reported.rtt.is_none()).map(|reported| reported.hops)
    }

    fn router(&self, ttl: u8) -> Option<(IpAddr, AnswerKind, Nanos)> {
        let reported = self.reported(ttl)?;
        Some((reported.from?.to_canonical(), AnswerKind::Expired, reported.rtt.unwrap_or_default()))
    }
}

/// A connection to the far side of the earth opens in this time.
const LEAST_CONNECT: Nanos = Nanos::from_millis(500);
