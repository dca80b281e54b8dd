//! Line rates of a link, and the share of it that a measured rate reached: the arithmetic of `pathmeter linerate`.

mod carried;
mod measured;

pub use carried::Carried;
pub use measured::{Measured, OnTheWire};

use crate::framing::{Encaps, Framing, FramingError, Network, RFC2544_SIZES, Transport};
use crate::units::{BitRate, Bytes};
use serde::Serialize;

/// A question about a link.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its speed, above 0.
    pub link: BitRate,
    /// The packets' headers, what carries them, and the link's MTU.
    pub framing: Framing,
    /// Frames of plain Ethernet with their FCS, where packets are given by their frames.
    pub frames: Vec<Bytes>,
    /// Payload of the transport in one packet, where packets are given by it.
    pub payload: Option<Bytes>,
    /// The measured rate; absent: the line rate is computed.
    pub measured: Option<Measured>,
}

/// The question, and one row for each packet size.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineRate {
    /// Name and version of this document's form.
    pub schema: &'static str,
    /// Speed of the link.
    pub link_bps: BitRate,
    /// The inner packets' IP version.
    pub network: Network,
    /// Their transport.
    pub transport: Transport,
    /// Headers around them.
    pub encap: Encaps,
    /// The largest packet of the link, when given.
    pub link_mtu: Option<Bytes>,
    /// Line rates, for each size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Carried>,
    /// The measured rate on the wire, for each size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<OnTheWire>,
}

impl LineRate {
    /// The answer.
    ///
    /// # Errors
    /// Packets that cannot be.
    pub fn from_question(question: &Question) -> Result<LineRate, FramingError> {
        let Question { link, framing, measured, .. } = question;
        framing.check()?;
        let mut answer = LineRate {
            schema: "pathmeter/linerate/1",
            link_bps: *link,
            network: framing.network,
            transport: framing.transport,
            encap: framing.encaps.clone(),
            link_mtu: framing.link_mtu,
            rows: Vec::new(),
            measured: Vec::new(),
        };
        for packet in packets(question)? {
            match measured {
                Some(measured) => {
                    answer.measured.push(OnTheWire::from_payload(framing, packet, *link, *measured)?);
                }
                None => answer.rows.push(Carried::over_link(framing, packet, *link)?),
            }
        }
        Ok(answer)
    }
}

/// The requested inner packets: by their frame, by the link's MTU, or by their payload; without any, RFC 2544's frames, or for a
/// measured rate the packet of the usual MTU.
fn packets(question: &Question) -> Result<Vec<Bytes>, FramingError> {
    let framing = &question.framing;
    let raw = Framing { transport: Transport::Raw, ..framing.clone() };
    let frames = match (question.frames.as_slice(), framing.link_mtu, question.payload) {
        (_, Some(mtu), _) => return Ok(vec![raw.of_mtu(mtu)?.inner_packet]),
        (_, _, Some(payload)) => return Ok(vec![framing.of_payload(payload)?.inner_packet]),
        ([], None, None) if question.measured.is_some() => {
            return Ok(vec![raw.of_mtu(USUAL_MTU)?.inner_packet]);
        }
        ([], None, None) => &RFC2544_SIZES,
        (frames, None, None) => frames,
    };
    frames.iter().map(|&frame| Ok(raw.of_frame(frame)?.inner_packet)).collect()
}

/// Ethernet's (IEEE 802.3).
const USUAL_MTU: Bytes = Bytes(1500);
