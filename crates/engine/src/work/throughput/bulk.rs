//! The TCP data path: one thread per stream that does nothing but move bytes and count them.
//!
//! Sizes and the method of receiving follow measurements, see `docs/benchmarks.md`.

use crate::error::is_pause;
use crate::work::throughput::pacer::Pacer;
use crate::work::throughput::shared::{Budget, Counters, StreamControl, StreamFacts};
use linux::clock::{mono_now, sleep_until};
use linux::ring::RingReceiver;
use linux::sendfile::SendFile;
use linux::stream::{PlainReceiver, Received};
use linux::tcp_info::tcp_info;
use model::time::MonoTime;
use model::units::{BitRate, Bytes, Nanos};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How a TCP stream sends.
#[derive(Clone, Debug)]
pub(crate) struct BulkSender<'a> {
    /// Bytes of one write.
    pub(crate) block: usize,
    /// Target payload rate.
    pub(crate) rate: Option<BitRate>,
    /// Blocks sent back to back at each step of the pacer.
    pub(crate) burst: Option<u32>,
    /// The pacer may spin.
    pub(crate) spin: bool,
    /// The payload in the page cache: it is sent from there.
    pub(crate) cached: Option<&'a SendFile>,
    /// Send this file, and end with it.
    pub(crate) file: Option<PathBuf>,
    /// Rest after each step for this part of the RTT.
    pub(crate) rtt_part: Option<f64>,
}

/// How a TCP stream receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkReceiver {
    /// Streams that receive at this end at once.
    pub(crate) streams: usize,
    /// Do not copy to user space.
    pub(crate) discard: bool,
    /// No more than this is read in a second.
    pub(crate) rate: Option<BitRate>,
}

/// Sends until the orders, the budget or the peer end it.
pub(crate) fn send(
    how: &BulkSender<'_>,
    payload: &[u8],
    stream: &TcpStream,
    counters: &Counters,
    budget: &Budget,
    control: &StreamControl,
) -> Result<(), String> {
    let mut source = Source::new(how, payload)?;
    stream.set_write_timeout(Some(POLL.to_duration())).map_err(|e| e.to_string())?;
    let mut pacer = how.rate.map(|rate| Pacer::new(rate, how.spin, mono_now()));
    let step = if pacer.is_some() { how.block * how.burst.unwrap_or(1) as usize } else { how.block };
    let mut now = mono_now();
    loop {
        if let Some(pacer) = &mut pacer {
            now = pacer.wait(control.deadline().min(now + POLL));
            if now < pacer.due() && !control.sender_is_over(now) {
                continue;
            }
        }
        if control.sender_is_over(now) {
            return Ok(());
        }
        let granted = budget.take(step as u64);
        if granted == 0 {
            return Ok(());
        }
        let mut left = granted as usize;
        let mut began = now;
        while left > 0 && !control.sender_is_over(now) {
            let wrote = source.send(stream, left);
            now = mono_now();
            match wrote {
                Ok(None) => {
                    budget.give_back(left as u64);
                    return Ok(());
                }
                Ok(Some(0)) => break,
                Ok(Some(n)) => {
                    left -= n;
                    counters.add_call(n as u64);
                    counters.touch(now);
                    counters.time(|timed| timed.write(now.saturating_since(began).0));
                    began = now;
                }
                Err(e) if is_pause(&e) => {}
                Err(e) => return Err(format!("send: {e}")),
            }
        }
        budget.give_back(left as u64);
        if let Some(pacer) = &mut pacer {
            pacer.sent(granted - left as u64);
        }
        if let Some(part) = how.rtt_part {
            now = rest(stream, part, control);
        }
    }
}

/// Waits for a part of the RTT as the kernel has it; returns the time then.
fn rest(stream: &TcpStream, part: f64, control: &StreamControl) -> MonoTime {
    let rtt = tcp_info(stream).map_or(0, |info| info.rtt.0);
    let until = mono_now() + Nanos((rtt as f64 * part) as u64);
    let mut now = mono_now();
    while now < until && !control.sender_is_over(now) {
        sleep_until(until.min(now + POLL).min(control.deadline()));
        now = mono_now();
    }
    now
}

/// Where a sender's bytes come from.
enum Source<'a> {
    /// Made up, again and again: a source that stays in a CPU's own cache is copied from fastest, and a write of many times
    /// its length takes no more calls.
    Payload { source: &'a [u8], block: usize },
    /// The same, from the page cache.
    ZeroCopy(&'a SendFile, usize),
    /// A file, from its beginning to its end.
    File(FileSource),
}

/// A file, and what is read of it and not yet sent.
struct FileSource {
    file: File,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
}

impl<'a> Source<'a> {
    fn new(how: &BulkSender<'a>, payload: &'a [u8]) -> Result<Source<'a>, String> {
        Ok(match &how.file {
            Some(path) => {
                let file = File::open(path).map_err(|e| of_file(path, &e).to_string())?;
                Source::File(FileSource { file, buffer: vec![0; how.block.max(1)], at: 0, end: 0 })
            }
            None => match how.cached {
                Some(file) => Source::ZeroCopy(file, payload.len()),
                None => Source::Payload { source: payload, block: how.block },
            },
        })
    }

    /// Sends at most so many bytes; `None`: there are no more.
    fn send(&mut self, mut stream: &TcpStream, most: usize) -> io::Result<Option<usize>> {
        match self {
            Source::Payload { source, block } => write_again(stream, source, most.min(*block)).map(Some),
            Source::ZeroCopy(file, length) => file.send(stream, most.min(*length)).map(Some),
            Source::File(source) => {
                if source.at == source.end {
                    (source.at, source.end) = (0, source.file.read(&mut source.buffer)?);
                }
                if source.end == 0 {
                    return Ok(None);
                }
                let sent = stream.write(&source.buffer[source.at..source.end.min(source.at + most)])?;
                source.at += sent;
                Ok(Some(sent))
            }
        }
    }
}

