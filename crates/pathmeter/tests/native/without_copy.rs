//! A receiver that reports that it is the limit is tested again, once and briefly, without the copy; no other is.

use super::fake::{Fake, fake, received, swallow};
use super::support::{Ended, run};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::sync::mpsc;

/// Serves one test; reports that the stream's thread was so busy and received this many times 400 Mbit/s: little, so that any
/// host sends more, and not so little that it could not be true. Returns the request.
fn serve(fake: &mut Fake, busy: f64, rate: u64) -> std::io::Result<Value> {
    let (test, mut flows) = fake.begin_test(1)?;
    let counted = swallow(flows.remove(0));
    let sent = fake.receive("sent")?["streams"][0]["bytes"].as_u64().expect("a count");
    fake.send(&json!({"type": "sent", "streams": []}))?;
    let mut results = received(sent, sent * 20 / rate);
    results["result"]["cpu"]["threads"] = json!([busy]);
    results["result"]["cpu"]["busiest_thread"] = json!(busy);
    fake.send(&results)?;
    fake.receive("bye")?;
    fake.send(&json!({"type": "bye"}))?;
    drop(counted);
    Ok(test)
}

/// The result against a server that serves `tests`, the requests, and the listener at which a further client would wait.
fn against(args: &[&str], tests: &'static [(f64, u64)]) -> (Ended, Vec<Value>, TcpListener) {
    let (asked, orders) = mpsc::channel();
    let (give, door) = mpsc::channel();
    let (host, thread) = fake(move |fake| {
        give.send(fake.door()?).expect("the test waits for it");
        for (index, (busy, rate)) in tests.iter().enumerate() {
            if index > 0 {
                fake.next()?;
            }
            asked.send(serve(fake, *busy, *rate)?).expect("the test waits for it");
        }
        Ok(())
    });
    let ended = run(&[&["throughput", &host, "--json"], args].concat()).code(0);
    thread.join().expect("the script does not panic").expect("the client reports what the script waits for");
    (ended, orders.iter().collect(), door.recv().expect("the script gave it"))
}

fn finding(run: &Value) -> Option<&Value> {
    run["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "receiver-limited")
}

#[test]
fn a_receiver_that_is_the_limit_is_asked_again_without_the_copy() {
    let (ended, asked, _) = against(&["-t", "400ms"], &[(1.0, 1), (0.9, 2)]);
    let run = ended.json();
    let copies = |test: &Value| test["spec"]["skip_receive_copy"].clone();
    assert_eq!(asked.iter().map(copies).collect::<Vec<_>>(), [json!(false), json!(true)]);
    let spec = &asked[1]["spec"];
    let time = spec["omit"].as_u64().unwrap() + spec["end"]["time"].as_u64().unwrap();
    assert_eq!(time, 200_000_000, "half of the test: {spec}");
    // The first test is the result, to the bit; the second is evidence.
    let rate = |value: &Value| value.as_f64().unwrap() / 4e8;
    assert!((rate(&run["summary"]["up"]["goodput_bps"]) - 1.0).abs() < 1e-3, "{}", run["summary"]["up"]);
    assert_eq!(run["work"]["throughput"]["test"]["skip_receive_copy"], json!(false));
    let evidence = &finding(&run).expect("it is found")["evidence"];
    assert!((rate(&evidence["without_copy_goodput_bps"]) - 2.0).abs() < 1e-3, "{evidence}");
    assert!((evidence["copy_cost_share"].as_f64().unwrap() - 0.5).abs() < 1e-3, "{evidence}");
    assert_eq!(run["summary"]["without_copy"][0]["direction"], "up");
}

#[test]
fn no_other_flow_is() {
    for (args, tests) in [
        (&["-t", "200ms"][..], &[(0.5, 1)][..]),
        (&["-t", "200ms", "--receive-discard"], &[(1.0, 1)]),
        (&["-n", "10M"], &[(1.0, 1)]),
    ] {
        let (ended, asked, door) = against(args, tests);
        assert_eq!(asked.len(), 1);
        door.set_nonblocking(true).unwrap();
        let other = door.accept().map(drop).map_err(|error| error.kind());
        assert_eq!(other, Err(std::io::ErrorKind::WouldBlock), "{args:?}: a second test was asked for");
        let run = ended.json();
        assert_eq!(run["summary"]["without_copy"], Value::Null, "{args:?}");
        let busy = tests[0].0 >= 1.0;
        assert_eq!(finding(&run).is_some(), busy, "{args:?}: {}", run["findings"]);
    }
}

#[test]
fn a_server_that_takes_no_second_test_takes_nothing_from_the_first() {
    let (host, thread) = fake(|fake| serve(fake, 1.0, 1).map(drop));
    let run = run(&["throughput", &host, "--json", "-t", "200ms"]).code(0).json();
    thread.join().expect("the script does not panic").unwrap();
    let evidence = &finding(&run).expect("it is found")["evidence"];
    assert_eq!(evidence["without_copy_goodput_bps"], Value::Null);
}
