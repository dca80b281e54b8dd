//! Whatever an iPerf2 peer may send: every decoder takes any bytes, what it takes it can write and read again, and every
//! session survives any bytes in any portions, at any times: it waits for nothing without an end, holds little, sends no more
//! than three times what came before anything is proved, and ends.

use model::plan::Transport;
use model::time::{MonoTime, WallTime};
use model::units::{BitRate, Nanos};
use spoiled::Chance;
use spoiled::held::Held;
use wire::echo::{Arrival, Exchange, Reflect, Request as Ping};
use wire::iperf2::{
    Ack, AckRead, Amount, Bounce, Bouncer, BurstRecord, FrameRecord, Frames, Group, Header, Request, ServerReport,
    Shape, Traffic, is_wide, number,
};
use wire::stamp::Clock;
use wire::work::in_band::{Loss, FlowUpdate, FlowCommand, Reply, Request as Want};
use wire::{Input, Output, Policy, Sent, Session, WorkRequest};
use world::{InBand, Nature, Trouble, Who, World};

/// IPv4 and UDP.
const HEADERS: usize = 28;
const START: MonoTime = MonoTime(1 << 40);

fn clock() -> Clock {
    Clock { mono: START, wall: WallTime(1 << 60) }
}

/// A decoded request is written and read again as the same.
fn decode(bytes: &[u8]) {
    for transport in [Transport::Tcp, Transport::Udp] {
        if let Header::Request(request, length) = Request::read(transport, bytes) {
            assert!(length <= bytes.len());
            let request = sent(*request);
            let written = request.bytes();
            let Header::Request(again, length) = Request::read(transport, &written) else {
                panic!("what is written of {request:?} is none")
            };
            assert_eq!(*again, request);
            // A datagram's header leaves out of its length what follows the frame record.
            assert!(length == written.len() || (transport == Transport::Udp && length < written.len()));
        }
    }
    if let AckRead::Ack(ack, length) = Ack::read(bytes) {
        assert!(length <= bytes.len());
        let written = ack.bytes();
        assert_eq!(Ack::read(&written), AckRead::Ack(ack, written.len()));
    }
    if let Some(report) = ServerReport::read(bytes) {
        assert_eq!(ServerReport::read(&report.bytes()), Some(report));
    }
    if let Some(record) = BurstRecord::read(bytes) {
        let mut written = [0; BurstRecord::LEN];
        record.write(&mut written);
        assert_eq!(BurstRecord::read(&written), Some(record));
    }
    if let Some(record) = FrameRecord::read(bytes) {
        let mut written = [0; Frames::LEN];
        record.write(&mut written);
        assert_eq!(FrameRecord::read(&written), Some(record));
    }
    let _ = number(bytes, is_wide(bytes));
}

/// The part of a request that this end can write: some fields are of one transport only, and in a header only where there is
/// room.
fn sent(request: Request) -> Request {
    let udp = request.transport == Transport::Udp;
    // The bits with which old clients request a return connection have another meaning in a longer header.
    let reused = request.peer_detect || request.transfer_id.is_some();
    let traffic = match request.traffic {
        Traffic::Dual | Traffic::Tradeoff if reused => Traffic::Forward,
        traffic => traffic,
    };
    let amount = match request.amount {
        Amount::Time(time) => Amount::Time(time.min(Nanos(i32::MAX as u64 * 10_000_000))),
        amount => amount,
    };
    let congestion = request.congestion.filter(|_| !udp);
    let timed = request.trip_times || request.starts_then || request.fq_rate.is_some();
    let start = request.start.filter(|_| timed || matches!(request.shape, Shape::Isochronous(_)));
    // The rate is transmitted in bytes.
    let fq_rate = request.fq_rate.map(|rate| BitRate(rate.0 / 8 * 8));
    Request { wide: request.wide && udp, traffic, amount, start, congestion, fq_rate, ..request }
}

fn bounce(bytes: &[u8]) {
    let mut bouncer = Bouncer::new(clock(), 0);
    bouncer.request(Ping { sequence: 3, sent: START, wants_reply: true }, &mut [0; 100]);
    let _ = (bouncer.frame(bytes), bouncer.reply(bytes));
    let mut buffer = bytes.to_vec();
    buffer.resize(bytes.len() + 50, 0);
    let arrival = Arrival::new(([192, 0, 2, 1], 9).into(), START);
    if let Some(length) = (Bounce { clock: clock() }).reflect(arrival, START, &mut buffer, bytes.len()) {
        assert!(length <= buffer.len());
    }
}

