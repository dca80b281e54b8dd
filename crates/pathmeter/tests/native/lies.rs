//! Servers that are silent, break off, talk nonsense or lie: the client ends by itself, prints the error and advice, and shows
//! its measurement.

use super::fake::{Fake, fake, received, swallow};
use super::support::{Ended, run};
use serde_json::{Value, json};
use std::io::Write;
use std::net::Shutdown;

/// Runs `throughput` against a script; JSON, so that what was measured can be looked at.
fn against(args: &[&str], script: impl FnOnce(&mut Fake) -> std::io::Result<()> + Send + 'static) -> Ended {
    let (host, thread) = fake(script);
    let ended = run(&[&["throughput", &host, "--json"], args].concat());
    assert!(
        ended.stderr.contains(&host) || matches!(ended.code, Some(0 | 4)),
        "{host} is not named: {}",
        ended.stderr
    );
    thread.join().expect("the script does not panic").ok();
    ended
}

#[test]
fn silent_after_accepting_the_connection() {
    let ended = against(&[], |fake| {
        fake.until_closed();
        Ok(())
    });
    ended.code(3).prints("no answer from the peer to the greeting").prints("pathmeter serve");
}

#[test]
fn closes_at_once() {
    let ended = against(&[], |fake| fake.control.shutdown(Shutdown::Both));
    ended.code(3).prints("closed the connection").prints("pathmeter serve");
}

#[test]
fn another_service_and_random_bytes() {
    for garbage in [
        &b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        &[0xa5; 5000],
        b"\0",
    ] {
        let ended = against(&[], move |fake| {
            fake.control.write_all(garbage)?;
            fake.until_closed();
            Ok(())
        });
        ended.code(3).prints("is another service on this port?");
    }
}

#[test]
fn an_enormous_length_and_broken_json() {
    let ended = against(&[], |fake| {
        fake.greet([1, 1])?;
        fake.control.write_all(&u32::MAX.to_be_bytes())?;
        fake.until_closed();
        Ok(())
    });
    ended.code(3).prints("a message of 4294967295 bytes");
    for json in
        ["{", "[]", "{\"type\":5}", "{\"type\":\"hello\",\"software\":", "nul", "{\"type\":\"accept\"}"]
    {
        let ended = against(&[], move |fake| {
            fake.greet([1, 1])?;
            let length = u32::try_from(json.len()).expect("short");
            fake.control.write_all(&[&length.to_be_bytes(), json.as_bytes()].concat())?;
            fake.until_closed();
            Ok(())
        });
        ended.code(3).prints("broke the native protocol");
    }
}

#[test]
fn a_newer_version_states_whom_to_upgrade() {
    let ended = against(&[], |fake| {
        fake.greet([2, 3])?;
        fake.until_closed();
        Ok(())
    });
    ended
        .code(3)
        .prints("this end speaks versions 1 to 1")
        .prints("the peer 2 to 3")
        .prints("upgrade the software of this end");
}

#[test]
fn a_newer_peer_that_still_speaks_ours_is_understood() {
    let ended = against(&["-n", "100K"], |fake| {
        let mut control = fake.control.try_clone()?;
        // Versions 1 to 9, messages and fields that no version knows yet.
        fake.greet([1, 9])?;
        fake.receive("hello")?;
        fake.send(&json!({"type": "weather", "text": "sunny"}))?;
        fake.send(
            &json!({"type": "hello", "software": "later", "features": ["time-travel"], "mood": "good"}),
        )?;
        fake.receive("test")?;
        fake.send(&json!({"type": "refuse", "code": "tomorrow", "reason": "come back \u{1b}[31mtomorrow"}))?;
        control.flush()?;
        fake.until_closed();
        Ok(())
    });
    let ended = ended.code(3).prints("tomorrow");
    assert!(!ended.stderr.contains('\u{1b}'), "no control codes from the peer reach the terminal");
}

