//! A measured goodput as a rate on the wire: frames, their size, and the share of the link.

use crate::framing::{Encaps, Framing, Network, Transport as Header, WIRE_OVERHEAD};
use crate::plan::{Plan, Transport};
use crate::units::{BitRate, Bytes, PacketRate};
use serde::{Deserialize, Serialize};

/// Goodput on the wire of an untagged Ethernet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireRate {
    /// Bits per second on the wire: frames with preamble and gap.
    #[serde(rename = "wire_bps")]
    pub rate: Option<BitRate>,
    /// Frames per second.
    pub packets_per_second: Option<PacketRate>,
    /// Size of a full frame with its FCS, bytes.
    pub frame: Option<u32>,
    /// Frames that one datagram takes; above 1 it is fragmented.
    pub frames_per_packet: Option<u32>,
    /// Largest UDP payload that this reckons to need no fragments, bytes (UDP, where it is known).
    pub path_udp_payload: Option<u32>,
    /// Share of the link's line rate, 0 to 1.
    pub line_rate_share: Option<f64>,
}

impl WireRate {
    /// From goodput and the payload of one packet; `path_payload`: the largest UDP payload that needs no fragments, and the largest that
    /// the sender leaves whole.
    /// Empty when the payload is not known or no IP packet holds it.
    pub(crate) fn from_flow(
        plan: &Plan,
        goodput: BitRate,
        payload: Option<u32>,
        timestamps: bool,
        (path_payload, cut_above): (Option<u32>, Option<u32>),
        link: Option<BitRate>,
    ) -> WireRate {
        let header = match plan.test.transport {
            Transport::Tcp => Header::Tcp { timestamps, options: 0 },
            Transport::Udp => Header::Udp,
        };
        let framing =
            Framing { network: network(plan), transport: header, encaps: Encaps::NONE, link_mtu: None };
        let payload = payload.filter(|p| *p > 0);
        payload
            .and_then(|payload| Frames::for_payload(&framing, payload, cut_above))
            .map(|frames| frames.carry(goodput, link))
            .map(|wire| WireRate { path_udp_payload: path_payload, ..wire })
            .unwrap_or_default()
    }
}

/// The frames of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frames {
    /// Payload of the application in it, bytes; never 0.
    payload: u64,
    count: u64,
    /// The largest of them, FCS included.
    largest: u64,
    /// All of them with preamble and gap.
    wire: u64,
}

impl Frames {
    fn for_payload(framing: &Framing, payload: u32, path_payload: Option<u32>) -> Option<Frames> {
        let whole = framing.of_payload(Bytes(payload.into())).ok()?;
        match path_payload {
            Some(path) if path < payload => Frames::fragmented(framing, payload.into(), path.into()),
            _ => Some(Frames {
                payload: payload.into(),
                count: 1,
                largest: whole.outer_frame.0,
                wire: whole.wire.0,
            }),
        }
    }

    /// Every fragment but the last carries a multiple of 8 bytes: RFC 791 section 3.2, RFC 8200 section 4.5.
    fn fragmented(framing: &Framing, payload: u64, path_payload: u64) -> Option<Frames> {
        let header = framing.network.header() + fragment_header(framing.network);
        let transport = framing.transport.header().0;
        let mtu = path_payload + framing.network.header() + transport;
        let chunk = mtu.checked_sub(header)? / 8 * 8;
        let data = payload + transport;
        let count = (chunk > 0).then(|| data.div_ceil(chunk))?;
        let raw = Framing { transport: Header::Raw, ..framing.clone() };
        let frame = |carried: u64| raw.of_packet(Bytes(header + carried)).map(|l| l.outer_frame.0).ok();
        let (full, last) = (frame(chunk)?, frame(data - (count - 1) * chunk)?);
        let wire = (count - 1) * full + last + count * WIRE_OVERHEAD.0;
        Some(Frames { payload, count, largest: full.max(last), wire })
    }

    fn carry(self, goodput: BitRate, link: Option<BitRate>) -> WireRate {
        let wire = divide(goodput.0, self.wire, self.payload);
        let link = link.filter(|l| l.0 > 0);
        WireRate {
            rate: Some(BitRate(wire)),
            packets_per_second: Some(PacketRate(divide(goodput.0, self.count, 8 * self.payload))),
            frame: u32::try_from(self.largest).ok(),
            frames_per_packet: u32::try_from(self.count).ok(),
            path_udp_payload: None,
            line_rate_share: link.map(|l| wire as f64 / l.0 as f64),
        }
    }
}

