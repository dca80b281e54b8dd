//! Probe and latency sessions: requests, reports and echoes over a path that passes datagrams up to a size; the dialogue around
//! round trips.

use crate::ends::{Talk, client_config, server_config, talk, talk_until};
use model::latency::{LatencySpec, WaitMode};
use model::path::{FragmentShape, Syn, TooBig};
use model::plan::Transport;
use model::time::MonoTime;
use model::units::{BitRate, Nanos, PacketRate};
use pathmeter_wire::native::probe::{
    Echo, Ledger, ProbeClient, ProbeDatagram, ProbeReply, ProbeSend, SizeCount,
};
use pathmeter_wire::native::{Expired, LatencyObservation, PathObservation, ServerConfig};
use pathmeter_wire::work::probes::{Reply, Request};
use pathmeter_wire::work::round_trips;
use pathmeter_wire::{Input, Policy, ProtocolError, WorkKind, WorkReply, WorkRequest};
use proptest::prelude::*;
use world::{Who, Work};

type World = Talk<ProbeClient, Path>;

/// The flow and the path of its datagrams.
struct Path {
    /// Datagrams the server has sent, with their time.
    arrived: Vec<(MonoTime, Vec<u8>)>,
    observed: Ledger,
    /// The largest datagram that the server's own link passes.
    local_mtu: usize,
    /// The largest datagram that the path passes.
    path_mtu: usize,
    /// The plan that the server's driver was requested to answer.
    reflecting: Option<LatencySpec>,
    /// The uses of the flows of server and client.
    kinds: [Option<WorkKind>; 2],
}

impl Default for Path {
    fn default() -> Path {
        let (arrived, observed, reflecting) = (Vec::new(), Ledger::default(), None);
        Path { arrived, observed, local_mtu: 1472, path_mtu: 1472, reflecting, kinds: [None; 2] }
    }
}

impl Work for Path {
    fn request(&mut self, now: MonoTime, who: Who, request: WorkRequest) -> Option<WorkReply> {
        match request {
            WorkRequest::Flows(flows) => {
                self.kinds[usize::from(who == Who::Client)] = Some(flows.kind);
                Some(WorkReply::Open(Vec::new()))
            }
            WorkRequest::Probes(Request::Send { bytes, cut, .. }) => self.datagram(now, bytes, cut),
            WorkRequest::Probes(Request::ReportPath { since }) => {
                Some(Reply::PathObservation(Box::new(path_observed(since))).into())
            }
            WorkRequest::RoundTrips(round_trips::Request::Reflect { spec, .. }) => {
                self.reflecting = Some(spec);
                None
            }
            WorkRequest::RoundTrips(round_trips::Request::Count) => Some(OBSERVED.into()),
            other => panic!("{other:?} in a probe session"),
        }
    }
}

impl Path {
    /// The server sends.
    fn datagram(&mut self, now: MonoTime, bytes: Vec<u8>, cut: Option<FragmentShape>) -> Option<WorkReply> {
        if cut.is_none() && bytes.len() > self.local_mtu {
            return Some(Reply::TooBig(bytes.len() as u32).into());
        }
        if bytes.len() <= self.path_mtu {
            self.observed.count(&bytes, None);
            self.arrived.push((now, bytes));
        }
        None
    }
}

fn probing(server: ServerConfig) -> World {
    talk(|now| ProbeClient::new(client_config(), now), server, Path::default())
}

fn latency(server: ServerConfig, spec: LatencySpec) -> World {
    talk(|now| ProbeClient::latency(client_config(), spec, now), server, Path::default())
}

fn ready() -> World {
    talk_until(|now| ProbeClient::new(client_config(), now), Path::default(), ProbeClient::is_ready)
}

/// Steps in a session of probes.
trait Steps {
    /// The client's driver sends.
    fn send(&mut self, datagram: &ProbeDatagram, size: u32);
    fn reply(&mut self) -> ProbeReply;
}

impl Steps for World {
    fn send(&mut self, datagram: &ProbeDatagram, size: u32) {
        let bytes = datagram.encode(size);
        if bytes.len() <= self.work.path_mtu {
            let fragment = (bytes.len() > 1000).then_some(1000);
            self.give(Who::Server, Input::Work(Reply::Datagram { bytes, fragment }.into()));
        }
    }