/// A session, whatever does its work, and its invariants.
struct Play {
    group: Group,
    udp: bool,
    now: MonoTime,
    deadline: Option<MonoTime>,
    closed: bool,
    held: Held,
    /// Bytes that the session received and sent, as IPv4 carries them.
    came: usize,
    went: usize,
    /// The session was to send data, too: the engine checks that the client is there before it does.
    data: bool,
    /// A flow has begun: until then who has come is not waited for long.
    begun: bool,
    flows: u32,
    sending: Vec<u32>,
    measured: Vec<u32>,
    connects: usize,
    leaves: bool,
}

impl Play {
    fn new(group: Group, udp: bool, flows: u32) -> Play {
        let mut play = Play {
            group,
            udp,
            now: START,
            deadline: None,
            closed: false,
            held: Held::from_now(),
            came: 0,
            went: 0,
            data: false,
            begun: flows > 0,
            flows,
            sending: Vec::new(),
            measured: Vec::new(),
            connects: 0,
            leaves: false,
        };
        play.drain();
        play
    }

    fn run(&mut self, mut script: &[u8]) {
        while let [what, length, rest @ ..] = script {
            let (piece, after) = rest.split_at(rest.len().min(usize::from(*length)));
            let flow = u32::from(what >> 4) % self.flows.max(1);
            let update = match what & 15 {
                0 | 1 => {
                    self.now = self.now.max(self.deadline.unwrap_or(self.now));
                    Input::Timer
                }
                2 => {
                    self.now += Nanos(u64::from(*length) << 23);
                    script = rest;
                    continue;
                }
                3 => Reply::Flow(flow, FlowUpdate::Ended).into(),
                4 => Reply::Flow(flow, FlowUpdate::SenderDone(sent_all(*length))).into(),
                5 => Reply::Flow(flow, FlowUpdate::Measured(ServerReport::default())).into(),
                6 => Reply::Flow(flow, FlowUpdate::Progress(u64::from(*length))).into(),
                7 => Reply::Flow(flow, FlowUpdate::Lost(Loss::Unanswered((*length > 9).then_some(Nanos::from_secs(u64::from(*length)))))).into(),
                8 if *length > 250 => Input::Interrupt("Ctrl-C"),
                9 if self.connects > 0 => {
                    self.connects -= 1;
                    let stands = length & 1 == 0;
                    self.flows += u32::from(stands);
                    Reply::Connected(stands).into()
                }
                10 if std::mem::take(&mut self.leaves) => Reply::Left(None).into(),
                11 | 12 if self.flows < 8 => {
                    script = after;
                    self.came += HEADERS + piece.len();
                    self.give(Reply::Came(piece.to_vec()).into());
                    self.flows += 1;
                    continue;
                }
                _ => {
                    script = after;
                    self.came += HEADERS + piece.len();
                    self.give(Reply::Flow(flow, FlowUpdate::Received(piece.to_vec())).into());
                    continue;
                }
            };
            script = rest;
            self.give(update);
        }
        self.leave_alone();
    }

    fn give(&mut self, input: Input<'_>) {
        let failed = self.group.input(self.now, input).is_err();
        assert!(!(failed && self.closed), "an error after the end");
        self.drain();
        assert!(!failed || self.closed, "an error is the end");
        self.held.check();
        // An attacker that forges an address makes the server send no more there than three times its own bytes, headers
        // included.
        assert!(!self.udp || self.data || self.went <= 3 * self.came, "{} bytes for {}", self.went, self.came);
        if self.deadline.is_some_and(|deadline| deadline > self.now) {
            self.group.input(self.now, Input::Timer).expect("an early timer is no error");
            let output = self.group.output(self.now);
            assert!(matches!(output, Output::WaitUntil(until) if until == self.deadline), "early: {output:?}");
        }
    }

    fn drain(&mut self) {
        for _ in 0..1000 {
            match self.group.output(self.now) {
                Output::WaitUntil(until) => {
                    assert!(until.is_some() || self.closed, "a wait without a deadline");
                    let is_soon = until.is_none_or(|until| until <= self.now + Nanos::from_secs(60));
                    assert!(self.begun || is_soon, "it waits until {until:?}");
                    self.deadline = until;
                    return;
                }
                other if self.closed => panic!("{other:?} after Close"),
                Output::Close => self.closed = true,
                Output::Work(WorkRequest::InBand(Want::Flow(flow, order))) => self.command(flow, order),
                Output::Work(WorkRequest::InBand(Want::Leave { .. })) => self.leaves = true,
                Output::Event(_) => {}
                other => panic!("{other:?} of a session without control bytes"),
            }
        }
        panic!("a session that never waits");
    }

    fn command(&mut self, flow: u32, order: FlowCommand) {
        self.begun |= matches!(order, FlowCommand::Start(_));
        match order {
            FlowCommand::Send(bytes) => self.went += HEADERS + bytes.len(),
            FlowCommand::Start(run) if run.sends.is_some() => {
                self.data = true;
                self.sending.push(flow);
            }
            FlowCommand::Measure => self.measured.push(flow),
            FlowCommand::Connect(_) => self.connects += 1,
            _ => {}
        }
    }

