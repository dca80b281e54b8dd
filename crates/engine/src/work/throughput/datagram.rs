//! The UDP data path: numbered, timed datagrams in batches (GSO and GRO), every one accounted for.

use super::bulk::POLL;
use crate::error::is_pause;
use crate::work::throughput::flows::is_too_big;
use crate::work::throughput::pacer::{Pacer, burst_for};
use crate::work::throughput::receive::UdpReceive;
use crate::work::throughput::shared::{Budget, Counters, StreamControl, StreamFacts};
use linux::batch::{BatchReceiver, GsoSender, Wait};
use linux::clock::{mono_now, sleep_until, wall_now};
use linux::error_queue::{self, Origin, QueueEntry};
use linux::message::set_receive_notes;
use linux::timestamp::set_receive_time;
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use wire::{Datagram, Stamp};

/// How a UDP stream sends.
#[derive(Clone, Debug)]
pub(crate) struct DatagramSender {
    /// UDP payload in bytes.
    pub(crate) length: usize,
    /// Target payload rate.
    pub(crate) rate: Option<BitRate>,
    /// Datagrams sent back to back at each step of the pacer; 0: chosen by the rate.
    pub(crate) burst: Option<u32>,
    /// The pacer may spin.
    pub(crate) spin: bool,
    /// Segmentation offload may be used.
    pub(crate) offload: bool,
    /// Payload is repeating digits, as iPerf's.
    pub(crate) pattern: bool,
    /// The beginning of each datagram, but for number and time.
    pub(crate) head: Vec<u8>,
}

/// How a UDP receiver waits while no datagram is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleMode {
    /// Asks again at once: the time of arrival is exact, and a CPU is used up.
    Spin,
    /// Sleeps a short time and polls again: the receive path is not slowed by waking this end, and half a CPU is saved. Needs a
    /// buffer for datagrams that come meanwhile.
    Sleep,
    /// Sleeps until something comes.
    Block,
}

/// Sends until the orders or the budget end it.
pub(crate) fn send<D: Datagram>(
    how: &DatagramSender,
    header: D,
    socket: &UdpSocket,
    counters: &Counters,
    budget: &Budget,
    control: &StreamControl,
) -> Result<(), String> {
    let burst = how.rate.map(|rate| match how.burst {
        None => burst_for(rate, how.length, MAX_BURST),
        Some(burst) => burst as usize,
    });
    let limit = if how.offload { burst } else { Some(1) };
    // Else the kernel keeps to itself what the device's queue drops. Refused, such drops count as the path's.
    linux::options::set_receive_errors(socket, true).ok();
    let mut sender = GsoSender::new(socket, how.length, limit).map_err(|e| e.to_string())?;
    fill(&mut sender, how);
    note_sender(&sender, how, counters);
    let mut pacer = how.rate.map(|rate| Pacer::new(rate, how.spin, mono_now()));
    let step = burst.unwrap_or_else(|| sender.segments());
    let mut sequence = 0;
    let mut now = mono_now();
    loop {
        if let Some(pacer) = &mut pacer {
            now = pacer.wait(control.deadline().min(now + POLL));
            if now < pacer.due() && !control.sender_is_over(now) {
                continue;
            }
        } else {
            now = mono_now();
        }
        if control.sender_is_over(now) {
            return Ok(());
        }
        let mut left = step;
        while left > 0 {
            let count = take_datagrams(budget, left.min(sender.segments()), how.length);
            if count == 0 {
                return Ok(());
            }
            stamp(&mut sender, header, count, sequence, now);
            let sent = send_batch(&mut sender, socket, count, counters, control)?;
            if sent == 0 && control.sender_is_over(mono_now()) {
                return Ok(());
            }
            sequence += sent as u64;
            budget.give_back(((count - sent) * how.length) as u64);
            counters.add_bytes((sent * how.length) as u64);
            counters.add_datagrams(sent as u64);
            counters.touch(now);
            left -= sent.min(left);
        }
        if let Some(pacer) = &mut pacer {
            pacer.sent((step * how.length) as u64);
        }
    }
}

