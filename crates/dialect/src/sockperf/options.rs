//! The options, one row each: letters, names and value, who has it, help, and what it sets. Limits are sockperf's.

mod both;
mod client;
mod server;

use super::Fault;
use super::aopt::{Of, SockperfOption};
use super::finish::Line;
use super::numbers::within;
use crate::getopt::Usage;
use both::BOTH;
use client::{CLIENT, TEST};
use model::cpus::CpuList;
use server::SERVER;

/// Every option, in the groups of the help.
pub(super) const ALL: [&[SockperfOption]; 4] = [BOTH, CLIENT, TEST, SERVER];

type Taken = Result<(), Fault>;

const fn row(
    usage: &'static str,
    of: Of,
    help: &'static str,
    take: fn(&mut Line, &str, &str) -> Taken,
) -> SockperfOption {
    SockperfOption { usage: Usage(usage), of, help, take }
}

/// Notes an option that has no effect here.
fn ignored(line: &mut Line, option: &str, why: &str) {
    line.notes.push(format!("{option} is ignored: {why}"));
}

fn port(text: &str, option: &str) -> Result<u16, Fault> {
    let port = within(text, 1, 65_535, option, "port")?;
    u16::try_from(port).map_err(|_| Fault::bad(format!("'{option}' Invalid port")))
}

fn cpus(text: &str, option: &str) -> Result<Option<CpuList>, Fault> {
    text.parse().map(Some).map_err(|why: String| Fault::bad(format!("'{option}' {why}")))
}

/// A name or an address, and no path of a Unix socket.
fn address(text: &str, option: &str) -> Result<Option<String>, Fault> {
    if text.starts_with('/') {
        return Err(Fault::not_served(&format!("{option} with a Unix socket"), "use an address and a port"));
    }
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    if bare.is_empty() {
        Err(Fault::bad(format!("'{option}' Invalid address")))
    } else {
        Ok(Some(bare.into()))
    }
}
