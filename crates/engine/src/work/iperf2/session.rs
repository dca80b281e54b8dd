//! One session: the flows of one client at one end, driven from their first bytes to the figures.

use super::details::Details;
use super::member::{Known, Member, write_all};
use super::source::Source;
use crate::error::sentence;
use crate::host::interrupt::Interrupt;
use crate::session::budget::Held;
use crate::session::listener::LEFT;
use crate::work::observer::{Fact, SessionEvent};
use crate::work::throughput::flows;
use crate::work::throughput::running::Running;
use crate::work::throughput::shared::{Flow, FlowSocket, OwnFlow};
use linux::clock::{mono_now, wall_now};
use linux::poll::{Interest, Waker, wait};
use model::event::{Connected, EndResult, Event, Finished, Outcome, Started, Warning};
use model::host::Host;
use model::plan::{Direction, Plan};
use model::sample::{IntervalSample, Side, SideResult, StreamInfo, StreamResult};
use model::time::MonoTime;
use model::units::Nanos;
use std::io::Read;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use wire::iperf2::{FlowInput, FlowOutput, Numbered, Request, Run, ServerReport};
use wire::stamp::Clock;
use wire::{FlowHello, FlowPlan, ProtocolError, iperf2};

/// What a session is started with.
pub(super) struct Setting<'a> {
    /// What runs.
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
    /// Where everything that happens goes.
    pub(super) sink: &'a mut dyn FnMut(SessionEvent<'_>),
}

/// A session at work.
pub(super) struct Session<'a> {
    setting: Setting<'a>,
    members: Vec<Member>,
    /// Flows whose data is to move.
    ready: Vec<(usize, Run)>,
    /// Data moves from then on (`--txstart-time`).
    hold: Option<MonoTime>,
    running: Option<Running>,
    streams: Vec<StreamInfo>,
    /// Members that have been told of.
    introduced: usize,
    began: Option<MonoTime>,
    interrupted: bool,
    failure: Option<ProtocolError>,
    /// What the server has said of its side.
    peer_rows: Vec<StreamResult>,
    /// What the samples have no field for.
    details: Details,
    /// Flows to open once this session is over (`-r`).
    back: Vec<Request>,
    next_progress: MonoTime,
}