fn network(plan: &Plan) -> Network {
    if plan.target.address.ip().to_canonical().is_ipv4() { Network::V4 } else { Network::V6 }
}

/// IPv4 fragments by its own header, IPv6 by an extension header (RFC 8200 section 4.5).
fn fragment_header(network: Network) -> u64 {
    match network {
        Network::V4 => 0,
        Network::V6 => 8,
    }
}

/// `value × factor / divisor`, rounded to the nearest, halves up; saturating.
fn divide(value: u64, factor: u64, divisor: u64) -> u64 {
    let product = u128::from(value) * u128::from(factor) + u128::from(divisor / 2);
    u64::try_from(product / u128::from(divisor)).unwrap_or(u64::MAX)
}

/// From this share of the link on, the link is the limit: what is missing to 1 are acknowledgements, ARP, the first
/// round trips of a stream and the clocks' tolerance (IEEE 802.3: 100 ppm).
pub const LINE_RATE: f64 = 0.97;
/// From this share on the link is faster than its nominal speed. Less may be a burst that a shaper lets through in a short test.
pub const IMPOSSIBLE_SHARE: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framing(network: Network, transport: Header) -> Framing {
        Framing { network, transport, encaps: Encaps::NONE, link_mtu: None }
    }

    #[test]
    fn tcp_at_25_gbits_of_link() {
        let frames = Frames::for_payload(&framing(Network::V4, Header::TCP_TIMESTAMPS), 1448, None).unwrap();
        let wire = frames.carry(BitRate(22_500_000_000), Some(BitRate(25_000_000_000)));
        assert_eq!(wire.frame, Some(1518));
        assert_eq!(wire.packets_per_second.unwrap().to_string(), "1.94 Mpps");
        assert_eq!(format!("{:.1}", wire.line_rate_share.unwrap() * 100.0), "95.6");
        assert_eq!(wire.rate, Some(BitRate(23_898_480_663)));
    }

    #[test]
    fn a_datagram_of_8192_bytes_takes_six_fragments() {
        let frames = Frames::for_payload(&framing(Network::V4, Header::Udp), 8192, Some(1472)).unwrap();
        // 5 × 1480 bytes and a last one of 800, each with 20 of IP, 18 of Ethernet, 20 of preamble and gap.
        assert_eq!(frames, Frames { payload: 8192, count: 6, largest: 1518, wire: 5 * 1538 + 858 });
    }

    #[test]
    fn ipv6_loses_eight_bytes_of_each_fragment_to_the_extension_header() {
        let frames = Frames::for_payload(&framing(Network::V6, Header::Udp), 8192, Some(1452)).unwrap();
        // 1500 − 40 − 8 = 1452, down to a multiple of 8: 1448; 8200 / 1448 → 6 with 960 in the last.
        assert_eq!(frames, Frames { payload: 8192, count: 6, largest: 1514, wire: 5 * 1534 + 1046 });
    }

    #[test]
    fn the_largest_payload_that_fits_is_one_frame_and_a_byte_more_is_two() {
        let udp = framing(Network::V4, Header::Udp);
        let fits = Frames::for_payload(&udp, 1472, Some(1472)).unwrap();
        assert_eq!((fits.count, fits.largest, fits.wire), (1, 1518, 1538));
        let over = Frames::for_payload(&udp, 1473, Some(1472)).unwrap();
        // The last fragment carries one byte and is padded to the least frame.
        assert_eq!((over.count, over.wire), (2, 1538 + 84));
    }

    #[test]
    fn impossible_sizes_give_no_rate() {
        let udp = framing(Network::V4, Header::Udp);
        assert_eq!(Frames::for_payload(&udp, u32::MAX, None), None);
        assert_eq!(Frames::for_payload(&framing(Network::V6, Header::Udp), 100, Some(3)), None);
    }

    proptest! {
        #[test]
        fn fragments_carry_the_datagram_and_no_more(payload in 1_u32..=65_507, path in 8_u32..=9_000, v6: bool) {
            let network = if v6 { Network::V6 } else { Network::V4 };
            let frames = Frames::for_payload(&framing(network, Header::Udp), payload, Some(path)).unwrap();
            let each = network.header() + if frames.count > 1 { fragment_header(network) } else { 0 } + 18 + 20;
            let carried = u64::from(payload) + 8;
            prop_assert!(frames.wire >= carried + frames.count * each);
            // Only the last may be padded, and at most up to 64 bytes.
            let padding = if frames.largest == 64 { frames.count * 46 } else { 46 };
            prop_assert!(frames.wire <= carried + frames.count * each + padding);
            prop_assert!(frames.count > 1 || payload <= path);
        }
    }
}
