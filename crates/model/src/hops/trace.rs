//! Schedule and results of a trace: a state machine without I/O, whose inputs are the time, the probes sent and the answers.
//!
//! Each flow is first followed hop by hop until it reaches the far end, is refused, goes in a circle or gets no more answers; the
//! next hop is probed as soon as the one before answers, so that a far end which limits its answers is probed no oftener than
//! needed. Then rounds follow at an interval, in which flows take turns: each hop is probed once in a round.

mod far;
mod shift;
mod sums;

use super::{HopProtocol, HopsEnd, HopsResult, MplsLabel};
use crate::time::MonoTime;
use crate::units::Nanos;
use far::Distance;
use std::collections::VecDeque;
use std::net::IpAddr;

/// Parameters of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Protocol of the probes.
    pub protocol: HopProtocol,
    /// Rounds: probes for each hop.
    pub probes: u32,
    /// Flows that take turns.
    pub flows: u32,
    /// From round to round.
    pub interval: Nanos,
    /// Longest wait for the last answers.
    pub timeout: Nanos,
    /// Most hops that are probed.
    pub max_hops: u8,
    /// Whether the trace goes on without end; only the last `probes` rounds are kept.
    pub rolling: bool,
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this probe, then call [`Tracer::sent`], or [`Tracer::refused`] when this host does not let it.
    Send {
        /// Its number.
        number: u32,
        /// Its TTL.
        ttl: u8,
        /// Its flow.
        flow: u32,
    },
    /// Nothing until then, unless something is heard.
    Wait(MonoTime),
    /// The trace is complete.
    Done,
}

/// An answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Address that answers.
    pub from: IpAddr,
    /// When it came.
    pub at: MonoTime,
    /// Contents.
    pub kind: AnswerKind,
    /// TTL that it arrived with.
    pub ttl: Option<u8>,
    /// The label stack that the probe arrived with.
    pub labels: Vec<MplsLabel>,
}

/// Contents of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// The probe's TTL ended at this router.
    Expired,
    /// The probe reached the far end.
    Arrived,
    /// The probe is larger than the MTU, given here, of the link behind this router.
    TooBig(u32),
    /// Refused, by ICMP type and code.
    Refused(u8, u8),
}

/// A probe of a trace that another host carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// Its TTL.
    pub ttl: u8,
    /// When it left.
    pub at: MonoTime,
    /// Its answer.
    pub answer: Option<Answer>,
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Tracer {
    schedule: Schedule,
    probes: VecDeque<Sent>,
    /// Probes that are forgotten: the number of the first one kept.
    forgotten: u32,
    flows: Vec<FlowTrace>,
    /// Rounds begun.
    round: u32,
    queue: VecDeque<u8>,
    first: Option<MonoTime>,
    round_began: MonoTime,
    last_sent: MonoTime,
    longest: Nanos,
    /// Those of them that were answered.
    answers: u32,
}

/// One probe that left, or is about to.
#[derive(Clone, Debug)]
struct Sent {
    round: u32,
    ttl: u8,
    flow: u32,
    at: Option<MonoTime>,
    /// This host refused to send it.
    is_refused: bool,
    answer: Option<Answer>,
    duplicates: u32,
}

impl Sent {
    /// The probe is still to be sent.
    fn is_pending(&self) -> bool {
        self.at.is_none() && !self.is_refused
    }
}

/// State of a flow.
#[derive(Clone, Debug, Default)]
struct FlowTrace {
    /// The nearest hop at which it ended, and how.
    end: Option<(u8, HopsEnd)>,
    /// The furthest hop probed.
    asked: u8,
    /// The furthest that answered.
    heard: u8,
    /// The latest probe to hop `asked`.
    latest: Option<u32>,
    /// The router at each hop, as first heard.
    routers: Vec<(u8, IpAddr)>,
    /// The router or host that refused its probes.
    refuser: Option<IpAddr>,
    /// Distances of the far end, each with the time from which it holds.
    distances: Vec<Distance>,
    /// Followed to its end.
    is_known: bool,
}

impl Tracer {
    /// A trace that begins now.
    #[must_use]
    pub fn new(schedule: Schedule, now: MonoTime) -> Tracer {
        Tracer {
            schedule,
            probes: VecDeque::new(),
            forgotten: 0,
            flows: vec![FlowTrace::default(); schedule.flows.max(1) as usize],
            round: 0,
            queue: VecDeque::new(),
            first: None,
            round_began: now,
            last_sent: now,
            longest: Nanos::ZERO,
            answers: 0,
        }
    }

