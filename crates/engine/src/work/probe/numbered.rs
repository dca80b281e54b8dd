//! Numbered datagrams: a UDP socket whose probes are identified in replies, and in errors of the network.

use crate::error::{Context, Result};
use crate::work::throughput::flows::{is_too_big, own_end};
use linux::errno::{
    EACCES, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, EMSGSIZE, ENETUNREACH, ENOBUFS, ENOPROTOOPT, EOPNOTSUPP,
    EPROTO,
};
use linux::error_queue::{self, NetworkError, Origin, QueueEntry};
use linux::message;
use linux::options::{self, MtuDiscovery};
use linux::socket::{UdpOptions, udp_bind, udp_connect};
use model::hops::MplsLabel;
use model::path::headers;
use model::plan::LocalOptions;
use packet::mpls_labels;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// A UDP socket connected to one port, every datagram of which begins with a secret and its number.
#[derive(Debug)]
pub(crate) struct Numbered {
    socket: UdpSocket,
    remote: SocketAddr,
    /// Whether packets may be cut.
    pub(crate) mode: MtuDiscovery,
    secret: [u8; SECRET],
    /// Taken while it was looked for something else.
    heard: Vec<Word>,
}

/// The result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The datagram left, as far as this host knows.
    Left,
    /// The datagram is larger than this host sends whole.
    TooLong,
}

/// A reply or an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The probe it is about; absent: the message quotes too little of it.
    pub(crate) number: Option<u32>,
    /// Its sender.
    pub(crate) from: Option<IpAddr>,
    /// Its content.
    pub(crate) reply: ProbeReply,
    /// TTL that it arrived with.
    pub(crate) ttl: Option<u8>,
    /// The label stack that the probe bore at the router (RFC 4950).
    pub(crate) labels: Vec<MplsLabel>,
}

/// The content of a message about a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeReply {
    /// A datagram from the far port: it is open.
    Answer,
    /// The far end has nothing at this port: the probe arrived.
    Closed,
    /// The packet does not fit the next link, whose MTU is this; 0: not given.
    TooBig(u32),
    /// Its TTL ended.
    Expired,
    /// Refused, by ICMP type and code.
    Refused(u8, u8),
}

impl Numbered {
    /// Opens a socket towards `remote`, with what `local` chooses.
    pub(crate) fn open(remote: SocketAddr, local: &LocalOptions, mode: MtuDiscovery) -> Result<Numbered> {
        let options = UdpOptions {
            device: local.device.clone(),
            mtu_discovery: Some(mode),
            v6_only: true,
            ..UdpOptions::default()
        };
        let socket = udp_bind(own_end(remote, local.bind, None), &options)?;
        options::set_receive_errors(&socket, true)?;
        message::set_receive_notes(&socket)?;
        // Older kernels than Linux 5.9 say nothing of extensions.
        options::set_receive_extensions(&socket).ok();
        udp_connect(&socket, remote, None)?;
        Ok(Numbered { socket, remote, mode, secret: crate::host::entropy()?, heard: Vec::new() })
    }

    /// The socket, to wait for it and to set its options.
    pub(crate) fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Sends probe `number` as one packet of `size` bytes, headers included; as many as its number needs at least.
    pub(crate) fn send(&mut self, number: u32, size: u32) -> Result<Sent> {
        let payload = size.saturating_sub(headers(self.remote.is_ipv6())).max(LEAST_PAYLOAD);
        let mut bytes = vec![0; payload as usize];
        bytes[..SECRET].copy_from_slice(&self.secret);
        bytes[SECRET..LEAST_PAYLOAD as usize].copy_from_slice(&number.to_be_bytes());
        options::set_mtu_discovery(&self.socket, self.mode)?;
        let outcome = self.push(&bytes);
        if self.remote.is_ipv4() {
            // Routers' errors must not change the kernel's cache, which other programs share. IPv6 reports nothing to this
            // socket then.
            options::set_mtu_discovery(&self.socket, MtuDiscovery::Omit)?;
        }
        outcome
    }

    fn push(&mut self, bytes: &[u8]) -> Result<Sent> {
        // An ICMP message that came meanwhile is raised by the next call, whatever that call is about.
        for _ in 0..PENDING {
            match self.socket.send(bytes) {
                Ok(_) => return Ok(Sent::Left),
                Err(error) if is_too_big(&error) && self.is_own()? => {
                    return Ok(Sent::TooLong);
                }
                Err(error) if is_pending(&error) => {}
                Err(error) if error.raw_os_error() == Some(ENOBUFS) => return Ok(Sent::Left),
                Err(error) => return Err(error).with_context(|| format!("send to udp {}", self.remote)),
            }
        }
        Ok(Sent::Left)
    }

