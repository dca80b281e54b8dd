//! The head of a request to the HTTP endpoint, and the part of a file it asks for: any bytes are taken or refused, a head
//! that comes in portions is the head that comes at once, and a part is within its file.

use wire::http::{Framing, MOST_HEAD, Method, Refused, Request, parse, size_in};

/// One input.
pub(crate) fn run(data: &[u8]) {
    let Some((size, bytes)) = data.split_first_chunk() else { return };
    let read = parse(bytes);
    match &read {
        Ok(Some((request, length))) => {
            assert!(*length <= bytes.len());
            assert_eq!(parse(&bytes[..*length]), read, "what follows a head changes it");
            // In portions: nothing is taken or refused before it is all there.
            if let Some(early) = (0..*length).find(|end| parse(&bytes[..*end]) != Ok(None)) {
                panic!("the first {early} of {length} bytes are taken as {:?}", parse(&bytes[..early]));
            }
            hold(request, u64::from_be_bytes(*size));
        }
        Ok(None) => assert!(bytes.len() < MOST_HEAD, "a head without an end"),
        Err(Refused(status, why)) => assert!((400..600).contains(status) && !why.is_empty()),
    }
}

fn hold(request: &Request, size: u64) {
    assert!(!request.path.contains(['?', '#', ' ', '\n']), "{:?}", request.path);
    let _ = size_in(&request.path);
    for size in [size, size >> 32, 10, 1, 0] {
        if let Some((first, count)) = request.range.and_then(|range| range.within(size)) {
            assert!(count > 0 && first.checked_add(count).is_some_and(|end| end <= size));
        }
    }
    // The request, written plainly, is read as the same.
    let method = match request.method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Upload => "PUT",
        Method::Other => "OTHER",
    };
    let mut head = format!("{method} {} HTTP/1.1\r\n", request.path);
    head += &match request.body {
        Framing::Length(length) => format!("Content-Length: {length}\r\n"),
        Framing::Chunked => "Transfer-Encoding: chunked\r\n".into(),
    };
    if let Some(range) = request.range {
        head += &match range {
            wire::http::Range::From(from, Some(to)) => format!("Range: bytes={from}-{to}\r\n"),
            wire::http::Range::From(from, None) => format!("Range: bytes={from}-\r\n"),
            wire::http::Range::Last(count) => format!("Range: bytes=-{count}\r\n"),
        };
    }
    head += if request.expects { "Expect: 100-continue\r\n" } else { "" };
    head += if request.keep_alive { "\r\n" } else { "Connection: close\r\n\r\n" };
    // The path of a bare question mark is empty, which no target is; a path that looks like a URL is read as one.
    if !request.path.is_empty() && !request.path.contains("://") && head.len() < MOST_HEAD {
        assert_eq!(parse(head.as_bytes()), Ok(Some((request.clone(), head.len()))));
    }
}
