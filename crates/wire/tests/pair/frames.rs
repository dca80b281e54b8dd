//! Sessions of frames: requests for an interface of the server, over a connection with delay, loss of the peer, and lies.

use crate::ends::{Talk, client_config, server_config, talk, talk_until, token};
use model::dut::{PortFacts, SinkKind, SourceKind};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use pathmeter_wire::native::frames::{
    Addressing, Burst, FrameSpec, FramesAsk, FramesClient, FramesCounted, FramesPort, FramesReply,
    FramesSilence, FramesVariation, FramesWish, Sent,
};
use pathmeter_wire::native::{ClientConfig, Refusal, ServerConfig};
use pathmeter_wire::work::frames::{PortAnswer, PortRequest};
use pathmeter_wire::{Input, Policy, ProtocolError, WorkReply, WorkRequest};
use std::collections::VecDeque;
use world::{BOTH, Who, Work};

type World = Talk<FramesClient, Interface>;

/// The server's driver.
struct Interface {
    /// Its requests from the session.
    control: Vec<PortRequest>,
    /// Its reply to the request for the interface.
    opens: Option<PortAnswer>,
    /// Its replies, with the time at which they are ready.
    answers: VecDeque<(MonoTime, PortAnswer)>,
}

impl Interface {
    fn new(opens: Option<PortAnswer>) -> Interface {
        Interface { control: Vec::new(), opens, answers: VecDeque::new() }
    }
}

impl Default for Interface {
    fn default() -> Interface {
        Interface::new(Some(PortAnswer::Open(Box::new(port()))))
    }
}

impl Work for Interface {
    fn request(&mut self, now: MonoTime, _who: Who, request: WorkRequest) -> Option<WorkReply> {
        let WorkRequest::Frames(order) = request else { panic!("{request:?} in a session of frames") };
        if let PortRequest::Open(_) = order {
            let opened = now + Nanos::from_millis(5);
            self.answers.extend(self.opens.take().map(|answer| (opened, answer)));
        }
        self.control.push(order);
        None
    }

    fn due(&self) -> Option<MonoTime> {
        self.answers.front().map(|answer| answer.0)
    }

    fn take(&mut self, _now: MonoTime) -> Option<(Who, WorkReply)> {
        self.answers.pop_front().map(|(_, answer)| (Who::Server, answer.into()))
    }
}

fn world(client: ClientConfig, server: ServerConfig, interface: Interface) -> World {
    talk(|now| FramesClient::new(client, wish(), now), server, interface)
}

fn plain() -> World {
    world(client_config(), server_config(), Interface::default())
}

fn ready() -> World {
    let client = |now| FramesClient::new(client_config(), wish(), now);
    talk_until(client, Interface::default(), |client| client.port().is_some())
}

/// Steps in a session of frames.
trait Steps {
    fn ask(&mut self, ask: FramesAsk);
    /// The driver's reply to the last request, after this time.
    fn replies_at(&mut self, after: Nanos, reply: FramesReply);
    fn answered(&mut self, ask: FramesAsk, reply: FramesReply) -> FramesReply;
    fn next_reply(&mut self) -> FramesReply;
    /// Sends this to the client in the server's name.
    fn send_as_server(&mut self, json: &str);
    fn send_as_client(&mut self, json: &str);
}

impl Steps for World {
    fn ask(&mut self, ask: FramesAsk) {
        self.client.session.ask(self.now, ask).unwrap();
        self.take_outputs(Who::Client);
    }

    fn replies_at(&mut self, after: Nanos, reply: FramesReply) {
        let control = self.work.control.len();
        self.run_until(|world| world.work.control.len() > control);
        let Some(PortRequest::Ask { id, .. }) = self.work.control.last() else {
            panic!("{:?}", self.work.control)
        };
        self.work.answers.push_back((self.now + after, PortAnswer::Reply { id: *id, reply }));
    }

