//! Wi-Fi: signal, bit rate and retries of the stations of an interface (family `nl80211`).
//!
//! Source: `linux/nl80211.h`.

use super::Reply;
use super::generic::{GENLMSGHDR, generic, open};
use super::message::{Attributes, u16_at};
use crate::error::Result;
use units::BitRate;

/// The other end of a Wi-Fi link: the access point, or a station of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WifiPeer {
    /// Strength of the last frame received, dBm.
    pub signal_dbm: Option<i8>,
    /// Bit rate of the last data frame sent, as the radio sends it: payload gets half to two thirds of it.
    pub tx_rate: Option<BitRate>,
    /// Frames sent.
    pub tx_packets: u64,
    /// Retries: frames repeated because no acknowledgement came.
    pub tx_retries: u64,
}

/// The stations of an interface of the **calling thread's** network namespace; none where it is no Wi-Fi.
///
/// # Errors
/// The kernel has no Wi-Fi at all ([`OsError::is_unsupported`](crate::OsError::is_unsupported)).
pub fn wifi_peers(interface: u32) -> Result<Vec<WifiPeer>> {
    let (mut netlink, family) = open("nl80211")?;
    let mut request = generic(family, GET_STATION, libc::NLM_F_DUMP);
    request.attribute(ATTR_IFINDEX, &interface.to_ne_bytes());
    let object = format!("interface {interface}");
    let replies = match netlink.ask("list the Wi-Fi stations of", &object, vec![request], 1) {
        Err(error) if matches!(error.errno(), Some(libc::ENODEV | libc::EOPNOTSUPP)) => Vec::new(),
        answer => answer?,
    };
    Ok(replies.iter().filter_map(|reply: &Reply| parse(&reply.attributes(GENLMSGHDR))).collect())
}

pub(super) fn parse(attributes: &Attributes<'_>) -> Option<WifiPeer> {
    attributes.value(ATTR_STA_INFO)?;
    let info = attributes.inside(ATTR_STA_INFO);
    let count = |kind: u16| info.u32(kind).map_or(0, u64::from);
    Some(WifiPeer {
        signal_dbm: info.value(SIGNAL).and_then(|value| value.first()).map(|byte| byte.cast_signed()),
        tx_rate: rate(&info.inside(TX_BITRATE)),
        tx_packets: count(TX_PACKETS),
        tx_retries: count(TX_RETRIES),
    })
}

/// In units of 100 kbit/s: the wide field, which rates above 6.5 Gbit/s need, or the narrow one.
fn rate(info: &Attributes<'_>) -> Option<BitRate> {
    let narrow = || u16_at(info.value(RATE_BITRATE)?, 0).map(u32::from);
    let units = info.u32(RATE_BITRATE32).or_else(narrow).filter(|units| *units > 0)?;
    Some(BitRate(u64::from(units) * 100_000))
}

const GET_STATION: u8 = 17;
const ATTR_IFINDEX: u16 = 3;
const ATTR_STA_INFO: u16 = 21;
const SIGNAL: u16 = 7;
const TX_BITRATE: u16 = 8;
const TX_PACKETS: u16 = 10;
const TX_RETRIES: u16 = 11;
const RATE_BITRATE: u16 = 1;
const RATE_BITRATE32: u16 = 5;

#[cfg(test)]
mod tests {
    use super::super::message::Message;
    use super::*;

    /// A station as the kernel dumps it: made by hand in the order of `nl80211_send_station`, with figures of our choice, since no
    /// machine that tests run on has Wi-Fi.
    fn dumped(narrow: bool) -> Message {
        let mut message = generic(28, 19, 0);
        message
            .attribute(ATTR_IFINDEX, &3u32.to_ne_bytes())
            .attribute(6, &[2, 0, 0, 0, 0, 1])
            .attribute(46, &[9, 0, 0, 0]);
        message.nest(ATTR_STA_INFO, |info| {
            info.attribute(1, &120u32.to_ne_bytes()).attribute(SIGNAL, &[(-63i8).cast_unsigned()]);
            info.nest(TX_BITRATE, |rate| {
                if !narrow {
                    rate.attribute(RATE_BITRATE32, &2430u32.to_ne_bytes());
                }
                rate.attribute(RATE_BITRATE, &2430u16.to_ne_bytes()).attribute(2, &[14]).attribute(3, &[]);
            });
            info.attribute(TX_PACKETS, &18_204u32.to_ne_bytes());
            info.attribute(TX_RETRIES, &3_977u32.to_ne_bytes());
            info.attribute(12, &12u32.to_ne_bytes());
            info.nest(14, |rate| {
                rate.attribute(RATE_BITRATE, &60u16.to_ne_bytes());
            });
        });
        message
    }

    fn read(message: Message) -> Option<WifiPeer> {
        let replies = Reply::parse_all(&message.into_bytes(1));
        parse(&replies[0].attributes(GENLMSGHDR))
    }

    #[test]
    fn a_station_has_its_signal_rates_and_retries() {
        let wanted = WifiPeer {
            signal_dbm: Some(-63),
            tx_rate: Some(BitRate(243_000_000)),
            tx_packets: 18_204,
            tx_retries: 3_977,
        };
        assert_eq!(read(dumped(false)), Some(wanted));
        assert_eq!(read(dumped(true)), Some(wanted), "a kernel before 3.8 has the narrow rate alone");
        assert_eq!(read(generic(28, 19, 0)), None);
    }

    #[test]
    fn loopback_is_no_wifi() {
        match wifi_peers(1) {
            Ok(found) => assert_eq!(found, []),
            Err(error) => assert!(error.is_unsupported(), "{error}"),
        }
    }
}