impl<'a> Session<'a> {
    /// A session of these flows.
    pub(super) fn new(setting: Setting<'a>, members: Vec<Member>) -> Session<'a> {
        Session {
            setting,
            members,
            ready: Vec::new(),
            hold: None,
            running: None,
            streams: Vec::new(),
            introduced: 0,
            began: None,
            interrupted: false,
            failure: None,
            peer_rows: Vec::new(),
            details: Details::default(),
            back: Vec::new(),
            next_progress: MonoTime::ZERO,
        }
    }

    /// Runs it to its end. Returns the flows that are to be opened after it.
    pub(super) fn run(mut self) -> Result<Vec<Request>, ProtocolError> {
        self.setting.interrupt.watch(&self.setting.waker);
        self.introduce();
        loop {
            (0..self.members.len()).for_each(|index| self.pump(index));
            self.start_ready();
            if self.is_over() {
                break;
            }
            if let Err(e) = self.wait() {
                self.failure.get_or_insert(ProtocolError::Stopped(format!("poll: {e}")));
                break;
            }
            self.look_around();
        }
        self.finish()
    }

    fn is_over(&mut self) -> bool {
        let quiet = self.members.iter().all(|member| member.over);
        quiet && self.setting.source.is_done(self.interrupted || self.failure.is_some())
    }

    /// Does what a flow wants until it wants to wait. Outputs can add members; those have their turn after.
    fn pump(&mut self, index: usize) {
        loop {
            if self.members[index].over {
                return;
            }
            match self.members[index].machine.output(mono_now()) {
                FlowOutput::Send(bytes) => self.send(index, &bytes),
                FlowOutput::Start(run) => self.ready.push((index, run)),
                FlowOutput::StopSender => {
                    let member = &self.members[index];
                    if let (Some(running), Some(stream)) = (&self.running, member.sends) {
                        running.stop_sender(stream);
                    }
                }
                FlowOutput::Measure => self.stop_receiving(index),
                FlowOutput::ConnectBack(request) => self.connect_back(index, *request),
                FlowOutput::Told(told) => self.told(index, told),
                FlowOutput::Shutdown => {
                    if let FlowSocket::Tcp(socket) = &self.members[index].socket {
                        socket.shutdown(Shutdown::Write).ok();
                    }
                }
                FlowOutput::WaitUntil(until) => {
                    self.members[index].until = until;
                    return;
                }
                // Round trips have a server of their own; a client that becomes one in the middle has lost its way.
                FlowOutput::Bounce(_) | FlowOutput::Close => return self.close(index),
            }
        }
    }

    fn send(&mut self, index: usize, bytes: &[u8]) {
        let sent = match &self.members[index].socket {
            FlowSocket::Tcp(socket) => write_all(socket, bytes, mono_now() + WRITE_LIMIT),
            // A refused datagram is like a lost one: the machine repeats what matters.
            FlowSocket::Udp(socket) => socket.send(bytes).map(drop).or(Ok(())),
        };
        if let Err(e) = sent {
            let closed = ProtocolError::Closed(format!("while this end was sending: {e}"));
            self.fail(index, closed);
        }
    }

    fn stop_receiving(&mut self, index: usize) {
        let member = &mut self.members[index];
        member.measuring = true;
        if let (Some(running), Some(stream)) = (&self.running, member.receives) {
            running.stop_stream(stream);
        }
    }

    /// The flow is over; what it has moved stays.
    fn close(&mut self, index: usize) {
        if !self.interrupted && self.members[index].is_unanswered() {
            let silent = "to what this end has sent last: it, or the path to it, is gone";
            self.failure.get_or_insert(ProtocolError::Timeout(silent.into()));
        }
        let member = &mut self.members[index];
        member.over = true;
        if let Some(running) = &self.running {
            [member.sends, member.receives].into_iter().flatten().for_each(|s| running.stop_stream(s));
        }
        self.ready.retain(|(ready, _)| *ready != index);
        if let FlowSocket::Tcp(socket) = &member.socket {
            socket.shutdown(Shutdown::Both).ok();
        }
    }

    fn fail(&mut self, index: usize, error: ProtocolError) {
        self.failure.get_or_insert(error);
        self.close(index);
    }

    fn input(&mut self, index: usize, input: FlowInput<'_>) {
        if self.members[index].over {
            return;
        }
        if let Err(error) = self.members[index].machine.input(mono_now(), input) {
            // The machine may have last words.
            self.pump(index);
            self.fail(index, error);
        } else {
            self.pump(index);
        }
    }

    fn connect_back(&mut self, index: usize, request: Request) {
        if request.traffic == iperf2::Traffic::Tradeoff {
            self.back.push(request);
            return;
        }
        let peer = self.members[index].peer();
        let number = self.members[index].index;
        match super::back::connect(&request, peer.ip(), &self.setting.plan.local, number, self.setting.clock)
        {
            Ok(member) => self.members.push(member),
            Err(e) => {
                let text = format!(
                    "the return path could not be opened to {}: {}; -R and --full-duplex need none",
                    SocketAddr::new(peer.ip(), request.port),
                    sentence(&e)
                );
                self.emit(&Event::Warning(Warning::new("no-way-back", text)));
            }
        }
    }

    fn told(&mut self, index: usize, told: iperf2::Told) {
        let member = &self.members[index];
        let stream = self.number(Direction::Up, member.index);
        match told {
            // Told by whoever found out what this flow is.
            iperf2::Told::Request(_) | iperf2::Told::Plain => {}
            iperf2::Told::Ack(ack) => self.tell(&Fact::Ack { stream, ack }),
            iperf2::Told::Report(report) => {
                let sent = member.sends.and_then(|stream| self.running.as_ref()?.sent_on(stream));
                let length = self.setting.plan.test.length;
                self.peer_rows.extend(sent.map(|sent| report.stream_result(sent, length)));
                self.tell(&Fact::Report { stream, report });
            }
            iperf2::Told::NoReport => {
                self.tell(&Fact::NoReport { stream });
                let text = "the server's report never came: what arrived is not known";
                self.emit(&Event::Warning(Warning::new("no-report", text)));
                self.failure.get_or_insert(ProtocolError::Timeout("to the end of the test".into()));
            }
        }
    }

    fn number(&self, direction: Direction, index: u32) -> u32 {
        self.setting.plan.test.stream_numbers(direction).start + index
    }

    /// Begins to move data on the flows that are ready.
    fn start_ready(&mut self) {
        let now = mono_now();
        let starts = |run: &Run| {
            let due = run.sends.as_ref()?.starts?;
            Some(now + Nanos(due.0.saturating_sub(self.setting.clock.at(now).0)))
        };
        self.hold = self.ready.iter().filter_map(|(_, run)| starts(run)).max().filter(|at| *at > now);
        if self.hold.is_some() || self.ready.is_empty() {
            return;
        }
        let ready = std::mem::take(&mut self.ready);
        let flows: Vec<Flow> = ready.into_iter().flat_map(|(index, run)| self.flows(index, run)).collect();
        self.streams.extend(flows.iter().map(|flow| flow.info.clone()));
        self.began.get_or_insert(now);
        self.emit(&Event::Started(Started { wall: wall_now(), streams: self.streams.clone() }));
        let (plan, waker) = (&self.setting.plan, self.setting.waker.clone());
        let started = match &mut self.running {
            Some(running) => running.join(flows, &plan.local, &waker),
            None => {
                let flow_plan = FlowPlan {
                    test: plan.test.clone(),
                    hello: FlowHello::Iperf2,
                    senders_wait_for_stop: true,
                };
                Running::start(flow_plan, flows, &plan.local, &waker, now).map(|r| self.running = Some(r))
            }
        };
        if let Err(e) = started {
            self.failure.get_or_insert(ProtocolError::Flows(sentence(&e)));
            (0..self.members.len()).for_each(|index| self.close(index));
        }
    }

    /// The one or two streams of a flow.
    fn flows(&mut self, index: usize, run: Run) -> Vec<Flow> {
        let numbers = |direction| self.number(direction, self.members[index].index);
        let (up, down) = (numbers(Direction::Up), numbers(Direction::Down));
        let test = &self.setting.plan.test;
        let member = &mut self.members[index];
        let (sends, receives) = if member.way == Direction::Up { (up, down) } else { (down, up) };
        let numbered = Numbered { clock: self.setting.clock, wide: member.wide };
        let (sent, received, receive_rate) = (run.sent, run.received, run.receive_rate);
        let mut flows = Vec::new();
        if run.receives {
            let own = OwnFlow {
                numbered,
                sending: None,
                shape: member.shape,
                moved: received,
                early: std::mem::take(&mut member.early),
                receive_rate,
            };
            let flow = flows::describe(test, receives, member.socket.clone(), member.way);
            flows.push(Flow { own: Some(Box::new(own)), ..flow });
            member.receives = Some(receives);
        }
        if let Some(sending) = run.sends {
            if let (FlowSocket::Tcp(socket), 1..) = (&member.socket, sending.tos) {
                linux::options::set_tos(socket.as_ref(), sending.tos).ok();
            }
            let own = OwnFlow {
                numbered,
                sending: Some(sending),
                shape: member.shape,
                moved: sent,
                early: Vec::new(),
                receive_rate: None,
            };
            let flow = flows::describe(test, sends, member.socket.clone(), member.way);
            flows.push(Flow { own: Some(Box::new(own)), ..flow });
            member.sends = Some(sends);
        }
        member.started = true;
        if test.offload {
            flows.iter().for_each(flows::join_datagrams);
        }
        flows
    }

    fn wait(&mut self) -> std::io::Result<()> {
        let ticks = self.running.as_ref().and_then(Running::next_tick);
        let looks = self.running.is_some() || self.setting.held.is_some();
        let progress = looks.then_some(self.next_progress);
        let members = self.members.iter().filter(|member| !member.over).filter_map(|member| member.until);
        let source = self.setting.source.deadline();
        let deadline = [ticks, progress, self.hold, source].into_iter().flatten().chain(members).min();
        let mut interests = vec![Interest::readable(&*self.setting.waker)];
        let heard: Vec<usize> = (0..self.members.len()).filter(|i| self.members[*i].hears()).collect();
        interests.extend(heard.iter().map(|index| match &self.members[*index].socket {
            FlowSocket::Tcp(socket) => Interest::readable(socket.as_ref()),
            FlowSocket::Udp(socket) => Interest::readable(socket.as_ref()),
        }));
        interests.extend(self.setting.source.interest());
        wait(&mut interests, deadline)?;
        let ready: Vec<usize> = heard
            .iter()
            .zip(&interests[1..])
            .filter(|(_, i)| i.is_ready())
            .map(|(index, _)| *index)
            .collect();
        self.setting.waker.drain();
        ready.into_iter().for_each(|index| self.hear(index));
        Ok(())
    }

    /// Reads what has come to a flow whose data no thread reads.
    fn hear(&mut self, index: usize) {
        let socket = self.members[index].socket.clone();
        match &socket {
            FlowSocket::Tcp(socket) => {
                let mut buffer = [0; 4096];
                match (&**socket).read(&mut buffer) {
                    Ok(n) if n > 0 => self.input(index, FlowInput::Received(&buffer[..n])),
                    Err(e) if crate::error::is_pause(&e) => {}
                    Ok(_) | Err(_) => {
                        self.members[index].ended = true;
                        self.input(index, FlowInput::Ended);
                    }
                }
            }
            FlowSocket::Udp(socket) => self.hear_datagrams(index, socket),
        }
    }

    fn hear_datagrams(&mut self, index: usize, socket: &std::net::UdpSocket) {
        let mut buffer = vec![0; 1 << 16];
        for _ in 0..DATAGRAMS_AT_ONCE {
            match linux::message::receive(socket, &mut buffer) {
                Ok(came) => {
                    let datagram = &buffer[..came.len];
                    let member = &mut self.members[index];
                    if !member.started && member.early.len() < MOST_EARLY {
                        member.early.push(datagram.to_vec());
                    }
                    self.input(index, FlowInput::Received(datagram));
                }
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => self.refused(index),
                Err(_) => return,
            }
            if !self.members[index].hears() || self.ready.iter().any(|(ready, _)| *ready == index) {
                return;
            }
        }
    }

    /// The peer's host says that nobody is at its port. iPerf2's server leaves it for a moment when a flow begins, so
    /// while a client sends it must stay so. What a client asked for it did not ask for then: its address was another's.
    fn refused(&mut self, index: usize) {
        let (now, member) = (mono_now(), &mut self.members[index]);
        let since = *member.refused.get_or_insert(now);
        let sends = member.sends.is_some() && !member.sender_done;
        let asked = self.setting.held.is_some() && matches!(member.known, Known::Asked(_));
        if asked || !sends || now.saturating_since(since) >= REFUSED_FOR {
            self.input(index, FlowInput::Ended);
        }
    }

    fn look_around(&mut self) {
        let now = mono_now();
        for arrival in self.setting.source.take(now, self.setting.clock, &self.setting.plan.test) {
            self.members.push(arrival);
            self.introduce();
        }
        if let Some(running) = &mut self.running {
            let samples = running.tick(now);
            samples.into_iter().for_each(|sample| self.sample(sample));
        }
        let progress = now >= self.next_progress;
        if progress {
            self.next_progress = now + PROGRESS_STEP;
        }
        if progress {
            self.mind_places(now);
        }
        self.take_refusals();
        let interrupt = self.setting.interrupt.is_raised() && !std::mem::replace(&mut self.interrupted, true);
        self.interrupted |= self.setting.interrupt.is_raised();
        for index in 0..self.members.len() {
            self.follow(index, progress);
            self.input(index, FlowInput::Timer);
            if interrupt {
                self.input(index, FlowInput::Interrupt("interrupted"));
            }
        }
    }

    /// What the peer's host has said to the threads that send.
    fn take_refusals(&mut self) {
        let Some(running) = self.running.as_ref().filter(|_| self.setting.held.is_some()) else { return };
        let sends = |member: &Member| member.sends.is_some_and(|stream| running.take_refusal(stream));
        let refused: Vec<usize> = (0..self.members.len()).filter(|i| sends(&self.members[*i])).collect();
        refused.into_iter().for_each(|index| self.refused(index));
    }

    /// Tells the server's budgets what is still alive, and ends what is to make room for others.
    fn mind_places(&mut self, now: MonoTime) {
        let mut alive = false;
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let moved = |stream: Option<u32>| {
                stream.zip(self.running.as_ref()).map_or(0, |(stream, running)| running.moved(stream))
            };
            alive |= member.note_moved(moved(member.sends).saturating_add(moved(member.receives)), now);
            if member.held.as_ref().is_some_and(Held::must_leave) {
                self.fail(index, ProtocolError::Stopped(LEFT.into()));
            }
        }
        let Some(held) = self.setting.held else { return };
        if alive {
            held.touch(now, true);
        }
        if held.must_leave() {
            (0..self.members.len()).for_each(|index| self.fail(index, ProtocolError::Stopped(LEFT.into())));
        }
    }

