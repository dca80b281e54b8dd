//! The client machine against the server machine: every kind of test, over links of every kind, to the end.

use model::plan::{Directions, End, TestSpec, Transport};
use model::sample::{Role, SideResult};
use model::time::MonoTime;
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_wire::iperf3::{Client, ClientConfig, Cookie, Extras, Server, ServerConfig};
use pathmeter_wire::{Input, Policy, ProtocolError, Report, Session};
use proptest::prelude::*;
use serde_json::json;
use world::{BOTH, Flows, Nature, Trouble, Who};

type World = world::World<'static, SkipCookie, Server, Flows>;

fn nature() -> Nature<'static> {
    Nature {
        delay: Nanos::from_millis(3),
        portion: 1000,
        interval: Nanos::from_millis(20),
        ..Nature::default()
    }
}

/// A disturbance after this many milliseconds.
fn at(ms: u64, trouble: Trouble) -> (Nanos, Trouble) {
    (Nanos::from_millis(ms), trouble)
}

fn world_of(test: TestSpec, extras: Extras, config: ServerConfig, nature: Nature<'static>) -> World {
    let (cookie, flows) = (Cookie::from_entropy(&[17; 36]), Flows::new(&nature));
    let client = ClientConfig { cookie: cookie.clone(), test, extras };
    // The driver of a server reads the cookie before there is a session: the first bytes are not for it.
    let client = |now| SkipCookie(Client::new(client, now));
    World::new(nature, client, |now| Server::new(config, cookie, now), flows)
}

/// A client whose cookie has been read already.
struct SkipCookie(Client);

impl pathmeter_wire::Session for SkipCookie {
    fn input(&mut self, now: MonoTime, input: pathmeter_wire::Input<'_>) -> Result<(), ProtocolError> {
        self.0.input(now, input)
    }

    fn output(&mut self, now: MonoTime) -> pathmeter_wire::Output {
        match self.0.output(now) {
            pathmeter_wire::Output::Send(bytes) if bytes.len() == pathmeter_wire::iperf3::COOKIE_LEN => {
                self.0.output(now)
            }
            other => other,
        }
    }
}

fn run(test: TestSpec, nature: Nature<'static>) -> World {
    let mut world = world_of(test, Extras::default(), ServerConfig::default(), nature);
    let _ = world.run();
    world
}

fn with(test: TestSpec, troubles: Vec<(Nanos, Trouble)>) -> World {
    run(test, Nature { troubles, ..nature() })
}

fn second() -> End {
    End::Time(Nanos::from_secs(1))
}

fn test(transport: Transport, directions: Directions) -> TestSpec {
    TestSpec { directions, end: second(), length: Some(1000), ..TestSpec::new(transport) }
}

/// Checks that both ended well, and that each has the results of the other.
fn assert_agreed(world: &World) {
    assert_eq!(world.errors(), [None, None]);
    let totals = |side: &SideResult| -> Vec<_> {
        let row = |s: &model::sample::StreamResult| {
            let udp = s.udp.as_ref().map(|u| (u.datagrams, u.lost, u.last_sequence));
            let retransmits = s.tcp.as_ref().filter(|_| s.role == Role::Sender).map(|t| t.retransmits);
            (s.stream, s.direction, s.role, s.bytes, s.elapsed, udp, retransmits)
        };
        side.streams.iter().map(row).collect()
    };
    let client = world.work.client.measured.as_ref().expect("the client measured");
    let server = world.work.server.measured.as_ref().expect("the server measured");
    assert_eq!(totals(world.client.result_of_peer().expect("the client knows")), totals(server));
    assert_eq!(totals(world.server.result_of_peer().expect("the server knows")), totals(client));
}

/// Checks that every byte that was sent was received, in all and as each end counts it.
fn assert_complete(world: &World) {
    let (client, server) = (&world.work.client.measured, &world.work.server.measured);
    for (one, other) in client.iter().zip(server).flat_map(|(c, s)| c.streams.iter().zip(&s.streams)) {
        assert!(one.total_bytes.0 > 0, "stream {} carried data", one.stream);
        assert_eq!(one.total_bytes, other.total_bytes, "stream {}", one.stream);
    }
}

