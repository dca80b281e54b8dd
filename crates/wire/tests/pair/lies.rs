//! A peer that lies: well-formed messages that do not fit the test.

use crate::ends::{self, NativePair, pair, spec};
use model::plan::{Directions, Transport};
use model::units::Nanos;
use pathmeter_wire::ProtocolError;
use proptest::prelude::*;
use serde_json::{Value, json};
use world::{Nature, Who};

/// Runs a test in which the messages of one type that `who` sends are changed.
fn run(who: Who, kind: &'static str, mut change: impl FnMut(&mut Value) + 'static) -> NativePair {
    let tamper = move |from: Who, bytes: &mut Vec<u8>| {
        if from != who || bytes.starts_with(b"PMTRCTRL") {
            return;
        }
        let mut message: Value = serde_json::from_slice(&bytes[4..]).unwrap();
        if message["type"] != kind {
            return;
        }
        change(&mut message);
        *bytes = frame(&message);
    };
    let nature = Nature { tamper: Some(Box::new(tamper)), ..Nature::default() };
    let mut pair = pair(nature, &spec(Transport::Udp, Directions::Both));
    let _ = pair.run();
    pair
}

fn frame(message: &Value) -> Vec<u8> {
    let json = serde_json::to_vec(message).unwrap();
    [u32::try_from(json.len()).unwrap().to_be_bytes().as_slice(), &json].concat()
}

fn error(pair: &NativePair, who: Who) -> &ProtocolError {
    ends::error(pair, who).expect("a lie is an error")
}

/// The victim notices the lie, reports it to the other end, and still reports its own results.
fn assert_caught(liar: Who, kind: &'static str, change: impl FnMut(&mut Value) + 'static) {
    let pair = run(liar, kind, change);
    let caught = error(&pair, liar.other());
    assert!(matches!(caught, ProtocolError::Violation { .. }), "{kind}: {caught:?}");
    // A liar that has got its results closes without reading.
    if kind != "results" {
        let reported = error(&pair, liar).to_string();
        assert!(reported.contains("broke the native protocol"), "{kind}: {reported}");
    }
    assert!(pair.work.client.measured.is_some() && pair.work.server.measured.is_some(), "{kind}");
}

#[test]
fn lies_about_streams_are_caught() {
    for liar in [Who::Client, Who::Server] {
        let own = if liar == Who::Client { 0 } else { 1 };
        assert_caught(liar, "sent", |m| m["streams"][0]["stream"] = json!(7));
        assert_caught(liar, "sent", move |m| m["streams"][0]["stream"] = json!(1 - own));
        assert_caught(liar, "sent", |m| {
            let row = m["streams"][0].clone();
            m["streams"] = json!([row, row]);
        });
        assert_caught(liar, "results", |m| m["result"]["streams"][0]["stream"] = json!(9));
        assert_caught(liar, "results", |m| m["result"]["streams"][0]["role"] = json!("sender receiver"));
        assert_caught(liar, "results", |m| {
            let other = m["result"]["streams"][1].clone();
            m["result"]["streams"][0] = other;
        });
        assert_caught(liar, "interval", |m| m["sample"]["streams"][1]["direction"] = json!("up"));
        assert_caught(liar, "interval", |m| m["sample"]["end_ns"] = json!(0));
    }
}

#[test]
fn numbers_that_cannot_have_been_counted_are_caught() {
    for liar in [Who::Client, Who::Server] {
        assert_caught(liar, "sent", |m| m["streams"][0]["bytes"] = json!(u64::MAX));
        assert_caught(liar, "results", |m| m["result"]["streams"][0]["total_bytes"] = json!(1_u64 << 60));
        assert_caught(liar, "results", |m| m["result"]["streams"][0]["udp"]["lost"] = json!(-1));
    }
}

#[test]
fn results_that_are_not_due_are_caught() {
    assert_caught(Who::Server, "interval", |m| *m = json!({"type": "results", "result": {"streams": []}}));
    assert_caught(Who::Client, "ping", {
        let mut pings = 0;
        move |m| {
            pings += 1;
            if pings == 15 {
                *m =
                    json!({"type": "accept", "session": "00".repeat(16), "key": "00".repeat(32), "host": {}});
            }
        }
    });
}

