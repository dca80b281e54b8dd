//! ICMP errors as they came, with the packets that they quote: of a NAT that does not translate these, and of routers that set the TTL
//! of what they pass on. Hearing them takes `CAP_NET_RAW`; without it the sockets' own error queues have the rest.

use linux::raw::IcmpErrors;
use model::hops::TtlRewritten;
use packet::icmp::Quote;
use std::net::{IpAddr, SocketAddr};

/// Facts from the quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quotes {
    /// Errors that quote another sender than this host: the sockets are not given them.
    pub(crate) untranslated: u64,
    /// A quoted packet had more hops left than it was sent with.
    pub(crate) rewritten: Option<TtlRewritten>,
}

/// An error that came.
pub(crate) struct Message<'a> {
    pub(crate) from: Option<IpAddr>,
    /// TTL that it arrived with.
    pub(crate) ttl: Option<u8>,
    pub(crate) quote: Quote<'a>,
}

/// Hears the errors about datagrams to one host.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(super) errors: IcmpErrors,
    to: SocketAddr,
}

impl Listener {
    /// Absent where this user may not.
    pub(crate) fn open(to: SocketAddr) -> Option<Listener> {
        let types: &[u8] = if to.is_ipv6() { &[1, 2, 3] } else { &[3, 11] };
        Some(Listener { errors: IcmpErrors::open(to.is_ipv6(), types).ok()?, to })
    }

    /// Takes what came about datagrams to that port.
    pub(crate) fn take(&self, mut each: impl FnMut(Message<'_>)) {
        let mut buffer = [0; QUOTED];
        for _ in 0..TAKEN {
            let Ok(heard) = self.errors.receive(&mut buffer) else { break };
            let Some(quote) = Quote::of_udp(self.to.is_ipv6(), &buffer[heard.start..heard.end]) else {
                continue;
            };
            let same = (quote.destination.ip(), quote.destination.port()) == (self.to.ip(), self.to.port());
            if same {
                each(Message { from: heard.from, ttl: heard.ttl, quote });
            }
        }
    }
}

/// IP header, ICMP header, and as much of the packet as routers quote.
const QUOTED: usize = 700;
const TAKEN: usize = 256;
