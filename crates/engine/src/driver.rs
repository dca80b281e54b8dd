//! Drives one session: moves control bytes, opens and runs the flows, keeps the time. Knows no protocol.

use super::arrivals::{Arrival, Desk, Place};
use super::dut::remote::offers::Offers;
use super::dut::remote::station::Station;
use super::echo::reflector::Reflecting;
use super::flows;
use super::interrupt::Interrupt;
use super::link::Link;
use super::probe::flow::ProbeFlow;
use super::running::Running;
use super::session::{SessionEvent, Watcher};
use super::shared::{Flow, FlowSocket};
use crate::error::{Result, sentence};
use linux::clock::{mono_now, wall_now};
use linux::poll::{Interest, Waker, wait};
use model::event::{Connected, EndResult, Event, Finished, Outcome, Started, Warning};
use model::host::Host;
use model::latency::LatencySpec;
use model::path::FragmentShape;
use model::plan::{Direction, LocalOptions, Plan, ProtocolName, Target};
use model::sample::{Side, SideResult, StreamInfo};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::native::frames::{FramesWish, PortAnswer, PortOrder};
use wire::native::{LatencySeen, PathSeen, Refusal};
use wire::{FlowHello, FlowPlan, Input, Output, ProtocolError, Sent, Session};

/// How this end gets its data flows.
pub(crate) enum Opener {
    /// It connects them.
    Client {
        /// The far end.
        target: Target,
    },
    /// They arrive at the desk.
    Server(Arc<Desk>),
}

/// What a driver needs besides the session and its connection.
pub(crate) struct Setting<'a> {
    /// Client or server.
    pub(crate) opener: Opener,
    /// This end's choices.
    pub(crate) local: LocalOptions,
    /// Fingerprint of this host.
    pub(crate) host: Host,
    /// Asks it to stop.
    pub(crate) interrupt: Interrupt,
    /// May this session begin? Asked when its flows are due, and again when they are open: from then on it has its place.
    pub(crate) admit: Box<dyn FnMut(Wanted) -> bool + 'a>,
    /// Raised when a session that has no place yet is to make room for another client.
    pub(crate) leave: Arc<AtomicBool>,
    /// Is told what happens, as it happens.
    pub(crate) watcher: &'a mut dyn Watcher,
    /// Interfaces that a server offers.
    pub(crate) offers: Arc<Offers>,
}

/// What a session that is to begin needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Streams of both directions.
    pub(crate) streams: u32,
    /// It only probes: it is none of the tests that are counted.
    pub(crate) probes: bool,
    /// It begins now; otherwise it is asked whether it could.
    pub(crate) begins: bool,
}

/// One session at work.
pub(crate) struct Driver<'a, S: Session + ?Sized> {
    session: &'a mut S,
    link: Link,
    setting: Setting<'a>,
    waker: Arc<Waker>,
    ends: (SocketAddr, SocketAddr),
    pending: VecDeque<Queued>,
    arriving: Option<Arriving>,
    flows: Vec<Flow>,
    plan: Option<FlowPlan>,
    running: Option<Running>,
    reflecting: Option<Reflecting>,
    /// The flow of a probe session.
    probing: Option<ProbeFlow>,
    /// The interface of a session of frames.
    station: Option<Station>,
    draining: bool,
    /// The session has its place among the tests.
    admitted: bool,
    /// The control connection has ended: it is told once, and not polled any more.
    peer_closed: bool,
    started: Option<MonoTime>,
    /// What was told, where the peer wants this end's report.
    events: Vec<Event>,
    /// Rows of intervals among them.
    rows_kept: usize,
    stopped: Option<String>,
    next_progress: MonoTime,
}

/// A server's flows that have not all come yet.
struct Arriving {
    place: Place,
    flows: Vec<Arrival>,
    complete: bool,
}

/// An input that waits for the current outputs to be done.
enum Queued {
    FlowsOpen(Vec<StreamInfo>),
    FlowsFailed(String),
    SendersDone(Vec<Sent>),
    Measured(Box<SideResult>),
    TooBig(u32),
    PathSeen(Box<PathSeen>),
    Reflected(LatencySeen),
    Port(PortAnswer),
}

