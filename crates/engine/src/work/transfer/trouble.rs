//! Errors of a transfer, in texts that name the object.

use linux::tcp_info::TcpInfo;
use model::units::{Bytes, Nanos};
use std::io;

/// Why a transfer did not succeed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// The name has no address.
    #[error("{0}")]
    Resolve(crate::error::Failure),
    /// No connection.
    #[error("{0}")]
    Connect(#[from] linux::OsError),
    /// No security.
    #[error("TLS with {host}: {reason}")]
    Tls {
        /// The name the certificate is for.
        host: String,
        /// The text of rustls.
        reason: String,
    },
    /// TLS's handshake stalled.
    #[error("TLS with {host} stalled for {waited}: {stall}")]
    Handshake {
        /// The name the certificate is for.
        host: String,
        /// Time spent waiting.
        waited: Nanos,
        /// State of the connection then.
        stall: Stall,
    },
    /// The connection broke.
    #[error("{doing}: {source}")]
    Broken {
        /// The operation.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The far end stalled.
    #[error("stalled: no byte moved for {0} (--timeout gives it longer)")]
    Silence(Nanos),
    /// The server does not read what is sent.
    #[error(
        "stalled for {0}: the server takes no more of the request, its window is closed: the program there does not read"
    )]
    Unread(Nanos),
    /// Nothing that was sent after the handshake arrived.
    #[error(
        "stalled for {waited}: the connection opened, and none of the {sent} that this host sent afterwards was acknowledged"
    )]
    Unacknowledged {
        /// Time spent waiting.
        waited: Nanos,
        /// Bytes of the request so far.
        sent: Bytes,
    },
    /// The body ended early.
    #[error("the answer was cut short: {came} of {announced} came")]
    Truncated {
        /// The bytes that came.
        came: Bytes,
        /// The bytes that Content-Length announced.
        announced: Bytes,
    },
    /// The server's own refusal.
    #[error("HTTP {status}{reason} from {url}{body}")]
    Status {
        /// The number.
        status: u16,
        /// Its name, with a space before it, or empty.
        reason: String,
        /// The URL that answered.
        url: String,
        /// The beginning of its text, with a colon before it, or empty.
        body: String,
    },
    /// Redirects without end.
    #[error("more than {most} redirects: {redirects}")]
    Redirects {
        /// The limit.
        most: u32,
        /// Where they led.
        redirects: String,
    },
    /// A redirect that leads nowhere.
    #[error("HTTP {status} from {url} redirects to `{location}`, which is not an http or https URL")]
    Location {
        /// The number.
        status: u16,
        /// The URL that answered.
        url: String,
        /// Where to.
        location: String,
    },
    /// The file to send cannot be read.
    #[error("read {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// Not HTTP, or not understood.
    #[error("{url}: {reason}")]
    Http {
        /// The requested URL.
        url: String,
        /// The text of the library.
        reason: String,
    },
    /// The user stopped the transfer.
    #[error("stopped by the user")]
    Interrupted,
}

/// Where a handshake stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stall {
    /// The Client Hello is not acknowledged.
    #[error(
        "its Client Hello of {hello} was retransmitted {retransmits} times and not acknowledged: packets so large do not arrive there"
    )]
    Hello {
        /// Its size.
        hello: Bytes,
        /// Number of its retransmissions.
        retransmits: u32,
    },
    /// Parts of the answer came, and earlier ones did not.
    #[error(
        "later packets of the answer came and full-sized ones before them did not: the server's large packets, which its certificate \
         fills, are lost"
    )]
    Answer,
    /// The Client Hello arrived, and nothing came.
    #[error(
        "the Client Hello{} was acknowledged, and no answer came: no TLS is spoken there, or the server's large packets, which its \
         certificate fills, are lost",
        .hello.map(|hello| format!(" of {hello}")).unwrap_or_default()
    )]
    Silent {
        /// Its size, where it is known.
        hello: Option<Bytes>,
    },
}

impl Stall {
    /// Judges a stall by the counters of a connection whose first bytes are a Client Hello.
    pub(super) fn from_tcp(tcp: &TcpInfo) -> Stall {
        let sent =
            tcp.bytes_sent.map(|sent| sent.0.saturating_sub(tcp.bytes_retransmitted.unwrap_or(Bytes(0)).0));
        let hello = sent.map(Bytes).filter(|hello| hello.0 > 0);
        Stall::judge(hello, tcp.unacknowledged, tcp.retransmits, tcp.out_of_order_in.unwrap_or(0))
    }

    /// `hello`: what was sent; segments of it that are not acknowledged, and how often they were retransmitted; segments of the answer
    /// that came out of order.
    fn judge(hello: Option<Bytes>, unacknowledged: u32, retransmits: u32, out_of_order: u32) -> Stall {
        match hello {
            Some(hello) if unacknowledged > 0 && retransmits > 0 => Stall::Hello { hello, retransmits },
            _ if out_of_order > 0 => Stall::Answer,
            hello => Stall::Silent { hello },
        }
    }
}

/// The beginning of a text from outside, as one line without control codes; empty, or with a colon before it.
pub(super) fn beginning(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let tokens: Vec<&str> = clean.split_whitespace().collect();
    let tokens = tokens.join(" ");
    let mut start: String = tokens.chars().take(MOST_SHOWN).collect();
    if start.len() < tokens.len() {
        start.push('…');
    }
    if start.is_empty() { start } else { format!(": {start}") }
}

/// The code and the message in an S3 error's XML, if that is what it is.
pub(super) fn s3_error(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let inside = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inside, _)| inside.to_owned())
    };
    let code = inside("Code").filter(|_| text.contains("<Error"))?;
    let message = format!("{code}, {}", inside("Message").unwrap_or_default());
    Some(format!("{} (S3)", beginning(message.trim_end_matches([',', ' ']).as_bytes())))
}

const MOST_SHOWN: usize = 200;

impl From<crate::error::Failure> for Trouble {
    fn from(failure: crate::error::Failure) -> Trouble {
        Trouble::Resolve(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_write_on_the_screen() {
        assert_eq!(beginning(b"<h1>\x1b[31mNo</h1>\n\n such\tpage"), ": <h1> [31mNo</h1> such page");
        assert_eq!(beginning(b" \n"), "");
        let long = beginning("ä".repeat(1000).as_bytes());
        assert_eq!((long.chars().count(), long.ends_with('…')), (2 + MOST_SHOWN + 1, true));
    }

    #[test]
    fn a_handshake_is_judged_by_where_it_stalled() {
        let hello = Some(Bytes(1760));
        let lost = Stall::judge(hello, 2, 5, 0);
        assert_eq!(lost, Stall::Hello { hello: Bytes(1760), retransmits: 5 });
        assert!(lost.to_string().contains("retransmitted 5 times and not acknowledged"), "{lost}");
        assert_eq!(Stall::judge(hello, 0, 0, 2), Stall::Answer);
        // One that was retransmitted and arrived is no fault of its size.
        assert_eq!(Stall::judge(hello, 0, 1, 0), Stall::Silent { hello });
        assert!(
            Stall::judge(None, 0, 0, 0)
                .to_string()
                .starts_with("the Client Hello was acknowledged, and no answer")
        );
    }

    #[test]
    fn s3_states_what_is_wrong() {
        let xml =
            b"<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>Not there.</Message></Error>";
        assert_eq!(s3_error(xml).as_deref(), Some(": NoSuchKey, Not there. (S3)"));
        assert_eq!(s3_error(b"<html>no</html>"), None);
        assert_eq!(s3_error(b"<Error><Code>X</Code>").as_deref(), Some(": X (S3)"));
    }
}
