//! The worker of a session without control bytes: its flows from their first bytes to the figures. What is said on them,
//! and when they are over, is [`Group`]'s.

use super::details::Details;
use super::member::{Known, Member, write_all};
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
use crate::work::workers::{self, Opener, Site, Worker, outcome_of};
use linux::clock::{mono_now, wall_now};
use linux::poll::{Interest, Waker, wait};
use model::event::{Connected, EndResult, Event, Finished, Started, Warning};
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
use wire::work::in_band::{Back, Loss, News, Order, Reply, Request, Seen};
use wire::{FlowHello, FlowPlan, ProtocolError, WorkRequest};

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
    /// Is told what happens, as it happens.
    pub(super) watcher: &'a mut dyn Watcher,
}

/// Runs a session that begins with these flows to its end: those that its group has, or those that have come to it.
pub(super) fn run(
    group: &mut Group,
    setting: Setting<'_>,
    members: Vec<Member>,
) -> Result<(), ProtocolError> {
    let Setting { plan, host, interrupt, waker, clock, source, held, watcher } = setting;
    let ends = members.first().map_or((plan.target.address, plan.target.address), |m| (m.local(), m.peer()));
    let setting = workers::Setting {
        opener: Opener::Worker,
        local: plan.local.clone(),
        host,
        admit: Box::new(|_| true),
        watcher,
        offers: Arc::default(),
    };
    let worker = |site: &mut Site<'_>| {
        let mut flows = Flows::new(plan, clock, source, held);
        members.into_iter().for_each(|member| flows.add(member, site));
        flows.introduce(site);
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
    /// The session waits for no flow but those that come now; and whether it hurries.
    leaving: Option<bool>,
    /// What the server has said of its side.
    peer_rows: Vec<StreamResult>,
    /// What the samples have no field for.
    details: Details,
    next_progress: MonoTime,
}

