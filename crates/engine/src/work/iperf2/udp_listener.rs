//! Where UDP flows come in: one socket hears everyone's first datagrams, and each flow then gets a socket of its own.
//!
//! From the moment that socket is connected the kernel gives it what its peer sends. The datagrams in the listener's queue by
//! then are finite, is read first and in order, and goes with the flow: nothing is lost, however fast the peer sends.

use super::clock;
use crate::error::Result;
use crate::work::arrivals::connected;
use linux::clock::mono_now;
use linux::sockaddr::plain;
use model::units::Bytes;
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Weak};
use wire::Policy;
use wire::iperf2::{Flow, FlowOutput, Request, UdpServer, is_wide};

/// The listener of one port.
pub(super) struct UdpListener {
    pub(super) socket: UdpSocket,
    policy: Policy,
    buffer: Vec<u8>,
    /// Bytes that are kept for flows that come in at once.
    most_early: usize,
    /// Flows that have a socket of their own, by both ends.
    inside: HashMap<(SocketAddr, SocketAddr), Weak<UdpSocket>>,
}

/// A flow that has come in.
pub(super) struct NewFlow {
    pub(super) socket: Arc<UdpSocket>,
    pub(super) from: SocketAddr,
    /// Its request; absent: it has none.
    pub(super) request: Option<Box<Request>>,
    pub(super) wide: bool,
    /// Its datagrams so far.
    pub(super) early: Vec<Vec<u8>>,
}

impl UdpListener {
    /// Opens it on a bound socket that shares its port (`SO_REUSEADDR`).
    ///
    /// # Errors
    /// The errors of `setsockopt(2)`.
    pub(super) fn new(socket: UdpSocket, policy: Policy) -> Result<UdpListener> {
        socket.set_nonblocking(true)?;
        linux::message::set_receive_notes(&socket)?;
        linux::options::set_recv_buffer(&socket, BUFFER)?;
        Ok(UdpListener {
            socket,
            policy,
            buffer: vec![0; 1 << 16],
            most_early: MOST_EARLY,
            inside: HashMap::new(),
        })
    }

    /// The flows that have come since the last call. `admit` gives a flow of this address with this request its place, where it may
    /// begin; a flow that is not admitted costs nothing more.
    pub(super) fn take<P>(
        &mut self,
        mut admit: impl FnMut(SocketAddr, Option<&Request>) -> Option<P>,
    ) -> Vec<(NewFlow, P)> {
        let mut new: Vec<(NewFlow, P)> = Vec::new();
        let mut early = 0;
        self.inside.retain(|_, socket| socket.strong_count() > 0);
        for _ in 0..MOST {
            let came = match linux::message::receive(&self.socket, &mut self.buffer) {
                Ok(came) => came,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => continue,
            };
            let (Some(from), Ok(bound)) = (came.from.map(plain), self.socket.local_addr()) else { continue };
            // A datagram to a group arrives at an address of this host: the flow is of the group.
            let here = came.local.filter(|_| !bound.ip().is_multicast()).unwrap_or(bound.ip());
            let local = plain(SocketAddr::new(here, bound.port()));
            let datagram = &self.buffer[..came.len];
            if let Some((new_flow, _)) = new.iter_mut().find(|(new_flow, _)| new_flow.from == from) {
                early += datagram.len();
                if early <= self.most_early {
                    new_flow.early.push(datagram.to_vec());
                }
                continue;
            }
            // The datagram was in transit to the listener while its flow was added: one datagram in a million, lost like any
            // other.
            if self.inside.contains_key(&(local, from)) {
                continue;
            }
            if let Some((new_flow, place)) = new_flow(datagram, &self.policy, (local, from), &mut admit) {
                self.inside.insert((local, from), Arc::downgrade(&new_flow.socket));
                new.push((new_flow, place));
            }
        }
        new
    }
}

fn new_flow<P>(
    datagram: &[u8],
    policy: &Policy,
    (local, from): (SocketAddr, SocketAddr),
    admit: &mut impl FnMut(SocketAddr, Option<&Request>) -> Option<P>,
) -> Option<(NewFlow, P)> {
    let now = mono_now();
    // Its session has a machine like this of its own; here it judges whether there is to be one.
    let mut machine = UdpServer::new(datagram, policy, clock(), now)?;
    let request = match machine.output(now) {
        FlowOutput::Request(request) => request,
        _ => None,
    };
    let place = admit(from, request.as_deref())?;
    let socket = Arc::new(connected(local, from).ok()?);
    socket.set_nonblocking(false).ok()?;
    let (wide, early) = (is_wide(datagram), vec![datagram.to_vec()]);
    Some((NewFlow { socket, from, request, wide, early }, place))
}

/// Datagrams read before looking at anything else.
const MOST: usize = 1 << 16;
/// Bytes that are kept for the flows that come in at once: as many as the socket holds.
const MOST_EARLY: usize = 16 << 20;
/// Datagrams that may gather at the listener while a flow is added.
const BUFFER: Bytes = Bytes(16 << 20);

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Transport;
    use std::net::Ipv4Addr;
    use wire::iperf2::Numbered;
    use wire::{Datagram, Stamp};

    #[test]
    fn what_comes_early_is_kept_up_to_a_limit() {
        let socket =
            crate::work::iperf2::listen_udp(Some(Ipv4Addr::LOCALHOST.into()), 0).expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        let mut listener = UdpListener::new(socket, Policy::default()).expect("a listener");
        listener.most_early = 10 * LENGTH;
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let mut datagram = Request::new(Transport::Udp).bytes();
        datagram.resize(LENGTH, 0);
        for sequence in 1..=40 {
            let stamp = Stamp { sequence, sent: mono_now() };
            Numbered { clock: clock(), wide: true }.write(stamp, &mut datagram);
            sender.send_to(&datagram, address).expect("loopback takes it");
        }
        let mut decisions = 0;
        let new = listener.take(|_, _| {
            decisions += 1;
            Some(())
        });
        let [(flow, ())] = new.as_slice() else { panic!("one flow comes in, not {}", new.len()) };
        assert_eq!((decisions, flow.early.len()), (1, 11), "the first, and ten more");
        assert!(flow.early.iter().all(|kept| kept.len() == LENGTH));
    }

    const LENGTH: usize = 1000;
}
