//! The head of an HTTP request: its method, its target, and how its body is framed (RFC 9112).

use model::units::Bytes;

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// How long the body is.
    pub body: Framing,
    /// The requested part of the file, if any.
    pub range: Option<Range>,
    /// The client waits for `100 Continue` before it sends the body.
    pub expects: bool,
    /// The connection stays open after the answer.
    pub keep_alive: bool,
}

/// The methods answered here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// The file.
    Get,
    /// The reply to GET without the file.
    Head,
    /// PUT and POST: the body is counted and thrown away.
    Upload,
    /// Any other, which is not answered.
    Other,
}

/// How long the body is (RFC 9112 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A body of this many bytes.
    Length(u64),
    /// Chunks, until an empty one.
    Chunked,
}

/// One part of a file (RFC 9110 section 14.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// From the first byte named to the last, or to the end.
    From(u64, Option<u64>),
    /// The last so many bytes.
    Last(u64),
}

/// The reason why a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(
    /// The status code of the response.
    pub u16,
    /// The reason phrase.
    pub &'static str,
);

/// Reads a head and returns the number of bytes it takes; `None` when the head is incomplete.
///
/// # Errors
/// The bytes are not a request that this server answers.
pub fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD => return Ok(None),
        Ok(httparse::Status::Partial) => return Err(Refused(431, "the head of the request is too long")),
        Err(httparse::Error::TooManyHeaders) => return Err(Refused(431, "too many headers")),
        Err(httparse::Error::Version) => return Err(Refused(505, "HTTP/1.0 and HTTP/1.1 are answered here")),
        Err(_) => return Err(Refused(400, "this is no HTTP/1.1 request")),
    };
    let method = match head.method.unwrap_or_default() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "PUT" | "POST" => Method::Upload,
        _ => Method::Other,
    };
    let coding = value(head.headers, "transfer-encoding");
    let body = match (coding, content_length(head.headers)?) {
        (None, length) => Framing::Length(length.unwrap_or(0)),
        // Two lengths are a means of smuggling requests past a proxy (RFC 9112 section 6.1).
        (Some(_), Some(_)) => return Err(Refused(400, "the request has two lengths")),
        (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => Framing::Chunked,
        (Some(_), None) => return Err(Refused(501, "of transfer encodings, chunked is understood")),
    };
    let connection = value(head.headers, "connection").unwrap_or_default().to_ascii_lowercase();
    let request = Request {
        method,
        path: path(head.path.unwrap_or_default()).to_owned(),
        body,
        range: value(head.headers, "range").and_then(range),
        expects: value(head.headers, "expect").is_some_and(|what| what.eq_ignore_ascii_case("100-continue")),
        keep_alive: match head.version {
            Some(0) => connection.contains("keep-alive"),
            _ => !connection.contains("close"),
        },
    };
    Ok(Some((request, length)))
}

/// The path of a target in any of its forms.
fn path(target: &str) -> &str {
    let path = match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    };
    path.split(['?', '#']).next().unwrap_or_default()
}

fn value<'h>(headers: &[httparse::Header<'h>], name: &str) -> Option<&'h str> {
    let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(header.value).ok().map(str::trim)
}

/// The one length given; repeated fields must agree.
fn content_length(headers: &[httparse::Header<'_>]) -> Result<Option<u64>, Refused> {
    let given = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("content-length"));
    let mut length = None;
    for header in given {
        let digits = std::str::from_utf8(header.value).ok().map(str::trim);
        let digits = digits.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        let read = digits.and_then(|text| text.parse().ok());
        let read: u64 = read.ok_or(Refused(400, "the Content-Length is not a number of bytes"))?;
        if length.is_some_and(|before| before != read) {
            return Err(Refused(400, "the request has two lengths"));
        }
        length = Some(read);
    }
    Ok(length)
}

/// A single range of bytes; a range that cannot be read is ignored (RFC 9110 section 14.2).
fn range(text: &str) -> Option<Range> {
    let (from, to) = text.strip_prefix("bytes=")?.split_once('-')?;
    match (from.trim(), to.trim()) {
        ("", last) => last.parse().ok().map(Range::Last),
        (from, "") => Some(Range::From(from.parse().ok()?, None)),
        (from, to) => {
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some(Range::From(from, Some(to)))
        }
    }
}

impl Range {
    /// First byte and number of bytes of a file of this size; `None` when the file has none of them.
    #[must_use]
    pub fn within(self, size: u64) -> Option<(u64, u64)> {
        match self {
            Range::From(from, _) if from >= size => None,
            Range::From(from, to) => {
                let last = to.unwrap_or(u64::MAX).min(size - 1);
                Some((from, last - from + 1))
            }
            Range::Last(0) => None,
            Range::Last(count) => Some((size.saturating_sub(count), count.min(size))).filter(|_| size > 0),
        }
    }
}

/// The number of bytes that a path `/bytes/10M` names.
#[must_use]
pub fn size_in(path: &str) -> Option<Result<Bytes, String>> {
    let text = path.strip_prefix("/bytes/")?;
    Some(text.parse::<Bytes>().map_err(|e| e.to_string()))
}

/// Longest head, bytes.
pub const MOST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Option<(Request, usize)>, Refused> {
        parse(text.as_bytes())
    }

    #[test]
    fn heads_are_read() {
        let text = "GET http://far/bytes/10M?x=1 HTTP/1.1\r\nHost: far\r\nRange: bytes=5-\r\n\r\nrest";
        let (request, length) = read(text).expect("it is a request").expect("it is whole");
        assert_eq!((request.path.as_str(), length), ("/bytes/10M", text.len() - 4));
        assert_eq!((request.range, request.keep_alive), (Some(Range::From(5, None)), true));
        assert_eq!(read("GET / HTTP/1.1\r\nHost"), Ok(None));
        let (old, _) = read("HEAD / HTTP/1.0\r\n\r\n").expect("it is a request").expect("it is whole");
        assert!(!old.keep_alive);
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        let status = |text: &str| read(text).expect_err("it is wrong").0;
        assert_eq!(status("SSH-2.0-OpenSSH\r\n\r\n"), 400);
        assert_eq!(status("PUT / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"), 400);
        assert_eq!(status("PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
        assert_eq!(status("PUT / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"), 400);
        assert_eq!(status("PUT / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
        assert_eq!(status("PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
        assert_eq!(status(&format!("GET /{} HTTP/1.1\r\n", "a".repeat(MOST_HEAD))), 431);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65))), 431);
    }

    #[test]
    fn ranges_are_cut_to_the_file() {
        assert_eq!(range("bytes=0-9").and_then(|r| r.within(5)), Some((0, 5)));
        assert_eq!(range("bytes=-3").and_then(|r| r.within(5)), Some((2, 3)));
        assert_eq!(range("bytes=5-").and_then(|r| r.within(5)), None);
        assert_eq!(range("bytes=9-5"), None);
        assert_eq!(range("bytes=0-1,4-5"), None);
        assert_eq!(Range::Last(7).within(0), None);
    }

    proptest! {
        #[test]
        fn anything_from_outside_is_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((_, length))) = parse(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }

        #[test]
        fn a_range_is_within_the_file(from: u64, to: u64, size: u64) {
            for range in [Range::From(from, Some(to.max(from))), Range::From(from, None), Range::Last(to)] {
                if let Some((first, count)) = range.within(size) {
                    prop_assert!(count > 0 && first.checked_add(count).is_some_and(|end| end <= size));
                }
            }
        }
    }
}