impl<'a> Flows<'a> {
    fn new(plan: Plan, clock: Clock, source: Source, held: Option<&'a Held>) -> Flows<'a> {
        Flows {
            plan,
            clock,
            source,
            held,
            members: Vec::new(),
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
        }
    }

    /// One more flow. The session hears of one that has come; those that this end has opened it knows.
    fn add(&mut self, mut member: Member, site: &mut Site<'_>) {
        self.leaving = None;
        if let Some(first) = member.first.take() {
            site.reply(Reply::Came(first));
        }
        self.members.push(member);
    }

    fn order(&mut self, index: usize, order: Order, site: &mut Site<'_>) {
        match order {
            Order::Send(bytes) => self.send(index, &bytes, site),
            Order::Start(run) => self.ready.push((index, run)),
            Order::StopSender => {
                if let (Some(running), Some(stream)) = (&self.running, self.members[index].sends) {
                    running.stop_sender(stream);
                }
            }
            Order::Measure => self.stop_receiving(index),
            Order::Connect(back) => self.connect_back(index, &back, site),
            Order::Tell(seen) => self.tell(index, seen, site),
            Order::Shutdown => {
                if let FlowSocket::Tcp(socket) = &self.members[index].socket {
                    socket.shutdown(Shutdown::Write).ok();
                }
            }
            Order::Close => self.close(index, site),
        }
    }

    fn send(&mut self, index: usize, bytes: &[u8], site: &mut Site<'_>) {
        let sent = match &self.members[index].socket {
            FlowSocket::Tcp(socket) => write_all(socket, bytes, mono_now() + WRITE_LIMIT),
            // A refused datagram is like a lost one: the machine repeats what matters.
            FlowSocket::Udp(socket) => socket.send(bytes).map(drop).or(Ok(())),
        };
        if let Err(e) = sent {
            say(site, index, News::Lost(Loss::Broken(e.to_string())));
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
    fn close(&mut self, index: usize, site: &mut Site<'_>) {
        if self.members[index].is_unanswered() {
            say(site, index, News::Lost(Loss::Unanswered));
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

    fn connect_back(&mut self, index: usize, back: &Back, site: &mut Site<'_>) {
        let (peer, number) = (self.members[index].peer(), self.members[index].index);
        let outcome = super::back::connect(back, peer.ip(), &self.plan.local, number);
        site.reply(Reply::Connected(outcome.is_ok()));
        match outcome {
            Ok(member) => self.add(member, site),
            Err(e) => {
                let text = format!(
                    "the return path could not be opened to {}: {}; -R and --full-duplex need none",
                    SocketAddr::new(peer.ip(), back.port),
                    sentence(&e)
                );
                site.emit(Event::Warning(Warning::new("no-way-back", text)));
            }
        }
    }

    fn tell(&mut self, index: usize, seen: Seen, site: &mut Site<'_>) {
        let member = &self.members[index];
        let stream = self.number(Direction::Up, member.index);
        match seen {
            Seen::Ack(ack) => site.tell(&Fact::Ack { stream, ack }),
            Seen::Report(report) => {
                let sent = member.sends.and_then(|stream| self.running.as_ref()?.sent_on(stream));
                let length = self.plan.test.length;
                self.peer_rows.extend(sent.map(|sent| report.stream_result(sent, length)));
                site.tell(&Fact::Report { stream, report });
            }
            Seen::NoReport => site.tell(&Fact::NoReport { stream }),
        }
    }

    /// Lets no more flows in, unless one has come meanwhile.
    fn leave(&mut self, site: &mut Site<'_>) {
        let Some(hurry) = self.leaving else { return };
        if self.source.is_done(hurry) {
            self.leaving = None;
            site.reply(Reply::Left(self.source.is_missed().then(|| NO_WAY_BACK.into())));
        }
    }

    fn number(&self, direction: Direction, index: u32) -> u32 {
        self.plan.test.stream_numbers(direction).start + index
    }

    /// Begins to move data on the flows that are ready.
    fn start_ready(&mut self, site: &mut Site<'_>) {
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
        site.emit(Event::Started(Started { wall: wall_now(), streams: self.streams.clone() }));
        let (plan, waker) = (&self.plan, site.waker.clone());
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
            let lost = Loss::Unusable(sentence(&e));
            (0..self.members.len()).for_each(|index| say(site, index, News::Lost(lost.clone())));
        }
    }

    /// The one or two streams of a flow.
    fn flows(&mut self, index: usize, run: Run) -> Vec<Flow> {
        let numbers = |direction| self.number(direction, self.members[index].index);
        let (up, down) = (numbers(Direction::Up), numbers(Direction::Down));
        let test = &self.plan.test;
        let member = &mut self.members[index];
        let (sends, receives) = if member.direction == Direction::Up { (up, down) } else { (down, up) };
        let numbered = Numbered { clock: self.clock, wide: member.wide };
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
            let flow = flows::describe(test, receives, member.socket.clone(), member.direction);
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
            let flow = flows::describe(test, sends, member.socket.clone(), member.direction);
            flows.push(Flow { own: Some(Box::new(own)), ..flow });
            member.sends = Some(sends);
        }
        member.started = true;
        if test.offload {
            flows.iter().for_each(flows::join_datagrams);
        }
        flows
    }

    /// The flows that no thread reads: their numbers.
    fn heard(&self) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(|index| self.members[*index].hears())
    }

    /// Reads what has come on them.
    fn hear_all(&mut self, site: &mut Site<'_>) {
        let heard: Vec<usize> = self.heard().collect();
        let mut interests: Vec<Interest<'_>> =
            heard.iter().map(|index| self.members[*index].interest()).collect();
        if interests.is_empty() || wait(&mut interests, Some(MonoTime::ZERO)).is_err() {
            return;
        }
        let is_ready: Vec<bool> = interests.iter().map(Interest::is_ready).collect();
        let ready = heard.iter().zip(is_ready).filter(|(_, is_ready)| *is_ready);
        ready.for_each(|(index, _)| self.hear(*index, site));
    }

    /// Reads what has come to a flow whose data no thread reads.
    fn hear(&mut self, index: usize, site: &mut Site<'_>) {
        let socket = self.members[index].socket.clone();
        match &socket {
            FlowSocket::Tcp(socket) => {
                let mut buffer = [0; 4096];
                match (&**socket).read(&mut buffer) {
                    Ok(n) if n > 0 => say(site, index, News::Received(buffer[..n].to_vec())),
                    Err(e) if crate::error::is_pause(&e) => {}
                    Ok(_) | Err(_) => {
                        self.members[index].ended = true;
                        say(site, index, News::Ended);
                    }
                }
            }
            FlowSocket::Udp(socket) => self.hear_datagrams(index, socket, site),
        }
    }

    fn hear_datagrams(&mut self, index: usize, socket: &std::net::UdpSocket, site: &mut Site<'_>) {
        let mut buffer = vec![0; 1 << 16];
        for _ in 0..DATAGRAMS_AT_ONCE {
            match linux::message::receive(socket, &mut buffer) {
                Ok(came) => {
                    let datagram = buffer[..came.len].to_vec();
                    let member = &mut self.members[index];
                    if !member.started && member.early.len() < MOST_EARLY {
                        member.early.push(datagram.clone());
                    }
                    say(site, index, News::Received(datagram));
                }
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => self.refused(index, site),
                Err(_) => return,
            }
            // One that may make its data move is the session's to judge before the next is read.
            if !self.members[index].started {
                return;
            }
        }
    }

    /// The peer's host says that nobody is at its port. iPerf2's server leaves it for a moment when a flow begins, so
    /// while a client sends it must stay so. What a client asked for it did not ask for then: its address was another's.
    fn refused(&mut self, index: usize, site: &mut Site<'_>) {
        let (now, member) = (mono_now(), &mut self.members[index]);
        let since = *member.refused.get_or_insert(now);
        let sends = member.sends.is_some() && !member.sender_done;
        let asked = self.held.is_some() && matches!(member.known, Known::Asked(_));
        if asked || !sends || now.saturating_since(since) >= REFUSED_FOR {
            say(site, index, News::Ended);
        }
    }

    fn take_arrivals(&mut self, site: &mut Site<'_>) {
        for arrival in self.source.take(&self.plan.test) {
            self.add(arrival, site);
            self.introduce(site);
        }
    }

    /// What the peer's host has said to the threads that send.
    fn take_refusals(&mut self, site: &mut Site<'_>) {
        let Some(running) = self.running.as_ref().filter(|_| self.held.is_some()) else { return };
        let sends = |member: &Member| member.sends.is_some_and(|stream| running.take_refusal(stream));
        let refused: Vec<usize> = (0..self.members.len()).filter(|i| sends(&self.members[*i])).collect();
        refused.into_iter().for_each(|index| self.refused(index, site));
    }

    /// Tells the server's budgets what is still alive, and ends what is to make room for others.
    fn mind_places(&mut self, now: MonoTime, site: &mut Site<'_>) {
        let mut alive = false;
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let moved = |stream: Option<u32>| {
                stream.zip(self.running.as_ref()).map_or(0, |(stream, running)| running.moved(stream))
            };
            alive |= member.note_moved(moved(member.sends).saturating_add(moved(member.receives)), now);
            if member.held.as_ref().is_some_and(Held::must_leave) {
                say(site, index, News::Lost(Loss::Stopped(LEFT.into())));
            }
        }
        let Some(held) = self.held else { return };
        if alive {
            held.touch(now, true);
        }
        if held.must_leave() {
            let lost = Loss::Stopped(LEFT.into());
            (0..self.members.len()).for_each(|index| say(site, index, News::Lost(lost.clone())));
        }
    }

    /// What the threads of one flow have done.
    fn follow(&mut self, index: usize, progress: bool, site: &mut Site<'_>) {
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
            say(site, index, News::Progress(moved));
        }
        if let Some(sent) = sent {
            say(site, index, News::SenderDone(sent));
        }
        if let Some(end) = end {
            say(site, index, News::Received(end));
        }
        if over.is_some() && is_tcp {
            self.members[index].ended = true;
            say(site, index, News::Ended);
        }
        self.say_measured(index, site);
    }

