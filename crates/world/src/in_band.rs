//! Flows that carry their own description: pipes between the two ends, with protocol bytes and data in one stream. Each sender
//! writes once per millisecond; TCP bytes arrive in any portions, datagrams may be lost.

use crate::{BOTH, Nature, Who, Work};
use model::plan::Transport;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::{BTreeMap, VecDeque};
use wire::iperf2::{Number, Numbered, UdpServer, is_wide, number};
use wire::stamp::Clock;
use wire::work::in_band::{Amount, FlowCommand, FlowUpdate, PeerFact, Reply, Request, Run, ServerReport};
use wire::{Datagram, Policy, Sent, Stamp, WorkReply, WorkRequest};

/// The flows of a session without control bytes, and their outcome.
pub struct InBand<'a> {
    /// The client's activity.
    pub client: Activity,
    /// The server's activity.
    pub server: Activity,
    /// Decides which datagrams are lost.
    pub lose: Delivery<'a>,
    /// May change the protocol bytes of an end: messages of its session, and the front of its datagrams.
    pub tamper: Option<crate::Tamper<'a>>,
    /// Flows that the other end opens and this one waits for.
    pub expects: Option<(Who, u32)>,
    transport: Transport,
    clock: Clock,
    delay: Nanos,
    portion: usize,
    pipes: Vec<Pipe>,
    agenda: BTreeMap<Key, (usize, Who, Item)>,
    ticket: u64,
    /// Replies to report, in sequence.
    due: VecDeque<(Who, Reply)>,
    next_progress: MonoTime,
    gone: [bool; 2],
    /// No more flows are accepted.
    left: [bool; 2],
    /// Time until which the end that expects flows waits for them.
    waits: Option<MonoTime>,
}

/// Is this datagram lost? The parameters are its sender, its number at that end, from 1, and its bytes.
pub type Delivery<'a> = Box<dyn FnMut(Who, u64, &[u8]) -> bool + 'a>;

/// One end's activity, all its flows together.
#[derive(Default)]
pub struct Activity {
    /// Facts about the peer that its session reported.
    pub observed: Vec<PeerFact>,
    /// Messages sent besides data.
    pub messages: Vec<Vec<u8>>,
    /// Payload bytes sent and received.
    pub sent: u64,
    /// Payload bytes received.
    pub received: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Datagrams received.
    pub arrived: u64,
    /// The highest number received.
    pub highest: u64,
    /// The runs with which its flows were started.
    pub runs: Vec<Run>,
}

/// One flow.
struct Pipe {
    opened_by: Who,
    ends: [Side; 2],
}

/// One end of a flow.
#[derive(Default)]
struct Side {
    /// The flow's number in its session.
    flow: Option<u32>,
    run: Option<Run>,
    started: MonoTime,
    sending: bool,
    receiving: bool,
    wide: bool,
    closed: bool,
    sent_datagrams: u64,
    sent: u64,
    datagrams: u64,
    received: u64,
    arrived: u64,
    highest: u64,
    next_write: MonoTime,
}

enum Item {
    Bytes(Vec<u8>),
    Datagram(Vec<u8>),
    /// A datagram that the session has read; it is data, too, if it started the transfer.
    Heard(Vec<u8>),
    End,
}

/// Time and sequence number of an arrival.
type Key = (MonoTime, u64);