    /// Takes what is there, without waiting; at most [`TAKEN`] messages, lest a flood hold it.
    pub(crate) fn hear(&mut self) -> Result<Vec<Word>> {
        self.hear_errors()?;
        let mut replies = std::mem::take(&mut self.heard);
        self.hear_datagrams(&mut replies)?;
        Ok(replies)
    }

    fn hear_datagrams(&self, words: &mut Vec<Word>) -> Result<()> {
        for _ in 0..TAKEN {
            let mut bytes = [0; LEAST_PAYLOAD as usize];
            match message::receive(&self.socket, &mut bytes) {
                Ok(received) => words.push(Word {
                    number: self.number(&bytes[..received.len]),
                    from: received.from.map(|from| from.ip()),
                    reply: ProbeReply::Answer,
                    ttl: received.ttl,
                    labels: Vec::new(),
                }),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if is_pending(&error) => {}
                Err(error) => return Err(error).with_context(|| format!("receive from udp {}", self.remote)),
            }
        }
        Ok(())
    }

    /// A message of the network about one of ours; `None` for one that quotes something we never sent.
    fn word(&self, error: &NetworkError, quote: &[u8]) -> Option<Word> {
        let quote = &quote[..error.quoted.min(quote.len())];
        let number = self.number(quote);
        if number.is_none() && quote.len() >= LEAST_PAYLOAD as usize {
            return None;
        }
        let labels = mpls_labels(quote, error.extensions, headers(self.remote.is_ipv6()) as usize);
        Some(Word {
            number,
            from: error.offender,
            reply: probe_reply(error, self.remote.ip())?,
            ttl: error.ttl,
            labels,
        })
    }

    /// The number of a probe whose payload begins so; absent: it is none of this socket's, or too little of it.
    pub(crate) fn number(&self, bytes: &[u8]) -> Option<u32> {
        let number = bytes.strip_prefix(&self.secret)?.first_chunk()?;
        Some(u32::from_be_bytes(*number))
    }

    /// Takes errors of the network, after a send was refused for its size; true when no message is about an earlier datagram
    /// that could be the cause.
    fn is_own(&mut self) -> Result<bool> {
        let before = self.heard.len();
        Ok(self.hear_errors()? || self.heard.len() == before)
    }

    /// Takes errors of the network; true when this host itself refused a datagram for its size.
    fn hear_errors(&mut self) -> Result<bool> {
        let mut too_long = false;
        for _ in 0..TAKEN {
            let mut quote = [0; QUOTED];
            match error_queue::take(&self.socket, &mut quote).context("read the error queue")? {
                None => break,
                Some(QueueEntry::Error(error)) if error.origin == Origin::Local => too_long = true,
                Some(QueueEntry::Error(error)) => self.heard.extend(self.word(&error, &quote)),
                Some(_) => {}
            }
        }
        Ok(too_long)
    }
}

/// The content of an error-queue entry about a datagram to `remote`; `None` for errors of this host itself.
pub(crate) fn probe_reply(error: &NetworkError, remote: IpAddr) -> Option<ProbeReply> {
    let is_ipv6 = match error.origin {
        Origin::Icmp => false,
        Origin::Icmp6 => true,
        Origin::Local | Origin::Other(_) => return None,
    };
    let is_far_end = error.offender.map(|from| from.to_canonical()) == Some(remote.to_canonical());
    Some(icmp_reply(is_ipv6, (error.icmp_type, error.icmp_code), error.info, is_far_end))
}

/// The content of an ICMP error by its type and code; `mtu`: of the next link, where it has one; `is_far_end`: its sender is the
/// host that the probe went to.
pub(crate) fn icmp_reply(is_ipv6: bool, (kind, code): (u8, u8), mtu: u32, is_far_end: bool) -> ProbeReply {
    match (is_ipv6, kind, code) {
        (false, 3, 4) | (true, 2, _) => ProbeReply::TooBig(mtu),
        (false, 11, 0) | (true, 3, 0) => ProbeReply::Expired,
        // A firewall that sends this in place of the far end shows nothing about what arrives there.
        (false, 3, 3) | (true, 1, 4) if is_far_end => ProbeReply::Closed,
        (_, kind, code) => ProbeReply::Refused(kind, code),
    }
}

/// An error that an ICMP message left for the next call, and no fault of that call.
pub(crate) fn is_pending(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|errno| PENDING_ERRORS.contains(&errno))
}

/// Errors that the kernel makes of ICMP messages.
const PENDING_ERRORS: [i32; 9] =
    [ECONNREFUSED, EMSGSIZE, EHOSTUNREACH, ENETUNREACH, ENOPROTOOPT, EPROTO, EACCES, EOPNOTSUPP, EHOSTDOWN];

