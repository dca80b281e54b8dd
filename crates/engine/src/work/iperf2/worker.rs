//! The worker of a session without control bytes: its flows from their first bytes to the figures. Their messages and their end
//! are [`Group`]'s.

use super::active_flow::{ActiveFlow, Known, write_all};
use super::details::Details;
use super::source::Source;
use crate::error::sentence;
use crate::host::interrupt::Interrupt;
use crate::session::budget::Held;
use crate::session::listener::LEFT;
use crate::work::driver::Driver;
use crate::work::observer::{Fact, Watcher};
use crate::work::throughput::flows;
use crate::work::throughput::running::Running;
use crate::work::throughput::shared::{Flow, FlowSocket, OwnFlow};
use crate::work::throughput::timed::{Timing, wall_offset};
use crate::work::workers::{self, Opener, WorkContext, Worker};
use linux::clock::{mono_now, wall_now};
use linux::poll::{Interest, Waker, wait};
use model::event::{Connected, EndResult, Event, Finished, Outcome, Started, Warning};
use model::host::Host;
use model::plan::{Direction, Plan};
use model::sample::{IntervalSample, Side, SideResult, StreamInfo, StreamResult};
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use wire::iperf2::{Group, Numbered, Run, ServerReport};
use wire::stamp::Clock;
use wire::work::in_band::{Back, FlowCommand, FlowUpdate, Loss, PeerFact, Reply, Request};
use wire::{ProtocolError, WorkRequest};

/// Settings of a session.
pub(super) struct Setting<'a> {
    /// The plan of the test.
    pub(super) plan: Plan,
    /// This host.
    pub(super) host: Host,
    /// Asks it to stop.
    pub(super) interrupt: Interrupt,
    /// Wakes it.
    pub(super) waker: Arc<Waker>,
    /// This end's clocks.
    pub(super) clock: Clock,
    /// Where further flows come from.
    pub(super) source: Source,
    /// Its place among a server's tests.
    pub(super) held: Option<&'a Held>,
    /// Does something still prove that the far end is at its address? Only then it is sent datagrams.
    pub(super) is_there: &'a dyn Fn() -> bool,
    /// Timed quantities beside those of every test.
    pub(super) timing: Timing,
    /// Receives events as they happen.
    pub(super) watcher: &'a mut dyn Watcher,
}

/// Runs a session that begins with these flows to its end: those that its group has, or those that have come to it.
pub(super) fn run(
    group: &mut Group,
    setting: Setting<'_>,
    active_flows: Vec<ActiveFlow>,
) -> Result<(), ProtocolError> {
    let Setting { plan, host, interrupt, waker, clock, source, held, is_there, timing, watcher } = setting;
    let ends =
        active_flows.first().map_or((plan.target.address, plan.target.address), |m| (m.local(), m.peer()));
    let setting = workers::Setting {
        opener: Opener::Worker,
        local: plan.local.clone(),
        host,
        admit: Box::new(|_| true),
        watcher,
        offers: Arc::default(),
    };
    let worker = |context: &mut WorkContext<'_>| {
        let mut flows = Flows {
            plan,
            clock,
            source,
            held,
            is_there,
            timing,
            active_flows: Vec::new(),
            ready: Vec::new(),
            hold: None,
            running: None,
            streams: Vec::new(),
            introduced: 0,
            began: None,
            leaving: None,
            peer_rows: Vec::new(),
            details: Details::default(),
            next_progress: MonoTime::ZERO,
        };
        active_flows.into_iter().for_each(|active_flow| flows.add(active_flow, context));
        flows.introduce(context);
        Box::new(flows) as _
    };
    Driver::without_control(group, setting, ends, (&interrupt, &waker), worker).run()
}

