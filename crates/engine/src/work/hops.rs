//! The hops of a path: probes whose TTL ends at each of them, sent and heard over sockets that need no privilege.
//!
//! The choice of probes and their evaluation are [`model::hops::Tracer`]'s; here are the sockets, the clock and the names.

mod back;
mod beyond;
mod dead;
mod echo;
mod icmp;
mod late;
mod names;
mod quotes;
mod sizes;
mod tcp;
mod udp;

use crate::error::{Failure, Result, sentence};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use back::Back;
use echo::Companion;
use linux::clock::{mono_now, wall_now};
use linux::nic::Nic;
use linux::poll::{Interest, Waker, wait};
use model::event::{Event, Finished, Outcome, Warning};
use model::hops::{
    Answer, AnswerKind, AsTable, Hop, HopProtocol, HopsEnd, HopsPlan, HopsResult, HopsSample, HopsStarted,
    Schedule, Step, Tracer, TtlRewritten,
};
use model::path::Flow;
use model::time::MonoTime;
use model::units::Nanos;
pub(crate) use quotes::Listener;
use quotes::Quotes;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread;
pub(crate) use udp::Datagrams;

/// A run about hops.
#[derive(Clone, Copy)]
pub struct HopsJob<'a> {
    /// The plan to carry out.
    pub plan: &'a HopsPlan,
    /// The AS of each prefix; empty: not requested.
    pub origins: &'a AsTable,
    /// How a pathmeter at the far end and this one know each other.
    pub security: &'a Security,
    /// Asks it to stop.
    pub interrupt: &'a Interrupt,
}

/// Sends the probes of one protocol and hears of them.
pub(crate) trait Channel {
    /// Sends a probe, or puts it behind those that have to be answered first.
    ///
    /// # Errors
    /// The refusal of this host, by name.
    fn send(&mut self, probe: Probe) -> Result<()>;

    /// Takes the events since the last call, without waiting.
    ///
    /// # Errors
    /// The refusal of this host, by name.
    fn take(&mut self, heard: &mut Vec<Heard>) -> Result<()>;

    /// The sockets to wait for.
    fn sockets(&self) -> Vec<BorrowedFd<'_>>;

    /// How a socket is waited for: a connection that completes is no datagram to read.
    fn interest<'fd>(&self, socket: &'fd BorrowedFd<'_>) -> Interest<'fd> {
        Interest::readable(socket)
    }

    /// Something is to be done then though nothing was heard.
    fn deadline(&self) -> Option<MonoTime> {
        None
    }

    /// The flows, in the order of their numbers.
    fn flows(&self) -> Vec<Option<Flow>>;

    /// Answers that quote too little to identify their probe.
    fn unmatched(&self) -> u64 {
        0
    }

    /// Facts of the path in the packets that ICMP errors quote.
    fn quotes(&self) -> Quotes {
        Quotes::default()
    }
}

/// A probe to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Identifies the probe.
    pub(crate) number: u32,
    /// Hops it may go.
    pub(crate) ttl: u8,
    /// Its flow.
    pub(crate) flow: u32,
}

/// An event of a probe.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    /// The probe left.
    Sent(u32, MonoTime),
    /// This host does not let it.
    Refused(u32),
    /// The probe was answered.
    Answer(u32, Answer),
}

/// Runs the trace. Results before an error have gone to `sink`.
///
/// # Errors
/// This host refuses a socket; a far host causes no such error.
pub fn run(job: &HopsJob<'_>, sink: &mut dyn FnMut(&Event)) -> Result<()> {
    let plan = job.plan;
    check_size(plan)?;
    let mut channel = open(plan)?;
    sink(&Event::HopsStarted(Box::new(HopsStarted {
        wall: wall_now(),
        plan: plan.clone(),
        host: host::describe(Some(plan.target.address.ip())),
    })));
    let began = mono_now();
    let (mut result, outcome, back) = both_directions(job, channel.as_mut(), began, sink)?;
    drop(channel);
    if let Some(error) = &back.error {
        let text = format!("The return path was not traced to its end: {}.", sentence(error));
        sink(&Event::Warning(Warning::new("hops-back-unknown", text)));
    }
    if outcome.is_ok() && plan.mtu && result.end == HopsEnd::Reached && !job.interrupt.is_raised() {
        sink(&Event::progress("packets of full size"));
        if let Err(error) = sizes::look(job, &mut result) {
            let text = format!("Packets of full size were not tried: {}.", sentence(&error));
            sink(&Event::Warning(Warning::new("hop-mtu-unknown", text)));
        }
    }
    if outcome.is_ok() && !job.interrupt.is_raised() {
        result.beyond = beyond::look(job, &mut result);
    }
    names::fill(job, &mut result);
    result.back = back.found.map(|mut back| {
        names::fill(job, &mut back);
        Box::new(back)
    });
    result.elapsed = mono_now().saturating_since(began);
    let result = result.judged();
    if result.packets > 0 {
        let elapsed = result.elapsed;
        sink(&Event::Hops(Box::new(result)));
        if outcome.is_ok() {
            // A trace that is watched ends when it is stopped.
            let stopped = job.interrupt.is_raised() && !plan.watch;
            let outcome = if stopped { Outcome::Interrupted } else { Outcome::Completed };
            sink(&Event::Finished(Finished { wall: wall_now(), elapsed, outcome }));
        }
    }
    outcome
}