#[test]
fn every_direction_and_transport_ends_with_both_results() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for directions in [Directions::Up, Directions::Down, Directions::Both] {
            let mut test = test(transport, directions);
            test.streams = 3;
            let world = run(test, nature());
            assert_agreed(&world);
            assert_complete(&world);
        }
    }
}

#[test]
fn bytes_and_blocks_are_exact() {
    for directions in [Directions::Up, Directions::Down] {
        for transport in [Transport::Tcp, Transport::Udp] {
            for end in [End::Bytes(Bytes(600_000)), End::Blocks(600)] {
                let mut test = test(transport, directions);
                (test.end, test.streams) = (end, 2);
                let world = run(test, Nature { portion: 1, ..nature() });
                assert_agreed(&world);
                assert_complete(&world);
                let sent: u64 =
                    world.work.client.measured.iter().flat_map(|side| &side.streams).map(|s| s.bytes.0).sum();
                assert_eq!(sent, 600_000, "{transport} {directions:?} {end:?}");
            }
        }
    }
}

#[test]
fn lost_datagrams_end_a_test_by_bytes_all_the_same() {
    for directions in [Directions::Up, Directions::Down] {
        let mut test = test(Transport::Udp, directions);
        test.end = End::Bytes(Bytes(500_000));
        let world = run(test, Nature { lose_every: 7, ..nature() });
        assert_agreed(&world);
        let result = if directions == Directions::Up { &world.work.server } else { &world.work.client };
        let udp = result.measured.as_ref().unwrap().streams[0].udp.clone().unwrap();
        assert_eq!((udp.datagrams, udp.lost), (500 - 71, 71));
    }
}

#[test]
fn omitted_time_is_taken_off_at_both_ends() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let mut test = test(transport, Directions::Both);
        test.omit = Nanos::from_secs(1);
        let world = run(test, Nature { lose_every: 10, delay: Nanos::from_millis(40), ..nature() });
        assert_agreed(&world);
        for stream in &world.work.client.measured.as_ref().unwrap().streams {
            assert!(stream.bytes.0 * 10 < stream.total_bytes.0 * 7, "about half of it is counted");
        }
    }
}

#[test]
fn the_servers_report_title_and_extra_data_travel() {
    let extras = Extras {
        title: Some("run 7".into()),
        extra_data: Some("x=1".into()),
        get_server_output: true,
        ..Extras::default()
    };
    for report in [Report::Text("Accepted connection\n".into()), Report::Json(json!({"end": {"a": 1}}))] {
        let test = test(Transport::Tcp, Directions::Up);
        let nature = Nature { portion: 3, ..nature() };
        let mut world = world_of(test, extras.clone(), ServerConfig::default(), nature);
        world.work.report = Some(report.clone());
        let _ = world.run();
        let peer = world.client.results_of_peer().unwrap();
        let got = peer.output_text.clone().map(Report::Text).or(peer.output_json.clone().map(Report::Json));
        assert_eq!(got, Some(report));
    }
}

#[test]
fn an_unrequested_report_is_not_sent() {
    let test = test(Transport::Udp, Directions::Up);
    let mut world = world_of(test, Extras::default(), ServerConfig::default(), nature());
    world.work.report = Some(Report::Text("secret".into()));
    let _ = world.run();
    assert_eq!(world.client.results_of_peer().unwrap().output_text, None);
}

#[test]
fn only_the_right_token_is_let_in() {
    for (token, good) in [(Some("right"), true), (Some("wrong"), false), (None, false)] {
        let extras = Extras { auth_token: token.map(str::to_owned), ..Extras::default() };
        let config =
            ServerConfig { verifier: Some(Box::new(|token| token == "right")), ..ServerConfig::default() };
        let mut world = world_of(test(Transport::Tcp, Directions::Up), extras, config, nature());
        let _ = world.run();
        assert_eq!(world.client.error.is_none(), good);
        if !good {
            let Some(ProtocolError::Refused(why)) = &world.client.error else {
                panic!("{:?}", world.client.error)
            };
            assert!(why.contains("142"), "{why}");
            assert!(matches!(world.server.error, Some(ProtocolError::Stopped(_))));
        }
    }
}

