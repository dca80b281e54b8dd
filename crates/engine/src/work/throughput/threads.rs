//! The threads of a test: one for every stream.

mod frames;
mod own;
mod pieces;

pub(crate) use own::UNLIMITED;

use crate::error::{Context, Result};
use crate::session::protocol::Tests;
use crate::work::throughput::bulk::{self, BulkReceiver, BulkSender, SOURCE};
use crate::work::throughput::datagram::{self, DatagramSender, IdleMode};
use crate::work::throughput::flows::{BEST_BLOCK, paced_block};
use crate::work::throughput::receive::UdpReceive;
use crate::work::throughput::shared::{Budget, Counters, Flow, FlowSocket, StreamControl};
use linux::buffer::PageBuffer;
use linux::cpu::Usage;
use linux::poll::Waker;
use linux::sendfile::SendFile;
use model::plan::{Direction, End, LocalOptions, Transport, Wait};
use model::sample::{DataPath, Role};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use wire::{FlowHello, FlowPlan};

/// One stream and the thread that works it.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The open flow.
    pub(crate) flow: Arc<Flow>,
    /// Counters of its thread.
    pub(crate) counters: Arc<Counters>,
    /// The budget of the senders of its direction.
    pub(crate) budget: Arc<Budget>,
    /// Requests to its thread.
    pub(crate) control: Arc<StreamControl>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Stream {
    /// A stream without an owner would go on for ever.
    fn drop(&mut self) {
        self.control.stop_senders();
        self.stop();
        self.join();
    }
}

impl Stream {
    /// Waits for the thread, which has been signalled to end.
    pub(crate) fn join(&mut self) {
        self.thread.take().map(JoinHandle::join);
    }
}

/// Everything a stream thread needs.
struct StreamJob {
    pub plan: FlowPlan,
    flow: Arc<Flow>,
    counters: Arc<Counters>,
    budget: Arc<Budget>,
    control: Arc<StreamControl>,
    payload: Arc<Payload>,
    cpu: Option<u32>,
    spin: bool,
    wait: Wait,
    receivers: usize,
    file: Option<PathBuf>,
}

/// The data that TCP senders send repeatedly: one copy for all of them, however many a client requests.
struct Payload {
    bytes: PageBuffer,
    /// The same in the page cache, where it is to be sent from there.
    cached: Option<SendFile>,
}

/// Starts a thread for every flow. `deadline`: when its senders end by themselves.
pub(crate) fn spawn(
    plan: &FlowPlan,
    flows: Vec<Flow>,
    local: &LocalOptions,
    waker: &Arc<Waker>,
    deadline: Option<MonoTime>,
) -> Result<Vec<Stream>> {
    let budget = |direction| {
        let bytes = budget_bytes(plan).filter(|_| !client_ends(plan, direction));
        Arc::new(Budget::new(bytes, plan.test.omit > Nanos::ZERO))
    };
    let budgets = [Direction::Up, Direction::Down].map(budget);
    let sends = |flow: &Flow| flow.info.role == Role::Sender;
    let shared = Arc::new(Payload::new(plan, flows.iter().any(sends))?);
    let count = own::count(plan, &flows);
    let receivers = own::receivers(plan, &flows);
    let spin = may_spin(plan, local, count);
    let job = |(index, flow): (usize, Flow)| {
        let (udp, timed) = (receive_state(&flow), own::timed_sender_or_stream(&flow));
        let counters = Counters { udp, timed, ..Counters::default() };
        let control = StreamControl::new(waker.clone());
        if let Some(deadline) = deadline {
            control.set_deadline(deadline);
        }
        let (plan, budget) = match &flow.own {
            Some(own) => own::begin(plan, own, &counters, &control),
            None => (plan.clone(), budgets[usize::from(flow.info.direction == Direction::Down)].clone()),
        };
        let fits = plan.test.transport == Transport::Udp || payload_length(&plan) == shared.bytes.len();
        let job = StreamJob {
            counters: Arc::new(counters),
            budget,
            control: Arc::new(control),
            payload: if fits { shared.clone() } else { Arc::new(Payload::new(&plan, sends(&flow))?) },
            cpu: (!local.affinity.is_empty()).then(|| local.affinity[index % local.affinity.len()]),
            spin,
            wait: local.wait,
            receivers,
            file: local.file.clone(),
            flow: Arc::new(flow),
            plan,
        };
        job.start()
    };
    flows.into_iter().enumerate().map(job).collect()
}

