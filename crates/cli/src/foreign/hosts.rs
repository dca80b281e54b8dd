//! Hosts that look like hosts and are none: a port alone, and link-local addresses without their interface.

use super::is_number;
use crate::arguments::Cli;
use engine::error::Failure;
use std::net::Ipv6Addr;
use std::path::Path;

/// Refuses a far end that cannot be meant.
///
/// # Errors
/// `Kind::Usage`: a number in the place of a host, or a link-local address without an interface.
pub(crate) fn check(cli: &mut Cli) -> Result<(), Failure> {
    let has_device = cli.names_interface();
    let hosts: Vec<String> = cli.hosts_mut().iter().map(|host| host.host.clone()).collect();
    for host in &hosts {
        if is_number(host) {
            return Err(port_alone(host, hosts.iter().map(String::as_str).find(|other| !is_number(other))));
        }
        if !has_device && is_link_local(host) {
            let what = format!(
                "{host} is a link-local address, and each link has its own: the interface is missing"
            );
            return Err(without_interface(what, host, &interfaces()));
        }
        if let Some((address, zone)) = host.split_once('%').filter(|(_, zone)| !is_zone(zone)) {
            let what = format!("there is no interface {zone} here");
            return Err(without_interface(what, address, &interfaces()));
        }
    }
    Ok(())
}

/// A number where a host is wanted: `HOST PORT`, as nc takes it.
pub(super) fn port_alone(number: &str, host: Option<&str>) -> Failure {
    let host = host.map(|host| if host.contains(':') { format!("[{host}]") } else { host.to_owned() });
    let host = host.unwrap_or_else(|| "HOST".into());
    Failure::usage(
        format!("`{number}` is not a host"),
        format!("a port is written `{host}:{number}`, or `-p {number}`"),
    )
}

/// `fe80::/10`, without a zone.
fn is_link_local(host: &str) -> bool {
    host.parse::<Ipv6Addr>().is_ok_and(|address| address.is_unicast_link_local())
}

/// An interface of this host, by name or number.
fn is_zone(zone: &str) -> bool {
    is_number(zone) || Path::new("/sys/class/net").join(zone).exists()
}

/// The refusal of an address that names no interface of this host.
fn without_interface(what: String, address: &str, interfaces: &[String]) -> Failure {
    let first = interfaces.first().map_or("eth0", String::as_str);
    let here = match interfaces {
        [] => String::new(),
        names => format!("; interfaces here: {}", names.join(", ")),
    };
    Failure::usage(what, format!("write {address}%{first}{here}"))
}

/// Interfaces of this host, without loopback.
fn interfaces() -> Vec<String> {
    let folder = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = folder.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_down = |name: &String| {
        let state = std::fs::read_to_string(format!("/sys/class/net/{name}/operstate"));
        state.map_or(true, |state| state.trim() == "down")
    };
    let mut names: Vec<String> = names.filter(|name| name != "lo" && !is_down(name)).collect();
    names.sort();
    names.truncate(MOST_INTERFACES);
    names
}

/// More are no help.
const MOST_INTERFACES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn the_interface_is_one_of_this_host() {
        let advice = |interfaces: &[String]| without_interface(String::new(), "fe80::1", interfaces).advice;
        assert_eq!(
            advice(&["ens3".into(), "wlan0".into()]).as_deref(),
            Some("write fe80::1%ens3; interfaces here: ens3, wlan0")
        );
        assert_eq!(advice(&[]).as_deref(), Some("write fe80::1%eth0"));
        let mut cli = Cli::parse_from(["pathmeter", "measure", "fe80::1%no-such9"]);
        assert_eq!(check(&mut cli).unwrap_err().message, "there is no interface no-such9 here");
        assert!(is_zone("lo") && is_zone("1") && !is_zone("no-such9"));
        for (host, expected) in [
            ("fe80::1", true),
            ("febf::1", true),
            ("fec0::1", false),
            ("fe80::1%eth0", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_link_local(host), expected, "{host}");
        }
    }

    #[test]
    fn a_port_goes_with_its_host() {
        let advice = |number, host| port_alone(number, host).advice.expect("advice");
        assert_eq!(advice("5210", Some("10.0.0.1")), "a port is written `10.0.0.1:5210`, or `-p 5210`");
        assert_eq!(advice("5210", Some("::1")), "a port is written `[::1]:5210`, or `-p 5210`");
        assert_eq!(advice("5210", None), "a port is written `HOST:5210`, or `-p 5210`");
    }
}