    fn answered(&mut self, ask: FramesAsk, reply: FramesReply) -> FramesReply {
        self.ask(ask);
        self.replies_at(Nanos::from_millis(1), reply);
        self.next_reply()
    }

    fn next_reply(&mut self) -> FramesReply {
        for _ in 0..1000 {
            if let Some(reply) = self.client.session.take_reply() {
                return reply;
            }
            self.run_for(Nanos::from_millis(100));
        }
        panic!("no answer: {:?}", self.errors());
    }

    fn send_as_server(&mut self, json: &str) {
        self.send_as_other(Who::Client, json);
    }

    fn send_as_client(&mut self, json: &str) {
        self.send_as_other(Who::Server, json);
    }
}

fn wish() -> FramesWish {
    let addresses = vec![([198, 19, 0, 1].into(), 24), (std::net::Ipv6Addr::LOCALHOST.into(), 64)];
    let fallback = Addressing { addresses, gateways: vec![[198, 19, 0, 254].into()] };
    FramesWish { interface: "eth1".into(), fallback, ..FramesWish::default() }
}

fn port() -> FramesPort {
    FramesPort {
        facts: PortFacts { name: "eth1".into(), mtu: 1500, ..PortFacts::default() },
        mac: [2, 0, 0, 0, 0, 9],
        addresses: vec![[198, 19, 0, 1].into()],
        sources: vec![SourceKind::LiveFrames, SourceKind::Packet],
        sinks: vec![SinkKind::Xdp],
        notes: vec!["eth1 was given 198.19.0.1/24 for the test.".into()],
    }
}

fn spec() -> FrameSpec {
    FrameSpec {
        source_mac: [2, 0, 0, 0, 0, 9],
        destination_mac: [2, 0, 0, 0, 0, 1],
        source: [198, 19, 0, 1].into(),
        destination: [198, 18, 0, 1].into(),
        hop_limit: 64,
        ports: Some((1024, 7)),
        vlan: Some(5),
        outer: Some((std::net::Ipv6Addr::LOCALHOST, std::net::Ipv6Addr::UNSPECIFIED)),
        sizes: vec![Bytes(68), Bytes(1522)],
        tag: 0xfeed_beef,
    }
}

/// A few frames in a minute.
fn burst() -> Burst {
    Burst { frames: 60_000, interval_ps: 1_000_000_000, then: None, time: Nanos::from_secs(61) }
}

fn send() -> FramesAsk {
    FramesAsk::Send { source: SourceKind::Packet, spec: spec(), burst: burst() }
}

fn count() -> FramesAsk {
    FramesAsk::Count { sink: SinkKind::Xdp, spec: spec(), frames: 60_000, times: false }
}

fn sent(frames: u64) -> FramesReply {
    let (time, held) = (Nanos::from_secs(60), Nanos::from_nanos(7));
    FramesReply::Sent(Sent { frames, time, late: Nanos::from_nanos(1), held, gaps: 0 })
}

fn counted(frames: u64) -> FramesCounted {
    FramesCounted { frames, bytes: Bytes(frames * 64), ..FramesCounted::default() }
}

#[test]
fn the_port_is_reported_as_the_server_has_it() {
    let world = ready();
    assert_eq!(world.client.session.port(), Some(&port()));
    assert_eq!(world.work.control, [PortRequest::Open(wish())]);
    assert_eq!(world.client.session.peer_host().unwrap().name, "server");
}

#[test]
fn questions_reach_the_driver_whole_and_their_answers_the_client() {
    let mut world = ready();
    let mac = [2, 0, 0, 0, 0, 1];
    let hop = FramesAsk::NextHop { to: [198, 18, 0, 1].into() };
    assert_eq!(world.answered(hop, FramesReply::NextHop { mac }), FramesReply::NextHop { mac });
    assert_eq!(world.answered(count(), FramesReply::Begun {}), FramesReply::Begun {});
    let all = FramesCounted {
        frames: 59_990,
        bytes: Bytes(59_990 * 795),
        duplicates: 3,
        reordered: 2,
        unchecked: 1,
        others: 1 << 50,
        last_missing: Some(59_999),
        variation: Some(FramesVariation { shorter: vec![(5, 1), (7000, 2)], longer: vec![(0, 59_986)] }),
        silence: Some(FramesSilence { time: Nanos::from_secs(2), ago: Nanos::from_secs(9) }),
    };
    let reply = FramesReply::Counted(Box::new(all));
    assert_eq!(world.answered(FramesAsk::Counted {}, reply.clone()), reply);
    let request = &world.work.control[2];
    assert_eq!(*request, PortRequest::Ask { id: 2, ask: count() });
}

