//! Receivers of TCP data that is cut: each piece begins with a record of when it was sent, and how long it took to come
//! whole is timed.

use crate::work::throughput::bulk::{POLL, note, receive_with};
use crate::work::throughput::pacer::Pacer;
use crate::work::throughput::shared::{Counters, OwnFlow, PieceRecords, READ, StreamControl};
use crate::work::throughput::timed::{Burst, Timed};
use linux::clock::mono_now;
use linux::stream::Received;
use model::plan::Transport;
use model::time::MonoTime;
use model::units::Bytes;
use std::io::Read;
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use wire::iperf2::{BurstRecord, Header, Request};

/// Receives until the stream ends or the orders say so.
pub(crate) fn receive(
    own: &OwnFlow,
    records: PieceRecords,
    mut socket: &TcpStream,
    counters: &Counters,
    control: &StreamControl,
) -> Result<(), String> {
    let timed = counters.timed.as_ref().ok_or("the stream times nothing")?;
    socket.set_read_timeout(Some(POLL.to_duration())).map_err(|e| e.to_string())?;
    note(counters, "recv");
    let mut pieces = Pieces::new(records);
    own.early.iter().for_each(|bytes| pieces.feed(bytes, mono_now(), timed));
    let mut buffer = vec![0; READ as usize];
    let pacer = own.receive_rate.map(|rate| Pacer::new(rate, false, mono_now()));
    receive_with(pacer, counters, control, || {
        let length = socket.read(&mut buffer)?;
        pieces.note_read(length as u64);
        pieces.feed(&buffer[..length], mono_now(), timed);
        if length > 0 && pieces.has_burst() {
            control.waker.wake();
        }
        Ok(Received { bytes: Bytes(length as u64), closed: length == 0 })
    })
}

/// The stream as it is cut.
struct Pieces {
    records: PieceRecords,
    /// The part of the header or of a record that was read so far.
    front: Vec<u8>,
    /// The piece that is coming, and how many of its bytes are missing.
    coming: Option<Coming>,
    /// Reads since the last piece was whole.
    calls: u64,
    reads: [u64; 8],
    /// The stream is cut otherwise: it is data alone.
    lost: bool,
}

#[derive(Clone, Copy)]
struct Coming {
    record: BurstRecord,
    /// When its first bytes were here.
    since: MonoTime,
    left: usize,
}

impl Pieces {
    fn new(records: PieceRecords) -> Pieces {
        Pieces { records, front: Vec::new(), coming: None, calls: 0, reads: [0; 8], lost: false }
    }

    fn note_read(&mut self, bytes: u64) {
        if bytes > 0 {
            self.calls += 1;
            self.reads[(bytes.saturating_mul(8) / READ).min(7) as usize] += 1;
        }
    }

    /// Has the last read brought the end of a burst that is reported by itself?
    fn has_burst(&self) -> bool {
        self.records.singly && self.calls == 0
    }

    /// Takes the next bytes of the stream.
    fn feed(&mut self, mut bytes: &[u8], now: MonoTime, timed: &Mutex<Timed>) {
        while !bytes.is_empty() && !self.lost {
            match &mut self.coming {
                Some(coming) => {
                    let taken = coming.left.min(bytes.len());
                    coming.left -= taken;
                    bytes = &bytes[taken..];
                }
                None => bytes = &bytes[self.take_front(bytes, now)..],
            }
            if let Some(coming) = self.coming.take_if(|coming| coming.left == 0) {
                let mut timed = timed.lock().unwrap_or_else(PoisonError::into_inner);
                self.whole(coming, now, &mut timed);
            }
        }
    }

