//! The engine around two machines, played by this code: whatever they ask for comes of it, sooner or later.

use crate::Chance;
use model::latency::WaitMode;
use model::plan::{Direction, TestSpec, Transport};
use model::sample::{
    IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, TcpCounters, UdpCounters,
};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use wire::native::LatencyObservation;
use wire::work::throughput::{Reply, Request, Sent};
use wire::work::{probes, round_trips};
use wire::{WorkReply, WorkRequest};
use world::{Who, Work};

/// The work of the two ends beside the dialogue.
pub struct Played<'a> {
    chance: Rc<RefCell<Chance<'a>>>,
    /// The measured results: client, server.
    pub measured: [Option<SideResult>; 2],
    tests: [Option<TestSpec>; 2],
    due: VecDeque<(MonoTime, Who, Due)>,
}

/// Something the engine will say.
#[derive(Clone, Copy)]
enum Due {
    Open,
    OpenFailed,
    Sample,
    Progress,
    SendersDone,
    Measured,
    Reflected,
    PathObservation,
}

impl<'a> Played<'a> {
    /// No request yet; seldom something fails.
    pub fn new(chance: &Rc<RefCell<Chance<'a>>>) -> Played<'a> {
        Played { chance: chance.clone(), measured: [None, None], tests: [None, None], due: VecDeque::new() }
    }

    fn later(&mut self, now: MonoTime, who: Who, due: &[Due]) {
        for what in due {
            let last = self.due.back().map_or(now, |last| last.0.max(now));
            self.due.push_back((last + STEP, who, *what));
        }
    }

    fn streams(&self, who: Who) -> Vec<StreamInfo> {
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
        self.rows(who).map(info).collect()
    }

    fn sent(&self, who: Who) -> Vec<Sent> {
        let sent = |(stream, _, _)| Sent { stream, bytes: 200_000, datagrams: 200 };
        self.rows(who).filter(|(_, _, role)| *role == Role::Sender).map(sent).collect()
    }

    fn result(&self, who: Who) -> SideResult {
        let transport = self.tests[index(who)].as_ref().map_or(Transport::Tcp, |test| test.transport);
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
                elapsed: Nanos::from_nanos(2_000_000_000 + number),
                bytes,
                total_bytes: bytes,
                tcp: (transport == Transport::Tcp).then_some(tcp),
                udp: (transport == Transport::Udp).then_some(udp),
            }
        };
        SideResult { streams: self.rows(who).map(row).collect(), ..SideResult::default() }
    }

    fn rows(&self, who: Who) -> impl Iterator<Item = (u32, Direction, Role)> {
        let test = self.tests[index(who)].clone();
        test.into_iter().flat_map(move |test| {
            test.directions.each().collect::<Vec<_>>().into_iter().flat_map(move |direction| {
                let sends = (direction == Direction::Up) == (who == Who::Client);
                let role = if sends { Role::Sender } else { Role::Receiver };
                test.stream_numbers(direction).map(move |stream| (stream, direction, role))
            })
        })
    }
}

impl Work for Played<'_> {
    fn request(&mut self, now: MonoTime, who: Who, request: WorkRequest) -> Option<WorkReply> {
        let due: &[Due] = match request {
            WorkRequest::Flows(order) => {
                self.tests[index(who)] = Some(order.plan.test);
                if self.chance.borrow_mut().fails() { &[Due::OpenFailed] } else { &[Due::Open] }
            }
            WorkRequest::Throughput(Request::Start) => &[Due::Sample, Due::Progress, Due::SendersDone],
            WorkRequest::Throughput(Request::StopSenders) => &[Due::SendersDone],
            WorkRequest::Throughput(Request::Drain { .. }) => &[Due::Measured],
            WorkRequest::Probes(probes::Request::ReportPath { .. }) => &[Due::PathObservation],
            WorkRequest::RoundTrips(round_trips::Request::Count) => &[Due::Reflected],
            WorkRequest::Throughput(Request::EndDrain)
            | WorkRequest::Probes(probes::Request::Send { .. })
            | WorkRequest::RoundTrips(round_trips::Request::Reflect { .. })
            | WorkRequest::Frames(_)
            | WorkRequest::Load(_)
            | WorkRequest::InBand(_) => &[],
        };
        self.later(now, who, due);
        None
    }

    fn due(&self) -> Option<MonoTime> {
        self.due.front().map(|due| due.0)
    }

    fn take(&mut self, _now: MonoTime) -> Option<(Who, WorkReply)> {
        let (_, who, due) = self.due.pop_front()?;
        let reply: WorkReply = match due {
            Due::Open => WorkReply::Open(self.streams(who)),
            Due::OpenFailed => WorkReply::Failed("no".into()),
            Due::Sample => {
                let (start, end) = (Nanos::ZERO, Nanos::from_secs(1));
                let streams = Vec::new();
                Reply::Sample(IntervalSample { side: Side::Local, start, end, omitted: false, streams }).into()
            }
            // More than any test of bytes or blocks asks for.
            Due::Progress => Reply::Progress { sent: 1 << 30, received: 1 << 30, omitted: false }.into(),
            Due::SendersDone => Reply::SendersDone(self.sent(who)).into(),
            Due::PathObservation => probes::Reply::PathObservation(Box::default()).into(),
            Due::Reflected => OBSERVED.into(),
            Due::Measured => {
                let result = self.result(who);
                let twice = self.measured[index(who)].replace(result.clone());
                assert!(twice.is_none(), "measured twice");
                Reply::Measured { result: Box::new(result), report: None }.into()
            }
        };
        Some((who, reply))
    }
}

pub(crate) fn index(who: Who) -> usize {
    usize::from(who == Who::Server)
}

/// An engine's observations of the messages of a latency session.
const OBSERVED: LatencyObservation = LatencyObservation {
    client: SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5210),
    wait: WaitMode::Block,
    received: 1,
    duplicates: 0,
    reordered: 0,
    elapsed: Nanos::ZERO,
};
const STEP: Nanos = Nanos::from_micros(100);