#[test]
fn a_minute_of_frames_is_waited_for_and_the_session_lives() {
    let mut world = ready();
    assert_eq!(world.answered(send(), FramesReply::Begun {}), FramesReply::Begun {});
    world.ask(FramesAsk::Sent {});
    world.replies_at(Nanos::from_secs(61), sent(60_000));
    assert_eq!(world.next_reply(), sent(60_000));
    world.client.session.finish(world.now);
    world.take_outputs(Who::Client);
    let _ = world.run();
    assert_eq!(world.errors(), [None, None]);
}

#[test]
fn sending_is_stopped_and_the_frames_sent_are_reported() {
    let mut world = ready();
    world.answered(send(), FramesReply::Begun {});
    world.ask(FramesAsk::Sent {});
    world.replies_at(Nanos::from_secs(5), sent(5000));
    world.ask(FramesAsk::Stop {});
    assert_eq!(world.next_reply(), sent(5000));
    assert!(matches!(world.work.control.last(), Some(PortRequest::Ask { ask: FramesAsk::Stop {}, .. })));
    assert_eq!(world.errors(), [None, None]);
}

#[test]
fn a_stop_that_is_not_heard_is_not_waited_for_a_minute() {
    let mut world = ready();
    world.answered(send(), FramesReply::Begun {});
    world.ask(FramesAsk::Sent {});
    world.ask(FramesAsk::Stop {});
    let request = world.now;
    world.run_until(|world| world.client.closed.is_some());
    assert!(world.now - request <= Nanos::from_secs(11), "{}", world.now - request);
    assert!(matches!(world.client.error, Some(ProtocolError::Timeout(_))), "{:?}", world.errors());
}

#[test]
fn a_driver_that_never_answers_is_given_up() {
    for ask in [FramesAsk::Counted {}, FramesAsk::NextHop { to: [198, 18, 0, 1].into() }] {
        let mut world = ready();
        world.ask(ask);
        let _ = world.run();
        let Some(ProtocolError::Timeout(what)) = &world.client.error else { panic!("{:?}", world.errors()) };
        assert!(what.contains("frames"), "{what}");
        assert!(matches!(world.server.error, Some(ProtocolError::Closed(_))), "{:?}", world.errors());
    }
}

#[test]
fn a_refused_interface_ends_the_session_with_advice() {
    let mut world = plain();
    let refusal = Refusal {
        code: "unsupported".into(),
        reason: "eth1 is not offered".into(),
        advice: "start it with --frames-port eth1".into(),
    };
    world.work.opens = Some(PortAnswer::Refused(refusal));
    let _ = world.run();
    let text = world.client.error.as_ref().unwrap().to_string();
    assert!(text.contains("eth1 is not offered; start it with --frames-port eth1"), "{text}");
    assert!(
        world.server.error.as_ref().unwrap().to_string().contains("refused the client"),
        "{:?}",
        world.errors()
    );
}

#[test]
fn an_interface_that_does_not_open_is_not_waited_for() {
    let mut world = plain();
    world.work.opens = None;
    let _ = world.run();
    let Some(ProtocolError::PeerStopped(why)) = &world.client.error else { panic!("{:?}", world.errors()) };
    assert!(why.contains("could not be opened in time"), "{why}");
}