/// Writes up to `length` bytes, the source over and over, in one call.
fn write_again(mut stream: &TcpStream, source: &[u8], length: usize) -> io::Result<usize> {
    if length <= source.len() {
        return stream.write(&source[..length]);
    }
    let mut slices = [IoSlice::new(&[]); MOST_SLICES];
    let mut left = length;
    let mut count = 0;
    while left > 0 && count < MOST_SLICES {
        let part = &source[..left.min(source.len())];
        slices[count] = IoSlice::new(part);
        left -= part.len();
        count += 1;
    }
    stream.write_vectored(&slices[..count])
}

fn of_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("file {}: {error}", path.display()))
}

/// Receives into a file, which is begun anew.
pub(crate) fn receive_to(
    path: &Path,
    stream: &TcpStream,
    counters: &Counters,
    control: &StreamControl,
) -> Result<(), String> {
    let reported = |e: io::Error| of_file(path, &e).to_string();
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(reported)?;
    note(counters, "recv");
    stream.set_read_timeout(Some(POLL.to_duration())).map_err(|e| e.to_string())?;
    let mut buffer = vec![0; 128 << 10];
    let mut stream = stream;
    receive_with(None, counters, control, || {
        let length = stream.read(&mut buffer)?;
        file.write_all(&buffer[..length]).map_err(|e| of_file(path, &e))?;
        Ok(Received { bytes: Bytes(length as u64), closed: length == 0 })
    })
}

/// Receives until the stream ends or the orders say so.
pub(crate) fn receive(
    how: BulkReceiver,
    stream: &TcpStream,
    counters: &Counters,
    control: &StreamControl,
) -> Result<(), String> {
    // With several streams io_uring is slower than plain calls.
    if how.streams == 1
        && !how.discard
        && how.rate.is_none()
        && let Ok(mut ring) = RingReceiver::new(stream)
    {
        note(counters, "io_uring");
        return receive_with(None, counters, control, || ring.recv(POLL));
    }
    note(counters, if how.discard { "trunc" } else { "recv" });
    let mut plain = PlainReceiver::new(stream, receive_most(how), how.discard).map_err(|e| e.to_string())?;
    let pacer = how.rate.map(|rate| Pacer::new(rate, false, mono_now()));
    receive_with(pacer, counters, control, || plain.recv(POLL))
}

/// Receives by calls of `receive`, until the stream ends or the orders say so.
pub(crate) fn receive_with(
    mut pacer: Option<Pacer>,
    counters: &Counters,
    control: &StreamControl,
    mut receive: impl FnMut() -> io::Result<Received>,
) -> Result<(), String> {
    while !control.receiver_is_over() {
        match receive() {
            Ok(received) => {
                if received.bytes > Bytes(0) {
                    counters.add_read(received.bytes.0);
                    if counters.touch(mono_now()) {
                        control.waker.wake();
                    }
                }
                if received.closed {
                    return Ok(());
                }
                if let Some(pacer) = &mut pacer {
                    pacer.sent(received.bytes.0);
                    hold_back(pacer, control);
                }
            }
            Err(e) if is_pause(&e) => {}
            Err(e) if e.kind() == ErrorKind::ConnectionReset => {
                return Err("the peer reset the stream".into());
            }
            Err(e) => return Err(format!("receive: {e}")),
        }
    }
    Ok(())
}

/// Waits until more may be read.
fn hold_back(pacer: &mut Pacer, control: &StreamControl) {
    let mut now = mono_now();
    while now < pacer.due() && !control.receiver_is_over() {
        now = pacer.wait(now + POLL);
    }
}

/// Limit of one receive.
fn receive_most(how: BulkReceiver) -> Bytes {
    let most = if how.discard { RECEIVE_UNCOPIED } else { RECEIVE_COPIED };
    // A receiver with a rate reads in portions of some hundredths of a second.
    Bytes(how.rate.map_or(most, |rate| (rate.0 / 8 / 50).max(16 << 10).min(most)))
}

/// Notes how the stream receives.
pub(crate) fn note(counters: &Counters, receiver: &'static str) {
    let facts = StreamFacts { receiver: Some(receiver), ..StreamFacts::default() };
    counters.facts.set(facts).ok();
}

/// Bytes of the source that is written again and again: whole pages, and whole turns of ten digits.
pub(crate) const SOURCE: usize = 120 << 10;
/// Most times that one write has it.
const MOST_SLICES: usize = 32;
/// Most bytes that one receive copies: more gains nothing.
const RECEIVE_COPIED: u64 = 512 << 10;
/// Most bytes that one receive drops.
const RECEIVE_UNCOPIED: u64 = 1 << 20;
/// Longest time between two looks at the orders.
pub(crate) const POLL: Nanos = Nanos::from_millis(50);
