//! Echo requests of many sizes at once, and which of them come back, whole or in fragments.

use crate::error::{Context, Result};
use crate::host::entropy;
use crate::host::interrupt::Interrupt;
use crate::work::probe::flow::count_message;
use crate::work::probe::numbered::{ProbeReply, is_pending, probe_reply};
use crate::work::throughput::flows::is_too_big;
use linux::clock::mono_now;
use linux::error_queue::{self, Origin, QueueEntry};
use linux::icmp::{EchoReply, EchoSocket};
use linux::options::{self, MtuDiscovery};
use linux::poll::{Interest, wait};
use model::path::{TooBig, headers};
use model::plan::LocalOptions;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;

/// Asks one host to send packets back.
#[derive(Debug)]
pub(super) struct Echo {
    socket: EchoSocket,
    remote: SocketAddr,
    secret: [u8; SECRET],
    sequence: u16,
    /// The packet that each number went with.
    sizes: BTreeMap<u16, u32>,
    /// Longest time to the far end and back so far.
    pub(super) round_trip: Option<Nanos>,
    /// Packet-too-big messages that quoted a request.
    pub(super) too_big: Vec<TooBig>,
    /// Requests sent.
    pub(super) packets: u64,
    /// Requests sent and answered, by size.
    asked: BTreeMap<u32, (u32, u32)>,
    /// The far end cuts its replies: to packets of this size.
    pub(super) cut_to: Option<u32>,
}

/// The replies to one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SizeReplies {
    /// Whole packet, request and reply alike.
    pub(super) size: u32,
    /// Requests sent.
    pub(super) sent: u32,
    /// Replies, whole, in fragments or cut short.
    pub(super) received: u32,
    /// Replies that came whole.
    pub(super) whole: u32,
    /// Largest fragment of those that did not.
    pub(super) fragment: Option<u32>,
}

/// A request that may be answered yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    sequence: u16,
    row: usize,
    sent: MonoTime,
    answered: bool,
}

impl Echo {
    /// Opens a socket for it.
    ///
    /// # Errors
    /// `EPERM` where this user may open none.
    pub(super) fn open(remote: SocketAddr, local: &LocalOptions) -> Result<Echo> {
        let ident = u16::from_be_bytes(entropy()?);
        Ok(Echo {
            socket: EchoSocket::open(remote, local.bind, local.device.as_deref(), ident)?,
            remote,
            secret: entropy()?,
            sequence: 0,
            sizes: BTreeMap::new(),
            round_trip: None,
            too_big: Vec::new(),
            packets: 0,
            asked: BTreeMap::new(),
            cut_to: None,
        })
    }

    /// Requests sent and answered of sizes that are known to be answered, where most were not: somebody limits how many.
    pub(super) fn rationed(&self) -> Option<(u32, u32)> {
        let largest = self.largest_answered()?;
        let all = self.asked.range(..=largest).map(|(_, counts)| *counts);
        let (sent, answered) = all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (sent >= ENOUGH && answered < sent / 2).then_some((sent, answered))
    }

    /// The largest size that was answered, where any was.
    pub(super) fn largest_answered(&self) -> Option<u32> {
        self.asked.iter().rev().find(|(_, (_, answered))| *answered > 0).map(|(size, _)| *size)
    }

    /// The smallest packet a request can be.
    pub(super) fn least(&self) -> u32 {
        headers(self.remote.is_ipv6()) + SECRET as u32
    }

    /// Makes fragments of IPv6 requests no larger than `mtu` from now on.
    pub(super) fn set_fragment_mtu(&self, mtu: u32) -> Result<()> {
        Ok(options::set_fragment_mtu(&self.socket, mtu)?)
    }

    /// Sends `copies` requests of each size, all sizes once and then again, and waits for the replies.
    pub(super) fn probe_train(
        &mut self,
        sizes: &[u32],
        copies: u32,
        mode: MtuDiscovery,
        interrupt: &Interrupt,
    ) -> Result<Vec<SizeReplies>> {
        let mut rows: Vec<SizeReplies> =
            sizes.iter().map(|&size| SizeReplies { size, ..SizeReplies::default() }).collect();
        let mut open = Vec::new();
        for turn in 0..copies as usize * sizes.len() {
            let at = turn % sizes.len();
            rows[at].sent += 1;
            if let Some(sequence) = self.send(rows[at].size, mode)? {
                open.push(Open { sequence, row: at, sent: mono_now(), answered: false });
            }
            self.listen(&mut rows, &mut open, mono_now() + SPACING)?;
            if interrupt.is_raised() {
                break;
            }
        }
        let last = mono_now();
        while open.iter().any(|request| !request.answered) && !interrupt.is_raised() {
            let deadline = last + timeout(self.round_trip);
            if mono_now() >= deadline {
                break;
            }
            self.listen(&mut rows, &mut open, deadline)?;
        }
        for row in &rows {
            let totals = self.asked.entry(row.size).or_default();
            *totals = (totals.0 + row.sent, totals.1 + row.received);
        }
        Ok(rows)
    }