#[test]
fn a_question_refused_is_no_end() {
    let mut world = ready();
    let no = Refusal { code: "unsupported".into(), reason: "no such tool".into(), advice: String::new() };
    assert_eq!(world.answered(count(), FramesReply::Refused(no.clone())), FramesReply::Refused(no));
    assert_eq!(world.answered(count(), FramesReply::Begun {}), FramesReply::Begun {});
}

#[test]
fn what_is_out_of_range_is_refused_by_both_ends_by_name() {
    let mut world = ready();
    let huge = FramesAsk::Count { sink: SinkKind::Xdp, spec: spec(), frames: (1 << 40) + 1, times: true };
    let text = world.client.session.ask(world.now, huge).unwrap_err().to_string();
    assert!(text.contains("frames is 1099511627777"), "{text}");
    let control = world.work.control.len();
    let spec = serde_json::to_string(&FrameSpec { sizes: vec![Bytes(63)], ..spec() }).unwrap();
    let brief = format!(r#"{{"what":"count","sink":"xdp","frames":5,"spec":{spec}}}"#);
    assert!(matches!(serde_json::from_str(&brief), Ok(FramesAsk::Count { times: true, .. })));
    world.send_as_client(&format!(r#"{{"type":"frames_ask","id":7,"ask":{brief}}}"#));
    let answer = String::from_utf8_lossy(&world.in_flight(Who::Client)).into_owned();
    assert!(answer.contains("refused") && answer.contains("size is 63"), "{answer}");
    assert_eq!((world.work.control.len(), world.closed()), (control, [false, false]), "the session goes on");
}

#[test]
fn the_servers_limits_hold() {
    let policy = Policy { max_time: Some(Nanos::from_secs(10)), ..Policy::default() };
    let mut world = world(client_config(), ServerConfig { policy, ..server_config() }, Interface::default());
    world.run_until(|world| world.client.session.port().is_some());
    world.ask(send());
    let FramesReply::Refused(refusal) = world.next_reply() else { panic!("it is too long") };
    assert!(refusal.reason.contains("--max-time"), "{refusal:?}");
}

#[test]
fn answers_that_cannot_be_end_the_session() {
    let lies = [
        FramesReply::Counted(Box::new(FramesCounted { duplicates: 9, ..counted(8) })),
        FramesReply::Counted(Box::new(FramesCounted { last_missing: Some(60_000), ..counted(8) })),
        FramesReply::Begun {},
        sent(5),
    ];
    for lie in lies {
        let mut world = ready();
        world.answered(count(), FramesReply::Begun {});
        world.ask(FramesAsk::Counted {});
        world.replies_at(Nanos::from_nanos(1), lie);
        let _ = world.run();
        assert!(matches!(world.client.error, Some(ProtocolError::Violation { .. })), "{:?}", world.errors());
    }
}

#[test]
fn unrequested_answers_and_numbers_without_end_are_violations() {
    for json in [
        r#"{"type":"frames_told","id":1,"told":{"what":"begun"}}"#,
        r#"{"type":"frames_port","facts":{"name":"x","mtu":1},"mac":"000000000000","addresses":[],"sources":[],"sinks":[]}"#,
        r#"{"type":"frames_told","id":1,"told":{"what":"sent","frames":18446744073709551615,"time_ns":1,"late_ns":0,"gaps":0}}"#,
    ] {
        let mut world = ready();
        world.send_as_server(json);
        assert!(
            matches!(world.client.error, Some(ProtocolError::Violation { .. })),
            "{json}: {:?}",
            world.errors()
        );
    }
}

#[test]
fn too_many_questions_at_once_are_a_violation() {
    let mut world = ready();
    for id in 1..6 {
        world.send_as_client(&format!(r#"{{"type":"frames_ask","id":{id},"ask":{{"what":"sent"}}}}"#));
    }
    assert_eq!(world.work.control.len(), 5);
    world.run_until(|world| world.server.closed.is_some());
    assert!(matches!(world.server.error, Some(ProtocolError::Violation { .. })), "{:?}", world.errors());
}

#[test]
fn a_question_too_early_is_a_violation() {
    let mut world = plain();
    world.work.opens = None;
    world.run_until(|world| !world.work.control.is_empty());
    world.send_as_client(r#"{"type":"frames_ask","id":1,"ask":{"what":"counted"}}"#);
    world.run_until(|world| world.server.closed.is_some());
    assert!(matches!(world.server.error, Some(ProtocolError::Violation { .. })), "{:?}", world.errors());
}

#[test]
fn a_peer_that_vanishes_is_noticed_by_either_end() {
    for gone in BOTH {
        let mut world = ready();
        world.vanish(gone);
        let left = world.now;
        let _ = world.run();
        let other = world.errors()[usize::from(gone == Who::Client)];
        let Some(ProtocolError::Timeout(what)) = other else { panic!("{:?}", world.errors()) };
        assert!(what.contains("vanished"), "{what}");
        assert!(world.now - left <= Nanos::from_secs(19), "{}", world.now - left);
    }
}

#[test]
fn a_connection_that_breaks_is_the_end_at_once() {
    let mut world = ready();
    world.answered(send(), FramesReply::Begun {});
    world.give(Who::Server, Input::Closed);
    assert_eq!(world.server.error, Some(ProtocolError::Closed("during a session of frames".into())));
    assert!(world.server.closed.is_some());
}

#[test]
fn an_older_server_is_to_be_upgraded() {
    let mut world = plain();
    world.take_outputs(Who::Client);
    world.give(Who::Client, Input::Received(b"PMTRCTRL\x01\x01"));
    world.send_as_server(r#"{"type":"hello","software":"pathmeter 0.0.9","features":["time-travel"]}"#);
    let text = world.client.error.as_ref().unwrap().to_string();
    assert!(text.contains("pathmeter 0.0.9") && text.ends_with("upgrade pathmeter there"), "{text}");
}

#[test]
fn a_client_that_does_not_name_the_feature_is_refused() {
    let mut world = plain();
    world.give(Who::Server, Input::Received(b"PMTRCTRL\x01\x01"));
    world.send_as_client(r#"{"type":"hello"}"#);
    let host = serde_json::to_string(&crate::ends::host("older")).unwrap();
    world.send_as_client(&format!(r#"{{"type":"test","kind":"frames","interface":"eth1","host":{host}}}"#));
    assert_eq!(world.work.control, []);
    let reply = String::from_utf8_lossy(&world.in_flight(Who::Client)).into_owned();
    assert!(reply.contains("unsupported") && reply.contains("upgrade the client"), "{reply}");
}

#[test]
fn a_token_protects_the_interface() {
    let server = ServerConfig { token: token("secret"), ..server_config() };
    let mut world =
        world(ClientConfig { token: token("guess"), ..client_config() }, server, Interface::default());
    let _ = world.run();
    assert_eq!(world.work.control, []);
    assert!(matches!(world.client.error, Some(ProtocolError::Refused(_))), "{:?}", world.errors());
}

#[test]
fn a_newer_servers_tools_that_are_not_known_here_are_passed_over() {
    let mut world = plain();
    world.work.opens = None;
    world.run_until(|world| !world.work.control.is_empty());
    world.run_for(Nanos::from_millis(20));
    let mut reply = serde_json::to_value(port()).unwrap();
    reply["type"] = "frames_port".into();
    reply["sources"] = serde_json::json!(["warp-drive", "packet"]);
    world.send_as_server(&reply.to_string());
    assert_eq!(world.client.session.port().unwrap().sources, [SourceKind::Packet]);
}

#[test]
fn an_unused_interface_is_free_again_after_an_hour() {
    let mut world = ready();
    world.run_for(Nanos::from_secs(3500));
    assert_eq!(world.closed(), [false, false], "kept alive by pings");
    let _ = world.run();
    let Some(ProtocolError::PeerStopped(why)) = &world.client.error else { panic!("{:?}", world.errors()) };
    assert!(why.contains("an hour"), "{why}");
}