    fn reply(&mut self) -> ProbeReply {
        for _ in 0..1000 {
            if let Some(reply) = self.client.session.take_reply() {
                return reply;
            }
            self.run_for(Nanos::from_millis(20));
        }
        panic!("no reply: {:?}", self.errors());
    }
}

fn request_to_send(id: u32, sizes: &[u32], count: u32, cut: Option<FragmentShape>) -> ProbeSend {
    ProbeSend { id, sizes: sizes.to_vec(), count, cut, trace: false, gap: Nanos::ZERO }
}

fn path_observed(since: u32) -> PathObservation {
    let router = "192.0.2.1".parse().ok();
    PathObservation {
        interface_mtu: Some(1500),
        makes_packets: true,
        fragments_received: Some(7),
        syn: Some(Syn { mss: Some(1460), sack: true, ..Syn::default() }),
        too_big: vec![TooBig { size: 1500, mtu: 1400, from: router, count: 3 }],
        expired: vec![Expired { id: since, size: 1472, hops: 1, from: router, ..Expired::default() }],
        ..PathObservation::default()
    }
}

#[test]
fn what_a_liar_knows_of_the_path_is_held_to_what_can_be() {
    let mut world = ready();
    world.client.session.report_path(world.now, 3).unwrap();
    let reported = vec![TooBig { size: u32::MAX, mtu: u32::MAX, from: None, count: u32::MAX }; 1000];
    let liar =
        PathObservation { interface_mtu: Some(u32::MAX), too_big: reported, ..PathObservation::default() };
    world.give(Who::Server, Input::Work(Reply::PathObservation(Box::new(liar)).into()));
    let ProbeReply::Path(observed) = world.reply() else { panic!("another reply") };
    assert_eq!((observed.interface_mtu, observed.too_big.len()), (Some(65_575), 256));
    assert_eq!((observed.too_big[0].mtu, observed.too_big[0].size), (65_575, 65_575));
}

#[test]
fn the_server_reports_its_facts_about_the_path() {
    let mut world = ready();
    world.client.session.report_path(world.now, 3).unwrap();
    world.take_outputs(Who::Client);
    assert_eq!(world.reply(), ProbeReply::Path(Box::new(path_observed(3))));
}

#[test]
fn what_the_server_sends_is_counted_by_the_client() {
    let mut world = ready();
    assert_eq!(world.work.kinds, [Some(WorkKind::Probes); 2]);
    world.work.path_mtu = 1400;
    world.client.session.request(world.now, request_to_send(3, &[100, 1400, 1401, 1500], 4, None)).unwrap();
    world.take_outputs(Who::Client);
    assert_eq!(world.reply(), ProbeReply::Sent { id: 3, too_big: vec![1500] });
    let observed = world.work.observed.received(3);
    let row = |size, count, fragment| SizeCount { size, count, fragment };
    assert_eq!(observed, [row(100, 4, None), row(1400, 4, None)]);
    world
        .client
        .session
        .request(world.now, request_to_send(4, &[1500], 2, Some(FragmentShape::ByKernel)))
        .unwrap();
    world.take_outputs(Who::Client);
    assert_eq!(world.reply(), ProbeReply::Sent { id: 4, too_big: vec![] }, "it may be sent in fragments");
}

#[test]
fn what_the_client_sends_is_counted_by_the_server() {
    let mut world = ready();
    for (index, size) in [(0, 100), (1, 100), (1, 100), (0, 1472), (0, 1473)] {
        world.send(&ProbeDatagram::Probe { id: 9, index, size }, 0);
    }
    world.client.session.report(world.now, 9).unwrap();
    world.take_outputs(Who::Client);
    let row = |size, count, fragment| SizeCount { size, count, fragment };
    let received = vec![row(100, 2, None), row(1472, 1, Some(1000))];
    assert_eq!(world.reply(), ProbeReply::Observation { id: 9, received });
}

#[test]
fn echoes_come_back_with_their_bytes_and_size() {
    let mut world = ready();
    let echo = Echo { sequence: 5, sent: world.now };
    world.send(&ProbeDatagram::Echo(echo), 600);
    world.send(&ProbeDatagram::EchoReply(echo), 600);
    let [(_, reply)] = &world.work.arrived[..] else { panic!("one echo, one reply") };
    assert_eq!((reply.len(), ProbeDatagram::decode(reply)), (600, Some(ProbeDatagram::EchoReply(echo))));
}

