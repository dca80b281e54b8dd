//! Heads of answers.

use std::fmt::Write;

/// An answer's head, and the short text that some have.
pub(super) struct Answer {
    status: u16,
    headers: String,
    text: String,
}

impl Answer {
    /// A text.
    pub(super) fn text(status: u16, text: impl Into<String>) -> Answer {
        Answer::typed(status, "text/plain; charset=utf-8", text.into())
    }

    /// Prometheus' text format, which is of this moment.
    pub(super) fn metrics(text: String) -> Answer {
        let answer = Answer::typed(200, "text/plain; version=0.0.4; charset=utf-8", text);
        answer.with("Cache-Control", "no-store").with("X-Content-Type-Options", "nosniff")
    }

    fn typed(status: u16, kind: &str, text: String) -> Answer {
        let headers = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", text.len());
        Answer { status, headers, text }
    }

    /// The head of so many bytes, which follow it.
    pub(super) fn bytes(status: u16, length: u64) -> Answer {
        let headers = format!(
            "Content-Type: application/octet-stream\r\nContent-Length: {length}\r\nAccept-Ranges: bytes\r\n\
             Cache-Control: no-store, no-transform\r\n"
        );
        Answer { status, headers, text: String::new() }
    }

    /// One more header.
    pub(super) fn with(mut self, name: &str, value: &str) -> Answer {
        let _ = write!(self.headers, "{name}: {value}\r\n");
        self
    }

    /// The bytes to send; `head`: without the text, as for HEAD.
    pub(super) fn into_bytes(self, keep_alive: bool, head: bool) -> Vec<u8> {
        let connection = if keep_alive { "keep-alive" } else { "close" };
        let text = if head { "" } else { &self.text };
        let server = concat!("pathmeter/", env!("CARGO_PKG_VERSION"));
        format!(
            "HTTP/1.1 {} {}\r\nServer: {server}\r\nConnection: {connection}\r\n{}\r\n{text}",
            self.status,
            reason(self.status),
            self.headers
        )
        .into_bytes()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        416 => "Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}

/// The text of `GET /`.
pub(super) const ABOUT: &str = "\
This is pathmeter, a tool that measures network paths; this is its HTTP endpoint to transfer against.

  GET /bytes/10M    10 MiB that do not compress; any size: 1472, 128KiB, 10MB, 1G
  PUT, POST /       takes what you send, counts it and throws it away

  pathmeter transfer http://THIS-HOST:PORT/bytes/10M
";