impl<'a> InBand<'a> {
    /// The flows of a client that has opened this many.
    #[must_use]
    pub fn new(nature: &Nature<'_>, transport: Transport, flows: u32, clock: Clock) -> InBand<'a> {
        InBand {
            client: Activity::default(),
            server: Activity::default(),
            lose: Box::new(|_, _, _| false),
            tamper: None,
            expects: None,
            transport,
            clock,
            delay: nature.delay,
            portion: nature.portion,
            pipes: (0..flows).map(|flow| Pipe::new(Who::Client, flow)).collect(),
            agenda: BTreeMap::new(),
            ticket: 0,
            due: VecDeque::new(),
            next_progress: crate::BEGIN,
            gone: [false; 2],
            left: [false; 2],
            waits: None,
        }
    }

    fn did(&mut self, who: Who) -> &mut Activity {
        if who == Who::Client { &mut self.client } else { &mut self.server }
    }

    fn pipe_of(&self, who: Who, flow: u32) -> usize {
        let is_it = |pipe: &Pipe| pipe.ends[index(who)].flow == Some(flow);
        self.pipes.iter().position(is_it).expect("a session wants nothing of a flow that it does not know")
    }

    fn next_flow(&self, who: Who) -> u32 {
        self.pipes.iter().filter(|pipe| pipe.ends[index(who)].flow.is_some()).count() as u32
    }

    fn command(&mut self, now: MonoTime, who: Who, flow: u32, command: FlowCommand) {
        let at = self.pipe_of(who, flow);
        match command {
            FlowCommand::Send(mut bytes) => {
                if let Some(tamper) = &mut self.tamper {
                    tamper(who, &mut bytes);
                }
                self.did(who).messages.push(bytes.clone());
                self.put(now, at, who, bytes);
            }
            FlowCommand::Start(run) => self.start(now, at, who, run),
            FlowCommand::StopSender => self.sender_done(at, who),
            FlowCommand::Measure => self.measure(at, who),
            FlowCommand::Connect(_) => {
                self.pipes.push(Pipe::new(who, self.next_flow(who)));
                self.due.push_back((who, Reply::Connected(true)));
            }
            FlowCommand::Note(observed) => self.did(who).observed.push(observed),
            FlowCommand::Shutdown => self.put_item(now, at, who, Item::End),
            FlowCommand::Close => {
                let side = &mut self.pipes[at].ends[index(who)];
                assert!(!std::mem::replace(&mut side.closed, true), "closed once");
                side.sending = false;
                if self.transport == Transport::Tcp {
                    self.put_item(now, at, who, Item::End);
                }
            }
        }
    }

    fn start(&mut self, now: MonoTime, at: usize, who: Who, mut run: Run) {
        if let (Some(tamper), Some(sending)) = (&mut self.tamper, &mut run.sends)
            && !sending.head.is_empty()
        {
            tamper(who, &mut sending.head);
        }
        let (sent, received) = (run.sent, run.received);
        let did = self.did(who);
        did.runs.push(run.clone());
        did.sent += sent;
        did.received += received;
        let side = &mut self.pipes[at].ends[index(who)];
        assert!(side.run.is_none() && !side.closed, "started once");
        (side.sending, side.receiving) = (run.sends.is_some(), run.receives);
        (side.started, side.next_write) = (now, now);
        (side.sent, side.received, side.run) = (sent, received, Some(run));
    }

    fn put(&mut self, now: MonoTime, at: usize, from: Who, bytes: Vec<u8>) {
        if self.transport == Transport::Tcp {
            return self.put_item(now, at, from, Item::Bytes(bytes));
        }
        let side = &mut self.pipes[at].ends[index(from)];
        side.sent_datagrams += 1;
        let number = side.sent_datagrams;
        if !(self.lose)(from, number, &bytes) {
            self.put_item(now, at, from, Item::Datagram(bytes));
        }
    }

    fn put_item(&mut self, now: MonoTime, at: usize, from: Who, item: Item) {
        if !self.gone[index(from)] {
            self.ticket += 1;
            self.agenda.insert((now + self.delay, self.ticket), (at, from.other(), item));
        }
    }

    fn deliver(&mut self, key: Key, at: usize, to: Who, item: Item) {
        let side = &self.pipes[at].ends[index(to)];
        if self.gone[index(to)] || side.closed {
            return;
        }
        match item {
            Item::Bytes(bytes) => self.take_bytes(key, at, to, bytes),
            Item::Datagram(bytes) => self.take_datagram(key, at, to, bytes),
            Item::Heard(bytes) => self.count(at, to, &bytes),
            Item::End => {
                let (flow, received) = (side.flow, side.received);
                let updates = [FlowUpdate::Progress(received), FlowUpdate::Ended];
                self.due.extend(
                    flow.into_iter()
                        .flat_map(|flow| updates.clone().map(|update| (to, Reply::Flow(flow, update)))),
                );
            }
        }
    }

    /// Delivers one portion and queues the rest: the session may act in between.
    fn take_bytes(&mut self, key: Key, at: usize, to: Who, mut bytes: Vec<u8>) {
        let side = &mut self.pipes[at].ends[index(to)];
        if side.receiving {
            side.received += bytes.len() as u64;
            self.did(to).received += bytes.len() as u64;
            return;
        }
        let later = bytes.split_off(self.portion.min(bytes.len()));
        if !later.is_empty() {
            self.agenda.insert(key, (at, to, Item::Bytes(later)));
        }
        self.hear(at, to, bytes);
    }

    /// Delivers bytes that a session reads itself; the first of an unknown flow announce it.
    fn hear(&mut self, at: usize, to: Who, bytes: Vec<u8>) {
        let (next, left) = (self.next_flow(to), self.left[index(to)]);
        let side = &mut self.pipes[at].ends[index(to)];
        let reply = match side.flow {
            Some(flow) => Reply::Flow(flow, FlowUpdate::Received(bytes)),
            None if left => return,
            None => {
                side.flow = Some(next);
                side.wide = is_wide(&bytes);
                self.waits = self.waits.filter(|_| self.expects.is_some_and(|(waits, _)| waits != to));
                Reply::Came(bytes)
            }
        };
        self.due.push_back((to, reply));
    }

    fn take_datagram(&mut self, key: Key, at: usize, to: Who, bytes: Vec<u8>) {
        let side = &self.pipes[at].ends[index(to)];
        let begins = || UdpServer::new(&bytes, &Policy::default(), self.clock, key.0).is_some();
        if side.flow.is_none() && !begins() {
            return;
        }
        if side.receiving && matches!(number(&bytes, side.wide), Some(Number::Data(_))) {
            return self.count(at, to, &bytes);
        }
        if side.run.is_none() {
            self.agenda.insert(key, (at, to, Item::Heard(bytes.clone())));
        }
        self.hear(at, to, bytes);
    }

    fn count(&mut self, at: usize, to: Who, bytes: &[u8]) {
        let side = &mut self.pipes[at].ends[index(to)];
        let header = Numbered { clock: self.clock, wide: side.wide };
        let Some(stamp) = header.read(bytes).filter(|_| side.receiving) else { return };
        side.received += bytes.len() as u64;
        side.arrived += 1;
        side.highest = side.highest.max(stamp.sequence);
        let highest = side.highest;
        let did = self.did(to);
        did.received += bytes.len() as u64;
        did.arrived += 1;
        did.highest = did.highest.max(highest);
    }

    /// Sends one write or datagram.
    fn write(&mut self, now: MonoTime, at: usize, who: Who) {
        let transport = self.transport;
        let side = &mut self.pipes[at].ends[index(who)];
        let Some(sending) = side.run.as_ref().and_then(|run| run.sends.clone()) else { return };
        side.next_write = now + WRITE;
        let over = match sending.amount {
            Amount::Time(time) => MonoTime(side.started.0.saturating_add(time.0)) <= now,
            Amount::Bytes(bytes) => side.sent >= bytes.0,
        };
        if over {
            return self.sender_done(at, who);
        }
        let length = if sending.length == 0 { 1000 } else { sending.length.min(10_000) as usize };
        let mut bytes = sending.head;
        bytes.extend((bytes.len()..length).map(|at| b'0' + (at % 10) as u8));
        let udp = transport == Transport::Udp;
        if udp && bytes.len() >= Numbered::MIN_LEN {
            side.datagrams += 1;
            let stamp = Stamp { sequence: side.datagrams, sent: now };
            Numbered { clock: self.clock, wide: true }.write(stamp, &mut bytes);
        } else if let (false, Amount::Bytes(all)) = (udp, sending.amount) {
            bytes.truncate(usize::try_from(all.0 - side.sent).unwrap_or(length).min(length));
        }
        side.sent += bytes.len() as u64;
        let did = self.did(who);
        did.sent += bytes.len() as u64;
        did.datagrams += u64::from(udp);
        self.put(now, at, who, bytes);
    }

    fn sender_done(&mut self, at: usize, who: Who) {
        let side = &mut self.pipes[at].ends[index(who)];
        side.sending = false;
        let sent = Sent { stream: 0, bytes: side.sent, datagrams: side.datagrams };
        let flow = side.flow.expect("it sends");
        self.due.push_back((who, Reply::Flow(flow, FlowUpdate::SenderDone(sent))));
    }

    fn measure(&mut self, at: usize, who: Who) {
        let side = &mut self.pipes[at].ends[index(who)];
        side.receiving = false;
        let figures = ServerReport {
            bytes: side.received,
            elapsed: Nanos::from_secs(1),
            lost: side.highest.saturating_sub(side.arrived),
            datagrams: side.highest,
            ..ServerReport::default()
        };
        let flow = side.flow.expect("it receives");
        self.due.push_back((who, Reply::Flow(flow, FlowUpdate::Measured(figures))));
    }

    fn leave(&mut self, now: MonoTime, who: Who, hurry: bool) {
        let theirs = |pipe: &&Pipe| pipe.ends[index(who)].flow.is_some() && pipe.opened_by == who.other();
        let backs = self.pipes.iter().filter(theirs).count() as u32;
        let expected = self.expects.filter(|(waits, _)| *waits == who).map_or(0, |(_, flows)| flows);
        if !hurry && backs < expected {
            self.waits = Some(now + TIMEOUT);
        } else {
            self.left[index(who)] = true;
            self.due.push_back((who, Reply::Left(None)));
        }
    }

    /// The next writer, and the time of its write.
    fn next_write(&self) -> Option<(MonoTime, usize, Who)> {
        let ends = self
            .pipes
            .iter()
            .enumerate()
            .flat_map(|(at, pipe)| BOTH.map(|who| (at, who, &pipe.ends[index(who)])));
        let writes = ends.filter(|(_, who, side)| side.sending && !self.gone[index(*who)]);
        writes.map(|(at, who, side)| (side.next_write, at, who)).min()
    }

    fn progress(&mut self, now: MonoTime) {
        self.next_progress = now + PROGRESS;
        for who in BOTH {
            for pipe in &self.pipes {
                let side = &pipe.ends[index(who)];
                if let (Some(flow), Some(_), false) = (side.flow, &side.run, side.closed) {
                    self.due.push_back((who, Reply::Flow(flow, FlowUpdate::Progress(side.received))));
                }
            }
        }
    }

    fn is_running(&self) -> bool {
        self.pipes.iter().flat_map(|pipe| &pipe.ends).any(|side| side.run.is_some() && !side.closed)
    }
}

impl Pipe {
    fn new(opened_by: Who, flow: u32) -> Pipe {
        let mut ends = [Side::default(), Side::default()];
        ends[index(opened_by)] = Side { flow: Some(flow), wide: true, ..Side::default() };
        Pipe { opened_by, ends }
    }
}

impl Work for InBand<'_> {
    fn request(&mut self, now: MonoTime, who: Who, request: WorkRequest) -> Option<WorkReply> {
        match request {
            WorkRequest::InBand(Request::Flow(flow, command)) => self.command(now, who, flow, command),
            WorkRequest::InBand(Request::Leave { hurry }) => self.leave(now, who, hurry),
            other => panic!("{other:?} of a session without control bytes"),
        }
        None
    }