/// The flows of a session at work.
struct Flows<'a> {
    plan: Plan,
    clock: Clock,
    source: Source,
    held: Option<&'a Held>,
    is_there: &'a dyn Fn() -> bool,
    timing: Timing,
    active_flows: Vec<ActiveFlow>,
    /// Flows whose data is to move.
    ready: Vec<(usize, Run)>,
    /// Data moves from then on (`--txstart-time`).
    hold: Option<MonoTime>,
    running: Option<Running>,
    streams: Vec<StreamInfo>,
    /// Number of flows that have been reported.
    introduced: usize,
    began: Option<MonoTime>,
    /// The session waits for no flow but those that come now; and whether it hurries.
    leaving: Option<bool>,
    /// The server's report of its side.
    peer_rows: Vec<StreamResult>,
    /// Quantities that samples have no field for.
    details: Details,
    next_progress: MonoTime,
}

impl Flows<'_> {
    /// One more flow. The session hears of one that has come; those that this end has opened it knows.
    fn add(&mut self, mut active_flow: ActiveFlow, context: &mut WorkContext<'_>) {
        self.leaving = None;
        if let Some(first) = active_flow.first.take() {
            active_flow.keep_data(&first);
            context.reply(Reply::Came(first));
        }
        self.active_flows.push(active_flow);
    }

    fn command(&mut self, index: usize, order: FlowCommand, context: &mut WorkContext<'_>) {
        match order {
            FlowCommand::Send(bytes) => self.send(index, &bytes, context),
            FlowCommand::Start(run) => self.ready.push((index, run)),
            FlowCommand::StopSender => {
                if let (Some(running), Some(stream)) = (&self.running, self.active_flows[index].sends) {
                    running.stop_sender(stream);
                }
            }
            FlowCommand::Measure => self.stop_receiving(index),
            FlowCommand::Connect(back) => self.connect_back(index, &back, context),
            FlowCommand::Note(observed) => self.note_fact(index, observed, context),
            FlowCommand::Shutdown => {
                if let Some(socket) = self.active_flows[index].socket.tcp() {
                    socket.shutdown(Shutdown::Write).ok();
                }
            }
            FlowCommand::Close => self.close(index, context),
        }
    }

    fn send(&mut self, index: usize, bytes: &[u8], context: &mut WorkContext<'_>) {
        let sent = match &self.active_flows[index].socket {
            FlowSocket::Tcp(socket) => write_all(socket, bytes, mono_now() + WRITE_LIMIT),
            // A refused datagram is like a lost one: the machine repeats what matters.
            FlowSocket::Udp(socket) => socket.send(bytes).map(drop).or(Ok(())),
        };
        if let Err(e) = sent {
            say(context, index, FlowUpdate::Lost(Loss::Broken(e.to_string())));
        }
    }

    fn stop_receiving(&mut self, index: usize) {
        let active_flow = &mut self.active_flows[index];
        active_flow.measuring = true;
        if let (Some(running), Some(stream)) = (&self.running, active_flow.receives) {
            running.stop_stream(stream);
        }
    }

    /// The flow is over; what it has moved stays.
    fn close(&mut self, index: usize, context: &mut WorkContext<'_>) {
        if self.active_flows[index].is_unanswered() {
            let last = self.active_flows[index].acknowledged.zip(self.began);
            let until = last.map(|((_, last), began)| last.saturating_since(began));
            say(context, index, FlowUpdate::Lost(Loss::Unanswered(until)));
        } else if matches!(self.source, Source::Complete) && self.active_flows[index].is_left_open() {
            // A server that connects back may keep the first connection until then.
            say(context, index, FlowUpdate::Lost(Loss::LeftOpen));
        }
        let active_flow = &mut self.active_flows[index];
        active_flow.over = true;
        if let Some(running) = &self.running {
            let streams = [active_flow.sends, active_flow.receives];
            streams.into_iter().flatten().for_each(|stream| running.stop_stream(stream));
        }
        self.ready.retain(|(ready, _)| *ready != index);
        if let Some(socket) = active_flow.socket.tcp() {
            socket.shutdown(Shutdown::Both).ok();
        }
    }

    fn connect_back(&mut self, index: usize, back: &Back, context: &mut WorkContext<'_>) {
        let (peer, number) = (self.active_flows[index].peer(), self.active_flows[index].index);
        let outcome = super::back::connect(back, peer.ip(), &self.plan.local, number);
        context.reply(Reply::Connected(outcome.is_ok()));
        match outcome {
            Ok(active_flow) => self.add(active_flow, context),
            Err(e) => {
                let text = format!(
                    "the return path could not be opened to {}: {}; -R and --full-duplex need none",
                    SocketAddr::new(peer.ip(), back.port),
                    sentence(&e)
                );
                context.emit(Event::Warning(Warning::new("no-way-back", text)));
            }
        }
    }

    fn note_fact(&mut self, index: usize, observed: PeerFact, context: &mut WorkContext<'_>) {
        let active_flow = &self.active_flows[index];
        let stream = self.number(Direction::Up, active_flow.index);
        match observed {
            PeerFact::Ack(ack) => context.emit_fact(&Fact::Ack { stream, ack }),
            PeerFact::Report(report) => {
                let sent = active_flow.sends.and_then(|stream| self.running.as_ref()?.sent_on(stream));
                let length = self.plan.test.length.unwrap_or(0);
                self.peer_rows.extend(sent.map(|sent| report.stream_result(sent, length)));
                context.emit_fact(&Fact::Report { stream, report });
            }
            PeerFact::NoReport => context.emit_fact(&Fact::NoReport { stream }),
        }
    }

    /// Lets no more flows in, unless one has come meanwhile.
    fn leave(&mut self, context: &mut WorkContext<'_>) {
        let Some(hurry) = self.leaving else { return };
        if self.source.is_done(hurry) {
            self.leaving = None;
            context.reply(Reply::Left(self.source.is_missed().then(|| NO_RETURN_CONNECTION.into())));
        }
    }

    fn number(&self, direction: Direction, index: u32) -> u32 {
        self.plan.test.stream_numbers(direction).start + index
    }

    /// Begins to move data on the flows that are ready.
    fn start_ready(&mut self, context: &mut WorkContext<'_>) {
        let now = mono_now();
        let starts = |run: &Run| {
            let due = run.sends.as_ref()?.starts?;
            Some(now + Nanos(due.0.saturating_sub(self.clock.at(now).0)))
        };
        self.hold = self.ready.iter().filter_map(|(_, run)| starts(run)).max().filter(|at| *at > now);
        if self.hold.is_some() || self.ready.is_empty() {
            return;
        }
        let ready = std::mem::take(&mut self.ready);
        let flows: Vec<Flow> = ready.into_iter().flat_map(|(index, run)| self.flows(index, run)).collect();
        self.streams.extend(flows.iter().map(|flow| flow.info.clone()));
        self.began.get_or_insert(now);
        context.emit(Event::Started(Started { wall: wall_now(), streams: self.streams.clone() }));
        let (plan, waker) = (&self.plan, context.waker.clone());
        let started = match &mut self.running {
            Some(running) => running.join(flows, &plan.local, &waker),
            None => Running::start(super::flow_plan(&plan.test), flows, &plan.local, &waker, now)
                .map(|running| self.running = Some(running)),
        };
        if let Err(e) = started {
            self.lose_all(&Loss::Unusable(sentence(&e)), context);
        }
    }

    /// The one or two streams of a flow.
    fn flows(&mut self, index: usize, run: Run) -> Vec<Flow> {
        let numbers = |direction| self.number(direction, self.active_flows[index].index);
        let (up, down) = (numbers(Direction::Up), numbers(Direction::Down));
        let (test, timing) = (&self.plan.test, self.timing);
        let active_flow = &mut self.active_flows[index];
        let (sends, receives) = if active_flow.direction == Direction::Up { (up, down) } else { (down, up) };
        let numbered = Numbered { clock: self.clock, wide: active_flow.wide };
        let blank = OwnFlow {
            numbered,
            sending: None,
            shape: active_flow.shape,
            moved: 0,
            early: Vec::new(),
            receive_rate: None,
            timing,
            records: None,
        };
        let (socket, direction) = (active_flow.socket.clone(), active_flow.direction);
        let describe = |stream, own: OwnFlow| {
            let flow = flows::describe(test, stream, socket.clone(), direction);
            Flow { own: Some(Box::new(own)), ..flow }
        };
        let mut flows = Vec::new();
        if run.receives {
            let early = std::mem::take(&mut active_flow.early);
            let records = active_flow.records();
            let own = OwnFlow {
                moved: run.received,
                early,
                receive_rate: run.receive_rate,
                records,
                ..blank.clone()
            };
            flows.push(describe(receives, own));
            active_flow.receives = Some(receives);
        }
        if let Some(sending) = run.sends {
            if let (FlowSocket::Tcp(socket), 1..) = (&active_flow.socket, sending.tos) {
                linux::options::set_tos(socket.as_ref(), sending.tos).ok();
            }
            flows.push(describe(sends, OwnFlow { sending: Some(sending), moved: run.sent, ..blank }));
            active_flow.sends = Some(sends);
        }
        active_flow.started = true;
        if test.offload {
            flows.iter().for_each(flows::join_datagrams);
        }
        flows
    }

    /// The flows that no thread reads: their numbers.
    fn heard(&self) -> impl Iterator<Item = usize> {
        (0..self.active_flows.len()).filter(|index| self.active_flows[*index].hears())
    }

    /// Reads what has come on them.
    fn hear_all(&mut self, context: &mut WorkContext<'_>) {
        let heard: Vec<usize> = self.heard().collect();
        let mut interests: Vec<Interest<'_>> =
            heard.iter().map(|index| Interest::readable(&self.active_flows[*index].socket)).collect();
        if interests.is_empty() || wait(&mut interests, Some(MonoTime::ZERO)).is_err() {
            return;
        }
        let is_ready: Vec<bool> = interests.iter().map(Interest::is_ready).collect();
        let ready = heard.iter().zip(is_ready).filter(|(_, is_ready)| *is_ready);
        ready.for_each(|(index, _)| self.hear(*index, context));
    }

    /// Reads what has come to a flow whose data no thread reads.
    fn hear(&mut self, index: usize, context: &mut WorkContext<'_>) {
        let socket = self.active_flows[index].socket.clone();
        match &socket {
            FlowSocket::Tcp(socket) => {
                let mut buffer = [0; 4096];
                match (&***socket).read(&mut buffer) {
                    Ok(n) if n > 0 => say(context, index, FlowUpdate::Received(buffer[..n].to_vec())),
                    Err(e) if crate::error::is_pause(&e) => {}
                    Ok(_) | Err(_) => {
                        self.active_flows[index].ended = true;
                        say(context, index, FlowUpdate::Ended);
                    }
                }
            }
            FlowSocket::Udp(socket) => self.hear_datagrams(index, socket, context),
        }
    }

    fn hear_datagrams(&mut self, index: usize, socket: &std::net::UdpSocket, context: &mut WorkContext<'_>) {
        let mut buffer = vec![0; 1 << 16];
        for _ in 0..DATAGRAMS_AT_ONCE {
            match linux::message::receive(socket, &mut buffer) {
                Ok(came) => {
                    let datagram = buffer[..came.len].to_vec();
                    let active_flow = &mut self.active_flows[index];
                    if !active_flow.started && active_flow.early.len() < MOST_EARLY {
                        active_flow.early.push(datagram.clone());
                    }
                    say(context, index, FlowUpdate::Received(datagram));
                }
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => self.refused(index, context),
                Err(_) => return,
            }
            // One that may make its data move is the session's to judge before the next is read.
            if !self.active_flows[index].started {
                return;
            }
        }
    }

    /// The peer's host reports that its port is closed. iPerf2's server leaves it for a moment when a flow begins, so while a
    /// client sends, the port must stay closed for a while. A refused flow that a client requested was not requested by that
    /// host: its address was forged.
    fn refused(&mut self, index: usize, context: &mut WorkContext<'_>) {
        let (now, active_flow) = (mono_now(), &mut self.active_flows[index]);
        let since = *active_flow.refused.get_or_insert(now);
        let sends = active_flow.sends.is_some() && !active_flow.sender_done;
        let is_requested = self.held.is_some() && matches!(active_flow.known, Known::Requested(_));
        if is_requested || !sends || now.saturating_since(since) >= REFUSED_FOR {
            say(context, index, FlowUpdate::Ended);
        }
    }

    fn take_arrivals(&mut self, context: &mut WorkContext<'_>) {
        for arrival in self.source.take(&self.plan.test) {
            self.add(arrival, context);
            self.introduce(context);
        }
    }

    /// Takes refusals that the peer's host sent to the sending threads.
    fn take_refusals(&mut self, context: &mut WorkContext<'_>) {
        let Some(running) = self.running.as_ref().filter(|_| self.held.is_some()) else { return };
        let sends =
            |active_flow: &ActiveFlow| active_flow.sends.is_some_and(|stream| running.take_refusal(stream));
        let refused: Vec<usize> =
            (0..self.active_flows.len()).filter(|i| sends(&self.active_flows[*i])).collect();
        refused.into_iter().for_each(|index| self.refused(index, context));
    }

    /// Finds the flows that are still alive, updates the server's budgets, and ends flows that must make room for others.
    fn mind_places(&mut self, now: MonoTime, context: &mut WorkContext<'_>) {
        let mut alive = false;
        for index in 0..self.active_flows.len() {
            let active_flow = &mut self.active_flows[index];
            let moved = |stream: Option<u32>| {
                stream.zip(self.running.as_ref()).map_or(0, |(stream, running)| running.moved(stream))
            };
            alive |= active_flow
                .note_moved(moved(active_flow.sends).saturating_add(moved(active_flow.receives)), now);
            if active_flow.sends.is_some() && !active_flow.over {
                active_flow.note_acknowledged(now);
            }
            if active_flow.held.as_ref().is_some_and(Held::must_leave) {
                say(context, index, FlowUpdate::Lost(Loss::Stopped(LEFT.into())));
            }
            let sends_datagrams =
                active_flow.sends.is_some() && matches!(active_flow.socket, FlowSocket::Udp(_));
            if sends_datagrams && !(self.is_there)() {
                say(context, index, FlowUpdate::Lost(Loss::Stopped(UNPROVED_NOW.into())));
            }
        }
        let Some(held) = self.held else { return };
        if alive {
            held.touch(now, true);
        }
        if held.must_leave() {
            self.lose_all(&Loss::Stopped(LEFT.into()), context);
        }
    }

    fn lose_all(&self, lost: &Loss, context: &mut WorkContext<'_>) {
        for index in 0..self.active_flows.len() {
            say(context, index, FlowUpdate::Lost(lost.clone()));
        }
    }

    /// Follows the threads of one flow.
    fn follow(&mut self, index: usize, progress: bool, context: &mut WorkContext<'_>) {
        let (Some(running), active_flow) = (&self.running, &mut self.active_flows[index]) else { return };
        if active_flow.over {
            return;
        }
        let sent = active_flow.sends.filter(|stream| !active_flow.sender_done && running.is_over(*stream));
        let sent = sent.and_then(|stream| running.sent_on(stream));
        active_flow.sender_done |= sent.is_some();
        let end = active_flow.receives.and_then(|stream| running.take_end(stream));
        let over =
            active_flow.receives.filter(|stream| !active_flow.receiver_done && running.is_over(*stream));
        active_flow.receiver_done |= over.is_some();
        let is_tcp = matches!(active_flow.socket, FlowSocket::Tcp(_));
        let moved = active_flow.receives.map_or(0, |stream| running.moved(stream));
        if progress {
            say(context, index, FlowUpdate::Progress(moved));
        }
        if let Some(sent) = sent {
            // A sender may have ended because the peer has closed the connection.
            self.hear_all(context);
            say(context, index, FlowUpdate::SenderDone(sent));
        }
        if let Some(end) = end {
            say(context, index, FlowUpdate::Received(end));
        }
        if over.is_some() && is_tcp {
            self.active_flows[index].ended = true;
            // The bytes until then distinguish an end from a failure.
            let moved =
                over.zip(self.running.as_ref()).map_or(moved, |(stream, running)| running.moved(stream));
            say(context, index, FlowUpdate::Progress(moved));
            say(context, index, FlowUpdate::Ended);
        }
        self.say_measured(index, context);
    }

    /// Reports the figures that a flow has requested, once its thread has ended.
    fn say_measured(&mut self, index: usize, context: &mut WorkContext<'_>) {
        let active_flow = &mut self.active_flows[index];
        let (Some(running), Some(stream), true) =
            (&self.running, active_flow.receives, active_flow.measuring)
        else {
            return;
        };
        if running.is_over(stream)
            && let Some(result) = running.result_of(stream, mono_now())
        {
            active_flow.measuring = false;
            let report = ServerReport::of_stream(&result, self.clock);
            say(context, index, FlowUpdate::Measured(report));
        }
    }

    /// Reports the flows that are new.
    fn introduce(&mut self, context: &mut WorkContext<'_>) {
        let test = &self.plan.test;
        let new =
            self.active_flows[self.introduced..].iter().filter_map(|active_flow| active_flow.fact(test));
        let facts: Vec<Fact> = new.collect();
        facts.iter().for_each(|fact| context.emit_fact(fact));
        if std::mem::replace(&mut self.introduced, self.active_flows.len()) == 0 {
            self.say_connected(context);
        }
    }

    fn say_connected(&self, context: &mut WorkContext<'_>) {
        let Some(first) = self.active_flows.first() else { return };
        let (local, remote) = (first.local(), first.peer());
        let event = Event::Connected(Connected {
            wall: wall_now(),
            plan: self.plan.clone(),
            local,
            remote,
            session: String::new(),
            control_mss: first.socket.tcp().and_then(flows::mss),
            host: context.setting.host.clone(),
            peer: None,
        });
        context.emit(event);
    }

    fn sample(&mut self, sample: IntervalSample, context: &mut WorkContext<'_>) {
        context.emit(Event::Sample(sample));
        if let Some(running) = &self.running {
            let interval = self.details.interval(running, self.clock);
            context.emit_fact(&Fact::Interval(interval));
        }
    }

    /// Reports the result of this end, and the server's report of its side.
    fn report_results(&mut self, now: MonoTime, context: &mut WorkContext<'_>) {
        let last = self.running.as_mut().and_then(|running| running.last_sample(now));
        last.into_iter().for_each(|sample| self.sample(sample, context));
        if let Some(running) = self.running.take() {
            for (stream, bursts) in running.take_bursts() {
                context.emit_fact(&Fact::Bursts { stream, bursts });
            }
            let total = self.details.total(&running, self.clock);
            context.emit_fact(&Fact::Total(total));
            let (mut result, warnings) = running.measure(now);
            warnings.into_iter().for_each(|warning| context.emit(Event::Warning(warning)));
            result.streams.iter_mut().for_each(|row| on_wall_clocks(row, self.clock));
            report_result(Side::Local, result, context);
        }
        let rows = std::mem::take(&mut self.peer_rows);
        if !rows.is_empty() {
            report_result(Side::Peer, SideResult { streams: rows, ..SideResult::default() }, context);
        }
    }
}