/// Traces the forward path, and meanwhile lets a pathmeter at the far end trace the return path.
///
/// # Errors
/// There is no thread for the latter.
fn both_directions(
    job: &HopsJob<'_>,
    channel: &mut dyn Channel,
    began: MonoTime,
    sink: &mut dyn FnMut(&Event),
) -> Result<(HopsResult, Result<()>, Back)> {
    let mut tracer = Tracer::new(schedule(job.plan), began);
    let mut companion = Companion::beside(job.plan);
    let (outcome, back) = thread::scope(|scope| {
        let back = job.plan.back_port.is_some().then(|| {
            let trace = || back::trace(job);
            thread::Builder::new().name("hops back".into()).spawn_scoped(scope, trace)
        });
        let outcome = trace(job, channel, &mut tracer, companion.as_mut(), sink);
        let join = |thread: thread::ScopedJoinHandle<'_, Back>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        back.transpose().map(|back| (outcome, back.map(join).unwrap_or_default()))
    })?;
    let mut result = tracer.result();
    if outcome.is_ok() {
        late::listen(job, channel, &mut result)?;
        dead::confirm(job, channel, &mut result)?;
    }
    for (flow, known) in result.flows.iter_mut().zip(channel.flows()) {
        flow.flow = known;
    }
    result.unmatched = channel.unmatched();
    let quotes = channel.quotes();
    result.untranslated = quotes.untranslated;
    result.ttl_rewritten = quotes.rewritten.or_else(|| longer_back(&result));
    result.echo = companion.map(|companion| companion.counted());
    Ok((result, outcome, back))
}

/// The far end's answers take more hops than its probes, where those of the hop before do not: its TTL was set on the path, or its
/// return path is longer.
fn longer_back(found: &HopsResult) -> Option<TtlRewritten> {
    let far = found.far_end().filter(|_| found.end == HopsEnd::Reached && found.changes.is_empty())?;
    let back = |hop: &Hop| hop.routers.iter().filter_map(|router| router.hops_back).min();
    let before = found.hops.iter().find(|hop| hop.ttl + 1 == far.ttl)?;
    let is_even = back(before) == Some(before.ttl);
    let longer = back(far).filter(|back| is_even && *back > far.ttl)?;
    Some(TtlRewritten { behind: before.ttl, hops_back: Some(longer), ttl_quoted: None })
}

/// Probes that this host's own interface refuses show nothing about the path.
fn check_size(plan: &HopsPlan) -> Result<(), Failure> {
    let mtu = Nic::toward(plan.target.address.ip().to_canonical()).map(|nic| nic.link.mtu);
    match mtu {
        Ok(mtu) if plan.size > mtu => Err(Failure::usage(
            format!("--size {}: packets that leave this host are at most {mtu} bytes long", plan.size),
            format!("give at most {mtu}, or look with `pathmeter mtu` for what crosses"),
        )),
        _ => Ok(()),
    }
}

fn schedule(plan: &HopsPlan) -> Schedule {
    let HopsPlan { protocol, probes, flows, interval, timeout, max_hops, watch: rolling, .. } = *plan;
    Schedule { protocol, probes, flows, interval, timeout, max_hops, rolling }
}

fn open(plan: &HopsPlan) -> Result<Box<dyn Channel>> {
    Ok(match plan.protocol {
        HopProtocol::Udp => Box::new(Datagrams::open(plan)?),
        HopProtocol::Icmp => Box::new(icmp::Echoes::open(plan)?),
        HopProtocol::Tcp => Box::new(tcp::Syns::open(plan)?),
    })
}

