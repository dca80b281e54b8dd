//! UDP probes: a socket for each flow, whose ports never change, so that routers which share packets out by flow send all its
//! probes one way. Needs no privilege.

use super::quotes::{Listener, Quotes};
use super::{Channel, Heard, Probe};
use crate::error::{Error, Result};
use crate::work::probe::numbered::{Numbered, ProbeReply, Sent, Word, icmp_reply, probe_reply};
use linux::clock::mono_now;
use linux::error_queue::NetworkError;
use linux::options::{self, MtuDiscovery};
use linux::poll::{Interest, wait};
use model::hops::{Answer, AnswerKind, HopsPlan, TtlRewritten};
use model::path::Flow;
use model::plan::{LocalOptions, Transport};
use model::time::MonoTime;
use model::units::Nanos;
use packet::{header, mpls_labels};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// A socket for each flow.
#[derive(Debug)]
pub(crate) struct Datagrams {
    flows: Vec<Stream>,
    to: SocketAddr,
    size: u32,
    sent: Vec<Heard>,
    unmatched: u64,
    timeout: Nanos,
    listener: Option<Listener>,
    quotes: Quotes,
    /// TTLs of the last probes.
    ttls: VecDeque<(u32, u8)>,
}

#[derive(Debug)]
struct Stream {
    socket: Numbered,
    /// Probes without an answer that may still come.
    open: Vec<(u32, MonoTime)>,
}

impl Datagrams {
    pub(super) fn open(plan: &HopsPlan) -> Result<Datagrams> {
        let all = Datagrams::toward(plan.target.address, &plan.local, plan.flows.max(1), plan.timeout)?;
        Ok(Datagrams { size: plan.size, ..all })
    }

    /// Opens so many flows to a port. `timeout`: later answers may be about any probe.
    pub(crate) fn toward(
        to: SocketAddr,
        local: &LocalOptions,
        flows: u32,
        timeout: Nanos,
    ) -> Result<Datagrams> {
        let stream = |_| {
            let socket = Numbered::open(to, local, MtuDiscovery::Probe)?;
            Ok::<_, Error>(Stream { socket, open: Vec::new() })
        };
        let flows = (0..flows).map(stream).collect::<Result<_>>()?;
        Ok(Datagrams {
            flows,
            to,
            size: 0,
            sent: Vec::new(),
            unmatched: 0,
            timeout,
            listener: Listener::open(to),
            quotes: Quotes::default(),
            ttls: VecDeque::new(),
        })
    }

    /// Sends a probe as a packet of this size, headers included.
    pub(crate) fn send_sized(&mut self, probe: Probe, size: u32) -> Result<()> {
        let Some(stream) = self.flows.get_mut(probe.flow as usize) else { return Ok(()) };
        options::set_hops(stream.socket.socket(), probe.ttl)?;
        let now = mono_now();
        if self.ttls.len() == KEPT {
            self.ttls.pop_front();
        }
        self.ttls.push_back((probe.number, probe.ttl));
        let timeout = self.timeout;
        stream.open.retain(|(_, at)| now.saturating_since(*at) < timeout);
        self.sent.push(match stream.socket.send(probe.number, size)? {
            Sent::Left => {
                stream.open.push((probe.number, now));
                Heard::Sent(probe.number, now)
            }
            Sent::TooLong => Heard::Refused(probe.number),
        });
        Ok(())
    }

    /// Waits until something was heard, or that time.
    pub(crate) fn wait(&self, until: MonoTime) -> Result<()> {
        let sockets = self.sockets();
        let mut interests: Vec<Interest<'_>> = sockets.iter().map(Interest::readable).collect();
        wait(&mut interests, Some(until))?;
        Ok(())
    }

