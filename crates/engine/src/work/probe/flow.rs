//! The one UDP flow of a probe session, at either end: sends datagrams of every shape, receives routers' errors about them.
//!
//! The kernel's path MTU cache is neither trusted nor taught: where this process may make packets by hand, probes are made so,
//! and the socket they belong to ignores packet-too-big messages for the cache. Without the privilege IPv4 does the same but
//! for a router that answers within the system call; IPv6 cannot bypass the cache.

use crate::error::Result;
use crate::work::hops::Listener;
use crate::work::throughput::flows::is_v4;
use linux::clock::mono_now;
use linux::counters::{Counter, Counters};
use linux::errno::EMSGSIZE;
use linux::error_queue::{self, NetworkError, Origin, QueueEntry};
use linux::message;
use linux::netlink::Network;
use linux::nic::Nic;
use linux::options::{self, MtuDiscovery};
use linux::raw::{IcmpErrors, RawSender};
use linux::sockaddr::plain;
use linux::socket::udp_connect;
use linux::tcp_info::tcp_info;
use model::framing::LARGEST_PACKET;
use model::path::{FragmentShape, RouteMtu, Syn, TooBig, headers};
use model::time::MonoTime;
use packet::header;
use packet::icmp::{PACKET_TOO_BIG_V6, TIME_EXCEEDED, TIME_EXCEEDED_V6};
use packet::{HandMade, mpls_labels, syn_options};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use wire::native::probe::{packet_too_big, quoted};
use wire::native::{Expired, PathObservation};

/// A probe flow.
pub(crate) struct ProbeFlow {
    pub(crate) socket: Arc<UdpSocket>,
    local: SocketAddr,
    remote: SocketAddr,
    raw: Option<RawSender>,
    listener: Option<IcmpErrors>,
    /// Hears errors that no socket is given.
    quotes: Option<Listener>,
    untranslated: u64,
    too_big: Vec<TooBig>,
    expired: VecDeque<Expired>,
    /// When probes left that may go no further than some hops, oldest first.
    traced: VecDeque<Traced>,
    /// MTU of the interface toward the far end: no larger packet leaves it.
    interface_mtu: Option<u32>,
    /// Path MTU of the kernel's cache when the flow was opened.
    cached_mtu: Option<u32>,
    next_id: u32,
    /// The least TTL that a datagram arrived with.
    least_ttl: Option<u8>,
    /// IPv6's flow label of packets made by hand.
    label: u32,
    /// The SYN of the control connection: the kernel gives it once.
    syn: Option<Syn>,
}

/// A probe that may go no further than some hops.
#[derive(Clone, Copy, Debug)]
struct Traced {
    id: u32,
    index: u32,
    size: u32,
    at: MonoTime,
}

impl ProbeFlow {
    /// Takes over a connected socket that does not block. `device`: the interface it is bound to.
    pub(crate) fn open(socket: Arc<UdpSocket>, device: Option<&str>) -> Result<ProbeFlow> {
        let (local, remote) = (plain(socket.local_addr()?), plain(socket.peer_addr()?));
        let cached_mtu = options::path_mtu(socket.as_ref()).ok().and_then(|mtu| u32::try_from(mtu.0).ok());
        let raw = RawSender::open(remote.is_ipv6()).ok();
        if let (Some(raw), Some(device)) = (&raw, device) {
            options::set_device(raw, device)?;
        }
        let label = if raw.is_some() { flow_label(&socket)? } else { 0 };
        let listener = raw
            .as_ref()
            .filter(|_| remote.is_ipv6())
            .and_then(|_| IcmpErrors::open(true, &[PACKET_TOO_BIG_V6]).ok());
        let quotes = raw.as_ref().filter(|_| is_v4(remote.ip())).and_then(|_| Listener::open(remote));
        let mut flow = ProbeFlow {
            socket,
            local,
            remote,
            raw,
            listener,
            quotes,
            untranslated: 0,
            too_big: Vec::new(),
            expired: VecDeque::new(),
            traced: VecDeque::new(),
            interface_mtu: interface_mtu(remote.ip()),
            cached_mtu,
            // The clock: datagrams of earlier sessions must not be joined with ours.
            next_id: mono_now().0 as u32,
            least_ttl: None,
            label,
            syn: None,
        };
        options::set_receive_errors(flow.socket.as_ref(), true)?;
        message::set_receive_notes(flow.socket.as_ref())?;
        options::set_receive_fragment_size(flow.socket.as_ref(), true)?;
        // Older kernels than Linux 5.9 say nothing of extensions.
        options::set_receive_extensions(flow.socket.as_ref()).ok();
        flow.rest()?;
        Ok(flow)
    }