    /// A trace of one flow that another host carried out: its probes in the order in which they left.
    #[must_use]
    pub fn carried_out(schedule: Schedule, probes: Vec<Probed>) -> Tracer {
        let mut trace = Tracer::new(Schedule { flows: 1, ..schedule }, MonoTime(0));
        for Probed { ttl, at, answer } in probes {
            let number = trace.next_number();
            trace.ask(ttl);
            trace.sent(number, at);
            if let Some(answer) = answer {
                trace.answered(number, answer);
            }
        }
        trace
    }

    /// The next action.
    pub fn poll(&mut self, now: MonoTime) -> Step {
        if let Some(ttl) = self.queue.front().copied() {
            let due = self.last_sent + GAP;
            if self.first.is_some() && now < due {
                return Step::Wait(due);
            }
            self.queue.pop_front();
            return self.ask(ttl);
        }
        if self.round > 0 && !self.flow().is_known {
            return self.follow(now);
        }
        if self.schedule.rolling || self.round < self.schedule.probes {
            let next = self.round_began + self.schedule.interval;
            if self.round > 0 && now < next {
                return Step::Wait(next);
            }
            self.begin_round(now);
            return self.poll(now);
        }
        if self.probes.iter().any(Sent::is_pending) {
            return Step::Wait(now + LEAST_STEP);
        }
        let deadline = self.last_sent + self.timeout();
        if now >= deadline || self.all_answered() { Step::Done } else { Step::Wait(deadline) }
    }

    /// A probe left.
    pub fn sent(&mut self, number: u32, at: MonoTime) {
        let Some(probe) = self.probe_mut(number) else { return };
        probe.at = Some(at);
        self.first.get_or_insert(at);
        self.last_sent = self.last_sent.max(at);
    }

    /// A probe will not leave: this host refuses it.
    pub fn refused(&mut self, number: u32) {
        if let Some(probe) = self.probe_mut(number) {
            probe.is_refused = true;
        }
    }

    /// An answer came. One to a probe that never left, or that was answered before, changes nothing but is counted.
    pub fn answered(&mut self, number: u32, mut answer: Answer) {
        if self.is_far_end(number, &answer) {
            answer.kind = AnswerKind::Arrived;
        }
        let Some(probe) = self.probe_mut(number) else { return };
        let Some(at) = probe.at else { return };
        if probe.answer.is_some() {
            probe.duplicates = probe.duplicates.saturating_add(1);
            return;
        }
        let time = answer.at.saturating_since(at);
        let (ttl, flow, from, kind) = (probe.ttl, probe.flow, answer.from, answer.kind);
        probe.answer = Some(answer);
        self.longest = self.longest.max(time);
        self.answers = self.answers.saturating_add(1);
        if let Some(flow_trace) = self.flows.get_mut(flow as usize) {
            flow_trace.measure(ttl, kind, at);
            flow_trace.hear(ttl, from, kind);
        }
    }

    /// The rounds that are done and those that are planned.
    #[must_use]
    pub fn progress(&self) -> (u32, u32) {
        (self.round, self.schedule.probes)
    }

    /// The result of the answers so far, without names and the measuring host, which the caller adds.
    #[must_use]
    pub fn result(&self) -> HopsResult {
        sums::hops_result(self)
    }

    fn flow(&self) -> &FlowTrace {
        &self.flows[self.flow_number() as usize]
    }

    /// The flow of the present round. Each turn begins with the next flow, lest flows be in step with who answers every other
    /// probe alone.
    fn flow_number(&self) -> u32 {
        let (round, flows) = (self.round.saturating_sub(1), self.schedule.flows.max(1));
        (round % flows + round / flows) % flows
    }

    fn next_number(&self) -> u32 {
        self.forgotten.wrapping_add(u32::try_from(self.probes.len()).unwrap_or(u32::MAX))
    }

    fn probe_mut(&mut self, number: u32) -> Option<&mut Sent> {
        self.probes.get_mut(number.wrapping_sub(self.forgotten) as usize)
    }

    fn begin_round(&mut self, now: MonoTime) {
        self.round = self.round.saturating_add(1);
        self.round_began = now;
        self.forget();
        let flow = self.flow();
        let top = if flow.is_known { self.top(flow) } else { self.likely_top() };
        self.queue.extend(1..=top);
    }

