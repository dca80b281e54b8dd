//! Servers that refuse, lead astray, break off, stall or talk nonsense.

use super::common::{Http, TIMEOUT, Web, answer, rows, transfer, transfers};
use super::support::{free_port, start};
use std::io::{Read, Write};

#[test]
fn errors_name_the_status_the_url_and_what_the_server_reports() {
    let web = Web::start(|_, _, stream| answer(stream, "410 Gone", "", "It \x1b[31mwas\nmoved."));
    let url = web.url("/file");
    let ended = transfer(&[&url]).code(3);
    let output = format!("HTTP 410 Gone from {url}: It [31mwas moved.");
    assert!(!ended.stderr.contains('\x1b') && !ended.stdout.contains('\x1b'), "{}", ended.stderr);
    ended.prints(&output);
    let http = Http::start(&[]);
    transfer(&[&http.url("/nothing")]).code(3).prints("HTTP 404 Not Found").prints("/bytes/10M");
    let json = transfer(&[&http.url("/nothing"), "--json"]).code(3).json();
    assert_eq!((&json["verdict"]["status"], &transfers(&json)[0]["status"]), (&"void".into(), &404.into()));
    assert_eq!(transfers(&json).len(), 1, "there is no need to ask again");
}

#[test]
fn an_absent_server_is_reported_with_advice() {
    let url = format!("http://127.0.0.1:{}/", free_port());
    transfer(&[&url]).code(3).prints("Connection refused").prints(&url).prints("serve --http");
    transfer(&["http://no-such-host.invalid/"]).code(3).prints("no-such-host.invalid").prints("getent");
}

#[test]
fn redirects_without_end_or_to_nowhere_end() {
    let web = Web::start(|_, head, stream| {
        let location = match head.split_whitespace().nth(1) {
            Some("/a") => "/b",
            Some("/nowhere") => "ftp://127.0.0.1/x",
            _ => "/a",
        };
        answer(stream, "301 Moved Permanently", &format!("Location: {location}\r\n"), "");
    });
    let ended = transfer(&[&web.url("/a"), "--redirects", "4"]).code(3);
    ended
        .prints("more than 4 redirects")
        .prints(&format!("{}, {}", web.url("/a"), web.url("/b")))
        .prints("--redirects");
    transfer(&[&web.url("/nowhere")]).code(3).prints("ftp://127.0.0.1/x").prints("not an http or https URL");
    transfer(&[&web.url("/a"), "--redirects", "0"]).code(3).prints("more than 0 redirects");
}

#[test]
fn a_truncated_body_is_an_error_that_keeps_what_came() {
    let web = Web::start(|_, _, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n").ok();
        stream.write_all(&[7; 400]).ok();
    });
    let ended = transfer(&[&web.url("/x"), "-n", "2", "--json"]).code(3);
    let run = ended.json();
    let first = &transfers(&run)[0];
    assert_eq!((&first["bytes"], &first["status"]), (&400.into(), &200.into()), "{first:#}");
    assert!(first["times"]["first_byte_ns"].is_u64() && first["tcp"]["data_segments"].is_u64(), "{first:#}");
    ended.prints("cut short: 400 B of 1.00 kB came");
}

#[test]
fn a_stall_ends() {
    let web = Web::start(|_, _, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin").ok();
        stream.read_exact(&mut [0]).ok();
    });
    let ended = transfer(&[&web.url("/x"), "--timeout", "300ms", "--json"]).code(3);
    assert_eq!(transfers(&ended.json())[0]["bytes"], 5);
    ended.prints("stalled: no byte moved for 300 ms").prints("--timeout");
    // Nor does it wait for ever for a server that takes nothing more.
    let deaf = Web::start(|_, _, stream| drop((std::thread::sleep(TIMEOUT / 30), stream.peer_addr())));
    let ended = transfer(&[&deaf.url("/x"), "--size", "200MB", "--timeout", "300ms"]).code(3);
    ended.prints("stalled");
}

#[test]
fn the_rest_goes_on_when_one_transfer_fails() {
    let web = Web::start(|number, _, stream| match number {
        2 => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").unwrap(),
        3 => answer(stream, "503 Service Unavailable", "", "busy"),
        _ => answer(stream, "200 OK", "", "all of it"),
    });
    let ended = transfer(&[&web.url("/x"), "-n", "5", "--json"]).code(0);
    let run = ended.json();
    assert_eq!((&rows(&run)[0]["count"], &rows(&run)[0]["failed"]), (&3.into(), &2.into()));
    assert_eq!(run["verdict"]["status"], "degraded");
    let text = run["verdict"]["text"].as_str().unwrap();
    assert!(text.contains("2 of 5 transfers failed, the first by: the answer was cut short"), "{text}");
    transfer(&[&web.url("/x"), "-n", "1", "--expect", "transfer.failed<=0"]).code(0);
}

#[test]
fn an_early_refusal_of_an_upload_is_heard() {
    let web = Web::start(|number, _, stream| {
        answer(stream, "403 Forbidden", "", "not you");
        if number == 1 {
            // Reads nothing and does not close, until the client goes.
            std::thread::sleep(TIMEOUT / 60);
        }
    });
    for _ in 0..2 {
        transfer(&[&web.url("/x"), "--size", "300MB"]).code(3).prints("HTTP 403 Forbidden").prints("not you");
    }
}

#[test]
fn what_is_no_http_is_reported() {
    let web = Web::start(|number, _, stream| match number {
        1 => drop(stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n")),
        2 => drop(stream.write_all(format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "y".repeat(1 << 20)).as_bytes())),
        _ => {}
    });
    for _ in 0..3 {
        let ended = transfer(&[&web.url("/x")]).code(3);
        assert!(ended.stderr.contains(&web.url("/x")), "{}", ended.stderr);
    }
}

#[test]
fn a_transfer_that_is_stopped_before_its_first_result_reports_it() {
    let (come, has_come) = std::sync::mpsc::channel();
    let web = Web::start(move |_, _, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n").ok();
        come.send(()).ok();
        // Nothing more comes until the client goes.
        stream.read_to_end(&mut Vec::new()).ok();
    });
    let client = start(&["transfer", &web.url("/x")]);
    has_come.recv().expect("the client asks");
    client.signal("INT");
    let ended = client.end().code(4).prints("stopped before anything was measured");
    assert!(!ended.stderr.contains("broke"), "{}", ended.stderr);
}

#[test]
fn a_server_that_does_not_read_is_named() {
    let web = Web::start(|_, _, stream| {
        // Until the client gives up.
        std::thread::sleep(std::time::Duration::from_secs(10));
        drop(stream.write_all(b"x"));
    });
    let ended =
        transfer(&[&web.url("/"), "--size", "50MB", "--timeout", "2s", "-n", "1", "--no-explain"]).code(3);
    assert!(
        ended.stderr.contains("its window is closed: the program there does not read"),
        "{}",
        ended.stderr
    );
}