/// 3.12 closes behind the code where it refuses a user.
#[test]
fn an_error_without_its_second_word_is_named_by_its_code() {
    let (transport, up) = (Transport::Tcp, Directions::Up);
    for (code, words) in [(142_u8, "authorization failed"), (121, "busy with another test")] {
        let cookie = Cookie::from_entropy(&[17; 36]);
        let config = ClientConfig { cookie, test: test(transport, up), extras: Extras::default() };
        let mut client = Client::new(config, MonoTime(0));
        client.input(MonoTime(1), Input::Received(&[9])).expect("parameters are asked for");
        client.input(MonoTime(2), Input::Received(&[0xfe, 0, 0, 0, code])).expect("half of an error");
        let Err(ProtocolError::Refused(why)) = client.input(MonoTime(3), Input::Closed) else {
            panic!("the server has refused");
        };
        assert!(why.contains(words) && !why.contains("may not have accepted"), "{why}");
    }
}

#[test]
fn what_the_policy_forbids_is_refused_with_its_code() {
    let refused = |policy: Policy, change: fn(&mut TestSpec)| {
        let mut test = test(Transport::Udp, Directions::Up);
        change(&mut test);
        let config = ServerConfig { policy, verifier: None };
        let mut world = world_of(test, Extras::default(), config, nature());
        let _ = world.run();
        let Some(ProtocolError::Refused(why)) = &world.client.error else {
            panic!("{:?}", world.client.error)
        };
        why.clone()
    };
    let streams = Policy { max_streams: Some(2), ..Policy::default() };
    assert!(refused(streams, |test| test.streams = 3).contains("error 6"));
    let time = Policy { max_time: Some(Nanos::from_nanos(1)), ..Policy::default() };
    assert!(refused(time, |_| ()).contains("error 37"));
    let rate = Policy { max_rate: Some(BitRate(10)), ..Policy::default() };
    assert!(refused(rate, |test| test.bitrate = Some(BitRate(11))).contains("error 27"));
    assert!(refused(Policy::default(), |test| test.length = Some(8)).contains("error 20"));
    assert!(refused(Policy::default(), |test| test.omit = Nanos::from_secs(700)).contains("error 12"));
}

#[test]
fn a_client_that_sends_too_fast_is_stopped() {
    let mut test = test(Transport::Tcp, Directions::Up);
    test.end = End::Time(Nanos::from_secs(60));
    let config = |rate| ServerConfig {
        policy: Policy { max_rate: Some(BitRate(rate)), ..Policy::default() },
        verifier: None,
    };
    let mut world = world_of(test.clone(), Extras::default(), config(7_000_000), nature());
    let _ = world.run();
    let Some(ProtocolError::PeerStopped(why)) = &world.client.error else {
        panic!("{:?}", world.client.error)
    };
    assert!(why.contains("27"), "{why}");
    let mut world = world_of(test, Extras::default(), config(8_000_000), nature());
    let _ = world.run();
    assert_agreed(&world);
}

#[test]
fn senders_that_do_not_stop_are_stopped() {
    let test = test(Transport::Tcp, Directions::Both);
    let mut world = world_of(test, Extras::default(), ServerConfig::default(), nature());
    world.work.senders_stuck = true;
    let _ = world.run();
    assert_agreed(&world);
    assert_complete(&world);
}

#[test]
fn an_interrupt_ends_the_test_early_with_all_results() {
    for directions in [Directions::Up, Directions::Down, Directions::Both] {
        let mut test = test(Transport::Tcp, directions);
        test.end = End::Time(Nanos::from_secs(3600));
        let world = with(test, vec![at(2000, Trouble::Interrupt(Who::Client))]);
        assert_agreed(&world);
        assert_complete(&world);
    }
}

