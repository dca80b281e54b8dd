//! A host as users type it.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// A host with an optional port: `far.example`, `10.0.0.2:5210`, `::1`, `[fe80::1%eth0]:5210`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Name or address, without brackets.
    pub host: String,
    /// The port, where one was given.
    pub port: Option<u16>,
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<HostPort, String> {
        let (host, port) = split_port(text)?;
        if host.is_empty()
            || host.contains(|c: char| c.is_whitespace() || c.is_control() || "/[]@".contains(c))
        {
            return Err(
                "expected a name or an address, such as far.example, 10.0.0.2:5210 or [::1]:5210".into()
            );
        }
        let port = port.map(|port| port.parse().ok().filter(|&port| port > 0).ok_or(port)).transpose();
        match port {
            Ok(port) => Ok(HostPort { host: host.into(), port }),
            Err(port) => Err(format!("`{port}` is not a port: a number from 1 to 65535")),
        }
    }
}

impl HostPort {
    /// The text that is read as this: with the port, an IPv6 address before it in brackets.
    #[must_use]
    pub fn typed(&self) -> String {
        match (self.port, self.host.contains(':')) {
            (None, _) => self.host.clone(),
            (Some(port), true) => format!("[{}]:{port}", self.host),
            (Some(port), false) => format!("{}:{port}", self.host),
        }
    }
}

/// The name that runs of a far end are kept under, however it is written: the host without a port. Any other text, such as a
/// URL, stays as it is.
#[must_use]
pub fn kept_name(text: &str) -> String {
    let host = |text: &str| text.parse::<HostPort>().ok().map(|host| host.host);
    let hosts: Option<Vec<String>> = text.split_whitespace().map(host).collect();
    hosts.filter(|hosts| !hosts.is_empty()).map_or_else(|| text.to_owned(), |hosts| hosts.join(" "))
}

/// Host and port apart. An IPv6 address without brackets has no port.
fn split_port(text: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("the bracket is not closed: write [::1]:5210")?;
        return match (after, after.strip_prefix(':')) {
            ("", _) => Ok((host, None)),
            (_, Some(port)) => Ok((host, Some(port))),
            _ => Err("a port follows the bracket after a colon: write [::1]:5210".into()),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

impl Display for HostPort {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_far_end_is_kept_under_one_name() {
        for (text, kept) in [
            ("far.example", "far.example"),
            ("far.example:99", "far.example"),
            ("[::1]:5210", "::1"),
            ("a.example b.example:99", "a.example b.example"),
            ("http://far.example:8080/x", "http://far.example:8080/x"),
            ("", ""),
        ] {
            assert_eq!(kept_name(text), kept);
        }
    }

    #[test]
    fn hosts_with_and_without_ports() {
        for (text, host, port) in [
            ("far.example", "far.example", None),
            ("far.example:99", "far.example", Some(99)),
            ("10.0.0.2:5210", "10.0.0.2", Some(5210)),
            ("::1", "::1", None),
            ("2001:db8::1:5210", "2001:db8::1:5210", None),
            ("[::1]", "::1", None),
            ("[fe80::1%eth0]:7", "fe80::1%eth0", Some(7)),
        ] {
            let read = HostPort { host: host.into(), port };
            assert_eq!(text.parse(), Ok(read.clone()), "{text}");
            assert_eq!(read.typed().parse(), Ok(read), "{text}");
        }
        for text in
            ["", ":80", "host:", "host:0", "host:65536", "host:x", "[::1", "[::1]80", "a b", "http://x/"]
        {
            assert!(text.parse::<HostPort>().is_err(), "{text}");
        }
    }
}
