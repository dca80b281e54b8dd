//! The options, one row each: letter, name, value, help, and what it sets.

mod both;
mod client;
mod histograms;
mod refused;
mod server;

pub(super) use both::BOTH;
pub(super) use client::{CLIENT, CONNECT_TIMEOUT, STANDARD_INPUT};
use refused::REFUSED;
pub(super) use server::SERVER;

use super::{CommandLine, Fault};
use crate::getopt::{OptionRow, Role};

type Iperf2Option = OptionRow<CommandLine>;
type Taken = Result<(), Fault>;

/// Every option.
pub(super) const ALL: [(Role, &[Iperf2Option]); 4] =
    [(Role::Both, BOTH), (Role::Server, SERVER), (Role::Client, CLIENT), (Role::Both, REFUSED)];

/// `[v6]:port`, `v4:port`, and `%dev` behind either.
fn host_port_device(text: &str) -> Result<(String, Option<u16>, Option<String>), Fault> {
    let (address, device) = match text.split_once('%') {
        Some((address, device)) if !device.is_empty() => (address, Some(device.to_owned())),
        _ => (text, None),
    };
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match address.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            _ => (address, None),
        },
    };
    let read = |port: &str| {
        port.parse().ok().filter(|port| *port > 0).ok_or_else(|| Fault::value("port", port, "1 to 65535"))
    };
    Ok((host.to_owned(), port.map(read).transpose()?, device))
}