/// Receives until it is stopped, or a datagram is marked as the last. `early`: datagrams that have come before. Where a part of the
/// time is omitted, the socket is to note when the kernel received its datagrams ([`set_receive_time`]), until that part is over.
pub(crate) fn receive<D: Datagram>(
    header: D,
    socket: &UdpSocket,
    rest: IdleMode,
    early: &[Vec<u8>],
    counters: &Counters,
    control: &StreamControl,
) -> Result<(), String> {
    let mut batch = BatchReceiver::new();
    let gro = linux::options::udp_gro(socket).unwrap_or(false);
    // Control messages cost time: the class is read where the test sends datagrams that routers may mark.
    if linux::options::tos(socket).is_ok_and(|tos| tos & ECN > 0) {
        set_receive_notes(socket).ok();
    }
    let spins = rest == IdleMode::Spin;
    let facts = StreamFacts { gro, receiver: Some("recvmmsg"), spins, ..StreamFacts::default() };
    counters.facts.set(facts).ok();
    let state = counters.udp.as_ref().ok_or("the stream has no receive state")?;
    let mut last_data = mono_now();
    if take_early(early, header, last_data, counters, control)? {
        return Ok(());
    }
    while !control.receiver_is_over() {
        // A receiver without data for a while stops burning the CPU.
        let blocks = rest == IdleMode::Block || mono_now().saturating_since(last_data) > SPIN_LIMIT;
        match batch.recv(socket, if blocks { Wait::Block(POLL) } else { Wait::Spin }) {
            Ok(0) if rest == IdleMode::Sleep && !blocks => sleep_until(mono_now() + SHORT_SLEEP),
            Ok(0) => {}
            Ok(messages) => {
                let now = mono_now();
                last_data = now;
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                let omits = state.may_hold_omitted();
                let before = counters.bytes.load(Ordering::Relaxed);
                let bytes = take_batch(&batch, messages, header, (now, before), &mut state);
                counters.add_bytes(bytes);
                if omits && !state.may_hold_omitted() {
                    set_receive_time(socket, false).ok();
                }
                if bytes > 0 && counters.touch(now) {
                    control.waker.wake();
                }
                if state.end.is_some() {
                    return Ok(());
                }
            }
            Err(e) if is_pause(&e) => {}
            // The peer's host sent "port unreachable" for an earlier datagram: it does not concern receiving.
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => {}
            Err(e) => return Err(format!("receive: {e}")),
        }
    }
    Ok(())
}

/// Accounts for datagrams that were read elsewhere; returns whether one of them was the last.
fn take_early<D: Datagram>(
    early: &[Vec<u8>],
    header: D,
    now: MonoTime,
    counters: &Counters,
    control: &StreamControl,
) -> Result<bool, String> {
    let mut state = counters.receiver().ok_or("the stream has no receive state")?;
    let bytes =
        early.iter().map(|datagram| take_message([datagram.as_slice()], header, now, &mut state)).sum();
    counters.add_bytes(bytes);
    if bytes > 0 && counters.touch(now) {
        control.waker.wake();
    }
    Ok(state.end.is_some())
}

/// Accounts for every datagram of a batch that was read now, after so many payload bytes; returns how many new ones came.
fn take_batch<D: Datagram>(
    batch: &BatchReceiver,
    messages: usize,
    header: D,
    (now, before): (MonoTime, u64),
    state: &mut UdpReceive,
) -> u64 {
    let clocks = state.may_hold_omitted().then(|| (mono_now(), wall_now()));
    let mut bytes = 0;
    for index in 0..messages {
        let message = batch.message(index);
        if let Some(class) = message.class {
            state.mark(class & ECN == ECN, message.segment_count() as u64);
        }
        bytes += take_message(message.segments(), header, now, state);
        if let Some((mono, wall)) = clocks {
            // A datagram may have waited in the socket since the omitted time.
            let waited = message.kernel_time.map_or(Nanos::ZERO, |came| wall - came);
            state.came(MonoTime(mono.0.saturating_sub(waited.0)), before + bytes);
        }
    }
    bytes
}

/// The ECN field of a traffic class; all of it set is the mark of congestion (CE, RFC 3168).
const ECN: u8 = 0b11;

/// Accounts for the datagrams of one message; returns how many new payload bytes came.
fn take_message<'a, D: Datagram>(
    segments: impl IntoIterator<Item = &'a [u8]>,
    header: D,
    now: MonoTime,
    state: &mut UdpReceive,
) -> u64 {
    let (mut bytes, mut came, mut length) = (0, 0, 0);
    let known = state.received();
    state.messages += 1;
    let mut run: Option<(Stamp, u32)> = None;
    for segment in segments {
        let Some(stamp) = header.read(segment) else {
            if state.end.is_none() && header.ends(segment) {
                state.end = Some(segment.to_vec());
            } else {
                state.strays += 1;
            }
            continue;
        };
        if let Some(timed) = &mut state.timed {
            timed.frame(segment, now);
        }
        match &mut run {
            Some((first, count))
                if first.sequence + u64::from(*count) == stamp.sequence && first.sent == stamp.sent =>
            {
                *count += 1;
            }
            _ => {
                if let Some((first, count)) = run.take() {
                    state.record(first, count, now);
                }
                run = Some((stamp, 1));
            }
        }
        length = segment.len() as u64;
        bytes += length;
        came += 1;
    }
    if let Some((first, count)) = run {
        state.record(first, count, now);
    }
    // A duplicate is no goodput. Datagrams of a message are of one length.
    let again = came - (state.received() - known).min(came);
    bytes - again * length
}

fn stamp<D: Datagram>(sender: &mut GsoSender, header: D, count: usize, sequence: u64, now: MonoTime) {
    for index in 0..count {
        let stamp = Stamp { sequence: sequence + 1 + index as u64, sent: now };
        header.write(stamp, sender.segment_mut(index));
    }
}