    /// What the threads of one flow have done.
    fn follow(&mut self, index: usize, progress: bool) {
        let (Some(running), member) = (&self.running, &mut self.members[index]) else { return };
        if member.over {
            return;
        }
        let sent = member.sends.filter(|stream| !member.sender_done && running.is_over(*stream));
        let sent = sent.and_then(|stream| running.sent_on(stream));
        member.sender_done |= sent.is_some();
        let end = member.receives.and_then(|stream| running.take_end(stream));
        let over = member.receives.filter(|stream| !member.receiver_done && running.is_over(*stream));
        member.receiver_done |= over.is_some();
        let is_tcp = matches!(member.socket, FlowSocket::Tcp(_));
        let moved = member.receives.map_or(0, |stream| running.moved(stream));
        if progress {
            self.input(index, FlowInput::Progress(moved));
        }
        if let Some(sent) = sent {
            self.input(index, FlowInput::SenderDone(sent));
        }
        if let Some(end) = end {
            self.input(index, FlowInput::Received(&end));
        }
        if over.is_some() && is_tcp {
            self.members[index].ended = true;
            self.input(index, FlowInput::Ended);
        }
        self.say_measured(index);
    }

    /// The figures that a flow has asked for, once its thread has ended.
    fn say_measured(&mut self, index: usize) {
        let member = &mut self.members[index];
        let (Some(running), Some(stream), true) = (&self.running, member.receives, member.measuring) else {
            return;
        };
        if running.is_over(stream)
            && let Some(result) = running.result_of(stream, mono_now())
        {
            member.measuring = false;
            let report = ServerReport::of_stream(&result, self.setting.clock);
            self.input(index, FlowInput::Measured(&report));
        }
    }

