//! A port of the tester as a user names it.

use crate::error::{Failure, Result};
use crate::host::host_port::HostPort;
use linux::namespace::Namespace;
use std::fmt::{Display, Formatter};
use std::io::ErrorKind;
use std::str::FromStr;

/// `IFACE`, `NETNS/IFACE` or `/PATH/OF/NETNS/IFACE`; with `@HOST[:PORT]` behind it, on that host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// The network namespace the interface is in: a name of `ip netns`, or the path of its file. Absent: the caller's own.
    pub(crate) namespace: Option<String>,
    /// The interface.
    pub(crate) interface: String,
    /// The host it is on. Absent: this one.
    pub host: Option<HostPort>,
}

impl PortSpec {
    /// An interface of the caller's own namespace.
    pub(crate) fn here(interface: &str) -> PortSpec {
        PortSpec { namespace: None, interface: interface.to_owned(), host: None }
    }

    /// Opens the namespace, on this host.
    ///
    /// # Errors
    /// There is none of this name; without privilege.
    pub(crate) fn open_namespace(&self) -> Result<Namespace> {
        let Some(name) = &self.namespace else { return Ok(Namespace::current()?) };
        let open = Namespace::open(path_of(name));
        Ok(open.map_err(|error| {
            let what = match error.source.kind() {
                ErrorKind::NotFound => format!("there is no network namespace {name}"),
                _ => error.to_string(),
            };
            Failure::usage(
                what,
                "`ip netns list` shows the namespaces that have names; a path, as /proc/PID/ns/net, does too",
            )
        })?)
    }

    /// The same port as its own host names it.
    pub(crate) fn at_its_host(&self) -> PortSpec {
        PortSpec { host: None, ..self.clone() }
    }

    /// A command as it must be typed for it to act in the port's namespace.
    pub(crate) fn command(&self, words: &str) -> String {
        match &self.namespace {
            None => words.to_owned(),
            Some(path) if path.starts_with('/') => format!("nsenter --net={path} {words}"),
            Some(name) => format!("ip netns exec {name} {words}"),
        }
    }
}

impl FromStr for PortSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<PortSpec, String> {
        let (namespace, rest) = match text.rsplit_once('/') {
            Some((namespace, rest)) => (Some(namespace), rest),
            None => (None, text),
        };
        let (interface, host) = match rest.split_once('@') {
            Some((interface, host)) => (interface, Some(host.parse::<HostPort>()?)),
            None => (rest, None),
        };
        check_interface(interface)?;
        if let Some(name) = namespace {
            check_namespace(name)?;
        }
        Ok(PortSpec { namespace: namespace.map(str::to_owned), interface: interface.to_owned(), host })
    }
}

impl Display for PortSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.interface)?;
        self.host.as_ref().map_or(Ok(()), |host| write!(f, "@{}", host.typed()))
    }
}

/// Where `ip netns` keeps a namespace of this name.
fn path_of(name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("/var/run/netns/{name}") }
}

/// The kernel's rule (`dev_valid_name`): 1 to 15 bytes without slash, colon and space.
fn check_interface(name: &str) -> Result<(), String> {
    let what = match name.len() {
        0 => "names no interface",
        1..=15 if name == "." || name == ".." => "is not a name of an interface",
        1..=15 if !name.contains(|c: char| c == ':' || c.is_whitespace() || c.is_control()) => return Ok(()),
        1..=15 => "has a character that no interface's name has",
        _ => "is longer than the 15 bytes of an interface's name",
    };
    Err(format!("`{name}` {what}: {EXPECTED}"))
}

/// A name is one part of a path, so that it leads nowhere else.
fn check_namespace(name: &str) -> Result<(), String> {
    let is_path = name.starts_with('/') && name.len() > 1;
    let is_name = !name.is_empty() && !name.starts_with(['.', '-']) && !name.contains('/');
    if (is_path || is_name) && !name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Ok(());
    }
    Err(format!("`{name}` is neither the name of a network namespace nor a path from the root: {EXPECTED}"))
}

const EXPECTED: &str = "expected eth1, NETNS/eth1, or eth1@HOST for a port of another host";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_read_and_written_the_same() {
        for text in [
            "eth1",
            "red/eth1",
            "/proc/17/ns/net/eth1",
            "eth1@far.example",
            "eth1@10.0.0.2:5210",
            "red/eth1@[2001:db8::1]:5210",
            "eth1@2001:db8::1",
            "eth1.100",
        ] {
            assert_eq!(text.parse::<PortSpec>().unwrap().to_string(), text);
        }
        let far: PortSpec = "red/eth1@far.example".parse().unwrap();
        assert_eq!(far.at_its_host().to_string(), "red/eth1");
        assert_eq!((far.namespace.as_deref(), far.interface.as_str()), (Some("red"), "eth1"));
        assert_eq!(PortSpec::here("eth1"), "eth1".parse().unwrap());
    }

    #[test]
    fn what_is_no_port_is_refused_with_an_example() {
        for (text, why) in [
            ("", "names no interface"),
            ("red/", "names no interface"),
            ("@far", "names no interface"),
            ("an-interface-too-long", "longer than the 15 bytes"),
            ("eth1:5210", "a character that"),
            ("et h1", "a character that"),
            ("..", "is not a name"),
            ("../red/eth1", "neither the name of"),
            ("a/b/eth1", "neither the name of"),
            ("/eth1", "neither the name of"),
            ("eth1@", "expected a name or an address"),
            ("eth1@far:0", "is not a port"),
        ] {
            let error = text.parse::<PortSpec>().unwrap_err();
            assert!(
                error.contains(why) && error.contains("expected") || error.contains("is not a port"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_namespace_that_is_not_there_is_named() {
        let port: PortSpec = "no-such-netns/eth0".parse().unwrap();
        let error = port.open_namespace().unwrap_err();
        assert_eq!(error.kind(), crate::error::Kind::Usage);
        let reply = crate::error::tests::printed(&error);
        assert!(
            reply.contains("no network namespace no-such-netns") && reply.contains("ip netns list"),
            "{reply}"
        );
    }

    #[test]
    fn commands_act_where_the_port_is() {
        let command = |text: &str| text.parse::<PortSpec>().unwrap().command("ip link");
        assert_eq!(command("eth1"), "ip link");
        assert_eq!(command("red/eth1"), "ip netns exec red ip link");
        assert_eq!(command("/run/x/eth1"), "nsenter --net=/run/x ip link");
    }
}
