//! The server's loops: a message in, its reply out, as soon as can be.

use super::bounded::Meter;
use super::socket::{MessageBuffer, Next, Socket};
use super::wait::Waiter;
use crate::error::{Context, Result};
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use linux::sockaddr::plain;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::latency::{LatencySpec, WaitMode};
use model::plan::Transport;
use model::stats::sequence::SequenceTracker;
use model::time::MonoTime;
use model::units::{Nanos, PacketRate};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use wire::echo::{Arrival, Reflect};
use wire::native::LatencyObservation;
use wire::sockperf::{Header, MAX_TCP_LEN, Responder};

/// Answers the messages of one flow of a latency session, in a thread of its own, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reflecting {
    stop: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
    /// A message is being answered and not yet in the ledger.
    busy: Arc<AtomicBool>,
    client: SocketAddr,
    wait: WaitMode,
    thread: Option<JoinHandle<()>>,
}

/// Which messages have come.
#[derive(Debug)]
struct Ledger {
    numbers: SequenceTracker,
    first: Option<MonoTime>,
    last: MonoTime,
}

impl Reflecting {
    /// Starts the thread. `client`: the far end of the flow; `most`: messages answered at most.
    pub(crate) fn start(
        flow: FlowSocket,
        client: SocketAddr,
        spec: &LatencySpec,
        most: Option<PacketRate>,
    ) -> Result<Reflecting> {
        let place = SpinPlace::take(spec.wait);
        let wait = place.wait;
        let stop = Arc::<AtomicBool>::default();
        let numbers = SequenceTracker::new(1, SequenceTracker::DEFAULT_WINDOW);
        let ledger = Arc::new(Mutex::new(Ledger { numbers, first: None, last: MonoTime(0) }));
        let busy = Arc::<AtomicBool>::default();
        let (stopped, observed, at_work) = (stop.clone(), ledger.clone(), busy.clone());
        let largest =
            if spec.transport == Transport::Udp { LARGEST_UDP_PAYLOAD as usize } else { MAX_TCP_LEN };
        flow.set_nonblocking(true)?;
        let work = move || {
            let _place = place;
            let mut responder = Responder::native(largest);
            let mut waiter = Waiter::new(wait);
            let count = |message: &[u8], came| note(&observed, message, came);
            let hooks = Hooks { busy: Some(&at_work), meter: most.map(Meter::new), after: count };
            // The end of a flow is the client's decision: its control connection reports the rest.
            match flow {
                FlowSocket::Udp(socket) => {
                    datagrams(&socket, client, &mut responder, &mut waiter, &stopped, hooks).ok();
                }
                FlowSocket::Tcp(socket) => {
                    let stop = || stopped.load(Ordering::Acquire);
                    stream(&Socket::Tcp(socket), client, &mut responder, &mut waiter, stop, hooks).ok();
                }
            }
        };
        let thread = std::thread::Builder::new().name("reflector".into()).stack_size(256 << 10);
        let thread = Some(thread.spawn(work).context("start a reflector")?);
        Ok(Reflecting { stop, ledger, busy, client, wait, thread })
    }

    /// The messages so far. A client that has its reply finds its message counted, although it is answered first.
    pub(crate) fn observed(&self) -> LatencyObservation {
        let timeout = mono_now() + BUSY_LIMIT;
        while self.busy.load(Ordering::Acquire) && mono_now() < timeout {
            std::thread::yield_now();
        }
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = ledger.numbers.snapshot();
        LatencyObservation {
            client: plain(self.client),
            wait: self.wait,
            received: counts.received,
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            elapsed: ledger.first.map_or(Nanos::ZERO, |first| ledger.last.saturating_since(first)),
        }
    }
}

impl Drop for Reflecting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Actions around each reply.
pub(crate) struct Hooks<'a, F> {
    /// Set while a message is being answered, until `after` is done with it.
    busy: Option<&'a AtomicBool>,
    /// Messages beyond a rate get no answer.
    meter: Option<Meter>,
    after: F,
}

impl<F: FnMut(&[u8], MonoTime)> Hooks<'_, F> {
    /// One action alone, which sees each message, and when it came, once its reply is out.
    pub(crate) fn after(after: F) -> Self {
        Hooks { busy: None, meter: None, after }
    }

    fn set_busy(&self, is_busy: bool) {
        if let Some(busy) = self.busy {
            busy.store(is_busy, Ordering::Release);
        }
    }

    fn admit(&mut self) -> bool {
        self.meter.as_mut().is_none_or(|meter| meter.admits(mono_now()))
    }
}

