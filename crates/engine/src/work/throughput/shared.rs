//! State that a stream's thread shares with the driver: counters it adds to, requests it obeys.

use crate::session::closing::Tcp;
use crate::work::throughput::receive::UdpReceive;
use crate::work::throughput::timed::{Timed, Timing};
use linux::cpu::Usage;
use linux::poll::Waker;
use model::plan::Transport;
use model::sample::StreamInfo;
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use wire::iperf2::{Numbered, Sending, Shape};

/// One open data flow.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Its name and addresses.
    pub(crate) info: StreamInfo,
    /// Its socket.
    pub(crate) socket: FlowSocket,
    /// Present where each flow is a test by itself (iPerf2).
    pub(crate) own: Option<Box<OwnFlow>>,
}

/// Settings of a flow that is a test by itself, in which it differs from the plan.
#[derive(Clone, Debug)]
pub(crate) struct OwnFlow {
    /// How its datagrams are numbered.
    pub(crate) numbered: Numbered,
    /// How it sends; absent: it receives.
    pub(crate) sending: Option<Sending>,
    /// How the data is cut.
    pub(crate) shape: Shape,
    /// TCP payload that was moved before its thread begins, bytes.
    pub(crate) moved: u64,
    /// Datagrams that came before its thread begins.
    pub(crate) early: Vec<Vec<u8>>,
    /// TCP: no more than this is read in a second; the sender is held back by its window.
    pub(crate) receive_rate: Option<BitRate>,
    /// Timed quantities beside its bytes.
    pub(crate) timing: Timing,
    /// Received data is cut, and each piece is to be timed; otherwise it is data alone.
    pub(crate) records: Option<Records>,
}

/// Records before the pieces of received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// TCP: a record before each piece.
    Pieces(PieceRecords),
    /// UDP: a record of its frame in each datagram, at this place.
    Frames(usize),
}

/// The records of a TCP stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceRecords {
    /// They say when the piece was written, on a clock that agrees with this one.
    pub(crate) trip_times: bool,
    /// A test header stands before the first.
    pub(crate) header: bool,
    /// Each piece is reported by itself.
    pub(crate) singly: bool,
}

/// The socket of a flow, shared by its thread and the sampler.
#[derive(Clone, Debug)]
pub(crate) enum FlowSocket {
    /// A byte stream.
    Tcp(Arc<Tcp>),
    /// A connected datagram socket.
    Udp(Arc<UdpSocket>),
}

impl FlowSocket {
    /// The byte stream, if it is one.
    pub(crate) fn tcp(&self) -> Option<&TcpStream> {
        match self {
            FlowSocket::Tcp(socket) => Some(socket),
            FlowSocket::Udp(_) => None,
        }
    }

    /// The datagram socket, if it is one.
    pub(crate) fn udp(&self) -> Option<&Arc<UdpSocket>> {
        match self {
            FlowSocket::Tcp(_) => None,
            FlowSocket::Udp(socket) => Some(socket),
        }
    }

    /// The transport that carries it.
    pub(crate) fn transport(&self) -> Transport {
        if self.tcp().is_some() { Transport::Tcp } else { Transport::Udp }
    }

    /// This end of it.
    pub(crate) fn local(&self) -> SocketAddr {
        let local = match self {
            FlowSocket::Tcp(socket) => socket.local_addr(),
            FlowSocket::Udp(socket) => socket.local_addr(),
        };
        local.unwrap_or(UNKNOWN)
    }

    /// The other end.
    pub(crate) fn remote(&self) -> SocketAddr {
        let remote = match self {
            FlowSocket::Tcp(socket) => socket.peer_addr(),
            FlowSocket::Udp(socket) => socket.peer_addr(),
        };
        remote.unwrap_or(UNKNOWN)
    }

    /// Whether its calls wait.
    pub(crate) fn set_nonblocking(&self, never_waits: bool) -> io::Result<()> {
        match self {
            FlowSocket::Tcp(socket) => socket.set_nonblocking(never_waits),
            FlowSocket::Udp(socket) => socket.set_nonblocking(never_waits),
        }
    }
}

