//! Senders of data that is cut: bursts and frames with a period, and writes that begin with a record.

use crate::error::is_pause;
use crate::work::throughput::bulk::POLL;
use crate::work::throughput::pacer::Pacer;
use crate::work::throughput::shared::{Budget, Counters, OwnFlow, StreamControl};
use linux::clock::{mono_now, sleep_until};
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use std::io::{ErrorKind, Write};
use std::net::{TcpStream, UdpSocket};
use wire::iperf2::{BurstRecord, FrameRecord, Frames, Sending, Shape, Version};
use wire::{Datagram, Stamp};

/// Is this flow's data cut?
pub(crate) fn is_cut(own: &OwnFlow) -> bool {
    let records = own.sending.as_ref().is_some_and(|sending| sending.records);
    own.sending.is_some() && (records || own.shape != Shape::Stream)
}

/// When the next piece is due, and how large it is.
struct Schedule {
    start: MonoTime,
    period: Option<Nanos>,
    /// Bytes of a piece.
    mean: f64,
    deviation: f64,
    /// The number of the last piece, and of the one before.
    count: u32,
    previous: u32,
    /// A piece that comes too late waits for the next time that is due. Datagrams may be a period late.
    late: Nanos,
    seed: u64,
}

impl Schedule {
    /// `late`: how much later than due a piece may begin, in periods.
    fn new(shape: Shape, (length, late): (usize, u32), now: MonoTime) -> Schedule {
        let number = |fixed: wire::iperf2::Fixed| f64::from(fixed.whole) + f64::from(fixed.millionths) / 1e6;
        let none = Frames::default();
        let (frames, period) = match shape {
            Shape::Isochronous(Some(frames)) | Shape::Bursts(frames) => (frames, frames.period()),
            Shape::Isochronous(None) | Shape::Stream => (none, None),
        };
        let (mean, deviation) = match (shape, period) {
            // Frames are reported as a rate.
            (Shape::Isochronous(_), Some(period)) => {
                let bytes = period.0 as f64 / 1e9 / 8.0;
                (number(frames.mean) * bytes, number(frames.variance).sqrt() * bytes)
            }
            (Shape::Bursts(_), Some(_)) => (number(frames.mean), 0.0),
            _ => (length as f64, 0.0),
        };
        let late = period.unwrap_or_default().saturating_mul(late.into());
        Schedule { start: now, period, mean, deviation, count: 0, previous: 0, late, seed: now.0 | 1 }
    }

    /// Waits until the next piece is due; `None`: the end comes before. Returns how many bytes it has.
    fn next(&mut self, control: &StreamControl) -> Option<f64> {
        self.previous = self.count;
        self.count = self.count.wrapping_add(1);
        let due = self.period.map(|period| self.due(period, mono_now()));
        loop {
            let now = mono_now();
            if control.sender_is_over(now) {
                return None;
            }
            match due.filter(|due| *due > now) {
                Some(due) => sleep_until(due.min(now + POLL).min(control.deadline())),
                None => return Some(self.size()),
            }
        }
    }

    /// When the piece is due whose turn it is: times that are over are passed over, and their numbers with them.
    fn due(&mut self, period: Nanos, now: MonoTime) -> MonoTime {
        let at = |count: u32| self.start + period.saturating_mul(u64::from(count) - 1);
        if self.count > 1 && period > Nanos::ZERO && now > at(self.count) + self.late {
            let over = now.saturating_since(self.start + self.late).0;
            let next = over.div_ceil(period.0).saturating_add(1);
            self.count = self.count.max(u32::try_from(next).unwrap_or(u32::MAX));
        }
        at(self.count)
    }

    fn size(&mut self) -> f64 {
        if self.deviation == 0.0 {
            return self.mean;
        }
        // Twelve equal chances less six are as good as a normal one (Irwin-Hall).
        let normal: f64 = (0..12).map(|_| self.chance()).sum::<f64>() - 6.0;
        (self.mean + normal * self.deviation).max(0.0)
    }

