//! Sockperf's feed file (`-f`): a socket a line, `[U|T:]address:port[:source]`.
//!
//! ```text
//! # UDP, the old form
//! 192.0.2.2:1123
//! T:localhost:1120
//! U:[2001:db8::1]:1129:[2001:db8::2]
//! ```
//!
//! A line that is the same as one before means nothing, except a client's TCP line: that opens one more connection.

use super::SocketSpec;
use thiserror::Error;

/// Why a feed file cannot be used. Sockperf's number for it is 2, and 1 for an empty one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum FeedError {
    /// Not a line of this format.
    #[error(
        "invalid input in line {line}: `{text}`: each line must have the format ip:port, type:ip:port or \
         type:ip:port:mc_src_ip, with type U or T; IPv6 addresses stand in brackets"
    )]
    Syntax {
        /// From 1 on.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// A path of a Unix socket.
    #[error("line {line}: Unix sockets are not served by pathmeter: use an address and a port")]
    Unix {
        /// From 1 on.
        line: usize,
    },
    /// Nothing but comments.
    #[error("the feed file is empty")]
    Empty,
}

impl FeedError {
    /// Sockperf's number for it.
    pub(crate) fn code(&self) -> u8 {
        match self {
            FeedError::Syntax { .. } | FeedError::Unix { .. } => 2,
            FeedError::Empty => 1,
        }
    }
}

/// Reads a feed file, for a client or a server.
///
/// # Errors
/// At the first line that is none of it.
pub(crate) fn parse(text: &str, client: bool) -> Result<Vec<SocketSpec>, FeedError> {
    let mut places: Vec<SocketSpec> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim_end().is_empty() || text.starts_with([' ', '#']) {
            continue;
        }
        let place = place(text.trim_end(), line)?;
        if (client && place.tcp) || !places.contains(&place) {
            places.push(place);
        }
    }
    if places.is_empty() { Err(FeedError::Empty) } else { Ok(places) }
}

fn place(text: &str, line: usize) -> Result<SocketSpec, FeedError> {
    let syntax = || FeedError::Syntax { line, text: text.chars().take(80).collect() };
    let kind = text.get(..2).filter(|kind| matches!(*kind, "U:" | "u:" | "T:" | "t:"));
    let rest = kind.map_or(text, |kind| &text[kind.len()..]);
    if rest.starts_with('/') {
        return Err(FeedError::Unix { line });
    }
    let (host, rest) = host(rest).ok_or_else(syntax)?;
    let rest = rest.strip_prefix(':').ok_or_else(syntax)?;
    let (port, source) = match rest.split_once(':') {
        Some((port, source)) => (port, Some(source)),
        None => (rest, None),
    };
    let source = match source.map(host_alone) {
        Some(None) => return Err(syntax()),
        Some(source) => source,
        None => None,
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| digits && *port > 0).ok_or_else(syntax)?;
    let tcp = matches!(kind, Some("T:" | "t:"));
    Ok(SocketSpec { host: Some(host.to_owned()), port, tcp, source: source.map(str::to_owned) })
}

/// A name, an IPv4 address, or an IPv6 address in brackets; and what follows.
fn host(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, rest) = inner.split_once(']')?;
        return host.contains(':').then_some((host, rest));
    }
    let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (!host.is_empty() && host.bytes().all(named)).then_some((host, rest))
}

fn host_alone(text: &str) -> Option<&str> {
    host(text).filter(|(_, rest)| rest.is_empty()).map(|(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(host: &str, port: u16, tcp: bool, source: Option<&str>) -> SocketSpec {
        SocketSpec { host: Some(host.into()), port, tcp, source: source.map(str::to_owned) }
    }

    #[test]
    fn every_form_of_a_line() {
        let text = "# a comment\n\n192.168.1.2:1123\nT:localhost:1120\r\nu:192.168.1.5:1126:1.2.3.4\n\
                    U:main.example.org:1125:src.example.org\nU:[::1]:1127\nt:[fe80::1%eth0]:1129:[ff02::1]\n";
        let places = [
            place("192.168.1.2", 1123, false, None),
            place("localhost", 1120, true, None),
            place("192.168.1.5", 1126, false, Some("1.2.3.4")),
            place("main.example.org", 1125, false, Some("src.example.org")),
            place("::1", 1127, false, None),
            place("fe80::1%eth0", 1129, true, Some("ff02::1")),
        ];
        assert_eq!(parse(text, true), Ok(places.to_vec()));
    }

    #[test]
    fn the_same_line_twice_is_one_socket_but_for_a_clients_connections() {
        let text = "T:10.0.0.1:5\nT:10.0.0.1:5\nU:10.0.0.1:5\n10.0.0.1:5\n";
        assert_eq!(parse(text, true).map(|places| places.len()), Ok(3));
        assert_eq!(parse(text, false).map(|places| places.len()), Ok(2));
    }

    #[test]
    fn what_is_no_line_is_named() {
        for text in [
            "nonsense",
            "10.0.0.1",
            "10.0.0.1:",
            "10.0.0.1:x",
            "10.0.0.1:0",
            "10.0.0.1:70000",
            "X:10.0.0.1:5:",
            ":5",
            "U:[::1:5",
            "U:[1]:5",
            "10.0.0.1:+5",
            "a b:5",
        ] {
            let refused = parse(&format!("#\n{text}\n"), true);
            assert!(matches!(refused, Err(FeedError::Syntax { line: 2, .. })), "{text}: {refused:?}");
        }
        assert_eq!(parse("U:/tmp/socket\n", true), Err(FeedError::Unix { line: 1 }));
        assert_eq!(parse(" \n# \n", true), Err(FeedError::Empty));
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "([UuTt]?:?[a-z0-9.\\[\\]:/é%]{0,20}\n){0,5}") {
            for client in [true, false] {
                if let Ok(places) = parse(&text, client) {
                    prop_assert!(places.iter().all(|place| place.port > 0 && place.host.is_some()));
                }
            }
        }
    }
}
