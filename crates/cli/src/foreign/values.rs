//! Values that another tool takes, or that stand where a host is wanted, and what was meant by them.

use super::{is_host, is_number, is_url};
use crate::arguments::{Cli, Command};
use engine::error::Failure;
use model::units::BitRate;
use std::net::IpAddr;

/// The refusal of a value that clap refused, where there is a better one. `option`: as clap names it, such as
/// `--time <TIME>`.
pub(super) fn refused(command: &str, option: &str, value: &str) -> Option<Failure> {
    let name = option.split(' ').next().unwrap_or(option);
    if name.contains("HOST") {
        return host(value);
    }
    let advice = match name {
        "--time" => netperf_test(value)?.to_owned(),
        "--interval" if command == "latency" && is_host(value) => {
            format!("the host stands alone: `pathmeter latency {value}`")
        }
        "--interval" if is_host(value) => "the host stands alone, without an option".into(),
        "--interval" if is_interface(value) => format!("an interface is `--device {value}`"),
        "--mss" if ["do", "dont", "want", "probe"].contains(&value) => {
            "ping's -M is for sizes: `pathmeter mtu HOST` finds the largest packet that is not fragmented"
                .into()
        }
        "--count" | "--bytes" if !is_number(value) && is_host(value) => {
            format!("leave the option out: the host stands alone, as in `pathmeter {command} {value}`")
        }
        "--size" if value.parse::<IpAddr>().is_ok() => format!("an address to send from is `--bind {value}`"),
        "--bind" => bound(command, value)?,
        "--bitrate" | "--max-rate" if format!("{value}/s").parse::<BitRate>().is_ok() => {
            format!("bytes per second are written `{value}/s`, bits per second without the B")
        }
        "--listen" => "write an address with a port, such as `--listen 127.0.0.1:8080`".into(),
        _ if name.ends_with("port") => "a port is a number from 1 to 65535".into(),
        _ => return None,
    };
    Some(Failure::usage(format!("{name} does not take `{value}`"), advice))
}

/// Refuses mtr's `-o FIELDS`, which would be a file here.
///
/// # Errors
/// `Kind::Usage`: the file of `hops -o` has a name of mtr's fields alone.
pub(crate) fn check_output(cli: &Cli) -> Result<(), Failure> {
    let name = cli.common.output.as_deref().and_then(std::path::Path::to_str).unwrap_or_default();
    let is_fields = name.len() >= FEWEST_FIELDS && name.chars().all(|letter| MTR_FIELDS.contains(letter));
    if matches!(cli.command, Command::Hops(_)) && is_fields {
        let advice = format!("leave it out: all columns are printed; a file of this name is `-o ./{name}`");
        return Err(Failure::usage(format!("`-o {name}` has mtr's fields, and -o is a file here"), advice));
    }
    Ok(())
}

/// A text in the place of a host.
fn host(value: &str) -> Option<Failure> {
    if is_url(value) {
        let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = host.rsplit('@').next().unwrap_or(host);
        let host = if host.is_empty() { "HOST" } else { host };
        let is_web = ["http://", "https://", "s3://"].iter().any(|scheme| value.starts_with(scheme));
        let transfer =
            if is_web { format!("; `pathmeter transfer {value}` times the URL") } else { String::new() };
        return Some(Failure::usage(
            format!("`{value}` is a URL, and a host is wanted"),
            format!("write the host alone: {host}{transfer}"),
        ));
    }
    if let Some((user, host)) = value.split_once('@') {
        let what = format!("`{value}` names a user, and a host is wanted");
        return (!user.is_empty()).then(|| Failure::usage(what, format!("write the host alone: {host}")));
    }
    let (address, length) = value.split_once('/')?;
    (address.parse::<IpAddr>().is_ok() && is_number(length)).then(|| {
        let what = format!("`{value}` is a network, and a host is wanted");
        Failure::usage(what, format!("write one address of it, such as {address}"))
    })
}

/// The address of `--bind`, written as a host, with a zone, or as an interface.
fn bound(command: &str, value: &str) -> Option<String> {
    let (address, zone) =
        value.split_once('%').map_or((value, None), |(address, zone)| (address, Some(zone)));
    let has_device = command != "serve";
    Some(match (address.parse::<IpAddr>().ok(), zone) {
        (Some(IpAddr::V6(_)), Some(_)) if !has_device => {
            "leave `--bind` out: the server then listens on every address, link-local ones too".into()
        }
        (Some(address), Some(zone)) if has_device => {
            format!("write `--device {zone}`; `--bind {address}` is for addresses without an interface")
        }
        (None, _) if has_device && is_interface(value) => format!("an interface is `--device {value}`"),
        (None, _) => "write an address of this host; `ip -brief address` lists them".into(),
        _ => return None,
    })
}

/// A test of netperf's `-t`.
fn netperf_test(value: &str) -> Option<&'static str> {
    match value.to_uppercase().as_str() {
        "TCP_STREAM" | "TCP_SENDFILE" => {
            Some("netperf's TCP_STREAM is `pathmeter throughput HOST`; `-t 10` are seconds")
        }
        "TCP_MAERTS" => Some("netperf's TCP_MAERTS is `pathmeter throughput HOST --reverse`"),
        "UDP_STREAM" => Some("netperf's UDP_STREAM is `pathmeter throughput HOST --udp`"),
        "TCP_RR" | "TCP_CRR" => Some("netperf's TCP_RR is `pathmeter latency HOST --tcp`"),
        "UDP_RR" => Some("netperf's UDP_RR is `pathmeter latency HOST`"),
        "OMNI" => Some("write `pathmeter throughput HOST` or `pathmeter latency HOST`"),
        _ => None,
    }
}

/// The letters of mtr's `-o`.
const MTR_FIELDS: &str = "LDRSNBAWVGJMXI_ ";
/// Fewer letters are as likely a file.
const FEWEST_FIELDS: usize = 3;

/// An interface of this host, or a name as Linux gives them.
fn is_interface(text: &str) -> bool {
    let is_there = std::path::Path::new("/sys/class/net").join(text).exists();
    let begins = |prefix: &&str| {
        text.strip_prefix(*prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let usual = ["eth", "ens", "enp", "eno", "wlan", "wlp", "bond", "br", "veth", "tun", "tap", "wg"];
    !text.is_empty() && !text.contains('/') && (is_there || usual.iter().any(begins))
}
