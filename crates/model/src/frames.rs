//! A sweep over Ethernet frame sizes: what the path carried in frames of each, against line rate.

use crate::framing::LARGEST_UDP_PAYLOAD;
use crate::framing::{
    Encaps, LINUX_MIN_MSS, MIN_FRAME, Network, Room, TcpReach, TcpSegment, Transport as Header,
};
use crate::limit::Limit;
use crate::plan::{Direction, Transport};
use crate::units::{BitRate, Bytes, PacketRate};
use serde::{Deserialize, Serialize};

/// Frame sizes of a sweep that names none: RFC 2544's, and 146, the least that Linux TCP fills.
pub const DEFAULT_SIZES: [Bytes; 8] =
    [Bytes(64), Bytes(128), Bytes(146), Bytes(256), Bytes(512), Bytes(1024), Bytes(1280), Bytes(1518)];

/// One frame size with one transport.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameRow {
    /// Requested Ethernet frame, FCS included, before encapsulation, bytes.
    pub frame: u32,
    /// Contents of the frames.
    pub protocol: Transport,
    /// Direction of the data.
    pub direction: Direction,
    /// MSS set on TCP: the frame without its headers, before options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<u32>,
    /// Payload of one packet as it crossed the wire, mean, bytes; absent when nothing was measured.
    pub payload: Option<f64>,
    /// Packets per second that the sender handed to its kernel, retransmissions included.
    pub offered: Option<PacketRate>,
    /// Payload received per second.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// Packets per second that carried it: goodput over payload.
    pub packets_per_second: Option<PacketRate>,
    /// Frames of the requested size per second at line rate, under the encapsulation; absent without a link's speed.
    pub line_rate_pps: Option<PacketRate>,
    /// Share of the link that the packets filled on the wire, preamble and gap included, 0 to 1.
    pub share: Option<f64>,
    /// Packets lost, as a share of those sent (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_share: Option<f64>,
    /// Headers around the packets, from the outermost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encap: Option<String>,
    /// Sessions at once.
    pub pairs: u64,
    /// The busiest CPU of the sender's host, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu: Option<f64>,
    /// The busiest CPU of the receiver's host, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu: Option<f64>,
    /// The limits of the rate: ids of findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limited_by: Vec<String>,
    /// The limit of the rate, with the kinds and the figures of `throughput`; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<Limit>>,
    /// Counters of the interface toward the target during the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceFrames>,
    /// Why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Remarks that are needed to judge the row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl FrameRow {
    /// Frames of it per second, bits, without preamble and FCS, as the queues of Linux count them; 0: nothing was measured.
    #[must_use]
    pub fn rate_in_frames(&self) -> f64 {
        let packets = self.packets_per_second.map_or(0.0, |rate| rate.0 as f64);
        packets * f64::from(self.frame.saturating_sub(FCS)) * 8.0
    }

    /// Whether the row was measured.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.skipped.is_none()
    }
}

/// Bytes of the frame check sequence.
const FCS: u32 = 4;

/// Frames that an interface counted while the test ran, beside the test's own packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceFrames {
    /// The interface of this host.
    pub interface: String,
    /// Frames in the direction of the data, including those of other programs.
    pub frames: u64,
    /// Packets of the test: datagrams, or TCP segments with payload.
    pub packets: u64,
}

impl DeviceFrames {
    /// By how much the two differ, as a share of the packets: above 0 the interface counted more.
    #[must_use]
    pub fn difference(&self) -> f64 {
        if self.packets == 0 { 0.0 } else { self.frames as f64 / self.packets as f64 - 1.0 }
    }
}

/// The request of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameAsked {
    /// The frame, FCS included, before encapsulation, bytes.
    pub frame: Bytes,
    /// The IP version.
    pub network: Network,
    /// Contents of the frames.
    pub protocol: Transport,
    /// Direction of the data.
    pub direction: Direction,
    /// Headers around the packets.
    pub encaps: Encaps,
}

/// The setting that gives such frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// TCP's MSS.
    Mss(u32),
    /// UDP's payload.
    Payload(u32),
}

impl FrameAsked {
    /// The setting, or the reason why there are no such frames. `mtu`: this host's estimate of the path MTU.
    ///
    /// # Errors
    /// A text: the frame is below Ethernet's least, over the MTU, or too small for this transport's headers.
    pub fn setting(&self, mtu: u32) -> Result<Setting, String> {
        if self.frame < MIN_FRAME {
            return Err(format!("Ethernet's least frame has {} bytes, its FCS included", MIN_FRAME.0));
        }
        let packet = self.frame.saturating_sub(Bytes(ETHERNET));
        if packet.0 > mtu.into() {
            return Err(format!(
                "the path's MTU is {mtu}: frames of {} bytes at most, {} are not sent whole",
                u64::from(mtu) + ETHERNET,
                self.frame.0
            ));
        }
        match self.protocol {
            Transport::Tcp => self.mss(),
            Transport::Udp => self.payload(),
        }
    }

    fn mss(&self) -> Result<Setting, String> {
        let segment = TcpSegment::of_frame(self.network, self.frame).map_err(|error| error.to_string())?;
        let least = LINUX_MIN_MSS.0;
        match (segment.reach, segment.mss) {
            (TcpReach::Reachable, Room::Fits(Bytes(mss @ ..=LARGEST_MSS))) => Ok(Setting::Mss(mss as u32)),
            (TcpReach::Reachable, _) => {
                Err(format!("it cannot: Linux takes an MSS of {LARGEST_MSS} at most"))
            }
            (TcpReach::BelowLinuxMinimum, mss) => Err(format!(
                "it cannot: the MSS would be {mss}, and Linux takes {least} at least, frames of {}; UDP can",
                least + self.overhead(Header::TCP)
            )),
            _ => Err("it cannot: its headers alone fill the frame; UDP can".into()),
        }
    }

    fn payload(&self) -> Result<Setting, String> {
        let headers = self.overhead(Header::Udp);
        let payload = self.frame.0.saturating_sub(headers);
        match u32::try_from(payload) {
            Ok(payload @ LEAST_DATAGRAM..=LARGEST_UDP_PAYLOAD) => Ok(Setting::Payload(payload)),
            Ok(payload) if payload > LARGEST_UDP_PAYLOAD => {
                Err(format!("a datagram holds {LARGEST_UDP_PAYLOAD} bytes at most"))
            }
            _ => Err(format!(
                "a datagram holds {LEAST_DATAGRAM} bytes of ours, which takes frames of {} with {}",
                headers + u64::from(LEAST_DATAGRAM),
                self.network
            )),
        }
    }

    /// Bytes of a frame that are not payload.
    fn overhead(&self, header: Header) -> u64 {
        ETHERNET + self.network.header() + header.header().0
    }

    /// A row without figures.
    #[must_use]
    pub fn row(&self) -> FrameRow {
        let encap = self.encaps.to_string();
        FrameRow {
            frame: u32::try_from(self.frame.0).unwrap_or(u32::MAX),
            protocol: self.protocol,
            direction: self.direction,
            encap: (self.encaps != Encaps::NONE).then_some(encap),
            pairs: 1,
            ..FrameRow::default()
        }
    }
}

/// Addresses, type and FCS.
const ETHERNET: u64 = 18;
/// The header of our datagrams.
const LEAST_DATAGRAM: u32 = 16;
/// `TCP_MAXSEG` of Linux (`MAX_TCP_WINDOW` in `include/net/tcp.h`).
const LARGEST_MSS: u64 = 32_767;

#[cfg(test)]
mod tests;