    /// Forgets rounds that are too old to be kept.
    fn forget(&mut self) {
        let oldest = self.round.saturating_sub(self.schedule.probes);
        while self.schedule.rolling && self.probes.front().is_some_and(|probe| probe.round <= oldest) {
            self.probes.pop_front();
            self.forgotten = self.forgotten.wrapping_add(1);
        }
        let first = self.probes.front().and_then(|probe| probe.at).unwrap_or(MonoTime(0));
        self.flows.iter_mut().for_each(|flow| flow.forget(first));
    }

    /// Flows most often go as far as those before them.
    fn likely_top(&self) -> u8 {
        let ended = |flow_trace: &FlowTrace| flow_trace.end.map(|(ttl, _)| ttl);
        self.flows.iter().filter_map(ended).min().unwrap_or(0)
    }

    fn ask(&mut self, ttl: u8) -> Step {
        let (number, flow, round) = (self.next_number(), self.flow_number(), self.round);
        let probe = Sent { round, ttl, flow, at: None, is_refused: false, answer: None, duplicates: 0 };
        self.probes.push_back(probe);
        let flow_trace = &mut self.flows[flow as usize];
        if ttl > flow_trace.asked {
            (flow_trace.asked, flow_trace.latest) = (ttl, Some(number));
        }
        Step::Send { number, ttl, flow }
    }

    /// Follows the flow of this round one hop further, or to its end.
    fn follow(&mut self, now: MonoTime) -> Step {
        let flow = self.flow();
        let latest =
            flow.latest.and_then(|latest| self.probes.get(latest.wrapping_sub(self.forgotten) as usize));
        let (answered, sent) = latest.map_or((true, None), |probe| (probe.answer.is_some(), probe.at));
        let silent =
            flow.asked.saturating_sub(flow.heard) >= SILENT_HOPS || flow.asked >= self.schedule.max_hops;
        let over = flow.end.is_some() || (silent && answered);
        // Other flows ended there: this one most likely does too, and superfluous probes to the far end are avoided.
        let likely = flow.asked == self.likely_top();
        let waits = if silent || likely { self.timeout() } else { self.step() };
        let until = sent.unwrap_or(self.last_sent) + waits;
        if !over && !answered && now < until {
            return Step::Wait(until);
        }
        if over || silent {
            let number = self.flow_number() as usize;
            self.flows[number].is_known = true;
            return self.poll(now);
        }
        let next = flow.asked + 1;
        self.ask(next)
    }

    /// The time that the next hop waits for the answer of the one before.
    fn step(&self) -> Nanos {
        self.longest.saturating_mul(2).clamp(LEAST_STEP, LONGEST_STEP)
    }

    /// The timeout of answers: some round trips, once so many answers came that the longest round trip shows how late one may be.
    pub fn timeout(&self) -> Nanos {
        let wait = match self.answers {
            0 => self.schedule.timeout,
            few if few < ENOUGH_ANSWERS => self.longest.saturating_mul(ROUND_TRIPS).max(LEAST_WAIT),
            _ => settled(self.longest),
        };
        wait.min(self.schedule.timeout)
    }

    /// The furthest hop that is probed in each round: the flow's end, or one beyond the last that answered in any flow.
    fn top(&self, flow: &FlowTrace) -> u8 {
        let heard = || self.flows.iter().map(|flow| flow.heard).max().unwrap_or(0);
        self.end_of(flow).map_or_else(|| heard().saturating_add(1).min(flow.asked), |(ttl, _)| ttl)
    }

    /// Where a flow ends. A far end that limits its answers is silent at its own hop and then answers from behind it: where no
    /// router answered this flow from the nearest far end on, and that left others unanswered there too, it ends there.
    fn end_of(&self, flow: &FlowTrace) -> Option<(u8, HopsEnd)> {
        let own = flow.end?;
        if own.1 == HopsEnd::Refused {
            return Some((self.refused_at(flow).map_or(own.0, |ttl| ttl.min(own.0)), own.1));
        }
        let reached =
            |flow_trace: &FlowTrace| flow_trace.end.filter(|end| end.1 == HopsEnd::Reached).map(|end| end.0);
        // Where the distance changed, the flows were not all probed at the same one.
        if own.1 != HopsEnd::Reached || self.flows.iter().any(|flow| flow.distances.len() > 1) {
            return Some(own);
        }
        let nearest = self.flows.iter().filter_map(reached).min()?;
        let has_router = || flow.routers.iter().any(|(ttl, _)| *ttl >= nearest);
        if own.0 <= nearest || has_router() {
            return Some(own);
        }
        let ends_there = |flow: u32| self.flows.get(flow as usize).and_then(reached) == Some(nearest);
        let is_silent = |probe: &Sent| {
            probe.ttl == nearest && probe.at.is_some() && probe.answer.is_none() && ends_there(probe.flow)
        };
        // When the first hop is the far end, there is no other path to it.
        let is_limited = nearest == 1 || self.probes.iter().any(is_silent);
        Some(if is_limited { (nearest, HopsEnd::Reached) } else { own })
    }

