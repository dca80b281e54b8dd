//! `serve --http` under hostile clients, and its limits: rate, time, number; it goes on for everybody else.

use super::common::{Http, head, measured, transfer};
use std::io::{Read, Write};

/// Sends these bytes and returns the status of the answer.
fn status(http: &Http, bytes: &[u8]) -> u16 {
    let mut stream = http.connect();
    stream.write_all(bytes).ok();
    let head = head(&mut stream);
    head.split_whitespace()
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no status: {head:?}"))
}

#[test]
fn what_is_no_request_is_refused_and_others_are_served() {
    let http = Http::start(&[]);
    assert_eq!(status(&http, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), 400, "TLS on a plain port");
    assert_eq!(status(&http, &[b"GET /".as_slice(), &vec![b'a'; 1 << 20]].concat()), 431);
    assert_eq!(status(&http, format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(1000)).as_bytes()), 431);
    assert_eq!(
        status(&http, b"PUT / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        400
    );
    assert_eq!(status(&http, b"PUT / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"), 400);
    // A length that never comes holds nothing but its own connection.
    let mut greedy = http.connect();
    greedy.write_all(b"PUT / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nsome").unwrap();
    let mut endless = http.connect();
    endless.write_all(b"GET /bytes/999999TB HTTP/1.1\r\n\r\n").unwrap();
    endless.read_exact(&mut [0; 1000]).unwrap();
    assert_eq!(measured(&[&http.url("/bytes/1M"), "-n", "2"])["verdict"]["status"], "ok");
    drop((greedy, endless));
    http.server.stop();
}

#[test]
fn a_head_that_drips_is_ended() {
    let http = Http::start(&[]);
    let mut slow = http.connect();
    // One byte of it is enough: it has ten seconds from there.
    slow.write_all(b"G").unwrap();
    let mut text = String::new();
    slow.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 408 ") && text.contains("10 seconds"), "{text:?}");
}

#[test]
fn limits_of_rate_time_and_number_hold() {
    let http = Http::start(&["--max-rate", "8M", "--max-time", "2s", "--max-tests", "1"]);
    // 400 kB at 8 Mbit/s take 0.4 s at least; how much longer is the machine's affair.
    for args in [&["/bytes/400kB"][..], &["/", "--size", "400kB"]] {
        let url = http.url(args[0]);
        let run = measured(&[&[url.as_str(), "-n", "1"], &args[1..]].concat());
        let rate = run["summary"]["transfer"]["transfers"][0]["rate_bps"].as_f64().unwrap();
        assert!(rate < 9.5e6, "{rate}");
    }
    let ended = transfer(&[&http.url("/bytes/100MB"), "-n", "1"]).code(3);
    assert!(ended.stderr.contains("cut short") || ended.stderr.contains("reset"), "{}", ended.stderr);
    let mut busy = http.connect();
    busy.write_all(b"PUT / HTTP/1.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n").unwrap();
    // The place is taken when this answer has come.
    assert!(head(&mut busy).starts_with("HTTP/1.1 100 "));
    let other = status(&http, b"GET /bytes/1 HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(other, 503, "one transfer at a time");
    busy.write_all(b"somebytes").unwrap();
    assert!(head(&mut busy).starts_with("HTTP/1.1 200 "));
    http.server.stop().prints("longer than this server allows");
}
