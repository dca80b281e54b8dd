//! Probing a path from the client: round trips, and which datagrams of which shape cross, in either direction.
//!
//! The far end reports over the control connection which arrived, so a broken return path cannot falsify the result of the
//! forward path.

pub(crate) mod flow;
pub(crate) mod numbered;
mod pace;
mod train;

pub(crate) use pace::Pace;
pub(crate) use train::{GroupsReport, ProbeTrain, Probes, is_settled};

use crate::error::{Context, Error, Kind, Result, fault};
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::work::dialogue::{Dialogue, Messages};
use crate::work::probe::flow::ProbeFlow;
use crate::work::throughput::flows::is_too_big;
use crate::work::throughput::shared::FlowSocket;
use linux::clock::{mono_now, sleep_until};
use linux::tcp_info::tcp_info;
use model::event::Probe;
use model::path::{Flow, headers};
use model::plan::{Direction, LocalOptions, Target, Transport};
use model::stats::histogram::Histogram;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use wire::ProtocolError;
use wire::native::probe::{
    Echo, Ledger, MAX_ORDERS, MIN_SIZE, ProbeClient, ProbeDatagram, ProbeReply, ProbeSend, SizeCount,
};
use wire::native::{Expired, Limits, PathObservation};

/// A probe session with a pathmeter server.
pub struct Prober {
    dialogue: Dialogue,
    flow: ProbeFlow,
    ledger: Ledger,
    echoes: Vec<(Echo, MonoTime)>,
    next_id: u32,
    rtt: Nanos,
    /// Time between two probes.
    gap: Nanos,
    /// Datagrams that both ends have sent.
    datagrams: u64,
    /// Payloads that the sender of a direction refused to send unfragmented.
    refused: BTreeSet<(Direction, u32)>,
}

/// How far a session that opens has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opened {
    /// The connection is open, after this time.
    Connected(Nanos),
    /// A pathmeter has greeted.
    Greeted,
}

/// The result of packets with growing TTLs from the far end.
#[derive(Clone, Debug)]
pub(crate) struct TracedBack {
    /// Number of the order.
    pub(crate) id: u32,
    /// When it was given.
    pub(crate) began: MonoTime,
    /// How many packets.
    pub(crate) hops: u8,
    /// A bit for each packet that came: the lowest for that of one hop.
    pub(crate) arrived: u128,
    /// The routers that ended the others, and some of earlier orders.
    pub(crate) expired: Vec<Expired>,
}

fn count(rows: Option<&Vec<SizeCount>>) -> u64 {
    rows.into_iter().flatten().map(|row| u64::from(row.count)).sum()
}

impl Prober {
    /// Opens a session, with its one UDP flow.
    pub fn open(
        target: &Target,
        local: &LocalOptions,
        security: &Security,
        interrupt: &Interrupt,
    ) -> Result<Prober> {
        Prober::open_and_report(target, local, security, interrupt, (false, &mut |_| {}))
    }

    /// The same; `report` hears how far it has come. `is_unsure`: it is open whether a pathmeter is there, which is not waited for much
    /// longer than the connection took to open.
    ///
    /// # Errors
    /// The same, and a timeout where something else than a pathmeter listens and is silent.
    pub(crate) fn open_and_report(
        target: &Target,
        local: &LocalOptions,
        security: &Security,
        interrupt: &Interrupt,
        (is_unsure, report): (bool, &mut dyn FnMut(Opened)),
    ) -> Result<Prober> {
        let local = &if is_unsure { briefly(local) } else { local.clone() };
        let mut dialogue = Dialogue::open(target, local, security, interrupt, MESSAGES, ProbeClient::new)?;
        let opened = dialogue.pump.link.opened;
        report(Opened::Connected(opened));
        let greeting = opened.saturating_mul(GREETING_ROUND_TRIPS).clamp(GREETING_WAIT, OPEN_LIMIT);
        let deadline = mono_now() + if is_unsure { greeting } else { OPEN_LIMIT };
        let mut is_greeted = false;
        dialogue.run_until(deadline, |machine| {
            if !is_greeted && !machine.peer_software().is_empty() {
                is_greeted = true;
                report(Opened::Greeted);
            }
            machine.is_ready()
        })?;
        let Some(socket) = dialogue.flows.first().and_then(FlowSocket::udp) else {
            return Err(fault("the probe session has no flow"));
        };
        let flow =
            ProbeFlow::open(socket.clone(), local.device.as_deref()).context("set up the probe flow")?;
        Ok(Prober {
            dialogue,
            flow,
            ledger: Ledger::default(),
            echoes: Vec::new(),
            next_id: 1,
            rtt: Nanos::from_millis(10),
            gap: Pace::FAST.gap(),
            datagrams: 0,
            refused: BTreeSet::new(),
        })
    }