    fn due(&self) -> Option<MonoTime> {
        let now = (!self.due.is_empty()).then_some(MonoTime::ZERO);
        let agenda = self.agenda.keys().next().map(|key| key.0);
        let write = self.next_write().map(|(at, ..)| at);
        let progress = self.is_running().then_some(self.next_progress);
        [now, agenda, write, progress, self.waits].into_iter().flatten().min()
    }

    fn take(&mut self, now: MonoTime) -> Option<(Who, WorkReply)> {
        if let Some((who, reply)) = self.due.pop_front() {
            return (!self.gone[index(who)]).then(|| (who, reply.into()));
        }
        if self.agenda.keys().next().is_some_and(|key| key.0 <= now) {
            let (key, (at, to, item)) = self.agenda.pop_first()?;
            self.deliver(key, at, to, item);
        } else if let Some((_, at, who)) = self.next_write().filter(|(due, ..)| *due <= now) {
            self.write(now, at, who);
        } else if self.waits.is_some_and(|until| until <= now) {
            self.waits = None;
            let (who, _) = self.expects?;
            self.left[index(who)] = true;
            self.due.push_back((who, Reply::Left(Some(String::from("no flow has come")))));
        } else {
            self.progress(now);
        }
        None
    }

    fn gone(&mut self, _now: MonoTime, who: Who) {
        self.gone[index(who)] = true;
    }
}

fn index(who: Who) -> usize {
    usize::from(who == Who::Server)
}

const WRITE: Nanos = Nanos::from_millis(1);
const PROGRESS: Nanos = Nanos::from_secs(1);
/// Time for which an end waits for flows that the other one opens.
const TIMEOUT: Nanos = Nanos::from_secs(5);
