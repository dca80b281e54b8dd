//! Load on the flows of a session, at either end: a thread that sends steps one after another, one that receives, and what they
//! know of each step. The client's side chooses the steps (`schedule`).

mod receiver;
mod reports;
mod routers;
pub(crate) mod schedule;
mod sender;
mod session;

pub(crate) use session::LoadSession;

use crate::error::{Context, Result, fault};
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use linux::counters::softnet;
use linux::{message, options, timestamp};
use model::limit::{StepReceived, StepRequest, StepSent};
use model::units::{Bytes, Nanos};
use receiver::Received;
use reports::Reports;
use sender::Sending;
use std::collections::BTreeMap;
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use wire::work::load::StepReport;

/// The figures of both ends about a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StepOutcome {
    pub(crate) sent: StepSent,
    pub(crate) received: StepReceived,
    /// TTL with which its datagrams arrived.
    pub(crate) ttl: Option<u8>,
}

/// The flows of a session.
type Flows = Arc<[Arc<UdpSocket>]>;

/// The load of one end.
#[derive(Debug)]
pub(crate) struct Load {
    end: End,
    threads: Vec<JoinHandle<()>>,
}

/// The load of one end, as its threads share it.
#[derive(Clone, Debug)]
struct End {
    flows: Flows,
    sending: Arc<Sending>,
    received: Arc<Received>,
    reports: Arc<Reports>,
}

impl Load {
    /// Begins to receive on these connected flows. `class`: the traffic class of what is sent.
    pub(crate) fn start(flows: impl IntoIterator<Item = FlowSocket>, class: u8) -> Result<Load> {
        let flows: Flows = flows.into_iter().filter_map(|flow| flow.udp().cloned()).collect();
        if flows.is_empty() {
            return Err(fault("a session of load without a UDP flow"));
        }
        for socket in flows.iter() {
            socket.set_nonblocking(true).context("set up a flow of load")?;
            timestamp::set_receive_time(socket.as_ref(), true)?;
            message::set_receive_notes(socket.as_ref())?;
            // ECN capable: a queue that marks is known by its marks.
            options::set_tos(socket.as_ref(), class & !ECN | ECT_0)?;
            // A queue of a router may hold what this socket is charged for, and must be filled all the same.
            options::set_send_buffer(socket.as_ref(), SEND_BUFFER)?;
            options::set_mtu_discovery(socket.as_ref(), options::MtuDiscovery::Probe)?;
        }
        let end = End { flows, sending: Arc::default(), received: Arc::default(), reports: Arc::default() };
        let mut load = Load { end: end.clone(), threads: Vec::new() };
        let [sender, receiver, answerer] = [end.clone(), end.clone(), end];
        load.threads.push(spawn("load-send", move || sender.sending.run(&sender.flows))?);
        let receive = move || receiver.received.run(&receiver.flows, &receiver.reports);
        load.threads.push(spawn("load-receive", receive)?);
        let answer = move || answerer.reports.run(&answerer.flows, |step| answerer.report(step));
        load.threads.push(spawn("load-answer", answer)?);
        Ok(load)
    }

    /// Sends these steps from now on, instead of what is being sent.
    pub(crate) fn send(&self, steps: Vec<StepRequest>) {
        self.end.sending.take(steps);
    }

    /// The figures of this end about a step. Step 0: those of the load as a whole, with the longest transit of the newest step.
    pub(crate) fn report(&self, step: u32) -> StepReport {
        self.end.report(step)
    }

    /// Requests the far end's figures of these steps over the flows.
    fn request(&self, steps: &[u32]) {
        reports::request(&self.end.flows, steps);
    }

    /// The far end's reports that have arrived over the flows since the last call, by step.
    fn answers(&self) -> BTreeMap<u32, StepReport> {
        self.end.reports.answers()
    }
}

impl End {
    fn report(&self, step: u32) -> StepReport {
        let received = match step {
            0 => StepReceived { transit_max: self.received.longest(), ..StepReceived::default() },
            _ => StepReceived::from_arrivals(&self.received.of_step(step)),
        };
        StepReport {
            step,
            sent: self.sending.sent(step),
            received,
            newest: self.received.newest(),
            total: self.received.total(),
            at: mono_now(),
            ttl: self.received.ttl(),
            dropped: self.dropped(),
        }
    }

    fn dropped(&self) -> u64 {
        let sockets: u64 =
            self.flows.iter().map(|flow| options::drops(flow.as_ref()).map_or(0, u64::from)).sum();
        let backlog: u64 = softnet().unwrap_or_default().iter().map(|row| row.dropped).sum();
        sockets + backlog
    }
}

/// Prepares the connection that a session of load is steered over: its segments meet the load, and half of them are lost, so that
/// their retransmission is quick.
pub(crate) fn prepare_control(socket: &TcpStream) {
    // An older kernel has the first not, and the phase then takes longer.
    options::set_shortest_retransmission(socket, SHORTEST_RETRANSMISSION).ok();
    options::set_linear_timeouts(socket, true).ok();
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end.sending.stop();
        self.end.received.stop();
        self.end.reports.stop();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(run).context("start a thread of load")
}

const SEND_BUFFER: Bytes = Bytes(8 << 20);
const SHORTEST_RETRANSMISSION: Nanos = Nanos::from_millis(10);
/// The two bits of ECN in a traffic class (RFC 3168).
const ECN: u8 = 3;
const ECT_0: u8 = 2;
