//! Opening UDP flows over a link that loses, doubles, delays and reorders datagrams.

use model::plan::Transport;
use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_wire::native::udp::{GateAnswer, UdpGate, UdpOpen, UdpStep, acknowledge, acknowledge_again};
use pathmeter_wire::native::{FlowKey, SessionId, flow::FlowHello};
use proptest::prelude::*;
use std::net::SocketAddr;

const SESSION: SessionId = SessionId::new([7; 16]);
const KEY: FlowKey = FlowKey::new([8; 32]);

/// The delivery of one datagram: the delays of its copies, in milliseconds; none: lost.
type Delivery = Vec<u64>;

struct Link {
    deliveries: Vec<Delivery>,
    next: usize,
    /// Time of arrival, whether it goes to the server, bytes.
    flying: Vec<(MonoTime, bool, Vec<u8>)>,
}

impl Link {
    fn send(&mut self, now: MonoTime, to_server: bool, bytes: &[u8]) {
        let delivery = self.deliveries[self.next % self.deliveries.len()].clone();
        self.next += 1;
        self.flying
            .extend(delivery.iter().map(|ms| (now + Nanos::from_millis(*ms), to_server, bytes.to_vec())));
    }

    fn next_arrival(&self) -> Option<MonoTime> {
        self.flying.iter().map(|datagram| datagram.0).min()
    }

    fn take(&mut self, now: MonoTime) -> Option<(bool, Vec<u8>)> {
        let at = self.flying.iter().position(|datagram| datagram.0 <= now)?;
        let (_, to_server, bytes) = self.flying.swap_remove(at);
        Some((to_server, bytes))
    }
}

/// The server: its port, and the flow's own socket once it is open.
struct Server {
    gate: UdpGate,
    open: Option<FlowHello>,
}

impl Server {
    fn answer(&mut self, from: SocketAddr, bytes: &[u8], now: MonoTime) -> Option<Vec<u8>> {
        if let Some(open) = &self.open {
            return acknowledge_again(bytes, open, &KEY).map(|ack| ack.to_vec());
        }
        match self.gate.input(from, bytes, now) {
            GateAnswer::Challenge(_, challenge) => Some(challenge.to_vec()),
            GateAnswer::Open(hello) if hello.proves(Transport::Udp, &KEY) => {
                self.open = Some(hello);
                Some(acknowledge(&hello, &KEY).to_vec())
            }
            GateAnswer::Open(_) | GateAnswer::Ignore => None,
        }
    }
}

/// Runs a handshake; returns its last step, its time, and whether the server's flow is open.
fn run(deliveries: Vec<Delivery>) -> (UdpStep, Nanos, bool) {
    let begin = MonoTime(77_000_000_000);
    let mut now = begin;
    let mut link = Link { deliveries, next: 0, flying: Vec::new() };
    let mut server = Server { gate: UdpGate::new([9; 32]), open: None };
    let mut client = UdpOpen::new(SESSION, 5, &KEY, now);
    let from = "[2001:db8::1]:40000".parse().unwrap();
    for _ in 0..10_000 {
        while let Some((to_server, bytes)) = link.take(now) {
            if !to_server {
                client.input(&bytes, now);
            } else if let Some(answer) = server.answer(from, &bytes, now) {
                assert!(answer.len() <= bytes.len());
                link.send(now, false, &answer);
            }
        }
        match client.step(now) {
            UdpStep::Send(hello) => link.send(now, true, &hello),
            UdpStep::Wait(until) => now = link.next_arrival().map_or(until, |at| at.min(until)).max(now),
            end => return (end, now - begin, server.open.is_some()),
        }
    }
    panic!("a handshake without end");
}

#[test]
fn a_clean_link_takes_two_round_trips() {
    assert_eq!(run(vec![vec![10]]), (UdpStep::Open, Nanos::from_millis(40), true));
}

#[test]
fn a_dead_link_is_given_up_after_five_seconds() {
    assert_eq!(run(vec![vec![]]), (UdpStep::NoAnswer, Nanos::from_secs(5), false));
}

#[test]
fn any_two_losses_are_made_good() {
    for (one, two) in (0..10).flat_map(|one| (0..10).map(move |two| (one, two))) {
        let deliveries = (0..20).map(|n| if n == one || n == two { vec![] } else { vec![10] }).collect();
        let (end, took, _) = run(deliveries);
        assert_eq!(end, UdpStep::Open, "datagrams {one} and {two}");
        assert!(took < Nanos::from_secs(1), "{took}");
    }
}

proptest! {
    #[test]
    fn whatever_the_link_does_an_open_flow_is_open_at_both_ends(
        deliveries in prop::collection::vec(prop::collection::vec(0..2500_u64, 0..3), 1..30),
    ) {
        let (end, took, server) = run(deliveries);
        match end {
            UdpStep::Open => prop_assert!(server && took <= Nanos::from_secs(5)),
            _ => prop_assert_eq!((end, took), (UdpStep::NoAnswer, Nanos::from_secs(5))),
        }
    }
}
