//! When the kernel or the network card saw a packet: switching packet timestamps on, and reading them.

use crate::cmsg::ControlMessage;
use crate::error::Result;
use crate::options::{Opt, set_int};
use crate::sockaddr::array;
use std::os::fd::AsFd;
use units::time::WallTime;

/// An instant of a network card's own clock in nanoseconds; comparable with others of the same card alone, unless
/// something (ptp4l, phc2sys) keeps that clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NicTime(pub u64);

/// The packets that [`set_timestamping`] takes the time of. The network card's time is added where its driver is configured to
/// take it (`hwstamp_ctl`, `SIOCSHWTSTAMP`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamping {
    /// Received packets: the time comes with the message.
    pub receive: bool,
    /// Sent packets: the time comes through the error queue ([`crate::error_queue`]), with the number of the send call
    /// (UDP) or the offset of the last byte (TCP), both counted from the moment this is switched on.
    pub transmit: bool,
}

/// The times of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketTimes {
    /// By the kernel, on `CLOCK_REALTIME`.
    pub kernel: Option<WallTime>,
    /// By the network card.
    pub nic: Option<NicTime>,
}

/// Adds to every received message the time the kernel received it (`SO_TIMESTAMPNS`, socket(7)).
///
/// When no other socket of the host has times enabled, the kernel needs a moment to begin: what arrives meanwhile carries the
/// time it was *read* at. Switch this on well before measuring.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_receive_time(fd: &impl AsFd, on: bool) -> Result<()> {
    set_int(fd, SO_TIMESTAMPNS, u32::from(on))
}

/// Takes the times of `which` packets (`SO_TIMESTAMPING`, Documentation/networking/timestamping.rst). Times of the network card
/// are added to the kernel's, where it has them.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_timestamping(fd: &impl AsFd, which: Timestamping) -> Result<()> {
    let receive = if which.receive { RX_HARDWARE | RX_SOFTWARE } else { 0 };
    let transmit = if which.transmit { TX_HARDWARE | TX_SOFTWARE | OPT_ID | OPT_TSONLY } else { 0 };
    let report = if which == Timestamping::default() { 0 } else { SOFTWARE | RAW_HARDWARE };
    set_int(fd, SO_TIMESTAMPING, receive | transmit | report)
}

/// The times in a control message, if it is one of times.
#[must_use]
pub fn packet_times(note: &ControlMessage<'_>) -> Option<PacketTimes> {
    let nic = match (note.level, note.kind) {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => None,
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => nanos(note.data, 2 * TIMESPEC).map(NicTime),
        _ => return None,
    };
    Some(PacketTimes { kernel: nanos(note.data, 0).map(WallTime), nic })
}

/// The `struct timespec` at `at`; `None` for a time before 1970, for zero (which the kernel writes for "none"), and
/// where the bytes end early.
fn nanos(bytes: &[u8], at: usize) -> Option<u64> {
    let seconds = u64::try_from(i64::from_ne_bytes(array(bytes, at)?)).ok()?;
    let nanos = u64::try_from(i64::from_ne_bytes(array(bytes, at + 8)?)).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos).filter(|&time| time > 0)
}

const SO_TIMESTAMPNS: Opt = Opt(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, "SO_TIMESTAMPNS");
const SO_TIMESTAMPING: Opt = Opt(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, "SO_TIMESTAMPING");
/// A `struct timespec` of 64-bit Linux.
const TIMESPEC: usize = 16;
// linux/net_tstamp.h
const TX_HARDWARE: u32 = 1;
const TX_SOFTWARE: u32 = 1 << 1;
const RX_HARDWARE: u32 = 1 << 2;
const RX_SOFTWARE: u32 = 1 << 3;
const SOFTWARE: u32 = 1 << 4;
const RAW_HARDWARE: u32 = 1 << 6;
const OPT_ID: u32 = 1 << 7;
const OPT_TSONLY: u32 = 1 << 11;

#[cfg(test)]
mod tests {
    use super::*;

    fn timespecs(times: &[(i64, i64)]) -> Vec<u8> {
        times.iter().flat_map(|(s, n)| [s.to_ne_bytes(), n.to_ne_bytes()]).flatten().collect()
    }

    fn note(kind: i32, data: &[u8]) -> ControlMessage<'_> {
        ControlMessage { level: libc::SOL_SOCKET, kind, data }
    }

    #[test]
    fn both_clocks_are_read_and_zero_is_none() {
        let data = timespecs(&[(2, 5), (0, 0), (3, 7)]);
        let times = packet_times(&note(libc::SCM_TIMESTAMPING, &data)).unwrap();
        assert_eq!(times.kernel, Some(WallTime(2_000_000_005)));
        assert_eq!(times.nic, Some(NicTime(3_000_000_007)));
        let data = timespecs(&[(2, 5), (0, 0), (0, 0)]);
        assert_eq!(packet_times(&note(libc::SCM_TIMESTAMPING, &data)).unwrap().nic, None);
    }

    #[test]
    fn what_is_no_time_is_none() {
        let data = timespecs(&[(-1, 5)]);
        assert_eq!(packet_times(&note(libc::SCM_TIMESTAMPNS, &data)).unwrap(), PacketTimes::default());
        assert_eq!(packet_times(&note(libc::SCM_TIMESTAMPNS, &data[..15])).unwrap(), PacketTimes::default());
        assert_eq!(packet_times(&note(libc::SO_RXQ_OVFL, &data)), None);
    }
}