    /// The same where it is not known whether a pathmeter is there: `None` when nothing answers, or another program does.
    pub(crate) fn open_if_there(
        target: &Target,
        local: &LocalOptions,
        security: &Security,
        interrupt: &Interrupt,
    ) -> Result<Option<Prober>> {
        match Prober::open_and_report(target, local, security, interrupt, (true, &mut |_| {})) {
            Ok(prober) => Ok(Some(prober)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Limits of the server on throughput tests.
    pub fn limits(&self) -> &Limits {
        self.dialogue.machine.limits()
    }

    /// The server's host.
    pub fn peer(&self) -> Option<&model::host::Host> {
        self.dialogue.machine.peer_host()
    }

    /// How long the control connection took to open, neighbour discovery included.
    pub fn opened(&self) -> Nanos {
        self.dialogue.pump.link.opened
    }

    /// Local ports that got no answer, before one did.
    pub(crate) fn dead_ports(&self) -> u32 {
        self.dialogue.dead_ports
    }

    /// Datagrams that both ends have sent so far.
    pub(crate) fn datagrams(&self) -> u64 {
        self.datagrams
    }

    /// Round trips of small datagrams on the idle path, one after the other.
    pub fn idle_rtt(&mut self, count: u64) -> Result<Probe> {
        let mut histogram = Histogram::default();
        let mut lost = 0;
        for sequence in 0..count {
            let began = mono_now();
            let echo = Echo { sequence, sent: began };
            // A refused or full socket is a lost probe, and is counted as one.
            self.flow.socket.send(&ProbeDatagram::Echo(echo).encode(ECHO_SIZE)).ok();
            let timeout = if histogram.count() == 0 {
                ECHO_LIMIT
            } else {
                ECHO_LIMIT.min(Nanos(self.rtt.0 * 20 + ECHO_SLACK.0))
            };
            self.run_until(began + timeout, |p| p.echoes.iter().any(|(e, _)| *e == echo))
                .or_else(timed_out)?;
            match self.echoes.drain(..).find(|(e, _)| *e == echo) {
                Some((_, came)) => histogram.record(came.saturating_since(began).0),
                None => lost += 1,
            }
            sleep_until(began + ECHO_GAP);
        }
        let rtt = histogram.distribution().unwrap_or_default();
        self.rtt = if rtt.count > 0 { rtt.p99 } else { self.rtt };
        Ok(Probe::IdleRtt { transport: Transport::Udp, rtt, lost })
    }

    /// Counts the datagrams of these trains and gives each a number.
    fn number<'a>(&mut self, trains: &[ProbeTrain<'a>]) -> Vec<(u32, ProbeTrain<'a>)> {
        let first = self.next_id;
        self.next_id += trains.len() as u32;
        self.datagrams += trains.iter().map(ProbeTrain::datagrams).sum::<u64>();
        (first..).zip(trains.iter().copied()).collect()
    }

    fn trains_up(&mut self, trains: &[(u32, ProbeTrain<'_>)]) -> Result<Vec<Vec<SizeCount>>> {
        for (id, train) in trains {
            self.send_up(*id, *train)?;
        }
        self.pause(Nanos(self.round_trip().0 / 2).min(ORDER))?;
        Ok(self.arrived(trains, 0)?.0)
    }

    /// The far end's counts for these trains, with its answers to so many requests about the path.
    fn arrived(
        &mut self,
        trains: &[(u32, ProbeTrain<'_>)],
        paths: usize,
    ) -> Result<(Vec<Vec<SizeCount>>, Vec<PathObservation>)> {
        let ids: Vec<u32> =
            trains.iter().filter(|(_, train)| train.awaited() > 0).map(|(id, _)| *id).collect();
        let (mut observed, paths) = self.observed(&ids, paths)?;
        let mut before = None;
        for _ in 0..MOST_WAITS {
            let missing = |(id, train): &&(u32, ProbeTrain<'_>)| count(observed.get(id)) < train.awaited();
            let late: Vec<u32> = trains.iter().filter(missing).map(|(id, _)| *id).collect();
            let trains_of =
                trains.iter().map(|(id, train)| (train, observed.get(id).map_or(&[][..], Vec::as_slice)));
            let arrived: u64 = observed.values().map(|rows| count(Some(rows))).sum();
            // More is waited for as long as more arrives: a busy host takes its time.
            if late.is_empty() || is_settled(trains_of) || before == Some(arrived) {
                break;
            }
            before = Some(arrived);
            self.pause(self.settle())?;
            observed.extend(self.observed(&late, 0)?.0);
        }
        Ok((trains.iter().map(|(id, _)| observed.remove(id).unwrap_or_default()).collect(), paths))
    }

    fn groups_up(&mut self, groups: &[Vec<(u32, ProbeTrain<'_>)>]) -> Result<GroupsReport> {
        self.dialogue.machine.report_path(mono_now(), NO_ORDER)?;
        for group in groups {
            for (id, train) in group {
                self.send_up(*id, *train)?;
            }
            self.pause(ORDER)?;
            self.dialogue.machine.report_path(mono_now(), NO_ORDER)?;
        }
        let (rows, receiver) = self.arrived(&groups.concat(), groups.len() + 1)?;
        Ok(GroupsReport { rows, receiver, sender: None })
    }

    /// The far end sends a group when the one before it has most likely left, so that it has few orders waiting, and what arrives of one
    /// group is counted before the next arrives.
    fn groups_down(&mut self, groups: &[Vec<(u32, ProbeTrain<'_>)>]) -> Result<GroupsReport> {
        self.dialogue.machine.report_path(mono_now(), 0)?;
        let mut report =
            GroupsReport { receiver: vec![self.sender(Direction::Up)?], ..GroupsReport::default() };
        let (mut due, mut ordered, mut sent) = (mono_now(), 0, BTreeSet::new());
        let mut counted_at = None;
        let limit = mono_now() + ANSWER_LIMIT;
        while report.receiver.len() <= groups.len() {
            if ordered < groups.len() && mono_now() >= due {
                due = mono_now() + self.send_request(&groups[ordered])? + Nanos(ORDER.0 * 2);
                ordered += 1;
            }
            let at = report.receiver.len() - 1;
            if counted_at.is_none() && at < ordered && groups[at].iter().all(|(id, _)| sent.contains(id)) {
                counted_at = Some(mono_now() + ORDER);
            }
            if counted_at.is_some_and(|time| time <= mono_now()) {
                counted_at = None;
                report.receiver.push(self.sender(Direction::Up)?);
                continue;
            }
            let next = Some(due).filter(|_| ordered < groups.len());
            let until = next.into_iter().chain(counted_at).min().unwrap_or(limit);
            let waited = self.run_until(until, |p| p.take_sent(&mut sent, &mut report.sender));
            waited.or_else(|error| if mono_now() < limit { timed_out(error) } else { Err(error) })?;
        }
        let trains = groups.concat();
        let settled = |p: &mut Prober| {
            let rows: Vec<Vec<SizeCount>> = trains.iter().map(|(id, _)| p.ledger.received(*id)).collect();
            trains.iter().zip(&rows).all(|((_, train), rows)| count(Some(rows)) >= train.awaited())
                || is_settled(trains.iter().map(|(_, train)| train).zip(rows.iter().map(Vec::as_slice)))
        };
        self.run_until(mono_now() + self.settle(), settled).or_else(timed_out)?;
        report.rows = trains.iter().map(|(id, _)| self.ledger.received(*id)).collect();
        Ok(report)
    }

    /// Has the far end send these; how long it takes.
    fn send_request(&mut self, trains: &[(u32, ProbeTrain<'_>)]) -> Result<Nanos> {
        for (id, train) in trains {
            let ProbeTrain { sizes, count, cut, trace } = *train;
            let send = ProbeSend { id: *id, sizes: sizes.to_vec(), count, cut, trace, gap: self.gap };
            self.dialogue.machine.request(mono_now(), send)?;
        }
        Ok(self.gap.saturating_mul(trains.iter().map(|(_, train)| train.datagrams()).sum()))
    }

    /// Takes the far end's answers: orders that it has carried out, and what it knows of the path. Whether any came.
    fn take_sent(&mut self, sent: &mut BTreeSet<u32>, path: &mut Option<PathObservation>) -> bool {
        let mut has_come = false;
        while let Some(reply) = self.dialogue.machine.take_reply() {
            has_come = true;
            match reply {
                ProbeReply::Sent { id, too_big } => {
                    self.refused.extend(too_big.into_iter().map(|size| (Direction::Down, size)));
                    sent.insert(id);
                }
                ProbeReply::Path(observed) => *path = Some(*observed),
                _ => {}
            }
        }
        has_come
    }

    fn trains_down(&mut self, trains: &[(u32, ProbeTrain<'_>)]) -> Result<Vec<Vec<SizeCount>>> {
        let _ = self.send_request(trains)?;
        for (id, train) in trains {
            let too_big = self.sent(*id)?;
            if train.cut.is_none() {
                self.refused.extend(too_big.into_iter().map(|size| (Direction::Down, size)));
            }
        }
        if trains.iter().any(|(_, train)| train.awaited() == 0) {
            self.pause(ORDER)?;
        }
        let is_there =
            |p: &Prober, id, train: &ProbeTrain<'_>| count(Some(&p.ledger.received(id))) >= train.awaited();
        let all_there = |p: &mut Prober| trains.iter().all(|(id, train)| is_there(p, *id, train));
        let mut before = None;
        for _ in 0..2 * MOST_WAITS {
            self.run_until(mono_now() + Nanos(self.settle().0 / 2), all_there).or_else(timed_out)?;
            let arrived: u64 = trains.iter().map(|(id, _)| count(Some(&self.ledger.received(*id)))).sum();
            // More is waited for as long as more arrives: a busy host takes its time.
            if all_there(self) || before == Some(arrived) {
                break;
            }
            before = Some(arrived);
        }
        Ok(trains.iter().map(|(id, _)| self.ledger.received(*id)).collect())
    }

    /// The path to this end as the far end knows it, and the routers that ended probes of this order or a later one.
    fn path_observation(&mut self, since: u32) -> Result<PathObservation> {
        self.dialogue.machine.report_path(mono_now(), since)?;
        let mut answer = None;
        self.run_until(mono_now() + ANSWER_LIMIT, |p| {
            if let Some(ProbeReply::Path(observed)) = p.dialogue.machine.take_reply() {
                answer = Some(*observed);
            }
            answer.is_some()
        })?;
        Ok(answer.unwrap_or_default())
    }

    /// The far end sends packets of `size` bytes, the first of which may go one hop, the second two, and so on up to `hops`.
    /// `since`: routers that answered orders from this one on are reported again.
    pub(crate) fn trace_back(&mut self, size: u32, hops: u8, since: Option<u32>) -> Result<TracedBack> {
        let payload = size.saturating_sub(headers(self.is_ipv6())).max(MIN_SIZE);
        let (id, began) = (self.next_id, mono_now());
        let probe_train = ProbeTrain { sizes: &[payload], count: hops.into(), cut: None, trace: true };
        self.probe_train(Direction::Down, probe_train)?;
        let expired = self.path_observation(since.unwrap_or(id))?.expired;
        Ok(TracedBack { id, began, hops, arrived: self.ledger.indexes(id, payload), expired })
    }

    /// The kernel's state of the control connection at this end.
    pub(crate) fn control(&self) -> Option<linux::tcp_info::TcpInfo> {
        tcp_info(self.dialogue.pump.link.socket()).ok()
    }

    /// Longest wait for stragglers, and for what routers say of them.
    fn settle(&self) -> Nanos {
        Nanos(self.round_trip().0 * 2).min(STRAGGLERS) + SETTLE
    }

    /// A round trip of the control connection. The smoothed one may still remember a first packet that waited for a
    /// neighbour to be found, the shortest knows no queues: the former, but no more than four of the latter.
    fn round_trip(&self) -> Nanos {
        let Some(tcp) = self.control() else { return self.rtt };
        let shortest = tcp.min_rtt.unwrap_or(tcp.rtt);
        Nanos(tcp.rtt.0.min(shortest.0 * 4))
    }

    /// Ends the session.
    pub fn close(mut self) {
        self.dialogue.machine.finish(mono_now());
        // The answer of a far end that is further away is not waited for.
        let wait = if self.round_trip() < GOODBYE { GOODBYE } else { Nanos::ZERO };
        self.run_until(mono_now() + wait, |_| false).ok();
    }

    fn send_up(&mut self, id: u32, probe_train: ProbeTrain<'_>) -> Result<()> {
        let mut refused = Vec::new();
        for index in 0..probe_train.count {
            let hops = probe_train.trace.then(|| u8::try_from(index + 1).unwrap_or(u8::MAX));
            for &size in probe_train.sizes {
                if refused.contains(&size) {
                    continue;
                }
                let datagram = ProbeDatagram::Probe { id, index, size }.encode(size);
                match self.flow.send(&datagram, probe_train.cut, hops) {
                    Err(e) if is_too_big(&e) => refused.push(size),
                    // A full queue loses a datagram as the path may.
                    _ => {}
                }
                sleep_until(mono_now() + self.gap);
            }
        }
        if probe_train.cut.is_none() {
            self.refused.extend(refused.into_iter().map(|size| (Direction::Up, size)));
        }
        Ok(())
    }

    /// The far end's counts for these orders, and its answers to so many earlier requests about the path.
    fn observed(&mut self, wanted: &[u32], paths: usize) -> Result<(Received, Vec<PathObservation>)> {
        for id in wanted {
            self.dialogue.machine.report(mono_now(), *id)?;
        }
        let (mut answers, mut of_path) = (BTreeMap::new(), Vec::new());
        if wanted.is_empty() && paths == 0 {
            return Ok((answers, of_path));
        }
        self.run_until(mono_now() + ANSWER_LIMIT, |p| {
            while let Some(reply) = p.dialogue.machine.take_reply() {
                match reply {
                    ProbeReply::Observation { id, received } if wanted.contains(&id) => {
                        answers.insert(id, received);
                    }
                    ProbeReply::Path(observed) => of_path.push(*observed),
                    _ => {}
                }
            }
            answers.len() == wanted.len() && of_path.len() >= paths
        })?;
        Ok((answers, of_path))
    }

    /// Waits until an order is carried out; the sizes that were refused.
    fn sent(&mut self, wanted: u32) -> Result<Vec<u32>> {
        let mut answer = None;
        self.run_until(mono_now() + ANSWER_LIMIT, |p| {
            while answer.is_none()
                && let Some(reply) = p.dialogue.machine.take_reply()
            {
                if let ProbeReply::Sent { id, too_big } = reply
                    && id == wanted
                {
                    answer = Some(too_big);
                }
            }
            answer.is_some()
        })?;
        Ok(answer.unwrap_or_default())
    }

    /// Lets time pass.
    pub(crate) fn pause(&mut self, time: Nanos) -> Result<()> {
        self.run_until(mono_now() + time, |_| false).or_else(timed_out)
    }

    /// Keeps the session going until `done` or the deadline, which is an error.
    fn run_until(&mut self, deadline: MonoTime, mut done: impl FnMut(&mut Prober) -> bool) -> Result<()> {
        loop {
            let until = self.dialogue.advance()?;
            if done(self) {
                return Ok(());
            }
            let socket = self.flow.socket.clone();
            self.dialogue.wait(until, deadline, Some(socket.as_ref()))?;
            self.take_datagrams();
        }
    }

    fn take_datagrams(&mut self) {
        self.flow.hear();
        let mut buffer = [0; 1 << 16];
        while let Some((length, fragment)) = self.flow.receive(&mut buffer) {
            let now = mono_now();
            if let Some(ProbeDatagram::EchoReply(echo)) = ProbeDatagram::decode(&buffer[..length]) {
                self.echoes.push((echo, now));
            } else {
                self.ledger.count(&buffer[..length], fragment);
            }
        }
    }
}

impl Probes for Prober {
    fn is_ipv6(&self) -> bool {
        !self.flow.is_v4()
    }

    fn flow(&self, direction: Direction) -> Flow {
        let (near, far) = self.flow.ends();
        let (from, to) = if direction == Direction::Up { (near, far) } else { (far, near) };
        Flow { transport: Transport::Udp, from, to }
    }

    fn sender(&mut self, direction: Direction) -> Result<PathObservation> {
        match direction {
            Direction::Up => Ok(self.flow.observed(self.dialogue.pump.link.socket(), 0)),
            Direction::Down => self.path_observation(0),
        }
    }

    /// Four trains at most, which go one right after the other: the counts of all of them are requested at once, since a round trip
    /// may take most of a second.
    fn probe_trains(
        &mut self,
        direction: Direction,
        trains: &[ProbeTrain<'_>],
    ) -> Result<Vec<Vec<SizeCount>>> {
        let numbered = self.number(trains);
        match direction {
            Direction::Up => self.trains_up(&numbered),
            Direction::Down => self.trains_down(&numbered),
        }
    }

    /// Each group behind the one before it, and both ends' knowledge beside: all of it in one round trip, however long.
    fn probe_groups(&mut self, direction: Direction, groups: &[Vec<ProbeTrain<'_>>]) -> Result<GroupsReport> {
        let numbered: Vec<_> = groups.iter().map(|group| self.number(group)).collect();
        match direction {
            Direction::Up => self.groups_up(&numbered),
            Direction::Down => self.groups_down(&numbered),
        }
    }

    fn is_long(&self) -> bool {
        self.round_trip() >= LONG_ROUND_TRIP && takes_requests_side_by_side(self.limits())
    }

    fn set_pace(&mut self, pace: Pace) {
        self.gap = pace.gap();
    }

    fn wait_for_stragglers(&mut self) -> Result<()> {
        self.pause(self.settle())
    }

    fn is_refused(&self, direction: Direction, payload: u32) -> bool {
        self.refused.contains(&(direction, payload))
    }
}

/// A server that limits rates carries orders out so slowly that they would wait for one another, and an old one lets few wait.
fn takes_requests_side_by_side(limits: &Limits) -> bool {
    limits.max_rate.is_none() && limits.takes_probe_requests(MAX_ORDERS)
}

/// The same with no long wait for connections: whether anything listens there is not known.
fn briefly(local: &LocalOptions) -> LocalOptions {
    let timeout = local.connect_timeout.unwrap_or(UNSURE_WAIT);
    LocalOptions { connect_timeout: Some(timeout.min(UNSURE_WAIT)), ..local.clone() }
}

/// No answer, or one from a program other than pathmeter.
pub(crate) fn is_absent(error: &Error) -> bool {
    match error.protocol() {
        Some(
            ProtocolError::Violation { .. }
            | ProtocolError::Closed(_)
            | ProtocolError::Timeout(_)
            | ProtocolError::Unacknowledged(_),
        ) => true,
        Some(_) => false,
        None => error.kind() == Kind::Unreachable,
    }
}

/// A deadline that passes is expected where one only waits.
fn timed_out(error: Error) -> Result<()> {
    match error.protocol() {
        Some(ProtocolError::Timeout(_)) => Ok(()),
        _ => Err(error),
    }
}

/// Counts of received probes, by the number of the order.
type Received = BTreeMap<u32, Vec<SizeCount>>;

const ECHO_SIZE: u32 = 64;
const ECHO_GAP: Nanos = Nanos::from_millis(5);
const ECHO_LIMIT: Nanos = Nanos::from_secs(1);
const ECHO_SLACK: Nanos = Nanos::from_millis(100);
/// A datagram that left before a request arrives before it, but for the order in which queues empty.
const ORDER: Nanos = Nanos::from_millis(25);
/// The longest wait for the answer to a goodbye.
const GOODBYE: Nanos = Nanos::from_millis(200);
/// The longest wait for stragglers: packets of one train differ by queues, and not by the length of the path.
const STRAGGLERS: Nanos = Nanos::from_millis(150);
/// From here on a path is long: there probes go before it is known whether they are needed.
pub(crate) const LONG_ROUND_TRIP: Nanos = Nanos::from_millis(100);
/// Above the number of every order.
const NO_ORDER: u32 = u32::MAX;
/// Waits for stragglers, of which each but the last saw some arrive.
const MOST_WAITS: u32 = 4;
/// Least time for stragglers to arrive.
const SETTLE: Nanos = Nanos::from_millis(25);
const MESSAGES: Messages = Messages { closed: "during the probes", late: "while probing the path" };
/// For a pathmeter that may not be there: a SYN may be lost once, and its repetition after a second take a second.
const UNSURE_WAIT: Nanos = Nanos::from_millis(2_000);
/// A pathmeter greets at once: a lost segment is repeated twice meanwhile.
const GREETING_WAIT: Nanos = Nanos::from_millis(1_500);
const GREETING_ROUND_TRIPS: u64 = 6;
const OPEN_LIMIT: Nanos = Nanos::from_secs(15);
const ANSWER_LIMIT: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_is_given_few_requests_at_a_time() {
        let limits =
            |max_rate, max_probe_requests| Limits { max_rate, max_probe_requests, ..Limits::default() };
        let rate = Some(model::units::BitRate(1_000_000));
        assert!(takes_requests_side_by_side(&limits(None, Some(12))));
        assert!(!takes_requests_side_by_side(&limits(rate, Some(12))));
        // Its greeting has no such limit: four may wait there.
        assert!(!takes_requests_side_by_side(&limits(None, None)));
        assert!(limits(None, None).takes_probe_requests(4) && !limits(None, None).takes_probe_requests(5));
    }
}