impl AsFd for FlowSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            FlowSocket::Tcp(socket) => socket.as_fd(),
            FlowSocket::Udp(socket) => socket.as_fd(),
        }
    }
}

/// Counters of one stream. Bytes and datagrams only grow; the sampler reads them at any time.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Payload bytes handed to the kernel or received.
    pub(crate) bytes: AtomicU64,
    /// Calls that moved TCP data.
    pub(crate) calls: AtomicU64,
    /// TCP reads by size, in eighths of [`READ`]; larger ones are among the last.
    pub(crate) reads: [AtomicU64; 8],
    /// Datagrams handed to the kernel (sender).
    pub(crate) datagrams: AtomicU64,
    /// Datagrams the kernel refused for want of room (sender).
    pub(crate) send_drops: AtomicU64,
    /// The peer's host has reported that its port is closed (UDP sender).
    pub(crate) refused: AtomicBool,
    /// Monotonic time of the first and last data, nanoseconds; 0: none yet.
    pub(crate) first: AtomicU64,
    /// See `first`.
    pub(crate) last: AtomicU64,
    /// The longest time between two pieces of data, nanoseconds, and when it began.
    pub(crate) silence: AtomicU64,
    /// See `silence`.
    pub(crate) silence_began: AtomicU64,
    /// The thread has ended.
    pub(crate) finished: AtomicBool,
    /// State of a UDP receiver.
    pub(crate) udp: Option<Mutex<UdpReceive>>,
    /// Timed quantities of a TCP stream, or of a sender of frames, beside its bytes.
    pub(crate) timed: Option<Mutex<Timed>>,
    /// Resources that the thread used, set when it ends.
    pub(crate) usage: OnceLock<Usage>,
    /// The CPU it ran on last, set when it ends.
    pub(crate) cpu: OnceLock<usize>,
    /// Why it ended early.
    pub(crate) failure: OnceLock<String>,
    /// Facts of the data path, set when the thread starts.
    pub(crate) facts: OnceLock<StreamFacts>,
}

/// How a stream's thread works.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamFacts {
    /// Datagrams in one GSO send.
    pub(crate) gso_segments: u32,
    /// Why GSO is not used, when it was wanted.
    pub(crate) no_gso_reason: Option<String>,
    /// GRO is on.
    pub(crate) gro: bool,
    /// Method of receiving.
    pub(crate) receiver: Option<&'static str>,
    /// The receiver spins.
    pub(crate) spins: bool,
}

/// Orders to all stream threads of one test.
#[derive(Debug)]
pub(crate) struct StreamControl {
    stop_senders: AtomicBool,
    stop_receivers: AtomicBool,
    /// When senders end by themselves; `i64::MAX`: never.
    deadline: AtomicI64,
    /// Wakes the driver.
    pub(crate) waker: Arc<Waker>,
}

impl StreamControl {
    /// No order given yet.
    pub(crate) fn new(waker: Arc<Waker>) -> StreamControl {
        StreamControl {
            stop_senders: AtomicBool::new(false),
            stop_receivers: AtomicBool::new(false),
            deadline: AtomicI64::new(i64::MAX),
            waker,
        }
    }

