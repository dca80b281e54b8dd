//! Flows that are never answered while others are: of several equal paths one may drop everything, or the far end's limit of answers has hit
//! the same flows each time. Further probes decide it.

use super::{Channel, Heard, HopsJob, Probe, listen};
use crate::error::Result;
use linux::clock::mono_now;
use linux::poll::Waker;
use model::hops::{AnswerKind, Counted, HopsEnd, HopsResult};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Sends such flows more probes to the far end, so slowly that it answers each of them; behind each round goes one of a flow that is
/// answered: where its answer comes, the limit has not been reached.
pub(super) fn confirm(job: &HopsJob<'_>, channel: &mut dyn Channel, found: &mut HopsResult) -> Result<()> {
    if job.plan.watch {
        return Ok(());
    }
    let flows = || (0..).zip(&found.flows);
    let silent: Vec<u32> =
        flows().filter(|(_, flow)| flow.reached_at.is_none()).map(|(number, _)| number).collect();
    let control = flows().find(|(_, flow)| flow.reached_at.is_some()).map(|(number, _)| number);
    let Some(control) = control.filter(|_| found.end == HopsEnd::Reached && !silent.is_empty()) else {
        return Ok(());
    };
    let far_end = found.far_end().iter().flat_map(|hop| &hop.routers).map(|router| router.address).collect();
    let (sent, answered) = (BTreeMap::new(), Vec::new());
    let mut rounds = Rounds { job, silent, control, far_end, sent, answered };
    let first = (found.packets as u32).saturating_add(APART);
    rounds.send_all(channel, first)?;
    found.packets += rounds.sent.len() as u64;
    for &flow in &rounds.silent {
        found.flows[flow as usize].again = Some(rounds.counted(flow));
    }
    Ok(())
}

/// Rounds of probes, one of each silent flow and one of another.
struct Rounds<'a> {
    job: &'a HopsJob<'a>,
    silent: Vec<u32>,
    /// A flow that is answered.
    control: u32,
    /// Addresses from which the far end answers.
    far_end: Vec<IpAddr>,
    /// The round and the flow of each probe.
    sent: BTreeMap<u32, (u32, u32)>,
    /// Rounds and flows of answers.
    answered: Vec<(u32, u32)>,
}

impl Rounds<'_> {
    fn send_all(&mut self, channel: &mut dyn Channel, mut number: u32) -> Result<()> {
        let waker = Arc::new(Waker::new()?);
        self.job.interrupt.watch(&waker);
        self.listen(channel, &waker)?;
        for round in 0..MOST_ROUNDS {
            if self.counted(self.control).answered >= ENOUGH || self.job.interrupt.is_raised() {
                break;
            }
            let flows: Vec<u32> = self.silent.iter().copied().chain([self.control]).collect();
            for flow in flows {
                channel.send(Probe { number, ttl: self.job.plan.max_hops, flow })?;
                self.sent.insert(number, (round, flow));
                number += 1;
            }
            self.listen(channel, &waker)?;
        }
        Ok(())
    }

    /// Hears what comes until the far end may answer again.
    fn listen(&mut self, channel: &mut dyn Channel, waker: &Waker) -> Result<()> {
        let until = mono_now() + PAUSE;
        loop {
            let mut heard = Vec::new();
            channel.take(&mut heard)?;
            let answered: Vec<(u32, u32)> =
                heard.iter().filter_map(|heard| self.round_answered(heard)).collect();
            self.answered.extend(answered);
            if mono_now() >= until || self.job.interrupt.is_raised() {
                return Ok(());
            }
            listen(channel, None, waker, until)?;
        }
    }

    fn round_answered(&self, heard: &Heard) -> Option<(u32, u32)> {
        let Heard::Answer(number, answer) = heard else { return None };
        let is_far_end = answer.kind == AnswerKind::Arrived || self.far_end.contains(&answer.from);
        self.sent.get(number).copied().filter(|_| is_far_end)
    }

    /// Probes of a flow and their answers, in the rounds in which the control was answered.
    fn counted(&self, flow: u32) -> Counted {
        let answered = |round: u32, flow: u32| self.answered.contains(&(round, flow));
        let rounds: Vec<u32> = (0..MOST_ROUNDS).filter(|round| answered(*round, self.control)).collect();
        let own = (0..MOST_ROUNDS).filter(|round| answered(*round, flow)).count();
        Counted { sent: rounds.len().max(own) as u32, answered: own as u32 }
    }
}

/// Hosts limit their errors to one per second and destination.
const PAUSE: Nanos = Nanos::from_millis(1_100);
/// Rounds whose control was answered.
const ENOUGH: u32 = 6;
const MOST_ROUNDS: u32 = 10;
/// Numbers of these probes are none of the trace's, some of which may have been refused by this host.
const APART: u32 = 2_000;
