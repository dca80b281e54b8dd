//! One connection: a request after the other, until either end has enough.

use super::answer::{ABOUT, Answer};
use super::body::Meter;
use super::{HttpService, Page, STOP_STEP};
use crate::session::budget::Held;
use crate::session::closing::Tcp;
use linux::clock::mono_now;
use model::time::MonoTime;
use model::units::{BitRate, Bytes, Nanos};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use wire::http::{Framing, MOST_HEAD, Method, Refused, Request, parse, size_in};

/// The connection and what has been read ahead of it.
pub(super) struct Connection<'a> {
    socket: Tcp,
    peer: SocketAddr,
    service: &'a HttpService,
    held: Held,
    ready: Vec<u8>,
}

impl<'a> Connection<'a> {
    pub(super) fn new(socket: Tcp, peer: SocketAddr, service: &'a HttpService, held: Held) -> Connection<'a> {
        Connection { socket, peer, service, held, ready: Vec::new() }
    }

    /// Answers one after the other, until it is closed.
    pub(super) fn requests(&mut self) -> io::Result<()> {
        // The listener does not block, and what it accepts may inherit that.
        self.socket.set_nonblocking(false)?;
        self.socket.set_nodelay(true)?;
        self.socket.set_read_timeout(Some(STOP_STEP.to_duration()))?;
        self.socket.set_write_timeout(Some(STOP_STEP.to_duration()))?;
        loop {
            let request = match self.head()? {
                Head::Request(request) => request,
                Head::Refused(Refused(status, words)) => {
                    self.answer(Answer::text(status, format!("{words}\n")), false, false)?;
                    return self.linger();
                }
                Head::End => return Ok(()),
            };
            // A client that transfers data need not make room for others.
            self.held.touch(mono_now(), false);
            let goes_on = self.serve_request(&request)?;
            self.held.touch(mono_now(), true);
            if !goes_on {
                return self.linger();
            }
        }
    }

    /// Reads the next head.
    fn head(&mut self) -> io::Result<Head> {
        let (asked, mut begun) = (mono_now(), None::<MonoTime>);
        loop {
            if !self.ready.is_empty() {
                begun = begun.or(Some(mono_now()));
            }
            match parse(&self.ready) {
                Ok(None) => {}
                Ok(Some((request, length))) => {
                    self.ready.drain(..length);
                    return Ok(Head::Request(request));
                }
                Err(refused) => return Ok(Head::Refused(refused)),
            }
            if self.service.stopped()
                || self.held.must_leave()
                || (begun.is_none() && mono_now() - asked > IDLE)
            {
                return Ok(Head::End);
            }
            if begun.is_some_and(|begun| mono_now() - begun > SLOW_HEAD) {
                return Ok(Head::Refused(Refused(
                    408,
                    "the head of the request took longer than 10 seconds",
                )));
            }
            let mut buffer = [0; 4096];
            let room = (MOST_HEAD - self.ready.len().min(MOST_HEAD - 1)).min(buffer.len());
            match self.socket.read(&mut buffer[..room]) {
                Ok(0) => return Ok(Head::End),
                Ok(count) => self.ready.extend_from_slice(&buffer[..count]),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Answers one request; false: the connection is at its end.
    fn serve_request(&mut self, request: &Request) -> io::Result<bool> {
        let service = self.service;
        let Some(_slot) = service.slot(self.peer.ip()) else {
            let message = "as many transfers as this server, or one address, may have at the same time: try again later\n";
            self.answer(Answer::text(503, message).with("Retry-After", "5"), false, false)?;
            return Ok(false);
        };
        if let Some(page) = &service.page {
            return self.page(page, request);
        }
        if request.expects {
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let mut meter = Meter::new(&service.limits, service.pace, &service.stop);
        if let Err(message) = self.swallow(&mut meter, request.body)? {
            self.answer(Answer::text(400, format!("{message}\n")), false, false)?;
            return Ok(false);
        }
        match request.method {
            Method::Upload => {
                let reported = format!("received {} bytes\n", meter.bytes);
                self.log("up", &meter);
                self.answer(Answer::text(200, reported), request.keep_alive, false)?;
            }
            Method::Get | Method::Head => return self.get(request),
            Method::Other => {
                let answer = Answer::text(405, "GET, HEAD, PUT and POST are answered here\n");
                self.answer(answer.with("Allow", "GET, HEAD, PUT, POST"), request.keep_alive, false)?;
            }
        }
        Ok(request.keep_alive)
    }

    fn get(&mut self, request: &Request) -> io::Result<bool> {
        let (keep, head) = (request.keep_alive, request.method == Method::Head);
        let (answer, part) = found(request);
        self.answer(answer, keep, head)?;
        if let Some((from, count)) = part.filter(|_| !head) {
            let service = self.service;
            let mut meter = Meter::new(&service.limits, service.pace, &service.stop);
            let sent = meter.send(&self.socket, &service.content, from, count);
            self.log("down", &meter);
            sent?;
        }
        Ok(keep)
    }

    /// A body that comes all the same is not read: the connection ends.
    fn page(&mut self, page: &Page, request: &Request) -> io::Result<bool> {
        let head = request.method == Method::Head;
        let goes_on = request.keep_alive && request.body == Framing::Length(0);
        let answer = match request.method {
            Method::Get | Method::Head if request.path == page.path => Answer::metrics((page.text)()),
            Method::Get | Method::Head => Answer::text(404, format!("look at {}\n", page.path)),
            Method::Upload | Method::Other => {
                Answer::text(405, "only GET and HEAD are answered here\n").with("Allow", "GET, HEAD")
            }
        };
        self.answer(answer, goes_on, head)?;
        Ok(goes_on)
    }

    /// Takes a body and throws it away.
    fn swallow(&mut self, meter: &mut Meter<'_>, body: Framing) -> io::Result<Swallowed> {
        match body {
            Framing::Length(length) => self.swallow_bytes(meter, length).map(Ok),
            Framing::Chunked => self.swallow_chunks(meter),
        }
    }

    fn swallow_bytes(&mut self, meter: &mut Meter<'_>, mut left: u64) -> io::Result<()> {
        while left > 0 {
            match meter.take(&self.socket, &mut self.ready, left)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => left -= count,
            }
        }
        Ok(())
    }

    /// RFC 9112 section 7.1; what is between the chunks is not counted.
    fn swallow_chunks(&mut self, meter: &mut Meter<'_>) -> io::Result<Swallowed> {
        loop {
            let Some(line) = self.line(meter)? else {
                return Ok(Err("a chunk's size is too long"));
            };
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
            let Some(size) = size else { return Ok(Err("a chunk has no size")) };
            if size == 0 {
                return self.trailers(meter);
            }
            self.swallow_bytes(meter, size)?;
            if self.line(meter)?.is_none_or(|rest| !rest.is_empty()) {
                return Ok(Err("a chunk is longer than its size"));
            }
        }
    }

    fn trailers(&mut self, meter: &mut Meter<'_>) -> io::Result<Swallowed> {
        for _ in 0..MOST_TRAILERS {
            match self.line(meter)? {
                Some(line) if line.is_empty() => return Ok(Ok(())),
                Some(_) => {}
                None => break,
            }
        }
        Ok(Err("the body's trailers are too long"))
    }

    /// A line without its end; `None`: it is too long. Its bytes are not the body's.
    fn line(&mut self, meter: &mut Meter<'_>) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.ready.iter().take(MOST_LINE).position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.ready.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()));
            }
            if self.ready.len() >= MOST_LINE {
                return Ok(None);
            }
            meter.fill(&self.socket, &mut self.ready)?;
        }
    }

    fn answer(&mut self, answer: Answer, keep_alive: bool, head: bool) -> io::Result<()> {
        self.write(&answer.into_bytes(keep_alive, head))
    }

    /// Writes a head: the socket's buffer has room for it, unless the client reads nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let timeout = self.socket.write_timeout()?;
        self.socket.set_write_timeout(Some(SLOW_HEAD.to_duration()))?;
        let written = self.socket.write_all(bytes);
        self.socket.set_write_timeout(timeout)?;
        written
    }

    /// Closes so that the answer is not lost: a socket closed with data unread would send a reset at once.
    fn linger(&mut self) -> io::Result<()> {
        self.socket.shutdown(std::net::Shutdown::Write)?;
        let until = mono_now() + LINGER;
        let mut buffer = [0; 4096];
        while mono_now() < until && !self.service.stopped() {
            match self.socket.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Err(e) if !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn log(&self, direction: &str, meter: &Meter<'_>) {
        let (bytes, elapsed) = (Bytes(meter.bytes), meter.elapsed());
        let rate = BitRate::from_bytes(bytes, elapsed);
        let text = format!("(http) {direction} {bytes} in {elapsed}, {rate}");
        self.service.notes.note_limited(self.peer, &text);
    }
}

/// The result of a wait for a request.
enum Head {
    Request(Request),
    Refused(Refused),
    /// Nothing more: the client has closed, or been silent for long.
    End,
}

/// The fault of a body, if it has one.
type Swallowed = Result<(), &'static str>;

/// The head of the answer to a GET, and the part of the content that follows it: from where, and how many bytes.
fn found(request: &Request) -> (Answer, Option<(u64, u64)>) {
    let size = match size_in(&request.path) {
        Some(Ok(size)) => size.0,
        Some(Err(e)) => return (Answer::text(404, format!("{e}\n")), None),
        None if request.path == "/" => return (Answer::text(200, ABOUT), None),
        None => return (Answer::text(404, format!("There is nothing by this name.\n\n{ABOUT}")), None),
    };
    match request.range.map(|range| range.within(size)) {
        None => (Answer::bytes(200, size), Some((0, size))),
        Some(Some((from, count))) => {
            let part = format!("bytes {from}-{}/{size}", from + count - 1);
            (Answer::bytes(206, count).with("Content-Range", &part), Some((from, count)))
        }
        Some(None) => {
            let answer = Answer::text(416, format!("the file has {size} bytes\n"));
            (answer.with("Content-Range", &format!("bytes */{size}")), None)
        }
    }
}

/// Longest wait for the next request.
const IDLE: Nanos = Nanos::from_secs(60);
/// Longest time for a head, from its first byte.
const SLOW_HEAD: Nanos = Nanos::from_secs(10);
/// How long an answer has to arrive before the connection is closed hard.
const LINGER: Nanos = Nanos::from_secs(2);
const MOST_LINE: usize = 1 << 10;
const MOST_TRAILERS: usize = 32;