    /// Address and port of this end, and of the far one.
    pub(crate) fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.local, self.remote)
    }

    /// Is the flow IPv4?
    pub(crate) fn is_v4(&self) -> bool {
        is_v4(self.remote.ip())
    }

    /// Sends one datagram: whole or not at all, or cut in this shape; it may go so many hops.
    ///
    /// # Errors
    /// `EMSGSIZE` when the interface cannot send it so; fragments by hand without the privilege.
    pub(crate) fn send(
        &mut self,
        bytes: &[u8],
        cut: Option<FragmentShape>,
        hops: Option<u8>,
    ) -> io::Result<()> {
        if hops.is_some() {
            self.note_traced(bytes);
        }
        match (cut, &self.raw) {
            (None, Some(_)) => self.send_by_hand(bytes, None, hops),
            (None, None) => self.send_by_kernel(bytes, MtuDiscovery::Probe, hops),
            (Some(FragmentShape::MayBeCut), _) => self.send_by_kernel(bytes, MtuDiscovery::Interface, hops),
            (Some(FragmentShape::ByKernel), _) => self.send_by_kernel(bytes, MtuDiscovery::Omit, hops),
            (Some(shape), _) => self.send_by_hand(bytes, Some(shape), hops),
        }
    }

    /// Takes one datagram and the largest fragment it came in. Never blocks; `None`: nothing is there.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Option<(usize, Option<u32>)> {
        for _ in 0..PENDING_ERRORS {
            match message::receive(self.socket.as_ref(), buffer) {
                Ok(received) => {
                    self.least_ttl = self.least_ttl.into_iter().chain(received.ttl).min();
                    return Some((received.len, received.fragment));
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return None,
                // The error of an ICMP message is returned here too; the queue has the details.
                Err(_) => self.hear(),
            }
        }
        None
    }

    /// Takes routers' errors about the probes.
    pub(crate) fn hear(&mut self) {
        let mut quote = [0; QUOTED];
        for _ in 0..MESSAGES_AT_ONCE {
            match error_queue::take(self.socket.as_ref(), &mut quote) {
                Ok(Some(QueueEntry::Error(error))) => self.note(&error, &quote[..error.quoted.min(QUOTED)]),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let mut message = [0; 256];
        for _ in 0..MESSAGES_AT_ONCE {
            let Some(Ok(heard)) = self.listener.as_ref().map(|l| l.receive(&mut message)) else {
                break;
            };
            if let Some(reported) = packet_too_big(&message[heard.start..heard.end], self.local, self.remote)
            {
                self.note_too_big(reported.size + headers(true), reported.mtu, heard.from);
            }
        }
        self.hear_quotes();
    }

    /// Counts errors that quote a probe with a sender that is none of this host's addresses.
    fn hear_quotes(&mut self) {
        let Some(quotes) = &self.quotes else { return };
        let (own, mut others) = (self.local.ip(), Vec::new());
        quotes.take(|message| {
            let sender = message.quote.source.ip();
            if sender != own && quoted(message.quote.payload).is_some() {
                others.push(sender);
            }
        });
        if others.is_empty() {
            return;
        }
        let addresses = Network::open().and_then(|mut network| network.addresses()).unwrap_or_default();
        let is_foreign = |sender: &&IpAddr| addresses.iter().all(|known| known.address != **sender);
        self.untranslated += others.iter().filter(is_foreign).count() as u64;
    }

    /// The path as this end knows it. `control`: the control connection of the session; `since`: routers at which probes of an
    /// earlier order ended are left out.
    pub(crate) fn observed(&mut self, control: &TcpStream, since: u32) -> PathObservation {
        self.hear();
        let kept = || syn_options(&options::saved_syn(control).ok()?);
        self.syn = self.syn.or_else(kept);
        let tcp = tcp_info(control).ok();
        let announced = tcp.as_ref().map(|tcp| {
            let options = if tcp.options.timestamps { TIMESTAMPS } else { 0 };
            u32::try_from(tcp.advertised_mss.0).unwrap_or(u32::MAX).saturating_add(options)
        });
        let counters = Counters::snapshot().ok();
        let count = |counter| counters.as_ref()?.of_version(counter, self.remote.is_ipv6());
        PathObservation {
            interface_mtu: self.interface_mtu,
            cached_mtu: self.cached_mtu,
            route_mtu: route_mtu(self.remote.ip()),
            makes_packets: self.raw.is_some(),
            mtu_probing: mtu_probing(),
            announced_mss: announced,
            syn: self.syn,
            fragments_received: count(Counter::ReasmReqds),
            reassembly_failures: count(Counter::ReasmFails),
            undelivered: counters.as_ref().and_then(|counters| counters.undelivered(self.remote.is_ipv6())),
            least_ttl: self.least_ttl,
            untranslated: self.untranslated,
            too_big: self.too_big.clone(),
            expired: self.expired.iter().filter(|reported| reported.id >= since).cloned().collect(),
        }
    }

    fn send_by_kernel(&mut self, bytes: &[u8], mode: MtuDiscovery, hops: Option<u8>) -> io::Result<()> {
        options::set_mtu_discovery(self.socket.as_ref(), mode).map_err(|e| e.source)?;
        if self.remote.is_ipv6() && mode == MtuDiscovery::Omit {
            options::set_fragment_mtu(self.socket.as_ref(), piece(true)).map_err(|e| e.source)?;
        }
        if let Some(hops) = hops {
            options::set_hops(self.socket.as_ref(), hops).map_err(|e| e.source)?;
        }
        let mut outcome = self.socket.send(bytes);
        for _ in 0..PENDING_ERRORS {
            // The first call after an ICMP message fails with its error, and sends nothing.
            if outcome.is_ok() {
                break;
            }
            self.hear();
            outcome = self.socket.send(bytes);
        }
        if hops.is_some() {
            options::set_hops(self.socket.as_ref(), USUAL_HOPS).map_err(|e| e.source)?;
        }
        self.rest().map_err(io::Error::other)?;
        outcome.map(drop)
    }

    fn send_by_hand(&mut self, bytes: &[u8], cut: Option<FragmentShape>, hops: Option<u8>) -> io::Result<()> {
        let Some(raw) = &self.raw else { return Err(ErrorKind::PermissionDenied.into()) };
        self.next_id = self.next_id.wrapping_add(1);
        let made = HandMade {
            source: self.local,
            destination: self.remote,
            payload: bytes,
            id: self.next_id,
            hops: hops.unwrap_or(USUAL_HOPS),
            label: self.label,
        };
        let packets = match cut {
            None => made.whole().map(|packet| vec![packet]),
            Some(shape) => {
                made.fragments(piece_of(self.remote.is_ipv6(), bytes.len())).map(|all| shape.arrange(all))
            }
        };
        let packets = packets.ok_or_else(|| io::Error::from_raw_os_error(EMSGSIZE))?;
        packets.iter().try_for_each(|packet| raw.send(packet, self.remote))
    }

    /// How the socket stands while nothing is sent: messages that come now must not teach the kernel's cache.
    fn rest(&mut self) -> Result<()> {
        // IPv6 reports errors only to sockets that update the cache.
        let deaf = self.remote.is_ipv6() && self.listener.is_none();
        let mode = if deaf { MtuDiscovery::Probe } else { MtuDiscovery::Omit };
        options::set_mtu_discovery(self.socket.as_ref(), mode)?;
        if self.remote.is_ipv6() {
            options::set_fragment_mtu(self.socket.as_ref(), 0)?;
        }
        Ok(())
    }

    fn note(&mut self, error: &NetworkError, quote: &[u8]) {
        if !matches!(error.origin, Origin::Icmp | Origin::Icmp6) {
            return;
        }
        let probe = quoted(quote);
        if probe.is_none() && quote.len() >= QUOTE {
            // The error quotes a packet that was never sent.
            return;
        }
        let headers = headers(!self.is_v4());
        let expired = matches!(
            (error.origin, error.icmp_type),
            (Origin::Icmp, TIME_EXCEEDED) | (Origin::Icmp6, TIME_EXCEEDED_V6)
        );
        match (error.path_mtu(), probe) {
            (_, Some((id, index, size))) if expired => {
                let reported = self.expired((id, index, size), error, quote);
                if self.expired.len() == MOST_NOTES {
                    self.expired.pop_front();
                }
                self.expired.push_back(reported);
            }
            (_, probe) if error.errno == EMSGSIZE => {
                let size = probe.map_or(0, |(_, _, size)| size.saturating_add(headers));
                self.note_too_big(size, error.info, error.offender);
            }
            _ => {}
        }
    }

    /// Remembers when a probe left that may end on its path.
    fn note_traced(&mut self, bytes: &[u8]) {
        let Some((id, index, size)) = quoted(bytes) else { return };
        if self.traced.len() == MOST_NOTES {
            self.traced.pop_front();
        }
        self.traced.push_back(Traced { id, index, size, at: mono_now() });
    }

    /// A router at which a probe ended. When it reports the same probe twice, the first message has taken the time.
    fn expired(&mut self, (id, index, size): (u32, u32, u32), error: &NetworkError, quote: &[u8]) -> Expired {
        let is_it = |sent: &Traced| (sent.id, sent.index, sent.size) == (id, index, size);
        let sent = self.traced.iter().position(is_it).and_then(|at| self.traced.remove(at));
        Expired {
            id,
            size,
            hops: u8::try_from(index + 1).unwrap_or(u8::MAX),
            from: error.offender,
            rtt: sent.map(|sent| mono_now().saturating_since(sent.at)),
            reply_ttl: error.ttl,
            labels: mpls_labels(quote, error.extensions, headers(!self.is_v4()) as usize),
        }
    }

    fn note_too_big(&mut self, size: u32, mtu: u32, from: Option<IpAddr>) {
        count_message(&mut self.too_big, TooBig { size, mtu, from, count: 1 }, MOST_NOTES);
    }
}

/// Counts a message with those of the same content, of which at most so many are kept.
pub(crate) fn count_message(reported: &mut Vec<TooBig>, new: TooBig, most: usize) {
    let same = |known: &TooBig| (known.size, known.mtu, known.from) == (new.size, new.mtu, new.from);
    match reported.iter().position(same) {
        Some(at) => reported[at].count = reported[at].count.saturating_add(new.count),
        None if reported.len() < most => reported.push(new),
        None => {}
    }
}

/// Largest fragment made by hand, whole packet. IPv4: small, so that no MTU interferes; IPv6: the least MTU, for some
/// boxes drop smaller ones that are not the last.
pub(crate) fn piece(ipv6: bool) -> u32 {
    if ipv6 { 1280 } else { 524 }
}

/// Largest fragment, whole packet, of a datagram with this payload that is cut by hand: one that fits a piece as it is, is
/// cut in halves.
fn piece_of(ipv6: bool, payload: usize) -> u32 {
    let (usual, headers) = (piece(ipv6), header::of_fragment(ipv6));
    let datagram = u32::try_from(payload).unwrap_or(u32::MAX).saturating_add(8);
    let half = datagram.div_ceil(2).next_multiple_of(8);
    if datagram <= (usual - headers) / 8 * 8 { half + headers } else { usual }
}

/// The MTU that was set on the route to a host.
pub(crate) fn route_mtu(remote: IpAddr) -> Option<RouteMtu> {
    let mut network = Network::open().ok()?;
    let found = network.configured_route_to(remote.to_canonical()).ok()?;
    let mtu = found.route.mtu?;
    let interface = network.link_by_index(found.route.link).ok().map(|link| link.name);
    let name = |(address, prefix): (IpAddr, u8)| format!("{address}/{prefix}");
    Some(RouteMtu {
        mtu,
        is_locked: found.is_locked,
        network: found.network.map_or_else(|| "default".into(), name),
        gateway: found.route.gateway,
        interface,
    })
}

/// A label for packets made by hand, as the kernel gives one to each socket by chance (`net.ipv6.auto_flowlabels`): routers
/// choose among equal paths by it. Packets that the kernel sends over this flow bear it too.
fn flow_label(socket: &UdpSocket) -> Result<u32> {
    let remote = plain(socket.peer_addr()?);
    if remote.is_ipv4() || !labels_flows() {
        return Ok(0);
    }
    // The upper half is the kernel's own (`net.ipv6.flowlabel_state_ranges`).
    let label = (u32::from_ne_bytes(crate::host::entropy()?) & LEASED_LABELS).max(1);
    // Where no label is to be had, the kernel's packets bear another.
    udp_connect(socket, socket.peer_addr()?, Some(label)).ok();
    Ok(label)
}

/// The kernel labels the flows of sockets that choose none: `net.ipv6.auto_flowlabels` is 1 or 3.
fn labels_flows() -> bool {
    let setting = std::fs::read_to_string("/proc/sys/net/ipv6/auto_flowlabels");
    !matches!(setting.as_deref().map(str::trim), Ok("0" | "2"))
}

/// MTU of the interface toward a host.
fn interface_mtu(remote: IpAddr) -> Option<u32> {
    let mtu = Nic::toward(remote).ok()?.link.mtu;
    Some(if is_v4(remote) { mtu.min(LARGEST_PACKET) } else { mtu })
}

/// This host's `net.ipv4.tcp_mtu_probing`.
fn mtu_probing() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_mtu_probing").ok()?.trim().parse().ok()
}

/// Bytes of TCP's timestamps in a segment.
pub(crate) const TIMESTAMPS: u32 = 12;
/// Beginning of a probe that identifies it.
const QUOTE: usize = 20;
/// The part of a packet that routers send back (RFC 1812 section 4.3.2.3), and its extensions.
const QUOTED: usize = 576;
const USUAL_HOPS: u8 = 64;
const LEASED_LABELS: u32 = 0x7_ffff;
/// Errors of ICMP messages that may wait on a socket.
const PENDING_ERRORS: usize = 4;
const MESSAGES_AT_ONCE: usize = 256;
const MOST_NOTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_cut_by_hand_come_in_two_pieces() {
        assert_eq!([piece_of(false, 1000), piece_of(true, 2000)], [524, 1280]);
        // Where the path takes less than a usual piece, it takes halves of what would fit one.
        assert_eq!([piece_of(false, 496), piece_of(true, 1224)], [20 + 256, 48 + 616]);
        assert_eq!(piece_of(false, 24), 20 + 16);
    }
}
