//! Outputs of two clients in one file, line by line: distinguished where the numbers of their streams and their hosts make it
//! certain, else refused.

use super::block::Block;
use super::build::ParsedRun;
use super::{Imported, Known, Tool, iperf2, probes};
use model::distinct;
use model::event::Outcome;
use model::plan::{ProtocolName, TestSpec, Transport};
use std::iter;
use std::net::IpAddr;

/// The runs of a block: its own, those of the outputs mixed in it, or one with the reason why there is none.
pub(super) fn read(
    name: &str,
    block: &Block,
    known: Known,
    read: fn(&str, &Block, Known) -> Option<Box<Imported>>,
) -> Vec<Box<Imported>> {
    if let Some(at) = iperf2::second_attempt(block) {
        let of_first = block.of_own(block.line, block.lines.iter().take(at));
        let both = [of_first, block.of_own(block.line + at, block.lines.iter().skip(at))];
        return both.iter().filter_map(|block| read(name, block, known)).collect();
    }
    let clients = clients_of_server(block);
    if !clients.is_empty() {
        return clients.iter().filter_map(|block| read(name, block, known)).collect();
    }
    let hosts = probes::of_each_host(block);
    if hosts.len() > 1 {
        return hosts.iter().filter_map(|block| read(name, block, known)).collect();
    }
    let headings: Vec<&str> = block.lines.iter().filter(|line| host(line).is_some()).collect();
    // A server that connects back (-d, -r) has such a line, too.
    let serves = block.lines.iter().any(|line| line.starts_with("Server listening on "));
    let iperf = matches!(block.tool, Tool::Iperf2 | Tool::Iperf3);
    if !iperf || serves || headings.len() < 2 {
        return read(name, block, known).into_iter().collect();
    }
    match apart(block, &headings) {
        Some(blocks) => blocks.iter().filter_map(|block| read(name, block, known)).collect(),
        None => vec![refused(name, block, &headings, known)],
    }
}

/// A block for each client, where several hosts measured with one server of iPerf2 at the same time; none of one client. Their sums are
/// left out.
fn clients_of_server(block: &Block) -> Vec<Block> {
    let serves = block.tool == Tool::Iperf2 && !block.lines.iter().any(|line| host(line).is_some());
    let mut owners: Vec<(String, IpAddr)> = Vec::new();
    for (id, remote) in block.lines.iter().filter(|_| serves).filter_map(connection) {
        match owners.iter().find(|(known, _)| *known == id) {
            Some((_, known)) if *known != remote => return Vec::new(),
            Some(_) => {}
            None => owners.push((id, remote)),
        }
    }
    let clients = distinct(owners.iter().map(|(_, client)| *client));
    if clients.len() < 2 {
        return Vec::new();
    }
    clients.iter().map(|client| block_of_client(block, *client, &owners)).collect()
}

/// The lines of one client of a server, and those of none.
fn block_of_client(block: &Block, client: IpAddr, owners: &[(String, IpAddr)]) -> Block {
    let owner = |line: &str| id(line).and_then(|id| owners.iter().find(|(known, _)| *known == id));
    let is_own = |line: &&str| match owner(line) {
        Some((_, owner)) => *owner == client,
        None => !line.starts_with("[SUM"),
    };
    let first = block.lines.iter().position(|line| owner(line).is_some_and(|(_, owner)| *owner == client));
    block.of_own(block.line + first.unwrap_or_default(), block.lines.iter().filter(is_own))
}

/// A block for each heading: the connections to its host, and the rows of their numbers. Sums, and what has no number,
/// belong to no client. `None`: a number or a host is used twice.
fn apart(block: &Block, headings: &[&str]) -> Option<Vec<Block>> {
    let mut owners: Vec<(String, usize)> = Vec::new();
    for line in block.lines.iter() {
        let Some((id, remote)) = connection(line) else { continue };
        let mut to = (0..headings.len()).filter(|index| host(headings[*index]) == Some(remote));
        let (owner, second) = (to.next()?, to.next());
        if second.is_some() || owners.iter().any(|(known, _)| *known == id) {
            return None;
        }
        owners.push((id, owner));
    }
    let all = (0..headings.len()).all(|index| owners.iter().any(|(_, owner)| *owner == index));
    all.then(|| {
        headings
            .iter()
            .enumerate()
            .map(|(index, heading)| owned_block(block, heading, index, &owners))
            .collect()
    })
}

/// The lines of one output.
fn owned_block(block: &Block, heading: &str, index: usize, owners: &[(String, usize)]) -> Block {
    let line = block.lines.iter().position(|line| line == heading).unwrap_or_default();
    let is_own = |line: &&str| {
        let owner = id(line).and_then(|id| owners.iter().find(|(known, _)| *known == id));
        let shared = line.starts_with("[ ID]") || line.starts_with("- - -");
        shared || owner.is_some_and(|(_, owner)| *owner == index)
    };
    block.of_own(block.line + line, iter::once(heading).chain(block.lines.iter().filter(is_own)))
}

/// A run without figures, and the remedy.
fn refused(name: &str, block: &Block, headings: &[&str], known: Known) -> Box<Imported> {
    let protocol = if block.tool == Tool::Iperf3 { ProtocolName::Iperf3 } else { ProtocolName::Foreign };
    let mut parsed = ParsedRun::new(block.tool, block.line, protocol, TestSpec::new(Transport::Tcp), known);
    let why = format!(
        "The outputs of {} clients are mixed here line by line, and what distinguishes them is the same: no figure can be \
         attributed to one of them. Write each output into a file of its own.",
        headings.len()
    );
    parsed.warn("mixed-outputs", why.clone());
    parsed.outcome = Outcome::Failed { reason: why.trim_end_matches('.').to_owned() };
    parsed.imported(name)
}

/// The host that a client's heading names, as an address.
fn host(line: &str) -> Option<IpAddr> {
    let rest =
        line.strip_prefix("Client connecting to ").or_else(|| line.strip_prefix("Connecting to host "));
    rest?.split(',').next()?.trim().parse().ok()
}

/// The number and the far address of a connection.
fn connection(line: &str) -> Option<(String, IpAddr)> {
    let (_, rest) = line.split_once("] local ")?;
    let (_, remote) = rest.split_once(" connected with ").or_else(|| rest.split_once(" connected to "))?;
    Some((id(line)?, remote.split_whitespace().next()?.parse().ok()?))
}

/// `1` of `[  1] …` and of `[ *1] …`.
fn id(line: &str) -> Option<String> {
    let (id, _) = line.strip_prefix('[')?.split_once(']')?;
    let id = id.trim().trim_start_matches('*');
    id.bytes().all(|byte| byte.is_ascii_digit()).then(|| id.to_owned())
}