#[test]
fn a_session_ends_when_the_client_has_finished() {
    let mut world = ready();
    world.run_until(|world| world.client.session.clock().is_some());
    world.client.session.finish(world.now);
    world.take_outputs(Who::Client);
    world.run_until(|world| world.closed() == [true, true]);
    assert_eq!(world.errors(), [None, None]);
}

#[test]
fn an_idle_session_is_kept_alive() {
    let mut world = ready();
    world.run_for(Nanos::from_secs(60));
    assert_eq!((world.errors(), world.closed()), ([None, None], [false, false]));
}

/// Its hosts may be busy.
#[test]
fn a_session_has_a_minute_however_short_tests_must_be_and_no_more() {
    let policy = Policy { max_time: Some(Nanos::from_secs(1)), ..Policy::default() };
    let mut world = probing(ServerConfig { policy, ..server_config() });
    world.run_until(|world| world.client.session.is_ready());
    world.run_for(Nanos::from_secs(59));
    assert_eq!((world.errors(), world.closed()), ([None, None], [false, false]));
    world.run_for(Nanos::from_secs(5));
    let Some(ProtocolError::PeerStopped(why)) = &world.client.error else { panic!("{:?}", world.errors()) };
    assert!(why.contains("time"), "{why}");
}

#[test]
fn the_servers_rate_limit_slows_a_request_down_and_the_client_waits() {
    let policy = Policy { max_rate: Some(BitRate(100_000)), ..Policy::default() };
    let mut world = probing(ServerConfig { policy, ..server_config() });
    world.run_until(|world| world.client.session.is_ready());
    world.client.session.request(world.now, request_to_send(1, &[1250], 50, None)).unwrap();
    world.take_outputs(Who::Client);
    let begin = world.now;
    assert_eq!(world.reply(), ProbeReply::Sent { id: 1, too_big: vec![] });
    let took = world.now - begin;
    assert!((Nanos::from_secs(4)..Nanos::from_secs(6)).contains(&took), "{took}");
}

#[test]
fn requests_out_of_range_are_refused_by_both_ends() {
    let mut world = ready();
    let text = world
        .client
        .session
        .request(world.now, request_to_send(1, &[70_000], 1, None))
        .unwrap_err()
        .to_string();
    assert!(text.contains("70000"), "{text}");
    let json = br#"{"type":"probe_send","id":1,"sizes":[70000],"count":1}"#;
    let frame = [(json.len() as u32).to_be_bytes().as_slice(), json].concat();
    world.give(Who::Server, Input::Received(&frame));
    world.run_until(|world| world.closed() == [true, true]);
    assert!(world.server.error.as_ref().unwrap().to_string().contains("70000"), "{:?}", world.errors());
    assert!(world.client.error.as_ref().unwrap().to_string().contains("70000"), "{:?}", world.errors());
}

#[test]
fn too_many_requests_at_once_are_a_violation() {
    let mut world = ready();
    for id in 0..13 {
        world.client.session.request(world.now, request_to_send(id, &[100], 100, None)).unwrap();
    }
    world.take_outputs(Who::Client);
    world.run_until(|world| world.closed() == [true, true]);
    assert!(matches!(world.server.error, Some(ProtocolError::Violation { .. })), "{:?}", world.errors());
}

#[test]
fn a_server_that_shuts_down_reports_it() {
    let mut world = ready();
    world.give(Who::Server, Input::Interrupt("the server is shut down"));
    world.run_until(|world| world.closed() == [true, true]);
    assert_eq!(world.client.error, Some(ProtocolError::PeerStopped("the server is shut down".into())));
}

#[test]
fn an_unrequested_answer_is_a_violation() {
    let mut world = ready();
    let json = br#"{"type":"probe_seen","id":1,"received":[]}"#;
    let frame = [(json.len() as u32).to_be_bytes().as_slice(), json].concat();
    world.give(Who::Client, Input::Received(&frame));
    assert!(matches!(world.client.error, Some(ProtocolError::Violation { .. })), "{:?}", world.errors());
}

#[test]
fn a_vanished_server_is_noticed_after_ten_seconds() {
    let mut world = ready();
    world.vanish(Who::Server);
    world.run_until(|world| world.client.closed.is_some());
    let Some(ProtocolError::Timeout(what)) = &world.client.error else { panic!("{:?}", world.errors()) };
    assert!(what.contains("vanished"), "{what}");
}