/// Answers the datagrams of a connected socket until `stop`.
pub(crate) fn datagrams<R: Reflect>(
    socket: &UdpSocket,
    from: SocketAddr,
    reflect: &mut R,
    waiter: &mut Waiter,
    stop: &AtomicBool,
    mut hooks: Hooks<'_, impl FnMut(&[u8], MonoTime)>,
) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let mut buf = vec![0; 1 << 16];
    while !stop.load(Ordering::Acquire) {
        let deadline = mono_now() + STOP_STEP;
        let length = match waiter.until(deadline, socket, || socket.recv(&mut buf)) {
            Ok(Some(length)) => length,
            Ok(None) => continue,
            // ICMP: the client has gone, or is not there yet.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(e) => return Err(e),
        };
        hooks.set_busy(true);
        let received = if reflect.returns_time(length) { mono_now() } else { MonoTime(0) };
        let now = if reflect.stamps() { mono_now() } else { received };
        let arrival = Arrival::new(from, received);
        if hooks.admit()
            && let Some(reply) = reflect.reflect(arrival, now, &mut buf, length)
        {
            // A reply that the kernel does not take is lost like any other.
            socket.send(&buf[..reply]).ok();
        }
        (hooks.after)(&buf[..length], mono_now());
        hooks.set_busy(false);
    }
    Ok(())
}

/// Answers the messages of a stream, which never blocks, until `stop` or its end.
pub(crate) fn stream<R: Reflect>(
    source: &Socket,
    from: SocketAddr,
    reflect: &mut R,
    waiter: &mut Waiter,
    stop: impl Fn() -> bool,
    mut hooks: Hooks<'_, impl FnMut(&[u8], MonoTime)>,
) -> io::Result<()> {
    let mut messages = MessageBuffer::of_server(MAX_TCP_LEN, from.ip());
    let mut longer = Vec::new();
    while !stop() {
        if !messages.fill(source, waiter, mono_now() + STOP_STEP)? {
            continue;
        }
        // Read once for messages that arrived together, and only where a reply carries it.
        let mut came = None;
        loop {
            let message = match messages.message(|head| reflect.frame(head)) {
                Next::Message(message) => message,
                Next::More => break,
                Next::Broken(stray) => return Err(io::Error::new(io::ErrorKind::InvalidData, stray)),
            };
            hooks.set_busy(true);
            let length = message.len();
            let received = match came {
                _ if !reflect.returns_time(length) => MonoTime(0),
                Some(came) => came,
                None => *came.insert(mono_now()),
            };
            let now = if reflect.stamps() { mono_now() } else { received };
            let arrival = Arrival::new(from, received);
            let room = reflect.reply_len(message);
            let buffer = if room > length {
                longer.clear();
                longer.extend_from_slice(message);
                longer.resize(room, 0);
                &mut longer[..]
            } else {
                &mut *message
            };
            if hooks.admit()
                && let Some(reply) = reflect.reflect(arrival, now, buffer, length)
            {
                source.send_all(&buffer[..reply], WRITE_LIMIT)?;
            }
            (hooks.after)(message, mono_now());
            hooks.set_busy(false);
        }
    }
    Ok(())
}

fn note(ledger: &Mutex<Ledger>, message: &[u8], came: MonoTime) {
    let Some(header) = Header::read(message) else { return };
    let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
    ledger.numbers.record(header.sequence);
    ledger.first.get_or_insert(came);
    ledger.last = came;
}

/// A reflector's right to spin: as many may as leave one CPU to everything else.
struct SpinPlace {
    wait: WaitMode,
    spins: bool,
}

impl SpinPlace {
    fn take(wanted: WaitMode) -> SpinPlace {
        let most = linux::cpu::count().saturating_sub(1);
        let take = |spinning: usize| (spinning < most).then_some(spinning + 1);
        let spins = wanted == WaitMode::Spin
            && SPINNING.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok();
        let wait = if wanted == WaitMode::Spin && !spins { WaitMode::Hybrid } else { wanted };
        SpinPlace { wait, spins }
    }
}

impl Drop for SpinPlace {
    fn drop(&mut self) {
        if self.spins {
            SPINNING.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Reflectors of this process that spin.
static SPINNING: AtomicUsize = AtomicUsize::new(0);
/// Longest wait for the message at hand: one whose reply finds no room is counted in the next report.
const BUSY_LIMIT: Nanos = Nanos::from_millis(10);
/// Time between two looks at the order to stop.
const STOP_STEP: Nanos = Nanos::from_millis(100);
/// A client that does not take its replies for so long is given up.
const WRITE_LIMIT: Nanos = Nanos::from_secs(10);
