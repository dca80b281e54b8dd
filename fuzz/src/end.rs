//! One end: a machine with the engine around it played by this code.

use crate::Chance;
use model::event::{EndResult, Event};
use model::latency::WaitMode;
use model::plan::{Direction, TestSpec, Transport};
use model::sample::{
    IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, TcpCounters, UdpCounters,
};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use wire::native::LatencySeen;
use wire::work::throughput::{Reply, Request, Sent};
use wire::work::{probes, round_trips};
use wire::{Input, Output, Session, WorkReply, WorkRequest};

/// A session and what is due to it.
pub struct End<S> {
    /// The machine.
    pub session: S,
    /// What it told.
    pub events: Vec<Event>,
    client: bool,
    test: Option<TestSpec>,
    due: VecDeque<Due>,
    wait: Option<MonoTime>,
    over: bool,
}

/// Something the engine will say.
enum Due {
    Heard(Vec<u8>),
    Closed,
    Open,
    OpenFailed,
    Sample,
    Progress,
    SendersDone,
    Measured,
    Reflected,
    PathSeen,
}

impl<S: Session> End<S> {
    /// This end of a dialogue that has just begun.
    pub fn new(session: S, client: bool) -> End<S> {
        End { session, events: Vec::new(), client, test: None, due: VecDeque::new(), wait: None, over: false }
    }

    /// Takes one thing that is due, and gives what is to be sent; `None` among it: the end has closed.
    pub fn turn(&mut self, now: MonoTime, chance: &mut Chance<'_>) -> Vec<Option<Vec<u8>>> {
        if self.over {
            return Vec::new();
        }
        let failed = self.input(now).is_err();
        let mut sent = self.drain(now, chance);
        if failed && !self.over {
            self.over = true;
            sent.push(None);
        }
        sent
    }

