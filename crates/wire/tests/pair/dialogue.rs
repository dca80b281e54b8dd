//! Whole native tests in the virtual world: complete ones, and ones that either end stops.

use crate::ends::{NativePair, client_config, pair, pair_of, server_config, spec, token};
use model::plan::{Directions, End, TestSpec, Transport};
use model::sample::{Role, SideResult};
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_wire::{Policy, ProtocolError};
use proptest::prelude::*;
use world::{Flows, Nature, Trouble, Who, World};

const TRANSPORTS: [Transport; 2] = [Transport::Tcp, Transport::Udp];
const DIRECTIONS: [Directions; 3] = [Directions::Up, Directions::Down, Directions::Both];

fn every_test() -> impl Iterator<Item = TestSpec> {
    TRANSPORTS.into_iter().flat_map(|transport| DIRECTIONS.map(|directions| spec(transport, directions)))
}

fn run(nature: Nature<'static>, spec: &TestSpec) -> NativePair {
    let mut pair = pair(nature, spec);
    let _ = pair.run();
    pair
}

/// Each end has reported its results, and has received those of the other.
fn assert_results_exchanged(pair: &NativePair) {
    assert!(pair.work.client.measured.is_some());
    assert_eq!(pair.client.result_of_peer(), pair.work.server.measured.as_ref());
    assert_eq!(pair.server.result_of_peer(), pair.work.client.measured.as_ref());
}

fn totals(result: &SideResult, role: Role) -> Vec<(u32, Bytes)> {
    let rows = result.streams.iter().filter(|row| row.role == role);
    rows.map(|row| (row.stream, row.total_bytes)).collect()
}

/// The data sent in a stream equals the data received.
fn assert_ends_agree(pair: &NativePair) {
    let (client, server) =
        (pair.work.client.measured.as_ref().unwrap(), pair.work.server.measured.as_ref().unwrap());
    assert_eq!(totals(client, Role::Sender), totals(server, Role::Receiver));
    assert_eq!(totals(client, Role::Receiver), totals(server, Role::Sender));
    assert!(totals(client, Role::Sender).iter().chain(&totals(server, Role::Sender)).all(|row| row.1.0 > 0));
}

#[test]
fn every_kind_of_test_ends_well_and_both_ends_agree_to_the_byte() {
    for spec in every_test() {
        let pair = run(Nature::default(), &spec);
        assert_eq!((&pair.client.error, &pair.server.error), (&None, &None), "{spec:?}");
        assert_results_exchanged(&pair);
        assert_ends_agree(&pair);
        assert!(pair.client.samples_of_peer() >= 2 && pair.server.samples_of_peer() >= 2);
        assert_eq!(pair.client.session.peer_host().unwrap().name, "server");
        assert_eq!(pair.server.session.peer_host().unwrap().name, "client");
        assert_eq!(pair.client.session.session(), Some(pair.server.session.session()));
        assert_eq!(pair.server.session.spec(), Some(&spec));
        assert_eq!(pair.work.client.plan, pair.work.server.plan);
    }
}

#[test]
fn a_test_takes_its_time_and_little_more() {
    for spec in every_test() {
        let pair = run(Nature::default(), &spec);
        let took = pair.now - pair.work.client.started.unwrap();
        assert!((Nanos::from_secs(3)..Nanos::from_millis(3500)).contains(&took), "{took} for {spec:?}");
    }
}

#[test]
fn time_zero_of_the_client_is_when_the_server_can_receive() {
    for spec in every_test() {
        let pair = run(Nature::default(), &spec);
        let apart = pair.work.client.started.unwrap() - pair.work.server.started.unwrap();
        assert!((Nanos::from_millis(5)..Nanos::from_millis(6)).contains(&apart), "{apart}");
    }
}

#[test]
fn a_number_of_bytes_or_blocks_is_sent_exactly() {
    for end in [End::Bytes(Bytes(5_000_000)), End::Blocks(2_000)] {
        for spec in every_test().map(|spec| TestSpec { end, streams: 2, ..spec }) {
            let pair = run(Nature::default(), &spec);
            assert_eq!(pair.client.error, None);
            assert_ends_agree(&pair);
            let sent = totals(pair.work.client.measured.as_ref().unwrap(), Role::Sender);
            let expected = if end == End::Blocks(2_000) { 1_000_000 } else { 2_500_000 };
            assert!(sent.iter().all(|row| row.1 == Bytes(expected)), "{sent:?}");
        }
    }
}