#[test]
fn an_interrupt_before_or_a_second_one_stops_at_once() {
    for interrupts_ms in [vec![1], vec![7], vec![500, 501], vec![500, 510]] {
        let troubles = interrupts_ms.into_iter().map(|ms| at(ms, Trouble::Interrupt(Who::Client))).collect();
        let world = with(test(Transport::Udp, Directions::Both), troubles);
        assert_eq!(world.client.error, Some(ProtocolError::Stopped("Ctrl-C".into())));
        assert_eq!(world.server.error, Some(ProtocolError::PeerStopped("the client was stopped".into())));
    }
}

#[test]
fn a_server_that_is_stopped_reports_it() {
    let stop = at(300, Trouble::Interrupt(Who::Server));
    let world = with(test(Transport::Tcp, Directions::Up), vec![stop]);
    assert_eq!(world.client.error, Some(ProtocolError::PeerStopped("the server was stopped".into())));
    assert_eq!(world.server.error, Some(ProtocolError::Stopped("Ctrl-C".into())));
}

#[test]
fn a_vanished_peer_never_holds_an_end_for_ever() {
    for gone in [0, 2, 5, 8, 11, 14, 17, 20, 500, 1014, 1018, 1022, 1026] {
        for directions in [Directions::Up, Directions::Down] {
            let test = test(Transport::Tcp, directions);
            for who in BOTH {
                let world = with(test.clone(), vec![at(gone, Trouble::Vanish(who))]);
                assert!(world.closed()[usize::from(who == Who::Client)], "{who:?} gone at {gone}");
            }
        }
    }
}

#[test]
fn a_silent_sender_ends_a_test_without_end() {
    let mut test = test(Transport::Tcp, Directions::Down);
    test.end = End::Time(Nanos::MAX);
    let world = with(test.clone(), vec![at(500, Trouble::Vanish(Who::Server))]);
    assert!(matches!(world.client.error, Some(ProtocolError::Timeout(_))), "{:?}", world.client.error);
    test.directions = Directions::Up;
    let world = with(test, vec![at(500, Trouble::Vanish(Who::Client))]);
    assert!(matches!(world.server.error, Some(ProtocolError::Timeout(_))), "{:?}", world.server.error);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn portions_delays_and_losses_change_no_result(
        udp: bool,
        direction in 0..3_usize,
        streams in 1_u32..6,
        omit in 0_u64..2,
        delay_ms in 1_u64..150,
        portion in 1_usize..40,
        lose_every in prop_oneof![Just(0_u64), 2..50_u64],
        seed in 1_u64..,
    ) {
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        let mut test = test(transport, [Directions::Up, Directions::Down, Directions::Both][direction]);
        (test.streams, test.omit) = (streams, Nanos::from_secs(omit));
        let delay = Nanos::from_millis(delay_ms);
        let world = run(test, Nature { delay, portion, lose_every, seed, ..nature() });
        assert_agreed(&world);
        if omit == 0 && !udp {
            assert_complete(&world);
        }
    }

    #[test]
    fn an_end_at_any_moment_is_an_end(
        direction in 0..3_usize,
        client_gone in prop::option::of(0_u64..1200),
        server_gone in prop::option::of(0_u64..1200),
        interrupts in prop::collection::vec(0_u64..1200, 0..3),
        shutdown in prop::option::of(0_u64..1200),
        seed in 1_u64..,
    ) {
        let test = test(Transport::Udp, [Directions::Up, Directions::Down, Directions::Both][direction]);
        let gone = client_gone.map(|ms| at(ms, Trouble::Vanish(Who::Client)));
        let troubles = gone.into_iter()
            .chain(server_gone.map(|ms| at(ms, Trouble::Vanish(Who::Server))))
            .chain(shutdown.map(|ms| at(ms, Trouble::Interrupt(Who::Server))))
            .chain(interrupts.into_iter().map(|ms| at(ms, Trouble::Interrupt(Who::Client))))
            .collect();
        run(test, Nature { troubles, seed, portion: 4, ..nature() });
    }
}