    /// The figures that a flow has asked for, once its thread has ended.
    fn say_measured(&mut self, index: usize, site: &mut Site<'_>) {
        let member = &mut self.members[index];
        let (Some(running), Some(stream), true) = (&self.running, member.receives, member.measuring) else {
            return;
        };
        if running.is_over(stream)
            && let Some(result) = running.result_of(stream, mono_now())
        {
            member.measuring = false;
            let report = ServerReport::of_stream(&result, self.clock);
            say(site, index, News::Measured(report));
        }
    }

    /// Tells of the flows that are new.
    fn introduce(&mut self, site: &mut Site<'_>) {
        let test = &self.plan.test;
        let new = self.members[self.introduced..].iter().filter_map(|member| member.fact(test));
        let facts: Vec<Fact> = new.collect();
        facts.iter().for_each(|fact| site.tell(fact));
        if std::mem::replace(&mut self.introduced, self.members.len()) == 0 {
            self.say_connected(site);
        }
    }

    fn say_connected(&self, site: &mut Site<'_>) {
        let Some(first) = self.members.first() else { return };
        let (local, remote) = (first.local(), first.peer());
        let mss = match &first.socket {
            FlowSocket::Tcp(socket) => linux::options::mss(socket.as_ref()).ok(),
            FlowSocket::Udp(_) => None,
        };
        let event = Event::Connected(Connected {
            wall: wall_now(),
            plan: self.plan.clone(),
            local,
            remote,
            session: String::new(),
            control_mss: mss.and_then(|mss| u32::try_from(mss.0).ok()),
            host: site.setting.host.clone(),
            peer: None,
        });
        site.emit(event);
    }