/// How the data path of this end worked.
pub(crate) fn data_path(plan: &FlowPlan, streams: &[Stream]) -> DataPath {
    let facts: Vec<_> = streams.iter().filter_map(|s| s.counters.facts.get()).collect();
    let udp_receiver =
        plan.test.transport == Transport::Udp && streams.iter().any(|s| s.flow.info.role == Role::Receiver);
    DataPath {
        congestion: streams.iter().find_map(|s| s.flow.info.congestion.clone()),
        gso_segments: facts.iter().map(|f| f.gso_segments).max().unwrap_or(0),
        gro: facts.iter().any(|f| f.gro),
        zero_copy: plan.test.zero_copy && streams.iter().any(|s| s.flow.info.role == Role::Sender),
        receiver: facts.iter().find_map(|f| f.receiver).map(Into::into),
        wait: udp_receiver.then(|| if facts.iter().any(|f| f.spins) { Wait::Spin } else { Wait::Block }),
        receive_buffer: streams.iter().map(|s| s.flow.info.receive_buffer).max().unwrap_or(Bytes(0)),
        send_buffer: streams.iter().map(|s| s.flow.info.send_buffer).max().unwrap_or(Bytes(0)),
        window_scaling: (plan.test.transport == Transport::Tcp).then(offers_window_scaling).flatten(),
    }
}

/// This host's `net.ipv4.tcp_window_scaling`, which is of IPv6 too.
fn offers_window_scaling() -> Option<bool> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_window_scaling").ok()?;
    Some(text.trim() != "0")
}

impl StreamJob {
    fn start(self) -> Result<Stream> {
        let (flow, counters) = (self.flow.clone(), self.counters.clone());
        let (budget, control) = (self.budget.clone(), self.control.clone());
        let thread =
            std::thread::Builder::new().name(format!("stream {}", flow.info.stream)).stack_size(256 << 10);
        let thread = thread.spawn(move || self.run()).context("start a stream thread")?;
        Ok(Stream { flow, counters, budget, control, thread: Some(thread) })
    }

    fn run(self) {
        if let Some(cpu) = self.cpu
            && let Err(e) = linux::cpu::pin_current_thread(cpu as usize)
        {
            self.counters.failure.set(e.to_string()).ok();
        }
        let _end = Ending { counters: &self.counters, control: &self.control, before: Usage::of_thread() };
        let outcome = match &self.flow.socket {
            FlowSocket::Tcp(socket) => self.run_tcp(socket),
            FlowSocket::Udp(socket) => self.run_udp(socket),
        };
        if let Err(reason) = outcome {
            self.counters.failure.set(format!("stream {}: {reason}", self.flow.info.stream)).ok();
        }
    }

