//! `pathmeter linerate`: what a link can carry, and how near a measured rate came to it. Arithmetic alone.

mod backward;
mod forward;
mod render;

use super::output::write;
use crate::exit::Exit;
use cli::{Common, LinerateArgs};
use engine::error::{Failure, Result};
use model::framing::{Encaps, Framing, FramingError, Network, RFC2544_SIZES, Transport};
use model::units::{BitRate, Bytes};
use serde::Serialize;

/// Answers in the format asked for.
pub(crate) fn run(args: &LinerateArgs, global: &Common) -> Result<Exit> {
    write(&[&answer(args)?], global)?;
    Ok(Exit::Done)
}

/// What was asked, and one row for each packet size.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Answer {
    /// Name and version of this document's form.
    schema: &'static str,
    link_bps: BitRate,
    network: Network,
    transport: Transport,
    encap: Encaps,
    /// The largest packet of the link, when given.
    link_mtu: Option<Bytes>,
    /// What the link carries, for each size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<forward::Row>,
    /// What was measured, seen on the wire, for each size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    measured: Vec<backward::Row>,
}

fn answer(args: &LinerateArgs) -> Result<Answer, Failure> {
    if args.link == BitRate(0) {
        return Err(Failure::usage("--link 0: a link has a speed", "give it as in --link 25G"));
    }
    let framing = Framing {
        network: if args.ipv6 { Network::V6 } else { Network::V4 },
        transport: if args.udp { Transport::Udp } else { Transport::TCP_TIMESTAMPS },
        encaps: args.encap.clone(),
        link_mtu: args.mtu,
    };
    framing.check().map_err(refused)?;
    let measured = backward::Measured::of(args);
    let packets = packets(args, &framing, measured.is_some())?;
    let mut answer = Answer {
        schema: "pathmeter/linerate/1",
        link_bps: args.link,
        network: framing.network,
        transport: framing.transport,
        encap: args.encap.clone(),
        link_mtu: args.mtu,
        rows: Vec::new(),
        measured: Vec::new(),
    };
    for packet in packets {
        match measured {
            Some(measured) => answer.measured.push(backward::row(&framing, packet, args.link, measured)?),
            None => answer.rows.push(forward::row(&framing, packet, args.link)?),
        }
    }
    Ok(answer)
}

/// The inner packets asked for: by their frame, by the link's MTU, or by their payload; without any, RFC 2544's frames,
/// or for a measured rate the packet of the usual MTU.
fn packets(args: &LinerateArgs, framing: &Framing, measured: bool) -> Result<Vec<Bytes>, Failure> {
    let raw = Framing { transport: Transport::Raw, ..framing.clone() };
    let frames = match (args.frame.as_slice(), args.mtu, args.payload) {
        (_, Some(mtu), _) => return Ok(vec![raw.of_mtu(mtu).map_err(refused)?.inner_packet]),
        (_, _, Some(payload)) => return Ok(vec![framing.of_payload(payload).map_err(refused)?.inner_packet]),
        ([], None, None) if measured => {
            return Ok(vec![raw.of_mtu(USUAL_MTU).map_err(refused)?.inner_packet]);
        }
        ([], None, None) => &RFC2544_SIZES,
        (frames, None, None) => frames,
    };
    frames.iter().map(|&frame| Ok(raw.of_frame(frame).map_err(refused)?.inner_packet)).collect()
}

/// Packets that cannot be are a fault of the command line.
fn refused(error: FramingError) -> Failure {
    Failure::usage(error.to_string(), "see `pathmeter linerate --help` for what can be given")
}

/// Ethernet's (IEEE 802.3).
const USUAL_MTU: Bytes = Bytes(1500);

/// What the JSON holds.
#[cfg(test)]
pub(in crate::commands) fn schema() -> schemars::Schema {
    schemars::schema_for!(Answer)
}

#[cfg(test)]
mod tests;