fn spec() -> LatencySpec {
    LatencySpec {
        transport: Transport::Udp,
        size: 64,
        tos: 0xb8,
        wait: WaitMode::Hybrid,
        time: Nanos::from_secs(5),
        rate: None,
    }
}

#[test]
fn round_trips_are_answered_and_counted() {
    let mut world = latency(server_config(), spec());
    world.run_until(|world| world.client.session.is_ready());
    assert_eq!(world.work.reflecting, Some(spec()));
    assert_eq!(world.work.kinds, [Some(WorkKind::RoundTrips); 2], "the driver answers them");
    world.client.session.report_latency(world.now).unwrap();
    world.take_outputs(Who::Client);
    assert_eq!(world.reply(), ProbeReply::Reflected(OBSERVED));
    world.client.session.finish(world.now);
    world.take_outputs(Who::Client);
    world.run_until(|world| world.closed() == [true, true]);
    assert_eq!(world.errors(), [None, None]);
}

#[test]
fn a_latency_session_lives_as_long_as_was_asked_for_and_no_longer() {
    let mut world = latency(server_config(), spec());
    world.run_until(|world| world.client.session.is_ready());
    let until = world.now + Nanos::from_secs(14);
    world.run_until(|world| world.now >= until);
    assert_eq!(world.closed(), [false, false], "kept alive by pings");
    world.run_until(|world| world.closed() == [true, true]);
    let Some(ProtocolError::PeerStopped(why)) = &world.client.error else { panic!("{:?}", world.errors()) };
    assert!(why.contains("time"), "{why}");
}

#[test]
fn what_a_server_does_not_allow_is_refused_with_the_option_that_helps() {
    let policy =
        Policy { max_time: Some(Nanos::from_secs(4)), max_rate: Some(BitRate(512_000)), max_streams: None };
    let rate = |rate| Some(PacketRate(rate));
    let cases = [
        (LatencySpec { size: 13, ..spec() }, "size is 13"),
        (LatencySpec { size: 65_508, ..spec() }, "size is 65508"),
        (LatencySpec { rate: rate(1000), ..spec() }, "--time"),
        (LatencySpec { time: Nanos::from_secs(1), rate: rate(1001), ..spec() }, "--rate 1000"),
    ];
    for (spec, reported) in cases {
        let mut world = latency(ServerConfig { policy: policy.clone(), ..server_config() }, spec);
        world.run_until(|world| world.closed() == [true, true]);
        let text = world.client.error.as_ref().unwrap().to_string();
        assert!(text.contains(reported), "{reported}: {text}");
    }
    // Without a rate the server's limit applies.
    for rate_asked in [rate(1000), None] {
        let allowed = LatencySpec { time: Nanos::from_secs(1), rate: rate_asked, ..spec() };
        let mut world = latency(ServerConfig { policy: policy.clone(), ..server_config() }, allowed);
        world.run_until(|world| world.client.session.is_ready());
        assert_eq!(world.work.reflecting.as_ref().and_then(|spec| spec.rate), rate(1000));
    }
}

#[test]
fn unrequested_counts_are_a_violation() {
    let mut world = latency(server_config(), spec());
    world.run_until(|world| world.client.session.is_ready());
    let json = serde_json::to_vec(&pathmeter_wire::native::Message::LatencyObservation(OBSERVED)).unwrap();
    let frame = [(json.len() as u32).to_be_bytes().as_slice(), &json].concat();
    world.give(Who::Client, Input::Received(&frame));
    assert!(matches!(world.client.error, Some(ProtocolError::Violation { .. })), "{:?}", world.errors());
}

/// The observations of the server's driver.
const OBSERVED: LatencyObservation = LatencyObservation {
    client: std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7)), 40_000),
    wait: WaitMode::Block,
    received: 12,
    duplicates: 1,
    reordered: 2,
    elapsed: Nanos::from_nanos(5),
};

proptest! {
    #[test]
    fn any_datagrams_are_harmless(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20)) {
        let mut world = ready();
        let sent = datagrams.len();
        for datagram in datagrams {
            for bytes in [datagram.clone(), [b"PMTRPRB".as_slice(), &datagram].concat()] {
                world.give(Who::Server, Input::Work(Reply::Datagram { bytes, fragment: None }.into()));
            }
        }
        prop_assert!(world.work.arrived.len() <= 2 * sent);
        prop_assert_eq!(world.errors(), [None, None]);
    }
}