#[test]
fn losses_of_datagrams_do_not_keep_the_drain_waiting() {
    for directions in DIRECTIONS {
        let nature = Nature { lose_every: 7, ..Nature::default() };
        let pair = run(nature, &spec(Transport::Udp, directions));
        assert_eq!(pair.client.error, None);
        assert_results_exchanged(&pair);
        let results =
            [pair.work.client.measured.as_ref().unwrap(), pair.work.server.measured.as_ref().unwrap()];
        let lost: u64 =
            results.iter().flat_map(|r| &r.streams).map(|row| row.udp.as_ref().unwrap().lost).sum();
        assert!(lost > 0);
    }
}

#[test]
fn the_offset_of_the_clocks_is_found_within_its_error() {
    for clock_offset in [-900_000_000_000, -1, 0, 3_000_000_000_000] {
        let pair = run(Nature { clock_offset, ..Nature::default() }, &spec(Transport::Udp, Directions::Up));
        let (offset, error) = pair.client.clock_offset().expect("reported at the end");
        assert!(Nanos(offset.abs_diff(clock_offset)) <= error, "{offset} ± {error} for {clock_offset}");
        assert!(error <= Nanos::from_millis(15), "{error}: three halves of a round trip at most");
    }
}

#[test]
fn without_an_interval_the_server_reports_only_at_the_end() {
    let server = |now| pathmeter_wire::native::Server::new(server_config(), now);
    let client = |now| {
        pathmeter_wire::native::Client::new(
            client_config(),
            spec(Transport::Tcp, Directions::Down),
            Nanos::ZERO,
            now,
        )
    };
    let nature = Nature::default();
    let flows = Flows::new(&nature);
    let mut pair = World::new(nature, client, server, flows);
    let _ = pair.run();
    assert_eq!((pair.client.error, pair.client.events.len()), (None, 2), "the clocks, and the peer's result");
}

#[test]
fn a_token_is_proved_by_both_ends() {
    let spec = spec(Transport::Tcp, Directions::Up);
    let ends = |client: &str, server: &str, binding: &[u8]| {
        let client = pathmeter_wire::native::ClientConfig {
            token: token(client),
            binding: b"tls".to_vec(),
            ..client_config()
        };
        let server = pathmeter_wire::native::ServerConfig {
            token: token(server),
            binding: binding.to_vec(),
            ..server_config()
        };
        let mut pair = pair_of(Nature::default(), &spec, client, server);
        let _ = pair.run();
        pair
    };
    assert_eq!(ends("secret", "secret", b"tls").client.error, None);
    for wrong in [ends("guess", "secret", b"tls"), ends("secret", "secret", b"another tls")] {
        let text = wrong.client.error.unwrap().to_string();
        assert!(text.contains("token") && text.contains("--token-file"), "{text}");
        assert!(wrong.server.error.unwrap().to_string().contains("refused the client"));
        assert!(wrong.work.client.plan.is_none() && wrong.work.server.plan.is_none(), "nothing was opened");
    }
    let without = ends("", "secret", b"tls").client.error.unwrap().to_string();
    assert!(without.contains("wants a token"), "{without}");
    let open = ends("secret", "", b"tls");
    assert_eq!((&open.client.error, open.client.warnings()), (&None, vec!["token-not-asked"]));
}

#[test]
fn the_token_never_travels() {
    let observed = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let copy = observed.clone();
    let tamper = Box::new(move |_: Who, bytes: &mut Vec<u8>| copy.borrow_mut().extend_from_slice(bytes));
    let client = pathmeter_wire::native::ClientConfig { token: token("open sesame"), ..client_config() };
    let server = pathmeter_wire::native::ServerConfig { token: token("open sesame"), ..server_config() };
    let nature = Nature { tamper: Some(tamper), ..Nature::default() };
    let mut pair = pair_of(nature, &spec(Transport::Tcp, Directions::Up), client, server);
    let _ = pair.run();
    assert_eq!(pair.client.error, None);
    let all = String::from_utf8_lossy(&observed.borrow()).into_owned();
    assert!(all.contains("\"auth\"") && !all.contains("sesame"));
    assert!(!all.contains(&"open sesame".bytes().map(|byte| format!("{byte:02x}")).collect::<String>()));
}

