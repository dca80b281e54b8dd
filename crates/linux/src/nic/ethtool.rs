//! Reports of drivers through the `SIOCETHTOOL` ioctl: driver name, link speed, features.
//!
//! Source: `include/uapi/linux/ethtool.h`. The ioctl acts in the network namespace of the socket it is made on,
//! unlike `/sys/class/net`, which shows the namespace in which `/sys` was mounted.
//!
//! The calls go through libc: rustix has none of its requests.

use super::PacketClock;
use super::mode::LinkMode;
use crate::error::{Named, Result, check};
use crate::netlink::{text, u32_at, u64_at};
use crate::sockaddr::interface_request;
use std::collections::BTreeSet;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use units::Nanos;

/// One interface, and the socket for its requests.
#[derive(Debug)]
pub(super) struct Ethtool<'a> {
    socket: UdpSocket,
    name: &'a str,
}

impl<'a> Ethtool<'a> {
    /// Makes ready to ask this interface of the calling thread's namespace.
    pub(super) fn open(name: &'a str) -> Result<Self> {
        // Any socket will do: it only selects the namespace.
        let socket = UdpSocket::bind("0.0.0.0:0").named("open a socket to ask", || name.into())?;
        Ok(Self { socket, name })
    }

    /// The driver's name; `None` when it does not say.
    pub(super) fn driver(&self) -> Option<String> {
        let mut info = request(GDRVINFO, DRVINFO);
        self.ask(&mut info).ok()?;
        info.get(4..36).map(text).filter(|name| !name.is_empty())
    }

    /// The speed the driver states, and what the link could do; `None` of what it does not know.
    pub(super) fn mode(&self) -> LinkMode {
        self.link_settings().map(|settings| LinkMode::read(&settings)).unwrap_or_default()
    }

    fn link_settings(&self) -> Option<Vec<u8>> {
        let mut settings = request(GLINKSETTINGS, LINK_SETTINGS);
        self.ask(&mut settings).ok()?;
        // The first answer only contains, as a negative number, how many words the bit maps behind need.
        let count = usize::from(settings[LINK_MODE_WORDS].cast_signed().unsigned_abs());
        let mut settings = request(GLINKSETTINGS, LINK_SETTINGS + count * 3 * 4);
        settings[LINK_MODE_WORDS] = u8::try_from(count).ok()?;
        self.ask(&mut settings).ok()?;
        Some(settings)
    }

    /// The driver's own counters by their names.
    pub(super) fn counters(&self) -> io::Result<Vec<(String, u64)>> {
        let names = self.names(SS_STATS)?;
        let mut values = request(GSTATS, 8 + names.len() * 8);
        values[4..8].copy_from_slice(&u32::try_from(names.len()).unwrap_or(0).to_ne_bytes());
        self.ask(&mut values)?;
        let counter = |(place, name): (usize, String)| Some((name, u64_at(&values, 8 + place * 8)?));
        Ok(names.into_iter().enumerate().filter_map(counter).collect())
    }

    /// The clock that takes the times of packets (`struct ethtool_ts_info`, `struct hwtstamp_config`).
    pub(super) fn packet_clock(&self) -> PacketClock {
        let mut info = request(GET_TS_INFO, TS_INFO);
        let can = self.ask(&mut info).is_ok()
            && u32_at(&info, 4).is_some_and(|kinds| kinds & HARDWARE_TIMES == HARDWARE_TIMES);
        if !can {
            return PacketClock::Kernel;
        }
        let mut config = vec![0; HWTSTAMP_CONFIG];
        // Which packets it times: sent, received.
        let reported = self.ioctl(SIOCGHWTSTAMP, &mut config).is_ok();
        let is_on = |at| u32_at(&config, at).is_some_and(|setting| setting != 0);
        if reported && is_on(4) && is_on(8) { PacketClock::InterfaceOn } else { PacketClock::InterfaceOff }
    }

    /// `rx_coalesce_usecs` of `struct ethtool_coalesce`.
    pub(super) fn coalescing(&self) -> Option<Nanos> {
        let mut settings = request(GCOALESCE, COALESCE);
        self.ask(&mut settings).ok()?;
        u32_at(&settings, 4).map(|micros| Nanos::from_micros(micros.into()))
    }

    /// The kernel's names of the features that are on; empty when the kernel does not say.
    pub(super) fn features(&self) -> BTreeSet<String> {
        self.read_features().unwrap_or_default()
    }