#[test]
fn stalls_after_letting_the_client_in() {
    let ended = against(&["--connect-timeout", "2s"], |fake| {
        fake.let_in()?;
        fake.until_closed();
        Ok(())
    });
    ended.code(3).prints("data stream 0");
}

#[test]
fn stalls_during_the_test() {
    let ended = against(&["-t", "500ms"], |fake| {
        let _flows = fake.begin(1)?;
        // The flow is neither read nor written: both its buffers fill up. No message is sent either.
        fake.until_closed();
        Ok(())
    });
    let run = ended.code(3).prints("no answer from the peer").json();
    assert!(
        run["summary"]["local"]["streams"][0]["total_bytes"].as_u64().unwrap() > 0,
        "what was measured is shown"
    );
    assert_eq!(run["summary"]["outcome"]["outcome"], "failed");
}

#[test]
fn resets_during_the_test() {
    for args in [&["-t", "20s"][..], &["-t", "20s", "-R"]] {
        let ended = against(args, |fake| {
            let mut flows = fake.begin(1)?;
            flows[0].write_all(&[7; 100_000])?;
            fake.receive("ping")?;
            // Closed with unread data: the kernel resets both.
            drop(flows);
            fake.control.shutdown(Shutdown::Both)
        });
        let run = ended.code(3).prints("during the test").json();
        assert_eq!(run["summary"]["outcome"]["outcome"], "failed", "{args:?}");
        assert!(!run["summary"]["local"].is_null(), "{args:?}: what was measured is shown");
    }
}

#[test]
fn counters_that_cannot_be_make_the_result_void() {
    let lie = |bytes: fn(u64) -> u64, nanoseconds: u64| {
        let ended = against(&["-n", "20M", "-b", "80M"], move |fake| {
            let flow = fake.begin(1)?.remove(0);
            let counted = swallow(flow);
            let sent = fake.receive("sent")?["streams"][0]["bytes"].as_u64().expect("a count");
            fake.send(&json!({"type": "sent", "streams": []}))?;
            fake.send(&received(bytes(sent), nanoseconds))?;
            fake.receive("bye")?;
            fake.send(&json!({"type": "bye"}))?;
            drop(counted);
            Ok(())
        });
        ended.json()
    };
    let honest = lie(|sent| sent, 2_000_000_000);
    assert_ne!(honest["verdict"]["status"], "void", "{}", honest["verdict"]);
    for run in
        [lie(|sent| sent + 1, 2_000_000_000), lie(|sent| sent * 1000, 2_000_000_000), lie(|sent| sent, 1000)]
    {
        assert_eq!(run["verdict"]["status"], "void", "{}", run["verdict"]);
        let found = run["findings"].as_array().unwrap();
        assert!(found.iter().any(|f| f["id"] == "contradictory-figures"), "{found:#?}");
    }
}

#[test]
fn results_that_do_not_fit_the_test_are_refused() {
    for result in
        [received(5, 5).to_string().replace("\"stream\":0", "\"stream\":7"), received(1 << 60, 5).to_string()]
    {
        let ended = against(&["-n", "1M"], move |fake| {
            let counted = swallow(fake.begin(1)?.remove(0));
            fake.receive("sent")?;
            fake.send(&json!({"type": "sent", "streams": []}))?;
            fake.send(&serde_json::from_str::<Value>(&result)?)?;
            fake.until_closed();
            drop(counted);
            Ok(())
        });
        ended.code(3).prints("broke the native protocol");
    }
}

#[test]
fn results_that_never_come() {
    let ended = against(&["-n", "1M"], |fake| {
        let counted = swallow(fake.begin(1)?.remove(0));
        fake.receive("sent")?;
        fake.send(&json!({"type": "sent", "streams": []}))?;
        // The server is alive, and reports no count of received data.
        fake.receive("never").ok();
        drop(counted);
        Ok(())
    });
    let run = ended.code(3).prints("with its results").json();
    assert_eq!(run["summary"]["up"]["receiver_unknown"], true);
    assert_eq!(run["summary"]["up"]["received"]["bytes"], 1 << 20, "what was acknowledged stands for it");
}