    fn run_tcp(&self, socket: &std::net::TcpStream) -> Result<(), String> {
        let test = &self.plan.test;
        if let (Role::Receiver, Some(file)) = (self.flow.info.role, &self.file) {
            return bulk::receive_to(file, socket, &self.counters, &self.control);
        }
        if let (Role::Receiver, Some((own, records))) = (self.flow.info.role, own::cut_stream(&self.flow)) {
            return pieces::receive(own, records, socket, &self.counters, &self.control);
        }
        if self.flow.info.role == Role::Receiver {
            let rate = self.flow.own.as_ref().and_then(|own| own.receive_rate);
            let how = BulkReceiver { streams: self.receivers, discard: test.receive_discard, rate };
            return bulk::receive(how, socket, &self.counters, &self.control);
        }
        if let Some((own, sending)) = own::cut(&self.flow) {
            let how = (sending, test.bitrate, self.spin);
            return frames::send_stream(own, how, socket, &self.counters, &self.budget, &self.control);
        }
        let how = BulkSender {
            block: block_size(&self.plan) as usize,
            rate: test.bitrate,
            burst: test.burst,
            spin: self.spin,
            cached: self.payload.cached.as_ref(),
            file: self.file.clone(),
            rtt_part: self.flow.own.as_ref().and_then(|own| own.timing.rtt_part),
        };
        bulk::send(&how, &self.payload.bytes, socket, &self.counters, &self.budget, &self.control)
    }

    fn run_udp(&self, socket: &std::net::UdpSocket) -> Result<(), String> {
        let test = &self.plan.test;
        let own = self.flow.own.as_ref();
        if let Some((own, sending)) = own::cut(&self.flow) {
            return frames::send_datagrams(own, sending, socket, &self.counters, &self.budget, &self.control);
        }
        let sender = DatagramSender {
            length: block_size(&self.plan) as usize,
            rate: test.bitrate,
            burst: test.burst,
            spin: self.spin,
            offload: test.offload,
            pattern: test.repeating_payload || own.is_some(),
            head: own.and_then(|own| own.sending.as_ref()).map_or_else(Vec::new, |s| s.head.clone()),
        };
        linux::clock::set_timer_slack(Nanos::from_nanos(1)).ok();
        if let Some(own) = own {
            return self.datagrams(own.numbered, &sender, socket);
        }
        match (&self.plan.hello, test.wide_counters) {
            (FlowHello::Native { .. }, _) => self.datagrams(
                wire::native::DataHeader { stream: self.flow.info.stream as u8 },
                &sender,
                socket,
            ),
            (FlowHello::Iperf2, _) => Err("the flow has no numbers".into()),
            (FlowHello::Iperf3 { .. }, true) => self.datagrams(wire::iperf3::Wide, &sender, socket),
            (FlowHello::Iperf3 { .. }, false) => self.datagrams(wire::iperf3::Narrow, &sender, socket),
        }
    }

    fn datagrams<D: wire::Datagram>(
        &self,
        header: D,
        sender: &DatagramSender,
        socket: &std::net::UdpSocket,
    ) -> Result<(), String> {
        if self.flow.info.role == Role::Sender {
            return datagram::send(sender, header, socket, &self.counters, &self.budget, &self.control);
        }
        let early = self.flow.own.as_ref().map_or(&[][..], |own| &own.early);
        if self.plan.test.omit > Nanos::ZERO {
            linux::timestamp::set_receive_time(socket, true).ok();
        }
        datagram::receive(header, socket, self.rest(), early, &self.counters, &self.control)
    }

    /// Unpaced datagrams come in such numbers that a receiver may let them gather, given room for them.
    fn rest(&self) -> IdleMode {
        let has_room = self.flow.info.receive_buffer >= SLEEP_BUFFER;
        match (self.wait, self.plan.test.bitrate) {
            (Wait::Auto, None) if has_room && self.spin => IdleMode::Sleep,
            _ if self.spin => IdleMode::Spin,
            _ => IdleMode::Block,
        }
    }
}

/// Notifies the driver that a stream's thread has ended, however it ends.
struct Ending<'a> {
    counters: &'a Counters,
    control: &'a StreamControl,
    before: Usage,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.counters.failure.set("a stream's thread failed: an internal error".into()).ok();
        }
        self.counters.usage.set(Usage::of_thread().since(&self.before)).ok();
        if let Some(cpu) = linux::cpu::current() {
            self.counters.cpu.set(cpu).ok();
        }
        self.counters.finished.store(true, Ordering::Release);
        self.control.waker.wake();
    }
}