    /// Sends one; `None` when this host refuses its size.
    fn send(&mut self, size: u32, mode: MtuDiscovery) -> Result<Option<u16>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut payload = vec![0; size.saturating_sub(headers(self.remote.is_ipv6())) as usize];
        let secret = self.secret.len().min(payload.len());
        payload[..secret].copy_from_slice(&self.secret[..secret]);
        self.socket.set_mtu_discovery(mode)?;
        self.sizes.insert(self.sequence, size);
        let mut left = false;
        for _ in 0..PENDING {
            match self.socket.send(self.sequence, &payload) {
                Ok(()) => left = true,
                Err(error) if is_too_big(&error) && self.hear_errors()? => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if is_pending(&error) => continue,
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("send an echo request to {}", self.remote.ip()));
                }
            }
            break;
        }
        if self.remote.is_ipv4() {
            // Messages of routers must not teach the kernel.
            self.socket.set_mtu_discovery(MtuDiscovery::Omit)?;
        }
        self.packets += u64::from(left);
        Ok(left.then_some(self.sequence))
    }

    /// Takes what comes until something came or `deadline` passes.
    fn listen(&mut self, rows: &mut [SizeReplies], open: &mut [Open], deadline: MonoTime) -> Result<()> {
        wait(&mut [Interest::readable(&self.socket)], Some(deadline))?;
        self.hear_errors()?;
        let mut buffer = vec![0; LARGEST];
        for _ in 0..TAKEN {
            let reply = match self.socket.receive(&mut buffer) {
                Ok(reply) => reply,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if is_pending(&error) => continue,
                Err(error) => {
                    return Err(error).with_context(|| format!("receive from {}", self.remote.ip()));
                }
            };
            if let Some(reply) = reply
                && buffer[reply.start..reply.end].starts_with(&self.secret)
            {
                self.take(&reply, rows, open);
            }
        }
        Ok(())
    }

    fn take(&mut self, reply: &EchoReply, rows: &mut [SizeReplies], open: &mut [Open]) {
        let same = |request: &&mut Open| request.sequence == reply.sequence && !request.answered;
        let Some(request) = open.iter_mut().find(same) else { return };
        let row = &mut rows[request.row];
        let length = u32::try_from(reply.end - reply.start).unwrap_or(u32::MAX);
        let headers = headers(self.remote.is_ipv6());
        let payload = row.size.saturating_sub(headers);
        if length > payload {
            return;
        }
        request.answered = true;
        let took = mono_now().saturating_since(request.sent);
        self.round_trip = Some(self.round_trip.map_or(took, |longest| longest.max(took)));
        row.received += 1;
        if length < payload {
            // The request arrived; nothing is known of the return path.
            self.cut_to = self.cut_to.max(Some(length + headers));
            return;
        }
        match reply.received.fragment {
            None => row.whole += 1,
            Some(fragment) => row.fragment = row.fragment.max(Some(fragment)),
        }
    }

    /// Takes the messages of the network; true when there was nothing about an earlier request.
    fn hear_errors(&mut self) -> Result<bool> {
        let mut nothing = true;
        for _ in 0..TAKEN {
            let mut quote = [0; packet::icmp::HEADER + SECRET];
            let Some(entry) = error_queue::take(&self.socket, &mut quote).context("read the error queue")?
            else {
                break;
            };
            let QueueEntry::Error(error) = entry else { continue };
            if error.origin == Origin::Local {
                return Ok(true);
            }
            nothing = false;
            let quote = &quote[..error.quoted.min(quote.len())];
            let Some((sequence, payload)) = self.socket.quoted(quote) else { continue };
            // A message that quotes little is a hint; one that quotes something else is none.
            let forged = !self.secret.starts_with(payload);
            if let (false, Some(ProbeReply::TooBig(mtu))) = (forged, probe_reply(&error, self.remote.ip())) {
                let Some(&size) = self.sizes.get(&sequence) else { continue };
                note(&mut self.too_big, TooBig { size, mtu, from: error.offender, count: 1 });
            }
        }
        Ok(nothing)
    }
}

/// How long to wait for an answer of a host this far away.
pub(super) fn timeout(round_trip: Option<Nanos>) -> Nanos {
    match round_trip {
        Some(longest) => Nanos(longest.0.saturating_mul(ROUND_TRIPS)).clamp(SHORTEST_WAIT, LONGEST_WAIT),
        None => LONGEST_WAIT,
    }
}

/// Counts a message with those of the same content.
pub(super) fn note(reported: &mut Vec<TooBig>, new: TooBig) {
    count_message(reported, new, MOST_NOTES);
}

const SECRET: usize = 8;
/// With fewer requests, most may be lost by chance.
const ENOUGH: u32 = 20;
const PENDING: usize = 8;
/// Messages taken at once.
const TAKEN: usize = 256;
const MOST_NOTES: usize = 64;
const LARGEST: usize = 1 << 16;
/// Between two requests: what a burst overflows on the path is not a path MTU.
const SPACING: Nanos = Nanos::from_micros(300);
const ROUND_TRIPS: u64 = 4;
const SHORTEST_WAIT: Nanos = Nanos::from_millis(80);
const LONGEST_WAIT: Nanos = Nanos::from_millis(1000);