    /// Tells of the flows that are new.
    fn introduce(&mut self) {
        let test = &self.setting.plan.test;
        let new = self.members[self.introduced..].iter().filter_map(|member| member.fact(test));
        let facts: Vec<Fact> = new.collect();
        facts.iter().for_each(|fact| self.tell(fact));
        if std::mem::replace(&mut self.introduced, self.members.len()) == 0 {
            self.say_connected();
        }
    }

    fn say_connected(&mut self) {
        let Some(first) = self.members.first() else { return };
        let (local, remote) = (first.local(), first.peer());
        let mss = match &first.socket {
            FlowSocket::Tcp(socket) => linux::options::mss(socket.as_ref()).ok(),
            FlowSocket::Udp(_) => None,
        };
        let event = Event::Connected(Connected {
            wall: wall_now(),
            plan: self.setting.plan.clone(),
            local,
            remote,
            session: String::new(),
            control_mss: mss.and_then(|mss| u32::try_from(mss.0).ok()),
            host: self.setting.host.clone(),
            peer: None,
        });
        self.emit(&event);
    }

    fn finish(mut self) -> Result<Vec<Request>, ProtocolError> {
        let now = mono_now();
        if self.setting.source.is_missed() && !self.interrupted {
            self.failure.get_or_insert(ProtocolError::Flows(NO_WAY_BACK.into()));
        }
        let last = self.running.as_mut().and_then(|running| running.last_sample(now));
        last.into_iter().for_each(|sample| self.sample(sample));
        if let Some(running) = self.running.take() {
            let total = self.details.total(&running, self.setting.clock);
            self.tell(&Fact::Total(total));
            let (mut result, warnings) = running.measure(now);
            warnings.into_iter().for_each(|warning| self.emit(&Event::Warning(warning)));
            result.streams.iter_mut().for_each(|row| on_wall_clocks(row, self.setting.clock));
            self.emit_result(Side::Local, result);
        }
        let rows = std::mem::take(&mut self.peer_rows);
        if !rows.is_empty() {
            self.emit_result(Side::Peer, SideResult { streams: rows, ..SideResult::default() });
        }
        let outcome = match &self.failure {
            _ if self.interrupted => Outcome::Interrupted,
            None => Outcome::Completed,
            Some(ProtocolError::PeerStopped(reason)) => Outcome::PeerStopped { reason: reason.clone() },
            Some(e) => Outcome::Failed { reason: e.to_string() },
        };
        if let Some(began) = self.began {
            let elapsed = now.saturating_since(began);
            self.emit(&Event::Finished(Finished { wall: wall_now(), elapsed, outcome }));
        }
        self.failure.map_or(Ok(self.back), Err)
    }