    /// Switches the features that `is_meant` by their names on or off.
    pub(super) fn set_features(&self, is_meant: impl Fn(&str) -> bool, on: bool) -> io::Result<()> {
        let names = self.names(SS_FEATURES)?;
        let blocks = names.len().div_ceil(32);
        let mut request = request(SFEATURES, 8 + blocks * 8);
        request[4..8].copy_from_slice(&u32::try_from(blocks).unwrap_or(0).to_ne_bytes());
        for (feature, _) in names.iter().enumerate().filter(|(_, name)| is_meant(name)) {
            // Each block has the bits that are meant, and their new values.
            let at = 8 + feature / 32 * 8;
            let bit = 1_u32 << (feature % 32);
            for (at, bit) in [(at, bit), (at + 4, if on { bit } else { 0 })] {
                let bits = u32_at(&request, at).unwrap_or(0) | bit;
                request[at..at + 4].copy_from_slice(&bits.to_ne_bytes());
            }
        }
        self.ask(&mut request)
    }

    /// The names of one of the driver's sets.
    fn names(&self, set: u32) -> io::Result<Vec<String>> {
        let mut sets = request(GSSET_INFO, 20);
        sets[8..16].copy_from_slice(&(1u64 << set).to_ne_bytes());
        self.ask(&mut sets)?;
        // A driver without this set leaves its bit out, and nothing stands behind.
        let count = if u64_at(&sets, 8) == Some(0) { 0 } else { u32_at(&sets, 16).unwrap_or(0) };
        // The kernel writes as many names as it has, whatever room there is.
        if count > MOST_NAMES {
            return Err(io::Error::other(format!("{count} names in a set")));
        }
        let length = usize::try_from(count).unwrap_or(0);

        let mut names = request(GSTRINGS, 12 + length * NAME);
        names[4..8].copy_from_slice(&set.to_ne_bytes());
        names[8..12].copy_from_slice(&count.to_ne_bytes());
        self.ask(&mut names)?;
        Ok(names[12..].chunks(NAME).map(text).collect())
    }

    fn read_features(&self) -> Option<BTreeSet<String>> {
        let names = self.names(SS_FEATURES).ok()?;
        let blocks = names.len().div_ceil(32);
        let mut states = request(GFEATURES, 8 + blocks * FEATURE_BLOCK);
        states[4..8].copy_from_slice(&u32::try_from(blocks).ok()?.to_ne_bytes());
        self.ask(&mut states).ok()?;

        let is_on = |feature: usize| {
            // Each block has four words: available, requested, active, never changed.
            let active = u32_at(&states, 8 + feature / 32 * FEATURE_BLOCK + 8);
            active.is_some_and(|bits| bits & (1 << (feature % 32)) != 0)
        };
        let on = names.into_iter().enumerate().filter(|(feature, _)| is_on(*feature));
        Some(on.map(|(_, name)| name).collect())
    }

    fn ask(&self, request: &mut [u8]) -> io::Result<()> {
        self.ioctl(SIOCETHTOOL, request)
    }

    fn ioctl(&self, command: libc::Ioctl, request: &mut [u8]) -> io::Result<()> {
        let mut interface = interface_request(self.name.as_bytes());
        interface.ifr_ifru.ifru_data = request.as_mut_ptr().cast();
        // SAFETY: the kernel reads and writes within `request`, whose length follows from the command and the counts
        // in it; both live through the call.
        check(unsafe { libc::ioctl(self.socket.as_raw_fd(), command, &raw mut interface) }).map(drop)
    }
}

/// A zeroed structure that begins with the command.
fn request(command: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    bytes[..4].copy_from_slice(&command.to_ne_bytes());
    bytes
}

const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// linux/sockios.h; does not exist in a driver without hardware times.
const SIOCGHWTSTAMP: libc::Ioctl = 0x89b1;
const HWTSTAMP_CONFIG: usize = 12;
const GCOALESCE: u32 = 0x0e;
const COALESCE: usize = 92;
const GET_TS_INFO: u32 = 0x41;
const TS_INFO: usize = 44;
/// SOF_TIMESTAMPING_TX_HARDWARE, _RX_HARDWARE and _RAW_HARDWARE (linux/net_tstamp.h).
const HARDWARE_TIMES: u32 = 1 | 1 << 2 | 1 << 6;
const GDRVINFO: u32 = 0x03;
const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;
const GLINKSETTINGS: u32 = 0x4c;
const GSTATS: u32 = 0x1d;
const SS_STATS: u32 = 1;
const SS_FEATURES: u32 = 4;
/// Size of `struct ethtool_drvinfo`; the driver's name is its first field behind the command.
const DRVINFO: usize = 196;
/// Size of `struct ethtool_link_settings` without the bit maps, and where it holds their length.
const LINK_SETTINGS: usize = 48;
const LINK_MODE_WORDS: usize = 15;
const FEATURE_BLOCK: usize = 16;
const NAME: usize = 32;
/// There are about 64 features; drivers with a counter for each of many queues have some thousands.
const MOST_NAMES: u32 = 65_536;
