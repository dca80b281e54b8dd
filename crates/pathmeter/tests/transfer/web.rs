//! Downloads, uploads and redirects as they should be, and what is reported of them.

use super::common::{Http, Web, answer, measured, rows, transfer, transfers};
use super::support::Scratch;

#[test]
fn downloads_are_counted_and_timed_in_their_parts() {
    let http = Http::start(&[]);
    let run = measured(&[&http.url("/bytes/3MB"), "-n", "3"]);
    assert_eq!((run["kind"].as_str(), run["verdict"]["status"].as_str()), (Some("transfer"), Some("ok")));
    assert_eq!(transfers(&run).len(), 3);
    let mut ends = Vec::new();
    for (one, repetition) in transfers(&run).iter().zip(1..) {
        assert_eq!(
            (&one["status"], &one["bytes"], &one["repetition"]),
            (&200.into(), &3_000_000.into(), &repetition.into())
        );
        let times = &one["times"];
        let part = |name: &str| times[name].as_u64().unwrap_or_else(|| panic!("no {name}: {times:#}"));
        assert!(part("connect_ns") + part("first_byte_ns") <= part("total_ns"), "{times:#}");
        assert_eq!(
            (&times["dns_ns"], &times["tls_ns"]),
            (&serde_json::Value::Null, &serde_json::Value::Null)
        );
        let rate = 3_000_000.0 * 8e9 / part("total_ns") as f64;
        assert!((one["rate_bps"].as_f64().unwrap() / rate - 1.0).abs() < 1e-6, "{one:#}");
        let segments = one["tcp"]["data_segments"].as_f64().unwrap();
        let mean = one["tcp"]["mean_payload_bytes"].as_f64().unwrap();
        // The answer's head is in the segments too.
        assert!((3_000_000.0..3_001_000.0).contains(&(segments * mean)), "{one:#}");
        ends.push(one["local"].as_str().unwrap().to_owned());
    }
    ends.dedup();
    assert_eq!(ends.len(), 3, "each has a connection of its own");
    assert_eq!(rows(&run)[0]["count"], 3);
    http.server.stop().prints("(http) down 3.00 MB");
}

#[test]
fn uploads_of_made_bytes_and_of_files_arrive() {
    let http = Http::start(&[]);
    let scratch = Scratch::new("upload");
    let file = scratch.file("file", Some(&"x".repeat(70_001)));
    let cases: [(&[&str], u64); 4] = [
        (&["--size", "2MB"], 2_000_000),
        (&["--size", "1MB", "--method", "post"], 1_000_000),
        (&["--file", &file], 70_001),
        (&["--size", "0"], 0),
    ];
    for (args, bytes) in cases {
        let run = measured(&[&[http.url("/up").as_str(), "-n", "1"], args].concat());
        let transfer = &transfers(&run)[0];
        assert_eq!((&transfer["status"], &transfer["bytes"]), (&200.into(), &bytes.into()), "{args:?}");
        let sent = transfer["tcp"]["data_segments"].as_f64().unwrap()
            * transfer["tcp"]["mean_payload_bytes"].as_f64().unwrap();
        assert!(sent >= bytes as f64, "{transfer:#}");
    }
    let log = http.server.stop().stderr;
    for reported in ["up 2.00 MB", "up 1.00 MB", "up 70.0 kB"] {
        assert!(log.contains(reported), "{reported}: {log}");
    }
}