/// Sends and receives until the trace is done or was stopped.
fn trace(
    job: &HopsJob<'_>,
    channel: &mut dyn Channel,
    tracer: &mut Tracer,
    mut companion: Option<&mut Companion>,
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    let waker = Arc::new(Waker::new()?);
    job.interrupt.watch(&waker);
    let (mut shown, mut last) = (Shown::default(), None);
    while !job.interrupt.is_raised() {
        let mut heard = Vec::new();
        channel.take(&mut heard)?;
        heard.retain(|heard| !is_own(heard, channel, job.plan));
        heard.into_iter().for_each(|heard| feed(tracer, heard));
        let step = tracer.poll(mono_now());
        if let Some(companion) = companion.as_mut() {
            companion.take(tracer.progress().0);
        }
        shown.update(tracer, job.plan, sink);
        match step {
            Step::Send { number, ttl, flow } => channel.send(Probe { number, ttl, flow })?,
            Step::Wait(until) => {
                listen(channel, companion.as_deref(), &waker, until)?;
            }
            Step::Done => {
                // The last echo request left with the last probes.
                let until = *last.get_or_insert_with(|| mono_now() + tracer.timeout());
                let waiting = companion.as_ref().is_some_and(|companion| companion.is_waiting());
                if !waiting || mono_now() >= until {
                    break;
                }
                listen(channel, companion.as_deref(), &waker, until)?;
            }
        }
    }
    Ok(())
}

/// The part of a trace that was shown while it runs.
#[derive(Debug, Default)]
struct Shown {
    round: u32,
    first: Option<MonoTime>,
    at: Option<MonoTime>,
}

impl Shown {
    /// Reports a new round, and the state of its hops, but not too often.
    fn update(&mut self, tracer: &Tracer, plan: &HopsPlan, sink: &mut dyn FnMut(&Event)) {
        let (round, rounds) = tracer.progress();
        if round == self.round {
            return;
        }
        self.round = round;
        if !plan.watch {
            sink(&Event::progress(format!("probe {round} of {rounds} of each hop")));
        }
        let now = mono_now();
        let first = *self.first.get_or_insert(now);
        if self.at.is_none_or(|at| now.saturating_since(at) >= BETWEEN_SAMPLES) {
            self.at = Some(now);
            let sample = HopsSample::from_result(&tracer.result(), now.saturating_since(first));
            sink(&Event::HopsSample(Box::new(sample)));
        }
    }
}

/// An error that this host itself sends, about a neighbour that does not answer, is no router's answer.
fn is_own(heard: &Heard, channel: &dyn Channel, plan: &HopsPlan) -> bool {
    let Heard::Answer(_, answer) = heard else { return false };
    let is_here = |flow: Option<Flow>| flow.is_some_and(|flow| flow.from.ip().to_canonical() == answer.from);
    let refuses = matches!(answer.kind, AnswerKind::Refused(..));
    refuses
        && answer.from != plan.target.address.ip().to_canonical()
        && channel.flows().into_iter().any(is_here)
}

fn feed(tracer: &mut Tracer, heard: Heard) {
    match heard {
        Heard::Sent(number, at) => tracer.sent(number, at),
        Heard::Refused(number) => tracer.refused(number),
        Heard::Answer(number, answer) => tracer.answered(number, answer),
    }
}

/// Waits until something was heard, the channel has something to do, or that time.
fn listen(
    channel: &dyn Channel,
    companion: Option<&Companion>,
    waker: &Waker,
    until: MonoTime,
) -> Result<()> {
    let until = channel.deadline().map_or(until, |deadline| deadline.min(until));
    let sockets = channel.sockets();
    let mut interests: Vec<Interest<'_>> = sockets.iter().map(|socket| channel.interest(socket)).collect();
    interests.extend(companion.map(|companion| Interest::readable(&companion.echoes.socket)));
    interests.push(Interest::readable(waker));
    wait(&mut interests, Some(until))?;
    Ok(())
}

/// A table that is drawn anew is read no faster.
const BETWEEN_SAMPLES: Nanos = Nanos::from_secs(1);
/// The first port that traceroute(8) uses: one that nothing listens on.
pub(crate) const CLOSED_PORT: u16 = 33434;