impl Worker for Flows<'_> {
    fn ask(&mut self, request: WorkRequest, context: &mut WorkContext<'_>, _control: Option<&TcpStream>) {
        match request {
            WorkRequest::InBand(Request::Flow(index, order)) => self.command(index as usize, order, context),
            WorkRequest::InBand(Request::Leave { hurry }) => {
                self.leaving = Some(hurry);
                self.leave(context);
            }
            _ => {}
        }
    }

    fn interests(&self) -> Vec<Interest<'_>> {
        let heard = self.heard().map(|index| Interest::readable(&self.active_flows[index].socket));
        heard.chain(self.source.interest()).collect()
    }

    fn due(&self) -> Option<MonoTime> {
        let starts = self.hold.or((!self.ready.is_empty()).then_some(MonoTime::ZERO));
        let ticks = self.running.as_ref().and_then(Running::next_tick);
        let looks = self.running.is_some() || self.held.is_some();
        let progress = looks.then_some(self.next_progress);
        [starts, ticks, progress, self.source.deadline()].into_iter().flatten().min()
    }

    fn tick(&mut self, now: MonoTime, context: &mut WorkContext<'_>) {
        self.start_ready(context);
        self.hear_all(context);
        self.take_arrivals(context);
        if let Some(running) = &mut self.running {
            for (stream, bursts) in running.take_bursts() {
                context.emit_fact(&Fact::Bursts { stream, bursts });
            }
            let samples = running.tick(now);
            samples.into_iter().for_each(|sample| self.sample(sample, context));
        }
        let progress = now >= self.next_progress;
        if progress {
            self.next_progress = now + PROGRESS_STEP;
            self.mind_places(now, context);
        }
        self.take_refusals(context);
        (0..self.active_flows.len()).for_each(|index| self.follow(index, progress, context));
        self.leave(context);
    }

    fn finish(&mut self, context: &mut WorkContext<'_>, outcome: Outcome) {
        let now = mono_now();
        self.report_results(now, context);
        if let Some(began) = self.began {
            let elapsed = now.saturating_since(began);
            context.emit(Event::Finished(Finished { wall: wall_now(), elapsed, outcome }));
        }
    }
}