/// Hands `count` datagrams to the kernel; fewer only when the test is over or the kernel has no room.
fn send_batch(
    sender: &mut GsoSender,
    socket: &UdpSocket,
    count: usize,
    counters: &Counters,
    control: &StreamControl,
) -> Result<usize, String> {
    loop {
        match sender.send(count) {
            Ok(sent) => {
                counters.send_drops.store(sender.dropped(), Ordering::Relaxed);
                return Ok(sent);
            }
            Err(e) if is_pause(&e) || is_from_the_network(&e, socket) => {
                if e.kind() == ErrorKind::ConnectionRefused {
                    counters.note_refusal(control);
                }
                if control.sender_is_over(mono_now()) {
                    return Ok(0);
                }
            }
            Err(e) => return Err(explain(&e, sender)),
        }
    }
}

/// Is this the error of a router or the far host about an earlier datagram? Sending may go on then. An error of this host's own
/// stack, such as no route or a datagram too long to leave, concerns every datagram.
fn is_from_the_network(error: &io::Error, socket: &UdpSocket) -> bool {
    let mut is_remote = error.kind() == ErrorKind::ConnectionRefused;
    let look = |entry| {
        let QueueEntry::Error(entry) = entry else { return };
        is_remote |= entry.origin != Origin::Local && Some(entry.errno) == error.raw_os_error();
    };
    error_queue::clear(socket, look).is_ok() && is_remote
}

fn explain(error: &io::Error, sender: &GsoSender) -> String {
    if is_too_big(error) {
        return format!(
            "datagrams of {} bytes are larger than this path's MTU and may not be fragmented: use a smaller -l",
            sender.payload_len()
        );
    }
    format!("send: {error}")
}

fn take_datagrams(budget: &Budget, wanted: usize, length: usize) -> usize {
    let granted = budget.take((wanted * length) as u64) as usize;
    // A byte count that is no multiple of the payload ends with one full datagram.
    granted.div_ceil(length)
}

fn fill(sender: &mut GsoSender, how: &DatagramSender) {
    if !how.pattern {
        return;
    }
    for index in 0..sender.segments() {
        let datagram = sender.segment_mut(index);
        for (at, byte) in datagram.iter_mut().enumerate() {
            *byte = b'0' + (at % 10) as u8;
        }
        let head = how.head.len().min(datagram.len());
        datagram[..head].copy_from_slice(&how.head[..head]);
    }
}

fn note_sender(sender: &GsoSender, how: &DatagramSender, counters: &Counters) {
    let facts = StreamFacts {
        gso_segments: sender.datagrams_per_call() as u32,
        no_gso_reason: sender.fallback().filter(|_| how.offload).map(|f| f.to_string()),
        ..StreamFacts::default()
    };
    counters.facts.set(facts).ok();
}

/// Most datagrams of one paced burst.
const MAX_BURST: usize = 128;
/// Length of a pause: at 100 Gbit/s 640 KB come in this time.
const SHORT_SLEEP: Nanos = Nanos::from_micros(50);
/// A receiver without data for this long blocks instead.
const SPIN_LIMIT: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use linux::poll::Waker;
    use std::sync::{Arc, Mutex};
    use wire::native::DataHeader;

    /// Datagrams that wait in the socket when the counted time begins, and others behind them.
    #[test]
    fn datagrams_that_the_kernel_received_before_the_counted_time_are_omitted() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        set_receive_time(&receiver, true).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let header = DataHeader { stream: 0 };
        let send = |numbers: std::ops::RangeInclusive<u64>| {
            for sequence in numbers {
                let mut datagram = [0; 100];
                header.write(Stamp { sequence, sent: mono_now() }, &mut datagram);
                sender.send(&datagram).unwrap();
            }
        };
        // The kernel notes times from a moment after the option is set on.
        std::thread::sleep(std::time::Duration::from_millis(20));
        send(1..=20);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let udp = UdpReceive::new();
        let counters = Counters { udp: Some(Mutex::new(udp)), ..Counters::default() };
        let state = counters.udp.as_ref().unwrap();
        state.lock().unwrap().begin_counted_time(mono_now(), 0);
        send(21..=50);
        let control = StreamControl::new(Arc::new(Waker::new().unwrap()));
        std::thread::scope(|scope| {
            scope.spawn(|| receive(header, &receiver, IdleMode::Block, &[], &counters, &control).unwrap());
            let limit = mono_now() + Nanos::from_secs(10);
            while state.lock().unwrap().received() < 50 && mono_now() < limit {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            control.stop_receivers();
        });
        let state = state.lock().unwrap();
        let (bytes, omitted) = state.omitted().unwrap();
        assert_eq!((bytes, omitted.datagrams, state.received()), (2000, 20, 50));
        assert!(!state.may_hold_omitted());
    }
}
