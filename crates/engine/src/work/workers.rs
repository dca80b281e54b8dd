//! The workers of a session: each does one kind of work as the session asks for it, and reports its result.
//!
//! The flows that throughput, probes and round trips need are opened in one place (`opening`); the data on them are the
//! worker's own.

mod frames;
mod load;
mod opening;
mod probes;
mod round_trips;
mod throughput;

use crate::error::{Result, sentence};
use crate::work::arrivals::Arrivals;
use crate::work::dut::remote::offers::Offers;
use crate::work::observer::{Fact, SessionEvent, Watcher};
use crate::work::throughput::flows;
use crate::work::throughput::shared::Flow;
use frames::Frames;
use linux::poll::{Interest, Waker};
use load::Loads;
use model::event::{Event, Outcome};
use model::host::Host;
use model::plan::{LocalOptions, Target};
use model::time::MonoTime;
use opening::Opening;
use probes::Probes;
use round_trips::RoundTrips;
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use throughput::Throughput;
use wire::iperf3::Extras;
use wire::work::throughput::Report;
use wire::{FlowsRequest, ProtocolError, WorkKind, WorkReply, WorkRequest};

/// How this end gets its data flows.
pub(crate) enum Opener {
    /// This end connects them.
    Client {
        /// The far end.
        target: Target,
    },
    /// They arrive at its port.
    Server(Arc<Arrivals>),
    /// Their worker has them, or lets them in.
    Worker,
}

/// Settings of the workers of a session.
pub(crate) struct Setting<'a> {
    /// Client or server.
    pub(crate) opener: Opener,
    /// This end's choices.
    pub(crate) local: LocalOptions,
    /// Fingerprint of this host.
    pub(crate) host: Host,
    /// May this session begin? Called when its flows are due, and again when they are open: from then on it has its place.
    pub(crate) admit: Box<dyn FnMut(Wanted) -> bool + 'a>,
    /// Receives events as they happen.
    pub(crate) watcher: &'a mut dyn Watcher,
    /// Interfaces that a server offers.
    pub(crate) offers: Arc<Offers>,
}

/// Resources that a session needs to begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Streams of both directions.
    pub(crate) streams: u32,
    /// The session only probes: it is none of the tests that are counted.
    pub(crate) probes: bool,
    /// The session begins now; otherwise only the possibility is checked.
    pub(crate) begins: bool,
}

/// The workers of one session, of which one at most has something to do.
pub(crate) struct Workers<'a> {
    context: WorkContext<'a>,
    /// Flows that are to be opened, or may be requested again.
    opening: Option<Opening>,
    worker: Option<Box<dyn Worker + 'a>>,
}

/// State around every worker of a session.
pub(crate) struct WorkContext<'a> {
    pub(crate) setting: Setting<'a>,
    /// Both ends of the control connection, or of the first flow.
    ends: (SocketAddr, SocketAddr),
    pub(crate) waker: Arc<Waker>,
    replies: VecDeque<WorkReply>,
    /// The session has its place among the tests.
    admitted: bool,
    /// The peer's requests beside the test, where it wants this end's report.
    reported: Option<Extras>,
    /// The reported events, where the peer wants this end's report.
    events: Vec<Event>,
    /// Rows of intervals among them.
    rows_kept: usize,
}

/// One kind of work.
pub(crate) trait Worker {
    /// Carries out a request of the session. Its result is reported to `context`, now or later.
    fn ask(&mut self, request: WorkRequest, context: &mut WorkContext<'_>, control: Option<&TcpStream>);

    /// The sockets to wait for.
    fn interests(&self) -> Vec<Interest<'_>> {
        Vec::new()
    }

    /// When it wants to be called again.
    fn due(&self) -> Option<MonoTime> {
        None
    }