    fn sample(&mut self, sample: IntervalSample, site: &mut Site<'_>) {
        site.emit(Event::Sample(sample));
        if let Some(running) = &self.running {
            let interval = self.details.interval(running, self.clock);
            site.tell(&Fact::Interval(interval));
        }
    }

    /// What this end has measured, and what the server has said of its side.
    fn tell_results(&mut self, now: MonoTime, site: &mut Site<'_>) {
        let last = self.running.as_mut().and_then(|running| running.last_sample(now));
        last.into_iter().for_each(|sample| self.sample(sample, site));
        if let Some(running) = self.running.take() {
            let total = self.details.total(&running, self.clock);
            site.tell(&Fact::Total(total));
            let (mut result, warnings) = running.measure(now);
            warnings.into_iter().for_each(|warning| site.emit(Event::Warning(warning)));
            result.streams.iter_mut().for_each(|row| on_wall_clocks(row, self.clock));
            tell_result(Side::Local, result, site);
        }
        let rows = std::mem::take(&mut self.peer_rows);
        if !rows.is_empty() {
            tell_result(Side::Peer, SideResult { streams: rows, ..SideResult::default() }, site);
        }
    }
}

impl Worker for Flows<'_> {
    fn ask(&mut self, request: WorkRequest, site: &mut Site<'_>, _control: Option<&TcpStream>) {
        match request {
            WorkRequest::InBand(Request::Flow(index, order)) => self.order(index as usize, order, site),
            WorkRequest::InBand(Request::Leave { hurry }) => {
                self.leaving = Some(hurry);
                self.leave(site);
            }
            _ => {}
        }
    }

    fn interests(&self) -> Vec<Interest<'_>> {
        self.heard().map(|index| self.members[index].interest()).chain(self.source.interest()).collect()
    }

    fn due(&self) -> Option<MonoTime> {
        let starts = self.hold.or((!self.ready.is_empty()).then_some(MonoTime::ZERO));
        let ticks = self.running.as_ref().and_then(Running::next_tick);
        let looks = self.running.is_some() || self.held.is_some();
        let progress = looks.then_some(self.next_progress);
        [starts, ticks, progress, self.source.deadline()].into_iter().flatten().min()
    }

    fn tick(&mut self, now: MonoTime, site: &mut Site<'_>) {
        self.start_ready(site);
        self.hear_all(site);
        self.take_arrivals(site);
        if let Some(running) = &mut self.running {
            let samples = running.tick(now);
            samples.into_iter().for_each(|sample| self.sample(sample, site));
        }
        let progress = now >= self.next_progress;
        if progress {
            self.next_progress = now + PROGRESS_STEP;
            self.mind_places(now, site);
        }
        self.take_refusals(site);
        (0..self.members.len()).for_each(|index| self.follow(index, progress, site));
        self.leave(site);
    }

    fn finish(&mut self, site: &mut Site<'_>, outcome: &Result<(), ProtocolError>, interrupted: bool) {
        let now = mono_now();
        self.tell_results(now, site);
        if let Some(began) = self.began {
            let (elapsed, outcome) = (now.saturating_since(began), outcome_of(outcome, interrupted));
            site.emit(Event::Finished(Finished { wall: wall_now(), elapsed, outcome }));
        }
    }
}

/// Something has happened to this flow.
fn say(site: &mut Site<'_>, index: usize, news: News) {
    site.reply(Reply::Flow(index as u32, news));
}

fn tell_result(side: Side, result: SideResult, site: &mut Site<'_>) {
    site.emit(Event::Result(EndResult { side, result, output_text: None, output_json: None }));
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