const SECRET: usize = 8;
/// The secret and the number.
const LEAST_PAYLOAD: u32 = 12;
/// The part of a packet that routers send back (RFC 1812 section 4.3.2.3), and its extensions.
const QUOTED: usize = 576;
/// Errors taken for those of earlier datagrams before one is taken as it is.
const PENDING: usize = 8;
/// Messages read at once.
const TAKEN: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use linux::clock::mono_now;
    use linux::poll::{Interest, wait};
    use model::units::Nanos;

    fn closed(host: &str) -> SocketAddr {
        UdpSocket::bind((host, 0)).unwrap().local_addr().unwrap()
    }

    fn word(number: Option<u32>, from: IpAddr, reply: ProbeReply) -> Word {
        Word { number, from: Some(from), reply, ttl: Some(64), labels: Vec::new() }
    }

    fn heard(probe: &mut Numbered, count: usize) -> Vec<Word> {
        let mut replies = Vec::new();
        let deadline = mono_now() + Nanos::from_secs(5);
        while replies.len() < count && mono_now() < deadline {
            wait(&mut [Interest::readable(probe.socket())], Some(deadline)).unwrap();
            replies.extend(probe.hear().unwrap());
        }
        replies
    }

    #[test]
    fn a_closed_port_reports_which_probe_it_refused() {
        for host in ["127.0.0.1", "::1"] {
            let remote = closed(host);
            let mut probe = Numbered::open(remote, &LocalOptions::default(), MtuDiscovery::Probe).unwrap();
            for number in [7, 8] {
                assert_eq!(probe.send(number, 1400).unwrap(), Sent::Left);
            }
            let expected = [7, 8].map(|number| word(Some(number), remote.ip(), ProbeReply::Closed));
            assert_eq!(heard(&mut probe, 2), expected);
        }
    }

    #[test]
    fn an_open_port_answers_and_what_is_too_long_is_reported() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let remote = server.local_addr().unwrap();
        let mut probe = Numbered::open(remote, &LocalOptions::default(), MtuDiscovery::Probe).unwrap();
        assert_eq!(probe.send(1, 70_000).unwrap(), Sent::TooLong);
        assert_eq!(probe.send(2, 65_535).unwrap(), Sent::Left);
        let mut bytes = vec![0; 65_535];
        let (length, from) = server.recv_from(&mut bytes).unwrap();
        assert_eq!(length, 65_507);
        server.send_to(&bytes[..12], from).unwrap();
        server.send_to(b"else", from).unwrap();
        let answer = |number| word(number, remote.ip(), ProbeReply::Answer);
        assert_eq!(heard(&mut probe, 2), [answer(Some(2)), answer(None)]);
    }

    #[test]
    fn only_the_far_end_can_say_that_its_port_is_closed() {
        let far: IpAddr = "192.0.2.1".parse().unwrap();
        let error = |origin, icmp_type, icmp_code, from: &str| NetworkError {
            errno: ECONNREFUSED,
            origin,
            icmp_type,
            icmp_code,
            info: 1400,
            offender: from.parse().ok(),
            destination: None,
            quoted: 0,
            extensions: None,
            ttl: None,
        };
        assert_eq!(probe_reply(&error(Origin::Icmp, 3, 3, "192.0.2.1"), far), Some(ProbeReply::Closed));
        assert_eq!(
            probe_reply(&error(Origin::Icmp, 3, 3, "192.0.2.9"), far),
            Some(ProbeReply::Refused(3, 3))
        );
        assert_eq!(probe_reply(&error(Origin::Icmp, 3, 4, "192.0.2.9"), far), Some(ProbeReply::TooBig(1400)));
        assert_eq!(probe_reply(&error(Origin::Icmp6, 2, 0, "::9"), far), Some(ProbeReply::TooBig(1400)));
        assert_eq!(probe_reply(&error(Origin::Icmp6, 3, 0, "::9"), far), Some(ProbeReply::Expired));
        assert_eq!(probe_reply(&error(Origin::Local, 0, 0, "::9"), far), None);
    }

    #[test]
    fn a_message_that_quotes_another_secret_is_dropped() {
        let probe =
            Numbered::open(closed("127.0.0.1"), &LocalOptions::default(), MtuDiscovery::Probe).unwrap();
        let error = |quoted| NetworkError {
            errno: EMSGSIZE,
            origin: Origin::Icmp,
            icmp_type: 3,
            icmp_code: 4,
            info: 576,
            offender: None,
            destination: None,
            quoted,
            extensions: None,
            ttl: None,
        };
        assert_eq!(probe.word(&error(500), &[0x41; 12]), None);
        let candidate = probe.word(&error(0), &[0; 12]).unwrap();
        assert_eq!((candidate.number, candidate.reply), (None, ProbeReply::TooBig(576)));
        let ours = [&probe.secret[..], &[0, 0, 1, 2]].concat();
        assert_eq!(probe.word(&error(500), &ours).unwrap().number, Some(0x102));
    }
}