    /// Takes those of these bytes that belong to the header or the record; returns how many they are.
    fn take_front(&mut self, bytes: &[u8], now: MonoTime) -> usize {
        let before = self.front.len();
        if self.records.header {
            self.front.extend_from_slice(bytes);
            return match Request::read(Transport::Tcp, &self.front) {
                Header::More(_) => bytes.len(),
                Header::Request(_, length) => {
                    self.records.header = false;
                    self.front.clear();
                    length.saturating_sub(before)
                }
                Header::Plain | Header::Foreign => self.give_up(bytes.len()),
            };
        }
        let taken = (BurstRecord::LEN - before).min(bytes.len());
        self.front.extend_from_slice(&bytes[..taken]);
        if self.front.len() == BurstRecord::LEN {
            let record = BurstRecord::read(&self.front);
            self.front.clear();
            match record.filter(|record| !self.records.trip_times || record.written.is_some()) {
                Some(record) => {
                    let left = record.size as usize - BurstRecord::LEN;
                    self.coming = Some(Coming { record, since: now, left });
                }
                None => return self.give_up(taken),
            }
        }
        taken
    }

    fn give_up(&mut self, taken: usize) -> usize {
        self.lost = true;
        taken
    }

    fn whole(&mut self, coming: Coming, now: MonoTime, timed: &mut Timed) {
        let here = timed.wall(coming.since);
        let sent = coming.record.written.filter(|_| self.records.trip_times).unwrap_or(here);
        let bytes = u64::from(coming.record.size);
        timed.number(coming.record.burst);
        timed.piece(sent.0.cast_signed(), bytes, now);
        let (calls, reads) = (std::mem::take(&mut self.calls), std::mem::take(&mut self.reads));
        if self.records.singly {
            timed.burst(Burst { began: sent, ended: timed.wall(now), bytes, calls, reads });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::WallTime;
    use model::units::Nanos;
    use wire::stamp::Clock;

    const CLOCK: Clock = Clock { mono: MonoTime(0), wall: WallTime(5_000_000_000) };

    fn record(burst: u32, size: u32, written: u64) -> Vec<u8> {
        let mut bytes = vec![b'0'; size as usize];
        let record = BurstRecord {
            start: Some(WallTime(5_000_000_000)),
            written: Some(WallTime(written)),
            period: Nanos::ZERO,
            burst,
            size,
            sequence: 0,
        };
        record.write(&mut bytes);
        bytes
    }

    #[test]
    fn pieces_are_whole_in_any_portions() {
        let records = PieceRecords { trip_times: true, header: true, singly: true };
        let request = Request { trip_times: true, start: Some(CLOCK.wall), ..Request::new(Transport::Tcp) };
        let mut stream = request.bytes();
        stream.extend(record(1, 300, 5_001_000_000));
        stream.extend(record(2, 92, 5_002_000_000));
        stream.extend(record(4, 1000, 5_003_000_000));
        for portion in [1, 7, 91, 92, 93, 400, stream.len()] {
            let (mut pieces, timed) = (Pieces::new(records), Mutex::new(Timed::new(CLOCK, &[])));
            for bytes in stream.chunks(portion) {
                pieces.note_read(bytes.len() as u64);
                pieces.feed(bytes, MonoTime(4_000_000), &timed);
            }
            let timed = timed.lock().expect("no other thread");
            let delays = &timed.pieces;
            assert_eq!((delays.count, delays.min, delays.max), (3, 1_000_000, 3_000_000), "{portion}");
            assert_eq!((timed.piece_bytes, timed.frames.missed), (1392, 1), "{portion}");
            let reads: u64 = timed.bursts.iter().map(|burst| burst.calls).sum();
            assert_eq!((timed.bursts.len(), reads), (3, stream.len().div_ceil(portion) as u64), "{portion}");
        }
    }

    #[test]
    fn data_without_records_is_data() {
        let (mut pieces, timed) = (
            Pieces::new(PieceRecords { trip_times: true, header: false, singly: false }),
            Mutex::new(Timed::new(CLOCK, &[])),
        );
        pieces.feed(&[b'7'; 91], MonoTime(0), &timed);
        assert!(!pieces.lost);
        // The time that the record gives is none.
        pieces.feed(&[0; 500], MonoTime(0), &timed);
        assert!(pieces.lost && timed.lock().expect("no other thread").pieces.count == 0);
    }
}
