//! Requests of one size after another, and whether they are answered.

use crate::error::{Context, Result};
use crate::host::interrupt::Interrupt;
use crate::work::probe::numbered::{ProbeReply, is_pending, probe_reply};
use crate::work::throughput::flows::{is_too_big, own_end};
use linux::clock::mono_now;
use linux::error_queue::{self, QueueEntry};
use linux::message;
use linux::options::{self, MtuDiscovery};
use linux::poll::{Interest, wait};
use linux::socket::{UdpOptions, udp_bind, udp_connect};
use model::path::{PathPlan, ServicePlan, SizeProbe};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

/// Asks one service.
pub(super) struct Asker<'a> {
    plan: &'a PathPlan,
    service: &'a ServicePlan,
    remote: SocketAddr,
    interrupt: &'a Interrupt,
    /// Every size tried.
    pub(super) tallies: BTreeMap<u32, SizeProbe>,
    /// The longest that an answer took.
    slowest: Option<Nanos>,
    /// Every answer gets all of the time that the user allows.
    pub(super) patient: bool,
    /// The ICMP errors of requests that were not answered.
    pub(super) refused: Option<String>,
    /// Nothing listens there.
    pub(super) closed: bool,
}

/// The outcome of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The request was answered.
    Answered,
    /// The request was not answered, and a smaller one sent with it was.
    Silent,
    /// The smaller one was not answered either.
    Unclear,
}

/// A request that may be answered yet.
struct Request {
    socket: UdpSocket,
    size: u32,
    sent: MonoTime,
    /// An answer came, or word that none will.
    over: bool,
    answered: bool,
}