    /// With nothing more from its peer, and what it asks for done, every session ends.
    fn leave_alone(&mut self) {
        for _ in 0..4000 {
            if self.closed {
                return;
            }
            if let Some(flow) = self.sending.pop() {
                self.give(Reply::Flow(flow, FlowUpdate::SenderDone(sent_all(9))).into());
            } else if let Some(flow) = self.measured.pop() {
                self.give(Reply::Flow(flow, FlowUpdate::Measured(ServerReport::default())).into());
            } else if self.connects > 0 {
                self.connects -= 1;
                self.give(Reply::Connected(false).into());
            } else if std::mem::take(&mut self.leaves) {
                self.give(Reply::Left(None).into());
            } else {
                self.now = self.now.max(self.deadline.unwrap_or(self.now));
                self.give(Input::Timer);
            }
        }
        panic!("a session that never ends");
    }
}

fn sent_all(datagrams: u8) -> Sent {
    Sent { stream: 0, bytes: 9, datagrams: u64::from(datagrams) }
}

/// Two honest ends, whose messages are spoiled in transit.
fn dialogue(mut chance: Chance<'_>, request: &Request) {
    let streams = 1 + u32::from(chance.byte() & 1);
    let request = Request { streams, amount: Amount::Time(Nanos::from_millis(20)), length: 100, ..request.clone() };
    let vanishes = chance.byte();
    let who = if vanishes & 1 == 0 { Who::Client } else { Who::Server };
    let trouble = (vanishes > 200).then(|| (Nanos::from_millis(u64::from(vanishes) - 200), Trouble::Vanish(who)));
    let spoils = trouble.is_some();
    let troubles = trouble.into_iter().collect();
    let nature = Nature { delay: Nanos::from_millis(1), portion: 50, troubles, ..Nature::default() };
    let clock = Clock { mono: world::BEGIN, wall: WallTime(1 << 60) };
    let mut work = InBand::new(&nature, request.transport, streams, clock);
    let chance = chance.shared();
    let (tampers, loses) = (chance.clone(), chance.clone());
    work.tamper = Some(Box::new(move |_, bytes| tampers.borrow_mut().spoil(bytes)));
    work.lose = Box::new(move |_, _, _| loses.borrow_mut().fails());
    work.expects = (request.traffic == Traffic::Dual).then_some((Who::Client, streams));
    let policy = Policy { max_time: Some(Nanos::from_millis(100)), ..Policy::default() };
    let client = |now| Group::client(&request, streams, false, clock, now);
    let server = |now| Group::server(request.transport, policy, None, clock, now);
    let mut world = World::new(nature, client, server, work);
    let _ = world.run();
    if !spoils && !chance.borrow().was_unusual() {
        assert_eq!(world.errors(), [None, None]);
        assert_eq!(world.work.server.received, world.work.client.sent);
        assert_eq!(world.work.client.received, world.work.server.sent);
    }
}

/// One input.
pub(crate) fn run(data: &[u8]) {
    decode(data);
    bounce(data);
    let Some((choice, script)) = data.split_first() else { return };
    let traffic = [Traffic::Forward, Traffic::Reverse, Traffic::FullDuplex, Traffic::Dual, Traffic::Tradeoff];
    let traffic = traffic[usize::from(choice >> 3) % traffic.len()];
    let request = |transport| Request { traffic, trip_times: choice & 0x80 != 0, ..Request::new(transport) };
    let (tcp, udp) = (Transport::Tcp, Transport::Udp);
    let server = |transport| Group::server(transport, Policy::default(), None, clock(), START);
    let client = |request: &Request| Group::client(request, 2, false, clock(), START);
    match choice & 7 {
        0 => Play::new(server(tcp), false, 0).run(script),
        1 => Play::new(client(&request(tcp)), false, 2).run(script),
        // A client sends to the address that its user has named.
        2 => Play::new(client(&request(udp)), false, 2).run(script),
        3 => Play::new(Group::listening(&Request::new(udp), clock(), START), true, 0).run(script),
        4 => dialogue(Chance::new(script), &request(tcp)),
        5 => dialogue(Chance::new(script), &request(udp)),
        _ => {
            let (first, script) = script.split_at(script.len().min(150));
            let mut datagram = request(udp).bytes();
            datagram[..12].copy_from_slice(b"\0\0\0\x01\x6b\x01\x4a\x74\0\0\0\x05");
            datagram.iter_mut().zip(first).for_each(|(byte, change)| *byte ^= change);
            let mut play = Play::new(server(udp), true, 0);
            play.came += HEADERS + datagram.len();
            play.give(Reply::Came(datagram).into());
            play.flows = 1;
            play.run(script);
        }
    }
}