/// An end that stores reports stores no more than the time allows.
#[test]
fn intervals_that_come_faster_than_time_passes_are_not_heard() {
    for to in [Who::Client, Who::Server] {
        let nature = Nature { portion: 1 << 20, ..Nature::default() };
        let mut pair = pair(nature, &spec(Transport::Tcp, Directions::Up));
        pair.run_for(Nanos::from_secs(1));
        for number in 0..5000_u64 {
            let (start, end) = (10_000_000_000 + number, 10_000_000_001 + number);
            let sample =
                json!({"side": "local", "start_ns": start, "end_ns": end, "omitted": false, "streams": []});
            pair.send_as_other(to, &json!({"type": "interval", "sample": sample}).to_string());
        }
        let heard = [pair.client.samples_of_peer(), pair.server.samples_of_peer()];
        // Some at once, and one each 50 ms.
        assert!((1..=64 + 20).contains(&heard[usize::from(to == Who::Server)]), "{to:?}: {heard:?}");
        assert_eq!(pair.errors(), [None, None], "{to:?}");
    }
}

#[test]
fn more_sent_than_has_come_only_costs_the_longest_drain() {
    let pair = run(Who::Server, "sent", |m| m["streams"][0]["datagrams"] = json!(1_000_000));
    assert_eq!((&pair.client.error, &pair.server.error), (&None, &None));
    assert!(pair.now.0 < 1_000_000_000_000 + 5_000_000_000, "quiet ends the drain");
}

#[test]
fn a_server_that_forgets_the_results_is_not_waited_for_forever() {
    let pair = run(Who::Server, "results", |m| *m = json!({"type": "fortune", "text": "soon"}));
    let error = error(&pair, Who::Client);
    assert!(matches!(error, ProtocolError::Timeout(_) | ProtocolError::Closed(_)), "{error}");
    assert!(pair.work.client.measured.is_some() && pair.now.0 < 1_015_000_000_000);
}

#[test]
fn stamps_that_contradict_one_another_give_no_clock_offset() {
    let pair = run(Who::Server, "pong", |m| m["t3_ns"] = json!(0));
    assert_eq!((&pair.client.error, pair.client.clock_offset()), (&None, None));
}

#[test]
fn a_server_that_proves_nothing_is_not_believed() {
    use crate::ends::{client_config, pair_of, server_config, token};
    let change = |from: Who, bytes: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if from == Who::Server && text.contains("\"proof\"") {
            *bytes = frame(&json!({"type": "proof", "mac": "00".repeat(32)}));
        }
    };
    let client = pathmeter_wire::native::ClientConfig { token: token("secret"), ..client_config() };
    let server = pathmeter_wire::native::ServerConfig { token: token("secret"), ..server_config() };
    let nature = Nature { tamper: Some(Box::new(change)), ..Nature::default() };
    let mut pair = pair_of(nature, &spec(Transport::Tcp, Directions::Up), client, server);
    let _ = pair.run();
    assert!(error(&pair, Who::Client).to_string().contains("does not know the token"));
    assert!(pair.work.client.plan.is_none());
}

/// The places in a message, as paths.
fn places(value: &Value, path: &mut Vec<String>, all: &mut Vec<String>) {
    all.push(path.iter().map(|part| format!("/{part}")).collect());
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        path.push(name);
        places(child, path, all);
        path.pop();
    }
}

/// Without `test`: with it changed the two ends would not run the same test.
const KINDS: [&str; 11] =
    ["hello", "accept", "ready", "start", "started", "ping", "pong", "interval", "sent", "results", "bye"];

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..300_u64).prop_map(Value::from),
        any::<f64>().prop_map(|float| json!(float)),
        "\\PC{0,12}".prop_map(Value::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_is_changed_both_ends_come_to_an_end(
        who in prop::sample::select(&[Who::Client, Who::Server]),
        kind in prop::sample::select(&KINDS),
        place in any::<prop::sample::Index>(),
        value in any_value(),
    ) {
        let pair = run(who, kind, move |message| {
            let mut all = Vec::new();
            places(message, &mut Vec::new(), &mut all);
            if let Some(place) = message.pointer_mut(&all[place.index(all.len())]) {
                *place = value.clone();
            }
        });
        prop_assert_eq!(pair.work.client.started.is_some(), pair.work.client.measured.is_some());
        prop_assert_eq!(pair.work.server.started.is_some(), pair.work.server.measured.is_some());
    }
}