    /// Between 0 and 1 (xorshift64).
    fn chance(&mut self) -> f64 {
        for shift in [13_i32, -7, 17] {
            self.seed ^= if shift > 0 { self.seed << shift } else { self.seed >> -shift };
        }
        (self.seed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Sends pieces that begin with a record each, until the orders, the budget or the peer end it.
pub(crate) fn send_stream(
    own: &OwnFlow,
    (sending, rate, spin): (&Sending, Option<BitRate>, bool),
    mut socket: &TcpStream,
    counters: &Counters,
    budget: &Budget,
    control: &StreamControl,
) -> Result<(), String> {
    socket.set_write_timeout(Some(POLL.to_duration())).map_err(|e| e.to_string())?;
    let length = if sending.length == 0 { BURST } else { sending.length as usize };
    let start = mono_now();
    let mut schedule = Schedule::new(own.shape, (length, 0), start);
    let mut pacer = rate.filter(|_| schedule.period.is_none()).map(|rate| Pacer::new(rate, spin, start));
    let mut piece = Vec::new();
    let mut sequence = 0;
    while let Some(size) = schedule.next(control) {
        wait_for(&mut pacer, control);
        let wanted = (size as usize).clamp(BurstRecord::LEN, MOST);
        let size = budget.take(wanted as u64) as usize;
        if size < BurstRecord::LEN {
            // The remaining bytes have no room for a record; the receiver counts bytes, and they are data all the same.
            return send_all(&mut socket, &digits(size), counters, control);
        }
        if piece.len() != size {
            piece = digits(size);
        }
        sequence += size as u64;
        let record = BurstRecord {
            start: Some(own.numbered.clock.at(start)),
            written: Some(own.numbered.clock.at(mono_now())),
            period: schedule.period.unwrap_or_default(),
            burst: schedule.count,
            size: size as u32,
            sequence,
        };
        record.write(&mut piece);
        counters.time(|timed| timed.number(schedule.count));
        send_all(&mut socket, &piece, counters, control)?;
        if let Some(pacer) = &mut pacer {
            pacer.sent(size as u64);
        }
    }
    Ok(())
}

/// Sends frames of whole datagrams, until the orders or the budget end it.
pub(crate) fn send_datagrams(
    own: &OwnFlow,
    sending: &Sending,
    socket: &UdpSocket,
    counters: &Counters,
    budget: &Budget,
    control: &StreamControl,
) -> Result<(), String> {
    let length = sending.length as usize;
    let place = FrameRecord::place(Some(Version::OURS));
    let mut datagram = digits(length.max(place + Frames::LEN));
    let head = sending.head.len().min(datagram.len());
    datagram[..head].copy_from_slice(&sending.head[..head]);
    let length = datagram.len();
    let start = mono_now();
    let mut schedule = Schedule::new(own.shape, (length, 1), start);
    let (mut owed, mut number) = (0.0, 0);
    while let Some(size) = schedule.next(control) {
        owed += size;
        let count = (owed / length as f64) as usize;
        owed -= (count * length) as f64;
        counters.time(|timed| timed.number(schedule.count));
        for left in (1..=count).rev() {
            if budget.take(length as u64) == 0 || control.sender_is_over(mono_now()) {
                return Ok(());
            }
            let now = mono_now();
            number += 1;
            own.numbered.write(Stamp { sequence: number, sent: now }, &mut datagram);
            let record = FrameRecord {
                period: schedule.period.unwrap_or_default(),
                start: Some(own.numbered.clock.at(start)),
                previous: schedule.previous,
                frame: schedule.count,
                size: (count * length) as u32,
                remaining: (left * length) as u32,
            };
            record.write(&mut datagram[place..]);
            match socket.send(&datagram) {
                Ok(_) => {}
                // Refused by the network for an earlier one: like a loss.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => counters.note_refusal(control),
                Err(e) if is_pause(&e) => {}
                Err(e) => return Err(format!("send: {e}")),
            }
            counters.add_bytes(length as u64);
            counters.add_datagrams(1);
            counters.touch(now);
        }
    }
    Ok(())
}

fn wait_for(pacer: &mut Option<Pacer>, control: &StreamControl) {
    let Some(pacer) = pacer else { return };
    while mono_now() < pacer.due() && !control.sender_is_over(mono_now()) {
        pacer.wait(control.deadline().min(mono_now() + POLL));
    }
}

/// Writes all of it: half a piece would be taken for another's record.
fn send_all(
    socket: &mut &TcpStream,
    mut bytes: &[u8],
    counters: &Counters,
    control: &StreamControl,
) -> Result<(), String> {
    let mut began = mono_now();
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                let now = mono_now();
                bytes = &bytes[n..];
                counters.add_call(n as u64);
                counters.touch(now);
                counters.time(|timed| timed.write(now.saturating_since(began).0));
                began = now;
            }
            Err(e) if is_pause(&e) => {
                if control.sender_is_over(mono_now()) {
                    return Ok(());
                }
            }
            Err(e) => return Err(format!("send: {e}")),
        }
    }
    Ok(())
}

fn digits(length: usize) -> Vec<u8> {
    (0..length).map(|at| b'0' + (at % 10) as u8).collect()
}

/// Size of iPerf2's write by default.
const BURST: usize = 128 << 10;
/// Largest piece.
const MOST: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use wire::iperf2::Fixed;

    /// Fifty pieces a second from time zero.
    fn schedule(late: u32) -> Schedule {
        let rate = Fixed { whole: 50, millionths: 0 };
        let shape = Shape::Bursts(Frames { rate, ..Frames::default() });
        Schedule::new(shape, (1000, late), MonoTime(0))
    }

    fn at_millis(millis: u64) -> MonoTime {
        MonoTime(millis * 1_000_000)
    }

    #[test]
    fn times_that_are_over_are_passed_over() {
        let period = Nanos::from_millis(20);
        let mut strict = schedule(0);
        for (count, now, due, number) in [
            (1, 3, 0, 1),
            (2, 7, 20, 2),
            // A moment late: the next time is waited for.
            (3, 41, 60, 4),
            (5, 80, 80, 5),
            (6, 199, 200, 11),
        ] {
            strict.count = count;
            assert_eq!(strict.due(period, at_millis(now)), at_millis(due), "piece {count} at {now} ms");
            assert_eq!(strict.count, number, "piece {count} at {now} ms");
        }
        let mut lenient = schedule(1);
        for (count, now, due, number) in [(3, 41, 40, 3), (3, 60, 40, 3), (3, 61, 60, 4), (6, 199, 180, 10)] {
            lenient.count = count;
            assert_eq!(lenient.due(period, at_millis(now)), at_millis(due), "piece {count} at {now} ms");
            assert_eq!(lenient.count, number, "piece {count} at {now} ms");
        }
    }
}