    fn sample(&mut self, sample: IntervalSample) {
        self.emit(&Event::Sample(sample));
        if let Some(running) = &self.running {
            let interval = self.details.interval(running, self.setting.clock);
            self.tell(&Fact::Interval(interval));
        }
    }

    fn emit_result(&mut self, side: Side, result: SideResult) {
        let event = Event::Result(EndResult { side, result, output_text: None, output_json: None });
        self.emit(&event);
    }

    fn emit(&mut self, event: &Event) {
        (self.setting.sink)(SessionEvent::Event(event));
    }

    fn tell(&mut self, fact: &Fact) {
        (self.setting.sink)(SessionEvent::Fact(fact));
    }
}

/// The wall clock minus the monotonic one, nanoseconds.
pub(super) fn wall_offset(clock: Clock) -> i64 {
    clock.wall.0.cast_signed().wrapping_sub(clock.mono.0.cast_signed())
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

const NO_WAY_BACK: &str = "the server did not connect back: a firewall or NAT is in the way; measure both directions \
                           on one connection (--full-duplex), or the other alone (-R)";
/// Longest time for the peer to take a header.
const WRITE_LIMIT: Nanos = Nanos(10_000_000_000);
/// Datagrams of one flow read before looking at anything else.
const DATAGRAMS_AT_ONCE: usize = 64;
/// Datagrams that are kept for a flow whose data does not move yet.
const MOST_EARLY: usize = 64;
/// A port that is closed for so long stays closed.
const REFUSED_FOR: Nanos = Nanos(500_000_000);
/// Time between two reports of progress to the machines.
const PROGRESS_STEP: Nanos = Nanos(500_000_000);