/// Something has happened to this flow.
fn say(context: &mut WorkContext<'_>, index: usize, update: FlowUpdate) {
    context.reply(Reply::Flow(index as u32, update));
}

fn report_result(side: Side, result: SideResult, context: &mut WorkContext<'_>) {
    context.emit(Event::Result(EndResult { side, result, output_text: None, output_json: None }));
}

/// Transit times are differences of the sender's wall clock and this end's monotonic one: now of two wall clocks.
fn on_wall_clocks(row: &mut StreamResult, clock: Clock) {
    let offset = wall_offset(clock);
    if let Some(transit) = row.udp.as_mut().and_then(|udp| udp.transit.as_mut()) {
        for at in [&mut transit.min_ns, &mut transit.mean_ns, &mut transit.max_ns] {
            *at = at.wrapping_add(offset);
        }
    }
}

const UNPROVED_NOW: &str = "the connection has gone that proved that the client is at its address";
const NO_RETURN_CONNECTION: &str = "the server did not connect back: a firewall or NAT is in between; measure both directions \
                           on one connection (--full-duplex), or the other alone (-R)";
/// Longest time for the peer to take a header.
const WRITE_LIMIT: Nanos = Nanos::from_secs(10);
/// Datagrams of one flow read before looking at anything else.
const DATAGRAMS_AT_ONCE: usize = 64;
/// Datagrams that are kept for a flow whose data does not move yet.
const MOST_EARLY: usize = 64;
/// A port that is closed for so long stays closed.
const REFUSED_FOR: Nanos = Nanos::from_millis(500);
/// Time between two reports of progress to the machines.
const PROGRESS_STEP: Nanos = Nanos::from_millis(500);