    fn all_answered(&self) -> bool {
        self.probes.iter().filter(|probe| self.counts(probe)).all(|probe| probe.answer.is_some())
    }

    /// A probe of a hop that its flow has; those that went beyond its end were sent before that was known.
    fn counts(&self, probe: &Sent) -> bool {
        let Some((flow, at)) = self.flows.get(probe.flow as usize).zip(probe.at) else { return false };
        probe.ttl <= self.distance_at(flow, at).unwrap_or_else(|| self.top(flow))
    }
}

impl FlowTrace {
    fn hear(&mut self, ttl: u8, from: IpAddr, kind: AnswerKind) {
        self.heard = self.heard.max(ttl);
        let end = match kind {
            AnswerKind::Arrived => Some(HopsEnd::Reached),
            AnswerKind::Refused(..) | AnswerKind::TooBig(_) => {
                self.refuser = Some(from);
                Some(HopsEnd::Refused)
            }
            AnswerKind::Expired => self.circles(ttl, from).then_some(HopsEnd::Circle),
        };
        if let Some(end) = end {
            // A flow that reached the far end did not go in a circle, whatever was received before.
            let better = self.end.as_ref().is_none_or(|known| match (known.1, end) {
                (HopsEnd::Reached, HopsEnd::Reached) => ttl < known.0,
                (HopsEnd::Reached, _) => false,
                (_, HopsEnd::Reached) => true,
                _ => ttl <= known.0,
            });
            if better {
                self.end = Some((ttl, end));
            }
        }
    }

    /// Notes a router; whether it came twice before, with others between.
    fn circles(&mut self, ttl: u8, from: IpAddr) -> bool {
        if self.routers.iter().all(|known| *known != (ttl, from)) {
            self.routers.push((ttl, from));
        }
        self.turns(from, ttl) >= TURNS
    }

    /// Occurrences of a router up to a hop; a row of neighbouring hops counts as one.
    fn turns(&self, router: IpAddr, up_to: u8) -> usize {
        let met = |known: &&(u8, IpAddr)| known.1 == router && known.0 <= up_to;
        let mut at: Vec<u8> = self.routers.iter().filter(met).map(|known| known.0).collect();
        at.sort_unstable();
        let other_between = |pair: &&[u8]| {
            let between = |known: &&(u8, IpAddr)| known.0 > pair[0] && known.0 < pair[1] && known.1 != router;
            self.routers.iter().any(|known| between(&known))
        };
        usize::from(!at.is_empty()) + at.windows(2).filter(other_between).count()
    }
}

/// The timeout of a missing answer where the slowest of many took so long.
pub fn settled(slowest: Nanos) -> Nanos {
    slowest.saturating_mul(ROUND_TRIPS).max(SETTLED_WAIT)
}

/// Silent hops in a row after which the rest is taken for silent too.
const SILENT_HOPS: u8 = 8;
/// A router met so often in one flow stands in a circle.
const TURNS: usize = 3;
/// Between two probes, so that the answer of one is heard before the next is sent.
const GAP: Nanos = Nanos::from_millis(1);
const ROUND_TRIPS: u64 = 4;
/// Answers that show how late others may come.
const ENOUGH_ANSWERS: u32 = 8;
/// A busy router's or host's scheduler holds an answer up for some ticks.
const SETTLED_WAIT: Nanos = Nanos::from_millis(50);
const LEAST_STEP: Nanos = Nanos::from_millis(20);
const LONGEST_STEP: Nanos = Nanos::from_millis(50);
/// Answers are waited for at least so long: a busy router answers late.
pub const LEAST_WAIT: Nanos = Nanos::from_millis(200);
