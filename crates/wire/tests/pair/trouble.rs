//! Native tests in trouble: an end that vanishes, a connection that breaks, bytes that are not the protocol.

use crate::ends::{NativePair, error, pair, spec};
use model::plan::{Directions, TestSpec, Transport};
use model::units::Nanos;
use pathmeter_wire::ProtocolError;
use pathmeter_wire::native::greeting;
use proptest::prelude::*;
use world::{BEGIN, BOTH, Nature, Trouble, Who};

fn run(trouble: Trouble, at_ms: u64, spec: &TestSpec) -> NativePair {
    let troubles = vec![(Nanos::from_millis(at_ms), trouble)];
    let mut pair = pair(Nature { troubles, ..Nature::default() }, spec);
    let _ = pair.run();
    pair
}

/// Both directions, so that each end sends and receives.
fn both() -> TestSpec {
    spec(Transport::Tcp, Directions::Both)
}

fn has_measured(pair: &NativePair, who: Who) -> bool {
    if who == Who::Client { pair.work.client.measured.is_some() } else { pair.work.server.measured.is_some() }
}

fn has_started(pair: &NativePair, who: Who) -> bool {
    if who == Who::Client { pair.work.client.started.is_some() } else { pair.work.server.started.is_some() }
}

#[test]
fn a_vanished_peer_is_noticed_after_fifteen_seconds_and_the_results_are_reported() {
    for who in BOTH {
        let pair = run(Trouble::Vanish(who), 1500, &both());
        let left = who.other();
        let Some(ProtocolError::Timeout(what)) = error(&pair, left) else {
            panic!("{:?}", error(&pair, left))
        };
        assert!(what.contains("15.0 s") && what.contains("vanished"), "{what}");
        assert!(has_measured(&pair, left));
        let noticed = pair.now - pair.work.client.started.unwrap();
        assert!((Nanos::from_secs(16)..Nanos::from_millis(17_500)).contains(&noticed), "{noticed}");
    }
}

#[test]
fn a_silent_client_is_let_go_after_ten_seconds() {
    let pair = run(Trouble::Vanish(Who::Client), 0, &both());
    let text = error(&pair, Who::Server).unwrap().to_string();
    assert_eq!(text, "no answer from the peer after 10.0 s of waiting for its request");
}

#[test]
fn another_service_on_the_port_is_recognised() {
    let pair = run(Trouble::Inject(Who::Client, b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()), 0, &both());
    let text = error(&pair, Who::Client).unwrap().to_string();
    assert!(text.contains("another service"), "{text}");
}

#[test]
fn a_newer_server_without_our_version_is_named() {
    let pair = run(Trouble::Inject(Who::Client, greeting((4, 6)).to_vec()), 0, &both());
    let text = error(&pair, Who::Client).unwrap().to_string();
    assert!(text.contains("the peer 4 to 6; upgrade the software of this end"), "{text}");
}

#[test]
fn a_newer_client_without_our_version_is_refused() {
    let change = |who: Who, bytes: &mut Vec<u8>| {
        if who == Who::Client && bytes.starts_with(b"PMTRCTRL") {
            *bytes = greeting((4, 6)).to_vec();
        }
    };
    let mut pair = pair(Nature { tamper: Some(Box::new(change)), ..Nature::default() }, &both());
    let _ = pair.run();
    let text = error(&pair, Who::Server).unwrap().to_string();
    assert!(text.contains("the peer 4 to 6"), "{text}");
    let text = error(&pair, Who::Client).unwrap().to_string();
    assert!(text.contains("refused") && text.contains("4 to 6"), "{text}");
}

#[test]
fn a_client_that_speaks_more_versions_is_spoken_to_at_ours() {
    let change = |who: Who, bytes: &mut Vec<u8>| {
        if who == Who::Client && bytes.starts_with(b"PMTRCTRL") {
            *bytes = greeting((1, 200)).to_vec();
        }
    };
    let mut pair = pair(Nature { tamper: Some(Box::new(change)), ..Nature::default() }, &both());
    let _ = pair.run();
    assert_eq!((error(&pair, Who::Client), error(&pair, Who::Server)), (None, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_peer_may_vanish_at_any_moment(
        who in prop::sample::select(&BOTH),
        at_ms in 0..3600_u64,
        transport in prop::sample::select(&[Transport::Tcp, Transport::Udp]),
        directions in prop::sample::select(&[Directions::Up, Directions::Down, Directions::Both]),
    ) {
        let pair = run(Trouble::Vanish(who), at_ms, &spec(transport, directions));
        let left = who.other();
        prop_assert_eq!(has_started(&pair, left), has_measured(&pair, left));
        prop_assert!(pair.now.0 < BEGIN.0 + 50_000_000_000, "{}", pair.now.0);
        if !has_measured(&pair, left) {
            prop_assert!(error(&pair, left).is_some());
        }
    }

    #[test]
    fn the_connection_may_break_at_any_moment(
        at_ms in 0..3600_u64,
        directions in prop::sample::select(&[Directions::Up, Directions::Down, Directions::Both]),
    ) {
        let pair = run(Trouble::Break, at_ms, &spec(Transport::Udp, directions));
        for who in BOTH {
            prop_assert_eq!(has_started(&pair, who), has_measured(&pair, who));
        }
        let took = pair.now.0 - BEGIN.0;
        prop_assert!(took < (at_ms + 2_500) * 1_000_000, "{}", took);
    }

    #[test]
    fn any_bytes_at_any_moment_end_the_session_and_nothing_else(
        who in prop::sample::select(&BOTH),
        at_ms in 0..3600_u64,
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        length in 0..300_u32,
    ) {
        let framed = [length.to_be_bytes().as_slice(), &bytes].concat();
        for bytes in [bytes, framed] {
            let pair = run(Trouble::Inject(who, bytes), at_ms, &both());
            for who in BOTH {
                prop_assert_eq!(has_started(&pair, who), has_measured(&pair, who));
            }
        }
    }
}