impl<'a, S: Session + ?Sized> Driver<'a, S> {
    /// Takes over an open control connection.
    pub(crate) fn new(session: &'a mut S, link: Link, setting: Setting<'a>) -> Result<Driver<'a, S>> {
        let waker = Arc::new(Waker::new()?);
        setting.interrupt.watch(&waker);
        let ends = (link.socket().local_addr()?, link.socket().peer_addr()?);
        Ok(Driver {
            session,
            link,
            setting,
            waker,
            ends,
            pending: VecDeque::new(),
            arriving: None,
            flows: Vec::new(),
            plan: None,
            running: None,
            reflecting: None,
            probing: None,
            station: None,
            draining: false,
            admitted: false,
            peer_closed: false,
            started: None,
            events: Vec::new(),
            rows_kept: 0,
            stopped: None,
            next_progress: MonoTime::ZERO,
        })
    }

    /// Runs the session to its end. Every event has been given to the sink when this returns.
    pub(crate) fn run(mut self) -> Result<(), ProtocolError> {
        let outcome = self.converse();
        // Before the client hears the end: then the interface is free for whoever comes next.
        let framed = self.station.take().map(Station::finish);
        let last_words = outcome.is_err() && self.say_last_words();
        self.rescue();
        self.link.finish(mono_now() + GOODBYE);
        if last_words {
            // Closing with bytes unread would reset the connection, and the peer would not hear why.
            self.link.hear_out(mono_now() + GOODBYE);
        }
        if let Some(reflecting) = self.reflecting.take() {
            self.setting.watcher.event(SessionEvent::Reflected(&reflecting.seen()));
        }
        if let Some(framed) = framed {
            self.setting.watcher.event(SessionEvent::Framed(&framed));
        }
        self.finish(&outcome);
        outcome
    }

    /// After an error: what the session still has to say. Says whether there was anything to send.
    fn say_last_words(&mut self) -> bool {
        let (mut said, mut deaf) = (false, false);
        loop {
            match self.session.output(mono_now()) {
                // Who does not take one message takes none of those behind it.
                Output::Send(_) if deaf => {}
                Output::Send(bytes) => {
                    deaf = self.link.write(&bytes, mono_now() + GOODBYE).is_err();
                    said |= !deaf;
                }
                Output::Event(event) => self.emit(event),
                Output::WaitUntil(_) | Output::Close => return said,
                // The flows are ended with the session.
                Output::OpenFlows(_)
                | Output::StartFlows
                | Output::StopSenders
                | Output::Drain { .. }
                | Output::Datagram { .. }
                | Output::ReportPath { .. }
                | Output::Reflect(_)
                | Output::CountReflected
                | Output::Port(_) => {}
            }
        }
    }

    fn converse(&mut self) -> Result<(), ProtocolError> {
        loop {
            let until = match self.do_outputs()? {
                Next::Over => return Ok(()),
                Next::Wait(until) => until,
            };
            if let Some(queued) = self.pending.pop_front() {
                self.deliver(queued)?;
                continue;
            }
            self.wait(until)?;
            self.look_around()?;
        }
    }

    /// Does what the session wants until it wants to wait.
    fn do_outputs(&mut self) -> Result<Next, ProtocolError> {
        loop {
            match self.session.output(mono_now()) {
                Output::Send(bytes) => {
                    self.link.write(&bytes, mono_now() + WRITE_LIMIT).map_err(|e| cannot_tell(&e))?;
                }
                Output::OpenFlows(plan) => self.open_flows(plan),
                Output::StartFlows => self.start_flows(),
                Output::StopSenders => self.stop_senders(),
                Output::Drain { expect, limit } => {
                    self.draining = true;
                    if let Some(running) = &mut self.running {
                        running.begin_drain(expect, limit, mono_now());
                    }
                }
                Output::Datagram { bytes, cut, hops } => self.send_probe(&bytes, cut, hops),
                Output::ReportPath { since } => {
                    let control = self.link.socket();
                    let seen = self.probing.as_mut().map(|flow| Box::new(flow.seen(control, since)));
                    self.pending.extend(seen.map(Queued::PathSeen));
                }
                Output::Reflect(spec) => self.reflect(&spec),
                Output::CountReflected => {
                    let seen = self.reflecting.as_ref().map(Reflecting::seen);
                    self.pending.extend(seen.map(Queued::Reflected));
                }
                Output::Port(order) => self.port(order),
                Output::Event(event) => self.emit(event),
                Output::WaitUntil(until) => return Ok(Next::Wait(until)),
                Output::Close => return Ok(Next::Over),
            }
        }
    }

    fn wait(&mut self, until: Option<MonoTime>) -> Result<(), ProtocolError> {
        if self.link.has_buffered() {
            return Ok(());
        }
        let ticks = self.running.as_ref().and_then(Running::next_tick);
        let progress = self.running.as_ref().map(|_| self.next_progress);
        // One without a place may have to leave.
        let look = (!self.admitted).then(|| mono_now() + LEAVE_STEP);
        let deadline = [until, ticks, progress, look].into_iter().flatten().min();
        let mut interests = vec![Interest::readable(&*self.waker)];
        interests.extend((!self.peer_closed).then(|| Interest::readable(self.link.socket())));
        let repeated = self.arriving.iter().flat_map(|a| &a.flows).filter_map(|f| match &f.socket {
            FlowSocket::Udp(socket) => Some(Interest::readable(socket.as_ref())),
            FlowSocket::Tcp(_) => None,
        });
        interests.extend(repeated);
        wait(&mut interests, deadline).map_err(|e| ProtocolError::Stopped(format!("poll: {e}")))?;
        self.waker.drain();
        Ok(())
    }

    /// Tells the session everything that has happened.
    fn look_around(&mut self) -> Result<(), ProtocolError> {
        if !self.admitted && self.setting.leave.load(Ordering::Relaxed) {
            return Err(ProtocolError::Stopped(LEFT.into()));
        }
        self.read_control()?;
        self.session.input(mono_now(), Input::Timer)?;
        if self.setting.interrupt.is_raised() && self.stopped.is_none() {
            self.stopped = Some("interrupted".into());
            self.session.input(mono_now(), Input::Interrupt("interrupted"))?;
        }
        self.take_arrivals();
        self.take_probes()?;
        self.take_answers()?;
        self.follow_running()
    }

    /// In a probe session every datagram is the session's own.
    fn take_probes(&mut self) -> Result<(), ProtocolError> {
        let Some(flow) = &mut self.probing else { return Ok(()) };
        flow.hear();
        let mut buffer = [0; 1 << 16];
        for _ in 0..DATAGRAMS_AT_ONCE {
            let Some((length, fragment)) = flow.receive(&mut buffer) else { break };
            let bytes = &buffer[..length];
            self.session.input(mono_now(), Input::Datagram { bytes, fragment })?;
        }
        Ok(())
    }

    fn send_probe(&mut self, bytes: &[u8], cut: Option<FragmentShape>, hops: Option<u8>) {
        let Some(flow) = &mut self.probing else { return };
        if let Err(e) = flow.send(bytes, cut, hops)
            && flows::is_too_big(&e)
        {
            self.pending.push_back(Queued::TooBig(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
        }
    }

    fn read_control(&mut self) -> Result<(), ProtocolError> {
        if self.peer_closed {
            return Ok(());
        }
        let mut buffer = [0; 16 << 10];
        for _ in 0..READS_AT_ONCE {
            match self.link.read(&mut buffer) {
                Ok(None) => break,
                Ok(Some(n)) if n > 0 => self.session.input(mono_now(), Input::Received(&buffer[..n]))?,
                Ok(_) | Err(_) => {
                    self.peer_closed = true;
                    return self.session.input(mono_now(), Input::Closed);
                }
            }
        }
        Ok(())
    }

    fn deliver(&mut self, queued: Queued) -> Result<(), ProtocolError> {
        let now = mono_now();
        match queued {
            Queued::FlowsOpen(infos) => self.session.input(now, Input::FlowsOpen(&infos)),
            Queued::FlowsFailed(reason) => self.session.input(now, Input::FlowsFailed(&reason)),
            Queued::PathSeen(seen) => self.session.input(now, Input::PathSeen(&seen)),
            Queued::Reflected(seen) => self.session.input(now, Input::Reflected(&seen)),
            Queued::Port(answer) => self.session.input(now, Input::Port(&answer)),
            Queued::TooBig(size) => self.session.input(now, Input::DatagramTooBig(size)),
            Queued::SendersDone(sent) => self.session.input(now, Input::SendersDone(&sent)),
            Queued::Measured(result) => {
                let extras = self.session.extras().filter(|e| e.get_server_output);
                let report = extras.and_then(|extras| self.setting.watcher.report(&self.events, extras));
                self.session.input(now, Input::Measured { result: &result, report })
            }
        }
    }

    fn open_flows(&mut self, plan: FlowPlan) {
        if !self.admit(&plan, false) {
            self.pending.push_back(Queued::FlowsFailed(BUSY.into()));
            return;
        }
        self.say_connected(&plan);
        let opened = match &self.setting.opener {
            Opener::Client { target } => {
                flows::connect_all(&plan, target.address, &self.setting.local).map(Some)
            }
            Opener::Server(desk) => {
                desk.wait_for(&plan, self.ends.0, self.ends.1, &self.waker).map(|place| {
                    self.arriving = Some(Arriving { place, flows: Vec::new(), complete: false });
                    None
                })
            }
        };
        self.plan = Some(plan);
        match opened {
            Ok(Some(flows)) => self.flows_are_open(flows),
            Ok(None) => {}
            Err(e) => self.pending.push_back(Queued::FlowsFailed(sentence(&e))),
        }
    }

    fn admit(&mut self, plan: &FlowPlan, begins: bool) -> bool {
        let wanted =
            Wanted { streams: plan.test.all_streams(), probes: self.session.takes_datagrams(), begins };
        let may = (self.setting.admit)(wanted);
        self.admitted |= may && begins;
        may
    }

    fn flows_are_open(&mut self, flows: Vec<Flow>) {
        if let Some(plan) = self.plan.clone()
            && !self.admit(&plan, true)
        {
            return self.pending.push_back(Queued::FlowsFailed(BUSY.into()));
        }
        if let (true, Some(FlowSocket::Udp(socket))) =
            (self.session.takes_datagrams(), flows.first().map(|f| &f.socket))
        {
            match ProbeFlow::open(socket.clone(), self.setting.local.device.as_deref()) {
                Ok(flow) => self.probing = Some(flow),
                Err(e) => return self.pending.push_back(Queued::FlowsFailed(sentence(&e))),
            }
        }
        if self.probing.is_none() && self.plan.as_ref().is_some_and(|plan| plan.test.offload) {
            flows.iter().for_each(flows::join_datagrams);
        }
        self.pending.push_back(Queued::FlowsOpen(flows.iter().map(|f| f.info.clone()).collect()));
        self.flows = flows;
    }

    fn take_arrivals(&mut self) {
        let (Some(arriving), Some(plan)) = (&mut self.arriving, &self.plan) else { return };
        arriving.flows.extend(arriving.place.take());
        arriving.flows.iter().for_each(Arrival::greet_again);
        if arriving.complete || arriving.flows.len() < plan.test.all_streams() as usize {
            return;
        }
        arriving.complete = true;
        arriving.flows.sort_by_key(|f| (f.stream, f.order));
        let test = plan.test.clone();
        let mut warnings = Vec::new();
        let mut flows = Vec::new();
        for (index, arrival) in arriving.flows.iter().enumerate() {
            let configured = match &arrival.socket {
                FlowSocket::Tcp(socket) => flows::configure_accepted(socket, &test),
                FlowSocket::Udp(socket) => flows::configure_udp(socket, &test, flows::Wish::Peers),
            };
            if let Err(e) = configured {
                warnings.push(Warning::new("option-refused", format!("{e}; the kernel's default is used")));
            }
            flows.push(flows::describe(&test, index as u32, arrival.socket.clone(), Direction::Down));
        }
        warnings.truncate(1);
        warnings.into_iter().for_each(|w| self.emit(Event::Warning(w)));
        self.flows_are_open(flows);
    }

    fn start_flows(&mut self) {
        let Some(plan) = self.plan.clone() else { return };
        for arrival in self.arriving.take().into_iter().flat_map(|a| a.flows) {
            if let FlowSocket::Udp(socket) = &arrival.socket {
                socket.set_nonblocking(false).ok();
            }
        }
        let flows = std::mem::take(&mut self.flows);
        let streams = flows.iter().map(|f| f.info.clone()).collect();
        let now = mono_now();
        self.started = Some(now);
        self.emit(Event::Started(Started { wall: wall_now(), streams }));
        if let Some(interval) = self.session.report_interval() {
            self.setting.local.interval = interval;
        }
        match Running::start(plan, flows, &self.setting.local, &self.waker, now) {
            Ok(running) => self.running = Some(running),
            Err(e) => self.pending.push_back(Queued::FlowsFailed(sentence(&e))),
        }
    }

    /// Answers the messages of a latency session, in a thread of its own.
    fn reflect(&mut self, spec: &LatencySpec) {
        self.arriving = None;
        let Some(flow) = std::mem::take(&mut self.flows).pop() else { return };
        match Reflecting::start(flow.socket, flow.info.remote, spec) {
            Ok(reflecting) => self.reflecting = Some(reflecting),
            Err(e) => self.pending.push_back(Queued::FlowsFailed(sentence(&e))),
        }
    }

    /// Does something with the interface of a session of frames.
    fn port(&mut self, order: PortOrder) {
        match order {
            PortOrder::Ask { id, ask } => {
                if let Some(station) = &self.station {
                    station.ask(id, ask);
                }
            }
            PortOrder::Open(wish) => match self.open_port(wish) {
                Ok(station) => self.station = Some(station),
                Err(refusal) => self.pending.push_back(Queued::Port(PortAnswer::Refused(refusal))),
            },
        }
    }

    fn open_port(&mut self, wish: FramesWish) -> Result<Station, Refusal> {
        let station = Station::start(&self.setting.offers, wish, &self.waker)?;
        if (self.setting.admit)(Wanted { streams: 0, probes: false, begins: true }) {
            self.admitted = true;
            return Ok(station);
        }
        Err(Refusal { code: "busy".into(), reason: BUSY.into(), advice: String::new() })
    }

    /// Tells the session what its interface has done.
    fn take_answers(&mut self) -> Result<(), ProtocolError> {
        while let Some(answer) = self.station.as_ref().and_then(Station::answer) {
            self.session.input(mono_now(), Input::Port(&answer))?;
        }
        Ok(())
    }

    fn stop_senders(&mut self) {
        let now = mono_now();
        let has_senders = self.running.as_mut().is_some_and(|r| r.stop_senders(now));
        if !has_senders {
            self.pending.push_back(Queued::SendersDone(Vec::new()));
        }
    }

    fn follow_running(&mut self) -> Result<(), ProtocolError> {
        let now = mono_now();
        let Some(running) = &mut self.running else {
            if std::mem::take(&mut self.draining) {
                self.pending.push_back(Queued::Measured(Box::default()));
            }
            return Ok(());
        };
        let samples = running.tick(now);
        if let Some(sent) = running.senders_done(now) {
            self.pending.push_back(Queued::SendersDone(sent));
        }
        let (received, sent) = running.progress();
        let omitted = running.is_omitting();
        let drained = self.draining && running.is_drained(now);
        for sample in samples {
            self.session.input(now, Input::LocalSample(&sample))?;
            self.emit(Event::Sample(sample));
        }
        if now >= self.next_progress {
            self.next_progress = now + PROGRESS_STEP;
            self.session.input(now, Input::Progress { sent, received, omitted })?;
        }
        if drained {
            let result = self.measure();
            self.pending.push_back(Queued::Measured(Box::new(result)));
        }
        Ok(())
    }

    fn measure(&mut self) -> SideResult {
        self.draining = false;
        let Some(mut running) = self.running.take() else { return SideResult::default() };
        let now = mono_now();
        if let Some(sample) = running.last_sample(now) {
            // A session that is over for another reason needs it no more.
            let _ = self.session.input(now, Input::LocalSample(&sample));
            self.emit(Event::Sample(sample));
        }
        let (result, warnings) = running.measure(now);
        warnings.into_iter().for_each(|warning| self.emit(Event::Warning(warning)));
        let local =
            EndResult { side: Side::Local, result: result.clone(), output_text: None, output_json: None };
        self.emit(Event::Result(local));
        result
    }

    /// After a failure: what was measured until then is not lost.
    fn rescue(&mut self) {
        if self.running.is_some() {
            self.measure();
        }
    }

    fn say_connected(&mut self, plan: &FlowPlan) {
        let target = match &self.setting.opener {
            Opener::Client { target } => target.clone(),
            Opener::Server(_) => {
                Target { host: self.ends.1.ip().to_canonical().to_string(), address: self.ends.1 }
            }
        };
        let (protocol, session) = match &plan.hello {
            FlowHello::Iperf3 { cookie } => (ProtocolName::Iperf3, cookie.clone()),
            FlowHello::Iperf2 => (ProtocolName::Iperf2, String::new()),
            FlowHello::Native { session, .. } => (ProtocolName::Native, session.to_string()),
        };
        if let Some(extras) = self.session.extras() {
            self.setting.watcher.event(SessionEvent::Extras(extras));
            if let Some(cpu) = extras.server_affinity {
                self.setting.local.affinity = vec![cpu];
            }
        }
        let control_mss = linux::options::mss(self.link.socket()).ok().and_then(|b| u32::try_from(b.0).ok());
        let event = Event::Connected(Connected {
            wall: wall_now(),
            plan: Plan { target, protocol, test: plan.test.clone(), local: self.setting.local.clone() },
            local: self.ends.0,
            remote: self.ends.1,
            session,
            control_mss,
            host: self.setting.host.clone(),
            peer: self.session.peer().cloned(),
        });
        self.emit(event);
    }

    fn finish(&mut self, outcome: &Result<(), ProtocolError>) {
        let Some(started) = self.started else { return };
        let outcome = match (outcome, &self.stopped) {
            (Ok(()), None) => Outcome::Completed,
            (_, Some(_)) => Outcome::Interrupted,
            (Err(ProtocolError::PeerStopped(reason)), None) => {
                Outcome::PeerStopped { reason: reason.clone() }
            }
            (Err(e), None) => Outcome::Failed { reason: e.to_string() },
        };
        let elapsed = mono_now().saturating_since(started);
        self.emit(Event::Finished(Finished { wall: wall_now(), elapsed, outcome }));
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

    fn emit(&mut self, event: Event) {
        self.setting.watcher.event(SessionEvent::Event(&event));
        if self.session.extras().is_some_and(|extras| extras.get_server_output) {
            self.keep(event);
        }
    }
}

/// A message that did not leave: the peer took none for long, or the connection is gone.
fn cannot_tell(error: &std::io::Error) -> ProtocolError {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            ProtocolError::Timeout(format!("on the control connection: it takes no message ({error})"))
        }
        _ => ProtocolError::Closed(format!("before it had taken every message ({error})")),
    }
}

enum Next {
    Wait(Option<MonoTime>),
    Over,
}

/// Why a session that had not begun was closed.
pub(crate) const LEFT: &str = "it had said nothing for a while, and another client needed its place";
const BUSY: &str = "as many tests run as this server allows; try again later";
/// Longest time for the peer to take a control message.
const WRITE_LIMIT: Nanos = Nanos(10_000_000_000);
/// Longest time to say goodbye.
const GOODBYE: Nanos = Nanos(500_000_000);
/// Portions of control bytes read before looking at anything else.
const READS_AT_ONCE: usize = 128;
/// Datagrams of a probe session read before looking at anything else.
const DATAGRAMS_AT_ONCE: usize = 64;
/// Rows of intervals that are kept for a report: some tens of megabytes, and more than a day of one stream.
const MOST_ROWS: usize = 100_000;
/// Time between two looks whether a session without a place is to leave.
const LEAVE_STEP: Nanos = Nanos(250_000_000);
/// Time between two reports of progress to the session.
const PROGRESS_STEP: Nanos = Nanos(20_000_000);
