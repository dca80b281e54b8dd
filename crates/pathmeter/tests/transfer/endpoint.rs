//! `serve --http` as any HTTP client sees it: sizes, ranges, keep-alive, chunks.

use super::common::{Http, head};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// An answer: its status, its head and its body.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

/// Reads one answer; `bodyless`: it answers HEAD.
fn read(stream: &mut impl BufRead, bodyless: bool) -> Answer {
    let head = head(stream);
    let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status: {head}"));
    let length = header(&head, "Content-Length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; if bodyless { 0 } else { length }];
    stream.read_exact(&mut body).expect("the body is whole");
    Answer { status, head, body }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// One request over a connection of its own.
fn ask(http: &Http, request: &str) -> Answer {
    let mut stream = http.connect();
    stream.write_all(request.as_bytes()).expect("it takes a request");
    read(&mut BufReader::new(stream), request.starts_with("HEAD"))
}

fn get(http: &Http, path: &str, headers: &str) -> Answer {
    ask(http, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n"))
}

#[test]
fn any_number_of_bytes_is_there_whole_and_in_parts() {
    let http = Http::start(&[]);
    for (path, length) in
        [("/bytes/0", 0), ("/bytes/1", 1), ("/bytes/10k", 10_240), ("/bytes/1MB", 1_000_000)]
    {
        let whole = get(&http, path, "");
        assert_eq!((whole.status, whole.body.len()), (200, length), "{path}");
        let only = ask(&http, &format!("HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(header(&only.head, "Content-Length"), Some(length.to_string().as_str()));
    }
    let whole = get(&http, "/bytes/1MB", "").body;
    for (range, part) in [
        ("bytes=0-99", 0..100),
        ("bytes=999990-", 999_990..1_000_000),
        ("bytes=-5", 999_995..1_000_000),
        ("bytes=262100-262200", 262_100..262_201),
    ] {
        let answer = get(&http, "/bytes/1MB", &format!("Range: {range}\r\n"));
        let reported = format!("bytes {}-{}/1000000", part.start, part.end - 1);
        assert_eq!((answer.status, header(&answer.head, "Content-Range")), (206, Some(reported.as_str())));
        assert!(answer.body == whole[part], "{range}");
    }
    let beyond = get(&http, "/bytes/10", "Range: bytes=10-\r\n");
    assert_eq!((beyond.status, header(&beyond.head, "Content-Range")), (416, Some("bytes */10")));
    assert_eq!(get(&http, "/bytes/lots", "").status, 404);
    assert_eq!(get(&http, "/elsewhere", "").status, 404);
    let about = String::from_utf8(get(&http, "/", "").body).unwrap();
    assert!(about.contains("pathmeter") && about.contains("GET /bytes/10M"), "{about}");
    assert_eq!(ask(&http, "DELETE / HTTP/1.1\r\n\r\n").status, 405);
}

#[test]
fn a_connection_serves_request_after_request() {
    let http = Http::start(&[]);
    let mut stream = http.connect();
    // Two at once, and a body that looks like a request.
    let inside = "GET /bytes/7 HTTP/1.1\r\n\r\n";
    let requests = format!(
        "GET /bytes/5 HTTP/1.1\r\n\r\nPUT /x HTTP/1.1\r\nContent-Length: {}\r\n\r\n{inside}GET /bytes/6 HTTP/1.1\r\n\
         Connection: close\r\n\r\n",
        inside.len()
    );
    stream.write_all(requests.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    assert_eq!(read(&mut reader, false).body.len(), 5);
    assert_eq!(read(&mut reader, false).body, format!("received {} bytes\n", inside.len()).into_bytes());
    assert_eq!(read(&mut reader, false).body.len(), 6);
    assert_eq!(reader.read(&mut [0]).unwrap(), 0, "it closes when asked to");
    let old = ask(&http, "GET /bytes/5 HTTP/1.0\r\n\r\n");
    assert_eq!(header(&old.head, "Connection"), Some("close"));
}

#[test]
fn bodies_are_counted_however_they_are_framed() {
    let http = Http::start(&[]);
    let reported = |request: &str| {
        let answer = ask(&http, request);
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(
        reported(&format!("{chunked}5;x=y\r\nhello\r\n1A\r\n{}\r\n0\r\nT: x\r\n\r\n", "z".repeat(26))),
        (200, "received 31 bytes\n".into())
    );
    assert_eq!(
        reported("PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"),
        (200, "received 3 bytes\n".into())
    );
    assert_eq!(reported("PUT / HTTP/1.1\r\n\r\n"), (200, "received 0 bytes\n".into()));
    for wrong in ["x\r\n", "-1\r\n", "+5\r\nhello\r\n", "3\r\nhello\r\n", &"0".repeat(2000), "\r\n"] {
        assert_eq!(ask(&http, &format!("{chunked}{wrong}")).status, 400, "{wrong:?}");
    }
    let mut stream: TcpStream = http.connect();
    stream.write_all(b"PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n").unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    assert!(head(&mut reader).starts_with("HTTP/1.1 100 "));
    stream.write_all(b"ok").unwrap();
    assert_eq!(read(&mut reader, false).body, b"received 2 bytes\n");
}
