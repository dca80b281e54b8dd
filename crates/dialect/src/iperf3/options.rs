//! The options, one row each: letter, name, value, help, and what it sets. Limits and refusals are iPerf3 3.21's.

mod both;
mod client;
mod server;

pub(super) use both::BOTH;
pub(super) use client::CLIENT;
pub(super) use server::SERVER;

use super::numbers::within;
use super::{CommandLine, Fault};
use crate::getopt::{OptionRow, Role};
use std::net::Ipv6Addr;

type Iperf3Option = OptionRow<CommandLine>;
type Taken = Result<(), Fault>;

/// Every option, in the groups of the help.
pub(super) const ALL: [(Role, &[Iperf3Option]); 3] =
    [(Role::Both, BOTH), (Role::Server, SERVER), (Role::Client, CLIENT)];

fn both_roles() -> Fault {
    Fault::parameter("cannot be both server and client")
}

/// An option that nothing but SCTP has.
fn of_sctp(option: &str, instead: &str) -> Fault {
    Fault::not_served(option, &format!("it is of SCTP alone, which is not there; {instead}"))
}

fn no_sctp() -> Fault {
    Fault::parameter("no SCTP support available: use TCP, or -u for UDP")
}

fn port(text: &str) -> Result<u16, Fault> {
    let port = within(text, 1, 65_535, BAD_PORT)?;
    u16::try_from(port).map_err(|_| Fault::parameter(BAD_PORT))
}

/// `HOST%DEV` apart; a link-local IPv6 address keeps its zone.
fn host_and_device(text: &str) -> (String, Option<String>) {
    match text.split_once('%') {
        Some((host, device)) if !device.is_empty() && !is_link_local(host) => {
            (host.into(), Some(device.into()))
        }
        _ => (text.into(), None),
    }
}

fn is_link_local(host: &str) -> bool {
    host.parse::<Ipv6Addr>().is_ok_and(|address| address.is_unicast_link_local())
}

const BAD_PORT: &str = "port number must be between 1 and 65535 inclusive";
pub(super) const BLOCK_SIZE: &str = "block size too large (maximum = 1048576 bytes)";
/// Seconds of a day, iPerf3's longest test.
const MAX_TIME: i64 = 86_400;
const DURATION: &str = "test duration valid values are 0 to 86400 seconds";