#[test]
fn files_are_compared_with_the_first() {
    let http = Http::start(&[]);
    let run =
        measured(&[&http.url("/bytes/10k"), &http.url("/bytes/1M"), "--label", "small", "--label", "large"]);
    let labels: Vec<&str> = transfers(&run).iter().map(|one| one["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["small", "large"].repeat(6), "interleaved");
    assert_eq!(rows(&run)[0]["gain"], serde_json::Value::Null);
    let gain = &rows(&run)[1]["gain"];
    assert_eq!((gain["baseline"].as_str(), &gain["comparison"]["base"]["runs"]), (Some("small"), &6.into()));
    assert!(gain["comparison"]["p"].as_f64().is_some_and(|p| p <= 1.0), "{gain:#}");
    // The same as text, and expectations about it.
    let args = [
        &http.url("/bytes/10k"),
        "-n",
        "1",
        "--expect",
        "transfer.rate>=1kbit/s",
        "--expect",
        "transfer.failed<=0",
    ];
    let text = transfer(&args).code(0).stdout;
    assert!(text.starts_with("OK  ") && text.contains("held"), "{text}");
    transfer(&[&http.url("/bytes/10k"), "-n", "1", "--expect", "transfer.rate>=999Tbit/s"]).code(1);
    transfer(&[&http.url("/bytes/10k"), "-n", "1", "--expect", "transfer.speed>=9"])
        .code(2)
        .prints("transfer.rate");
}

#[test]
fn redirects_are_followed_and_shown() {
    let http = Http::start(&[]);
    let (there, sink) = (http.url("/bytes/50000?secret=1"), http.url("/sink"));
    let web = Web::start(move |_, head, stream| {
        let location = match head.split_whitespace().nth(1) {
            Some("/first") => "/second".to_owned(),
            Some("/second") => there.clone(),
            // 303: what the answer is, is fetched; 307: the upload goes there (RFC 9110 section 15.4).
            Some("/see") => there.clone(),
            _ => sink.clone(),
        };
        let status = match head.split_whitespace().nth(1) {
            Some("/see") => "303 See Other",
            Some("/keep") => "307 Temporary Redirect",
            _ => "302 Found",
        };
        answer(stream, status, &format!("Location: {location}\r\n"), "");
    });
    let run = measured(&[&web.url("/first"), "-n", "1"]);
    let first = &transfers(&run)[0];
    let led = serde_json::json!([web.url("/second"), http.url("/bytes/50000?…")]);
    assert_eq!((&first["redirects"], &first["bytes"], &first["status"]), (&led, &50_000.into(), &200.into()));
    assert!(!run.to_string().contains("secret=1"), "{run:#}");
    // Each transfer in a row of its own as it happens.
    let text = transfer(&[&web.url("/first"), "-n", "1"]).code(0).stderr;
    assert!(text.contains("redirected to"), "{text}");
    let put = measured(&[&web.url("/keep"), "-n", "1", "--size", "9000"]);
    assert_eq!((&transfers(&put)[0]["bytes"], &transfers(&put)[0]["status"]), (&9000.into(), &200.into()));
    let post = measured(&[&web.url("/see"), "-n", "1", "--size", "9000", "--method", "post"]);
    assert_eq!(transfers(&post)[0]["redirects"][0], http.url("/bytes/50000?…"));
    assert!(http.server.stop().stderr.contains("up 9.00 kB"));
}

#[test]
fn chunked_answers_and_those_that_end_with_the_connection_are_read() {
    let web = Web::start(|number, _, stream| {
        use std::io::Write;
        let answer: &[u8] = match number % 2 {
            0 => {
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
            }
            _ => b"HTTP/1.0 200 OK\r\n\r\nhello world",
        };
        stream.write_all(answer).ok();
    });
    let run = measured(&[&web.url("/"), "-n", "2"]);
    assert!(transfers(&run).iter().all(|one| one["bytes"] == 11), "{run:#}");
}

#[test]
fn the_plan_is_printed_and_nothing_is_sent() {
    let rights = linux::privilege::Capabilities::of_this_thread().unwrap();
    if !rights.has(linux::privilege::Capability::NetAdmin) {
        return skip::skip("--mtu changes an MTU, which needs CAP_NET_ADMIN");
    }
    let web = Web::start(|_, head, _| panic!("it was asked: {head}"));
    let plan = transfer(&[&web.url("/x"), "--dry-run", "--mtu", "1280,1500"]).code(0).json();
    assert_eq!((&plan["repetitions"], &plan["baseline"]), (&6.into(), &"1280".into()));
    assert_eq!(plan["mtu_of"]["name"], "lo");
}

#[test]
fn the_socket_is_set_up_as_asked() {
    let http = Http::start(&[]);
    let url = http.url("/bytes/200k");
    let run = measured(&[&url, "-n", "1", "-M", "600", "--bind", "127.0.0.7", "--congestion", "reno"]);
    let first = &transfers(&run)[0];
    assert!(first["local"].as_str().unwrap().starts_with("127.0.0.7:"), "{first:#}");
    assert!(
        first["tcp"]["mean_payload_bytes"].as_f64().unwrap() <= 588.0,
        "600 less the timestamps: {first:#}"
    );
    for (args, message) in [
        (&["--congestion", "nonsense"][..], "nonsense"),
        (&["--device", "nosuch0"], "nosuch0"),
        (&["--bind", "192.0.2.7"], "192.0.2.7"),
        (&["-6"], "not an IPv6 address"),
    ] {
        transfer(&[&[url.as_str()], args].concat()).code(2).prints(message);
    }
}