    /// Senders end at this time.
    pub(crate) fn set_deadline(&self, deadline: MonoTime) {
        self.deadline.store(i64::try_from(deadline.0).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// When senders end by themselves.
    pub(crate) fn deadline(&self) -> MonoTime {
        MonoTime(self.deadline.load(Ordering::Relaxed).unsigned_abs())
    }

    /// All senders end now.
    pub(crate) fn stop_senders(&self) {
        self.stop_senders.store(true, Ordering::Relaxed);
    }

    /// All receivers end now.
    pub(crate) fn stop_receivers(&self) {
        self.stop_receivers.store(true, Ordering::Relaxed);
    }

    /// Must a sender end?
    pub(crate) fn sender_is_over(&self, now: MonoTime) -> bool {
        self.stop_senders.load(Ordering::Relaxed) || now >= self.deadline()
    }

    /// Must a receiver end?
    pub(crate) fn receiver_is_over(&self) -> bool {
        self.stop_receivers.load(Ordering::Relaxed)
    }
}

impl Counters {
    /// Notes that the peer's host reported its port as closed; the first time wakes the driver.
    pub(crate) fn note_refusal(&self, control: &StreamControl) {
        if !self.refused.swap(true, Ordering::Relaxed) {
            control.waker.wake();
        }
    }

    /// Notes data that came or went now; the first of a receiver wakes the driver.
    pub(crate) fn touch(&self, now: MonoTime) -> bool {
        let before = self.last.load(Ordering::Relaxed);
        self.last.store(now.0, Ordering::Relaxed);
        let silence = now.0.saturating_sub(before);
        if before > 0 && silence > self.silence.load(Ordering::Relaxed) {
            self.silence.store(silence, Ordering::Relaxed);
            self.silence_began.store(before, Ordering::Relaxed);
        }
        let first = self.first.load(Ordering::Relaxed) == 0;
        if first {
            self.first.store(now.0, Ordering::Relaxed);
        }
        first
    }

    /// When the longest time without data began, and how long it was.
    pub(crate) fn silence(&self) -> (MonoTime, Nanos) {
        (MonoTime(self.silence_began.load(Ordering::Relaxed)), Nanos(self.silence.load(Ordering::Relaxed)))
    }

    /// The state of a UDP receiver.
    pub(crate) fn receiver(&self) -> Option<MutexGuard<'_, UdpReceive>> {
        self.udp.as_ref().map(|state| state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what is timed beside the bytes, where anything is.
    pub(crate) fn time(&self, what: impl FnOnce(&mut Timed)) {
        if let Some(timed) = &self.timed {
            what(&mut timed.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Adds what one call has moved; only the stream's own thread does so.
    pub(crate) fn add_call(&self, bytes: u64) {
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.add_bytes(bytes);
    }

    /// Adds what one read has brought; only the stream's own thread does so.
    pub(crate) fn add_read(&self, bytes: u64) {
        let bin = &self.reads[(bytes.saturating_mul(8) / READ).min(7) as usize];
        bin.store(bin.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.add_call(bytes);
    }

    /// Adds bytes; only the stream's own thread does so.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.store(self.bytes.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// Adds datagrams; only the stream's own thread does so.
    pub(crate) fn add_datagrams(&self, datagrams: u64) {
        self.datagrams.store(self.datagrams.load(Ordering::Relaxed) + datagrams, Ordering::Relaxed);
    }
}

/// Size of iPerf2's read, the unit of its `Reads=Dist`.
pub(crate) const READ: u64 = 128 << 10;

/// Bytes that the senders of one direction may still send, all streams together.
#[derive(Debug)]
pub(crate) struct Budget {
    /// `None`: without end.
    bytes: Option<u64>,
    left: AtomicU64,
    begun: AtomicBool,
}

impl Budget {
    /// A budget of so many bytes, or without end. Data sent before [`Budget::begin`] costs nothing when `waits`.
    pub(crate) fn new(bytes: Option<u64>, waits: bool) -> Budget {
        let left = if waits { u64::MAX } else { bytes.unwrap_or(u64::MAX) };
        Budget { bytes, left: AtomicU64::new(left), begun: AtomicBool::new(!waits) }
    }

    /// The omitted time is over: what is sent from now on counts. Only the first call does anything.
    pub(crate) fn begin(&self) {
        if let (Some(bytes), false) = (self.bytes, self.begun.swap(true, Ordering::Relaxed)) {
            self.left.store(bytes, Ordering::Relaxed);
        }
    }

    /// Takes up to `wanted` bytes; 0: used up.
    pub(crate) fn take(&self, wanted: u64) -> u64 {
        if self.bytes.is_none() {
            return wanted;
        }
        let take = |left: u64| left.checked_sub(left.min(wanted));
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or(0);
        before.min(wanted)
    }

    /// Gives back what was taken and not sent.
    pub(crate) fn give_back(&self, bytes: u64) {
        let give = |left: u64| Some(left.saturating_add(bytes));
        if self.bytes.is_some() {
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, give).ok();
        }
    }
}

/// The address of a socket that has none any more.
pub(crate) const UNKNOWN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