    /// Looks what has come, and does what is due.
    fn tick(&mut self, _now: MonoTime, _site: &mut WorkContext<'_>) {}

    /// Gives back at once what others may be waiting for.
    fn let_go(&mut self) {}

    /// The session is over before its end: what was measured until then is not lost.
    fn rescue(&mut self, _site: &mut WorkContext<'_>) {}

    /// The session is over, and its peer knows.
    fn finish(&mut self, _site: &mut WorkContext<'_>, _outcome: Outcome) {}
}

impl<'a> Workers<'a> {
    /// Makes the workers of a session between these two ends. Threads wake the waker when there is something to look at.
    pub(crate) fn new(
        setting: Setting<'a>,
        ends: (SocketAddr, SocketAddr),
        waker: &Arc<Waker>,
    ) -> Workers<'a> {
        let admitted = matches!(setting.opener, Opener::Worker);
        let context = WorkContext {
            setting,
            ends,
            waker: waker.clone(),
            replies: VecDeque::new(),
            admitted,
            reported: None,
            events: Vec::new(),
            rows_kept: 0,
        };
        Workers { context, opening: None, worker: None }
    }

    /// The session begins with this worker.
    pub(crate) fn begin(&mut self, worker: impl FnOnce(&mut WorkContext<'_>) -> Box<dyn Worker + 'a>) {
        self.worker = Some(worker(&mut self.context));
    }

    /// Does what the session asks for.
    pub(crate) fn ask(&mut self, request: WorkRequest, control: Option<&TcpStream>) {
        match request {
            WorkRequest::Flows(order) => {
                self.opening = Opening::begin(*order, &mut self.context, control);
                self.take_flows();
            }
            WorkRequest::Frames(order) if self.worker.is_none() => {
                self.worker = Frames::begin(order, &mut self.context).map(|worker| Box::new(worker) as _);
            }
            request => {
                if opening::is_over(&request)
                    && let Some(opening) = self.opening.take()
                {
                    opening.finish();
                }
                if let Some(worker) = &mut self.worker {
                    worker.ask(request, &mut self.context, control);
                }
            }
        }
    }

    /// The next answer to the session.
    pub(crate) fn reply(&mut self) -> Option<WorkReply> {
        self.context.replies.pop_front()
    }

    /// The session has its place: it need not leave for another.
    pub(crate) fn has_place(&self) -> bool {
        self.context.admitted
    }

    /// Reports an event.
    pub(crate) fn emit(&mut self, event: Event) {
        self.context.emit(event);
    }

    /// Adds what to wait for.
    pub(crate) fn add_interests<'b>(&'b self, interests: &mut Vec<Interest<'b>>) {
        interests.extend(self.opening.iter().flat_map(Opening::interests));
        interests.extend(self.worker.iter().flat_map(|worker| worker.interests()));
    }

    /// When the workers want to be called again.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        self.worker.as_ref().and_then(|worker| worker.due())
    }

    /// Looks what has come, and does what is due.
    pub(crate) fn tick(&mut self, now: MonoTime) {
        if let Some(opening) = &mut self.opening {
            opening.tick();
        }
        self.take_flows();
        if let Some(worker) = &mut self.worker {
            worker.tick(now, &mut self.context);
        }
    }

    /// Gives back at once what others may be waiting for.
    pub(crate) fn let_go(&mut self) {
        self.worker.iter_mut().for_each(|worker| worker.let_go());
    }

    /// Saves the measurement until now.
    pub(crate) fn rescue(&mut self) {
        self.worker.iter_mut().for_each(|worker| worker.rescue(&mut self.context));
    }

    /// The session is over, and its peer knows.
    pub(crate) fn finish(mut self, outcome: &Result<(), ProtocolError>, interrupted: bool) {
        if let Some(worker) = &mut self.worker {
            worker.finish(&mut self.context, outcome_of(outcome, interrupted));
        }
    }

    /// Gives the flows that have just been opened to their worker.
    fn take_flows(&mut self) {
        let Some((flows, order)) = self.opening.as_mut().and_then(|opening| opening.take(&mut self.context))
        else {
            return;
        };
        if !self.context.admit(&order, true) {
            return self.context.fail(BUSY);
        }
        let infos = flows.iter().map(|flow| flow.info.clone()).collect();
        match worker(flows, order, &self.context.setting.local) {
            Ok(worker) => {
                self.worker = Some(worker);
                self.context.reply(WorkReply::Open(infos));
            }
            Err(error) => self.context.fail(sentence(&error)),
        }
    }
}

/// The worker of these flows.
fn worker(flows: Vec<Flow>, order: FlowsRequest, local: &LocalOptions) -> Result<Box<dyn Worker>> {
    let joins = !matches!(order.kind, WorkKind::Probes | WorkKind::Load);
    if joins && order.plan.test.offload {
        flows.iter().for_each(flows::join_datagrams);
    }
    Ok(match order.kind {
        WorkKind::Throughput => Box::new(Throughput::new(flows, order)),
        WorkKind::Probes => Box::new(Probes::new(&flows, local)?),
        WorkKind::RoundTrips => Box::new(RoundTrips::new(flows)),
        WorkKind::Load => Box::new(Loads::new(flows, order.plan.test.tos)),
    })
}

impl WorkContext<'_> {
    /// Queues a reply for the session.
    pub(crate) fn reply(&mut self, reply: impl Into<WorkReply>) {
        self.replies.push_back(reply.into());
    }

    /// Its flows are of no use.
    fn fail(&mut self, reason: impl Into<String>) {
        self.reply(WorkReply::Failed(reason.into()));
    }

    fn admit(&mut self, order: &FlowsRequest, begins: bool) -> bool {
        let probes = order.kind == WorkKind::Probes;
        self.admit_wanted(Wanted { streams: order.plan.test.all_streams(), probes, begins })
    }

    fn admit_wanted(&mut self, wanted: Wanted) -> bool {
        let may = (self.setting.admit)(wanted);
        self.admitted |= may && wanted.begins;
        may
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.setting.watcher.event(SessionEvent::Event(&event));
        if self.reported.is_some() {
            self.keep(event);
        }
    }

    /// Reports a fact that only one protocol has.
    pub(crate) fn emit_fact(&mut self, fact: &Fact) {
        self.setting.watcher.event(SessionEvent::Fact(fact));
    }

    /// For this end's report. A day of many streams would be gigabytes of intervals: the last ones are not in it then.
    fn keep(&mut self, event: Event) {
        if let Event::Sample(sample) = &event {
            self.rows_kept += sample.streams.len();
            if self.rows_kept > MOST_ROWS {
                return;
            }
        }
        self.events.push(event);
    }

    /// This end's report, where the peer wants it.
    fn report(&self) -> Option<Report> {
        self.setting.watcher.report(&self.events, self.reported.as_ref()?)
    }
}

/// How a session ended.
fn outcome_of(outcome: &Result<(), ProtocolError>, interrupted: bool) -> Outcome {
    match (outcome, interrupted) {
        (Ok(()), false) => Outcome::Completed,
        (_, true) => Outcome::Interrupted,
        (Err(ProtocolError::PeerStopped(reason)), false) => Outcome::PeerStopped { reason: reason.clone() },
        (Err(e), false) => Outcome::Failed { reason: e.to_string() },
    }
}

const BUSY: &str = "as many tests run as this server allows; try again later";
/// Rows of intervals that are kept for a report: some tens of megabytes, and more than a day of one stream.
const MOST_ROWS: usize = 100_000;