#[test]
fn a_busy_server_and_a_limited_one_say_so() {
    let with = |bitrate, server| {
        let spec = TestSpec { bitrate, ..spec(Transport::Udp, Directions::Up) };
        let mut pair = pair_of(Nature::default(), &spec, client_config(), server);
        let _ = pair.run();
        pair.client
    };
    let busy = pathmeter_wire::native::ServerConfig { busy: true, ..server_config() };
    assert_eq!(with(None, busy).error, Some(ProtocolError::Busy));
    let policy = Policy { max_rate: Some(BitRate(1_000_000)), ..Policy::default() };
    let limited = || pathmeter_wire::native::ServerConfig { policy: policy.clone(), ..server_config() };
    let text = with(Some(BitRate(2_000_000)), limited()).error.unwrap().to_string();
    assert!(text.contains("1.00 Mbit/s") && text.contains("throughput HOST -b 1000000"), "{text}");
    // A client without a rate gets the highest allowed one, and a warning.
    let client = with(None, limited());
    assert_eq!((&client.error, client.warnings()), (&None, vec!["limited-by-server"]));
}

#[test]
fn a_server_ends_a_test_that_has_no_end_by_time() {
    let spec = TestSpec { end: End::Bytes(Bytes(1 << 40)), ..spec(Transport::Tcp, Directions::Up) };
    let policy = Policy { max_time: Some(Nanos::from_secs(20)), ..Policy::default() };
    let server = pathmeter_wire::native::ServerConfig { policy, ..server_config() };
    let mut pair = pair_of(Nature::default(), &spec, client_config(), server);
    let took = pair.run();
    assert!((Nanos::from_secs(20)..Nanos::from_secs(21)).contains(&took), "{took}");
    let Some(ProtocolError::PeerStopped(reason)) = &pair.client.error else {
        panic!("{:?}", pair.client.error)
    };
    assert!(reason.contains("20.0 s"), "{reason}");
    assert_results_exchanged(&pair);
}

#[test]
fn flows_that_cannot_be_opened_are_reported_to_both_ends() {
    for who in [Who::Client, Who::Server] {
        let mut pair = pair(Nature::default(), &spec(Transport::Tcp, Directions::Up));
        pair.work.fails = Some(who);
        let _ = pair.run();
        let [client, server] = [pair.client.error.unwrap(), pair.server.error.unwrap()];
        let (here, there) = if who == Who::Client { (client, server) } else { (server, client) };
        assert!(matches!(here, ProtocolError::Flows(_)), "{here}");
        assert!(there.to_string().contains("no route"), "{there}");
    }
}

fn any_test() -> impl Strategy<Value = TestSpec> {
    let ends = vec![End::Time(Nanos::from_secs(3)), End::Bytes(Bytes(3_000_000))];
    let pick =
        (prop::sample::select(&TRANSPORTS), prop::sample::select(&DIRECTIONS), prop::sample::select(ends));
    (pick, 1..4_u32).prop_map(|((transport, directions, end), streams)| TestSpec {
        end,
        streams,
        ..spec(transport, directions)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn delay_and_portions_change_nothing(spec in any_test(), delay_us in 0..400_000_u64, portion in 1..3000_usize) {
        let nature = Nature { delay: Nanos::from_micros(delay_us), portion, ..Nature::default() };
        let pair = run(nature, &spec);
        prop_assert_eq!((&pair.client.error, &pair.server.error), (&None, &None));
        assert_results_exchanged(&pair);
        assert_ends_agree(&pair);
    }

    #[test]
    fn an_end_that_stops_a_test_at_any_time_gets_the_results(
        spec in any_test(),
        who in prop::sample::select(&[Who::Client, Who::Server]),
        at_ms in 0..4000_u64,
    ) {
        let nature = Nature { troubles: vec![(Nanos::from_millis(at_ms), Trouble::Interrupt(who))], ..Nature::default() };
        let pair = run(nature, &spec);
        let (mine, other) = match who {
            Who::Client => (&pair.client.error, &pair.server.error),
            Who::Server => (&pair.server.error, &pair.client.error),
        };
        let stopped = matches!(mine, Some(ProtocolError::Stopped(_)));
        prop_assert!(stopped || mine.is_none(), "{mine:?}");
        if stopped && pair.work.client.started.is_some() {
            prop_assert!(pair.work.client.measured.is_some() && pair.work.server.measured.is_some());
        }
        let reported = matches!(other, Some(ProtocolError::PeerStopped(_)));
        if reported && pair.work.client.started.is_some() {
            assert_results_exchanged(&pair);
        }
        let exchanged = pair.client.result_of_peer().is_some() && pair.server.result_of_peer().is_some();
        prop_assert!(reported || !stopped || !exchanged, "{other:?}: the other end learns who stopped the test");
        prop_assert!(pair.now - pair.work.client.started.unwrap_or(pair.now) < Nanos::from_secs(5));
    }
}