fn receive_state(flow: &Flow) -> Option<Mutex<UdpReceive>> {
    let receives = matches!(flow.socket, FlowSocket::Udp(_)) && flow.info.role == Role::Receiver;
    receives.then(|| Mutex::new(UdpReceive::timing(own::timed_datagrams(flow))))
}

/// Bytes that all senders of one direction send in the counted time.
///
/// iPerf3's TCP receivers from 3.16 on count whole blocks: of a last one cut short they would never know, and a
/// client would wait for it. iPerf3 sends them whole, too.
fn budget_bytes(plan: &FlowPlan) -> Option<u64> {
    let block = u64::from(block_size(plan));
    match plan.test.end {
        End::Time(_) => None,
        End::Bytes(bytes) if counts_blocks(plan) => Some(bytes.0.div_ceil(block).saturating_mul(block)),
        End::Bytes(bytes) => Some(bytes.0),
        End::Blocks(blocks) => Some(blocks.saturating_mul(block)),
    }
}

/// Is it the client that ends what the server sends? The omitted time of the two ends is not over at the same moment, so a
/// server of iPerf3 that stopped after the amount by its own count could leave the client waiting for the rest.
fn client_ends(plan: &FlowPlan, direction: Direction) -> bool {
    protocol(plan).counts_blocks && direction == Direction::Down && plan.test.omit > Nanos::ZERO
}

fn protocol(plan: &FlowPlan) -> &'static Tests {
    Tests::for_protocol(plan.hello.protocol())
}

/// Bytes of one write or datagram.
fn block_size(plan: &FlowPlan) -> u32 {
    let test = &plan.test;
    match (test.length, test.bitrate) {
        (None, _) if counts_blocks(plan) => wire::iperf3::block_length(test),
        // iPerf3's servers from 3.16 on count whole blocks of the length that was announced.
        (None, Some(_)) if protocol(plan).counts_blocks => wire::iperf3::block_length(test),
        (None, Some(rate)) => paced_block(rate),
        (None, None) => BEST_BLOCK,
        (Some(length), _) => length,
    }
}

/// Must each stream send whole blocks?
fn counts_blocks(plan: &FlowPlan) -> bool {
    protocol(plan).counts_blocks
        && plan.test.transport == Transport::Tcp
        && !matches!(plan.test.end, End::Time(_))
}

/// Bytes of memory that TCP is sent from.
fn payload_length(plan: &FlowPlan) -> usize {
    match plan.test.transport {
        Transport::Tcp if plan.test.zero_copy => block_size(plan) as usize,
        Transport::Tcp => (block_size(plan) as usize).min(SOURCE),
        Transport::Udp => 0,
    }
}

impl Payload {
    fn new(plan: &FlowPlan, is_sent: bool) -> Result<Payload> {
        let is_tcp = plan.test.transport == Transport::Tcp;
        let mut bytes = PageBuffer::new(payload_length(plan));
        if plan.test.repeating_payload || protocol(plan).sends_digits {
            bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = b'0' + (at % 10) as u8);
        }
        let is_cached = is_tcp && is_sent && plan.test.zero_copy;
        let cached = is_cached.then(|| SendFile::new(&bytes)).transpose()?;
        Ok(Payload { bytes, cached })
    }
}

/// Spinning pays only when every spinning thread can have a CPU to itself.
fn may_spin(plan: &FlowPlan, local: &LocalOptions, flows: usize) -> bool {
    match local.wait {
        Wait::Spin => true,
        Wait::Block => false,
        Wait::Auto => {
            let cpus = linux::cpu::count();
            let paced = plan.test.bitrate.is_some();
            cpus >= 2 && flows <= cpus.div_ceil(2) && (!paced || plan.test.transport == Transport::Udp)
        }
    }
}

/// Receive buffer that holds the data of 100 Gbit/s during a pause, several times over.
const SLEEP_BUFFER: Bytes = Bytes(4 << 20);