    /// Takes the errors that no socket was given, and what the packets that others quote show.
    fn take_quotes(&mut self, heard: &mut Vec<Heard>) {
        let Datagrams { flows, to, listener, quotes, ttls, .. } = self;
        let Some(listener) = listener else { return };
        let at = mono_now();
        listener.take(|message| {
            let quote = &message.quote;
            let of_number = |(number, stream): (Option<u32>, usize)| number.map(|number| (number, stream));
            let of_stream = |(at, stream): (usize, &Stream)| (stream.socket.number(quote.payload), at);
            let Some((number, at_flow)) = flows.iter().enumerate().map(of_stream).find_map(of_number) else {
                return;
            };
            let sent = ttls.iter().rev().find(|known| known.0 == number).map(|known| known.1);
            if let Some(sent) = sent.filter(|sent| quote.hops > *sent) {
                let behind = sent.saturating_sub(1);
                quotes.rewritten =
                    Some(TtlRewritten { behind, hops_back: None, ttl_quoted: Some(quote.hops) });
            }
            let local = flows[at_flow].socket.socket().local_addr();
            if local.is_ok_and(|local| local.ip() == quote.source.ip() && local.port() == quote.source.port())
            {
                return;
            }
            let is_far_end = message.from == Some(to.ip());
            let reply = icmp_reply(to.is_ipv6(), (quote.kind, quote.code), quote.mtu, is_far_end);
            let word = Word {
                number: Some(number),
                from: message.from,
                reply,
                ttl: message.ttl,
                labels: Vec::new(),
            };
            quotes.untranslated += 1;
            heard.extend(answer(word, at).map(|answer| Heard::Answer(number, answer)));
        });
    }
}

impl Channel for Datagrams {
    fn send(&mut self, probe: Probe) -> Result<()> {
        self.send_sized(probe, self.size)
    }

    fn take(&mut self, heard: &mut Vec<Heard>) -> Result<()> {
        heard.append(&mut self.sent);
        for stream in &mut self.flows {
            let replies = stream.socket.hear()?;
            let at = mono_now();
            for word in replies {
                match stream.number(&word) {
                    Some(number) => {
                        heard.extend(answer(word, at).map(|answer| Heard::Answer(number, answer)))
                    }
                    None => self.unmatched += 1,
                }
            }
        }
        self.take_quotes(heard);
        Ok(())
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        let flows = self.flows.iter().map(|stream| stream.socket.socket().as_fd());
        flows.chain(self.listener.iter().map(|listener| listener.errors.as_fd())).collect()
    }

    fn quotes(&self) -> Quotes {
        self.quotes
    }

    fn flows(&self) -> Vec<Option<Flow>> {
        let flow = |stream: &Stream| {
            let from = stream.socket.socket().local_addr().ok()?;
            Some(Flow { transport: Transport::Udp, from, to: self.to })
        };
        self.flows.iter().map(flow).collect()
    }

    fn unmatched(&self) -> u64 {
        self.unmatched
    }
}

impl Stream {
    /// The probe that a message is about. One that quotes too little (RFC 792: eight bytes) is about the only one there is.
    fn number(&mut self, word: &Word) -> Option<u32> {
        let only = if let [(only, _)] = self.open.as_slice() { Some(*only) } else { None };
        let number = word.number.or(only)?;
        self.open.retain(|(open, _)| *open != number);
        Some(number)
    }
}

fn answer(word: Word, at: MonoTime) -> Option<Answer> {
    let kind = kind(word.reply);
    Some(Answer { from: word.from?.to_canonical(), at, kind, ttl: word.ttl, labels: word.labels })
}

/// The answer in an error of the network about a probe to that host, heard at `at`; `None`: it is none.
pub(super) fn answer_in(error: &NetworkError, quote: &[u8], to: SocketAddr, at: MonoTime) -> Option<Answer> {
    Some(Answer {
        from: error.offender?.to_canonical(),
        at,
        kind: kind(probe_reply(error, to.ip())?),
        ttl: error.ttl,
        labels: mpls_labels(quote, error.extensions, header::ip(to.is_ipv6())),
    })
}

/// Probes of which it is remembered how far they were to go.
const KEPT: usize = 1024;

/// The kind of answer of a message about a probe.
fn kind(reply: ProbeReply) -> AnswerKind {
    match reply {
        ProbeReply::Answer | ProbeReply::Closed => AnswerKind::Arrived,
        ProbeReply::TooBig(mtu) => AnswerKind::TooBig(mtu),
        ProbeReply::Expired => AnswerKind::Expired,
        ProbeReply::Refused(kind, code) => AnswerKind::Refused(kind, code),
    }
}