impl<'a> Asker<'a> {
    pub(super) fn new(plan: &'a PathPlan, service: &'a ServicePlan, interrupt: &'a Interrupt) -> Asker<'a> {
        let mut remote = plan.target.address;
        remote.set_port(service.port);
        Asker {
            plan,
            service,
            remote,
            interrupt,
            tallies: BTreeMap::new(),
            slowest: None,
            patient: false,
            refused: None,
            closed: false,
        }
    }

    /// Whether a size is answered; `control` is one that was.
    pub(super) fn ask(&mut self, size: u32, control: u32) -> Result<Reply> {
        if self.send_all(&[size, control], true)?[0] {
            return Ok(Reply::Answered);
        }
        for _ in 0..TURNS {
            let answered = self.send_all(&[size, size, control], true)?;
            if answered[0] || answered[1] {
                return Ok(Reply::Answered);
            }
            if answered[2] {
                return Ok(Reply::Silent);
            }
            if self.interrupt.is_raised() {
                break;
            }
            // A service may be slow with large requests, and with what waits behind them.
            self.patient = true;
        }
        Ok(Reply::Unclear)
    }

    /// Whether a size is answered within all of the time that the user allows; so much is waited from now on.
    pub(super) fn ask_patiently(&mut self, size: u32) -> Result<bool> {
        self.patient = true;
        Ok(self.probe_train(&[size, size])?.contains(&true))
    }

    /// Sends one request of each size at once and waits; whether each was answered.
    pub(super) fn probe_train(&mut self, sizes: &[u32]) -> Result<Vec<bool>> {
        self.send_all(sizes, false)
    }

    /// The same; where the last is a control, an answer to it ends the wait for the others soon.
    fn send_all(&mut self, sizes: &[u32], control: bool) -> Result<Vec<bool>> {
        let timeout = self.timeout();
        let mut requests = sizes.iter().map(|size| self.send(*size)).collect::<Result<Vec<Request>>>()?;
        let mut deadline = mono_now() + timeout;
        while requests.iter().any(|request| !request.over)
            && mono_now() < deadline
            && !self.interrupt.is_raised()
        {
            let mut open: Vec<&mut Request> = requests.iter_mut().filter(|request| !request.over).collect();
            let mut interests: Vec<Interest<'_>> =
                open.iter().map(|request| Interest::readable(&request.socket)).collect();
            wait(&mut interests, Some(deadline.min(mono_now() + STEP)))?;
            drop(interests);
            for request in &mut open {
                self.hear(request)?;
            }
            let heard = requests.last().filter(|last| last.answered).and(self.slowest);
            if let Some(slowest) = heard.filter(|_| control && !self.patient) {
                deadline = deadline.min(mono_now() + Nanos(slowest.0.saturating_mul(MORE)).max(SOON));
            }
        }
        for request in &requests {
            let size = request.size;
            let tally = self.tallies.entry(size).or_insert(SizeProbe { size, sent: 0, received: 0 });
            tally.sent += 1;
            tally.received += u32::from(request.answered);
        }
        Ok(requests.iter().map(|request| request.answered).collect())
    }

    fn send(&self, size: u32) -> Result<Request> {
        // IPv6 routers cut nothing, so there the kernel must be let learn what to cut to.
        let mode = if self.remote.is_ipv6() { MtuDiscovery::Dont } else { MtuDiscovery::Omit };
        let options = UdpOptions {
            device: self.plan.local.device.clone(),
            mtu_discovery: Some(mode),
            send_buffer: Some(SEND_BUFFER),
            v6_only: true,
            ..UdpOptions::default()
        };
        let socket = udp_bind(own_end(self.remote, self.plan.local.bind, None), &options)?;
        options::set_receive_errors(&socket, true)?;
        udp_connect(&socket, self.remote, None)?;
        let request = Request { socket, size, sent: mono_now(), over: false, answered: false };
        let bytes = filled(self.service, size);
        match request.socket.send(&bytes) {
            Ok(_) => Ok(request),
            // A size that this host does not send is not answered.
            Err(error) if is_too_big(&error) || is_pending(&error) => Ok(Request { over: true, ..request }),
            Err(error) => Err(error).with_context(|| format!("send to udp {}", self.remote)),
        }
    }

    /// Takes what came on the socket of a request.
    fn hear(&mut self, request: &mut Request) -> Result<()> {
        for _ in 0..TAKEN {
            match error_queue::take(&request.socket, &mut []).context("read the error queue")? {
                None => break,
                Some(QueueEntry::Error(error)) => {
                    self.note(request, probe_reply(&error, self.remote.ip()), error.offender)
                }
                Some(_) => {}
            }
        }
        let mut bytes = vec![0; LARGEST];
        for _ in 0..TAKEN {
            match message::receive(&request.socket, &mut bytes) {
                Ok(received) if bytes[..received.len].starts_with(&self.service.reply) => {
                    request.answered = true;
                    request.over = true;
                    let took = mono_now().saturating_since(request.sent);
                    self.slowest = Some(self.slowest.map_or(took, |longest| longest.max(took)));
                    break;
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if is_pending(&error) => {}
                Err(error) => return Err(error).with_context(|| format!("receive from udp {}", self.remote)),
            }
        }
        Ok(())
    }

    fn note(&mut self, request: &mut Request, reply: Option<ProbeReply>, from: Option<std::net::IpAddr>) {
        let who = from.map_or_else(|| "a router".to_owned(), |from| from.to_string());
        let size = request.size;
        let text = match reply {
            Some(ProbeReply::Closed) => {
                // A service that was heard is there, whatever the outcome of this request.
                self.closed = self.slowest.is_none();
                request.over = true;
                format!("{who} reports that nothing listens at port {}", self.service.port)
            }
            Some(ProbeReply::TooBig(mtu)) => format!("{who} passes no packets above {mtu} bytes on"),
            Some(ProbeReply::Expired) => format!("{who} reports that {size} bytes ran out of hops"),
            Some(ProbeReply::Refused(kind, code)) => {
                request.over = true;
                format!("{who} refused {size} bytes (type {kind}, code {code})")
            }
            Some(ProbeReply::Answer) | None => return,
        };
        self.refused = Some(text);
    }

    /// How long to wait for an answer: as long as the user allows until one came, then some times as long as those took.
    fn timeout(&self) -> Nanos {
        let adapted = |slowest: Nanos| Nanos(slowest.0.saturating_mul(ANSWERS)).max(SHORTEST);
        self.slowest
            .filter(|_| !self.patient)
            .map_or(self.service.timeout, |slowest| adapted(slowest).min(self.service.timeout))
    }
}

/// The request, filled up to `size` bytes; cut where that is less.
fn filled(service: &ServicePlan, size: u32) -> Vec<u8> {
    let mut bytes = service.payload.clone();
    bytes.resize(size as usize, service.fill);
    bytes
}

/// Times that a size and one that was answered are sent before the result counts as unknown.
const TURNS: u32 = 4;
/// Messages taken at once.
const TAKEN: usize = 64;
const LARGEST: usize = 1 << 16;
/// Room for the largest datagram.
const SEND_BUFFER: Bytes = Bytes(256 << 10);
/// How often an interrupt is looked for.
const STEP: Nanos = Nanos::from_millis(100);
/// How many times longer than another an answer may take, where a silent size is asked again with a longer timeout.
const MORE: u64 = 3;
const SOON: Nanos = Nanos::from_millis(30);
const ANSWERS: u64 = 10;
const SHORTEST: Nanos = Nanos::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_filled_up_to_its_size() {
        let service = ServicePlan {
            port: 1,
            payload: b"ask".to_vec(),
            fill: b'.',
            reply: Vec::new(),
            timeout: Nanos::ZERO,
            largest: 9,
        };
        assert_eq!(filled(&service, 5), b"ask..");
        assert_eq!(filled(&service, 3), b"ask");
    }
}