    /// What the other end sent.
    pub fn hear(&mut self, sent: Vec<Option<Vec<u8>>>) {
        self.due.extend(sent.into_iter().map(|bytes| bytes.map_or(Due::Closed, Due::Heard)));
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.over && !self.due.is_empty()
    }

    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        self.wait.filter(|_| !self.over)
    }

    fn input(&mut self, now: MonoTime) -> Result<(), wire::ProtocolError> {
        let Some(due) = self.due.pop_front() else { return self.session.input(now, Input::Timer) };
        match due {
            Due::Heard(bytes) => self.session.input(now, Input::Received(&bytes)),
            Due::Closed => self.session.input(now, Input::Closed),
            Due::Open => self.session.input(now, WorkReply::Open(self.streams()).into()),
            Due::OpenFailed => self.session.input(now, WorkReply::Failed("no".into()).into()),
            Due::Sample => self.session.input(now, Reply::Sample(self.sample()).into()),
            Due::Progress => {
                // More than any test of bytes or blocks asks for.
                let (sent, received) = (1 << 30, 1 << 30);
                self.session.input(now, Reply::Progress { sent, received, omitted: false }.into())
            }
            Due::SendersDone => self.session.input(now, Reply::SendersDone(self.sent()).into()),
            Due::PathSeen => self.session.input(now, probes::Reply::PathSeen(Box::default()).into()),
            Due::Reflected => self.session.input(now, SEEN.into()),
            Due::Measured => {
                let result = self.result();
                let told = EndResult { side: Side::Local, result, output_text: None, output_json: None };
                let result = Box::new(told.result.clone());
                let done = self.session.input(now, Reply::Measured { result, report: None }.into());
                self.events.push(Event::Result(told));
                done
            }
        }
    }

    fn drain(&mut self, now: MonoTime, chance: &mut Chance<'_>) -> Vec<Option<Vec<u8>>> {
        let mut sent = Vec::new();
        for _ in 0..ENDLESS {
            match self.session.output(now) {
                Output::Send(bytes) => sent.push(Some(chance.spoil(bytes))),
                Output::Work(request) => self.work(request, chance),
                Output::Event(event) => self.events.push(event),
                Output::WaitUntil(time) => {
                    self.wait = time;
                    return sent;
                }
                Output::Close => {
                    self.over = true;
                    sent.push(None);
                    return sent;
                }
            }
        }
        panic!("a session never stops giving outputs");
    }

    fn work(&mut self, request: WorkRequest, chance: &mut Chance<'_>) {
        match request {
            WorkRequest::Flows(order) => {
                self.test = Some(order.plan.test);
                self.due.push_back(if chance.fails() { Due::OpenFailed } else { Due::Open });
            }
            WorkRequest::Throughput(Request::Start) => {
                self.due.extend([Due::Sample, Due::Progress, Due::SendersDone]);
            }
            WorkRequest::Throughput(Request::StopSenders) => self.due.push_back(Due::SendersDone),
            WorkRequest::Throughput(Request::Drain { .. }) => self.due.push_back(Due::Measured),
            WorkRequest::Probes(probes::Request::ReportPath { .. }) => self.due.push_back(Due::PathSeen),
            WorkRequest::RoundTrips(round_trips::Request::Count) => self.due.push_back(Due::Reflected),
            WorkRequest::Probes(probes::Request::Send { .. })
            | WorkRequest::RoundTrips(round_trips::Request::Reflect(_))
            | WorkRequest::Frames(_) => {}
        }
    }

    fn streams(&self) -> Vec<StreamInfo> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 5210));
        let info = |(stream, direction, role)| StreamInfo {
            stream,
            direction,
            role,
            local: address,
            remote: address,
            socket: 3,
            mss: None,
            path_mtu: Some(1500),
            send_buffer: Bytes(0),
            receive_buffer: Bytes(0),
            congestion: None,
        };
        self.rows().map(info).collect()
    }

    fn sample(&self) -> IntervalSample {
        let (start, end) = (Nanos(0), Nanos(1_000_000_000));
        IntervalSample { side: Side::Local, start, end, omitted: false, streams: Vec::new() }
    }

    fn sent(&self) -> Vec<Sent> {
        let sent = |(stream, _, _)| Sent { stream, bytes: 200_000, datagrams: 200 };
        self.rows().filter(|(_, _, role)| *role == Role::Sender).map(sent).collect()
    }

    fn result(&self) -> SideResult {
        let transport = self.test.as_ref().map_or(Transport::Tcp, |test| test.transport);
        // No two figures are alike, so that one in the place of another is noticed.
        let row = |(stream, direction, role)| {
            let number = u64::from(stream);
            let lost = if role == Role::Receiver { 3 + number } else { 0 };
            let datagrams = 200 - lost;
            let bytes = Bytes(1000 * datagrams);
            let tcp = TcpCounters { retransmits: 7 + number, ..TcpCounters::default() };
            let udp = UdpCounters { datagrams, lost, last_sequence: 200, ..UdpCounters::default() };
            StreamResult {
                stream,
                direction,
                role,
                elapsed: Nanos(2_000_000_000 + number),
                bytes,
                total_bytes: bytes,
                tcp: (transport == Transport::Tcp).then_some(tcp),
                udp: (transport == Transport::Udp).then_some(udp),
            }
        };
        SideResult { streams: self.rows().map(row).collect(), ..SideResult::default() }
    }

    fn rows(&self) -> impl Iterator<Item = (u32, Direction, Role)> {
        let test = self.test.clone();
        let client = self.client;
        test.into_iter().flat_map(move |test| {
            test.directions.each().collect::<Vec<_>>().into_iter().flat_map(move |direction| {
                let sends = (direction == Direction::Up) == client;
                let role = if sends { Role::Sender } else { Role::Receiver };
                test.stream_numbers(direction).map(move |stream| (stream, direction, role))
            })
        })
    }
}

/// More outputs than this in a row is an endless loop.
const ENDLESS: usize = 100_000;

/// What an engine would have seen of the messages of a latency session.
const SEEN: LatencySeen = LatencySeen {
    client: SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5210),
    wait: WaitMode::Block,
    received: 1,
    duplicates: 0,
    reordered: 0,
    elapsed: Nanos(0),
};
