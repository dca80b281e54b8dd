//! What a client asks for: the test header, at the front of a TCP connection and in every UDP datagram.
//!
//! ```text
//! 0       4         8      12       16      20       24         32      34      36        44    46    48     56
//! | flags | threads | port | length | window| amount | type,len | upper | lower | version | 0   | tos | rate | prefetch |
//! ```
//!
//! That is the base (24 bytes, all there is of a client before 2.0.10, and only with `-d` or `-r`) and the extension:
//! 36 bytes up to 2.1, 40 from 2.2 on. What may follow is at the same places in all versions: in TCP the start time
//! at 64, the pacing rate at 72, the frames' settings at 80 and the congestion control at 112; in UDP, where the
//! header is at 16 and a frame record follows it, at 112, 120 and 128.

use super::fields::{half, put, put_half, put_time, time, word};
use super::flags;
use super::frames::Frames;
use model::plan::Transport;
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};

/// A test as a client asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What carries it.
    pub transport: Transport,
    /// Who sends, and on which connection.
    pub traffic: Traffic,
    /// Connections of this client in one direction (`-P`).
    pub streams: u32,
    /// Number the client gives to the server's report (`--sync-transfer-id`), below 2048.
    pub transfer_id: Option<u16>,
    /// Where the server connects back to ([`Traffic::Dual`], [`Traffic::Tradeoff`]).
    pub port: u16,
    /// Bytes of one write or UDP payload, where the client was given one; 0: the default.
    pub length: u32,
    /// When a sender stops.
    pub amount: Amount,
    /// Absent: the base header alone, as clients before 2.0.10 send it with `-d` and `-r`; then nothing below is known.
    pub version: Option<Version>,
    /// UDP: sequence numbers have 64 bits.
    pub wide: bool,
    /// The rate to send with; absent: as fast as possible.
    pub rate: Option<Rate>,
    /// TOS or traffic-class byte.
    pub tos: u8,
    /// One-way delays are wanted: the client's clock is right (`--trip-times`).
    pub trip_times: bool,
    /// When the client began, or with [`Request::starts_then`] will begin.
    pub start: Option<WallTime>,
    /// Sending begins at [`Request::start`] (`--txstart-time`).
    pub starts_then: bool,
    /// SO_MAX_PACING_RATE of the client.
    pub fq_rate: Option<BitRate>,
    /// How the data is cut.
    pub shape: Shape,
    /// UDP: there is no FIN and no report (`--no-udp-fin`).
    pub no_fin: bool,
    /// TCP: an acknowledgement is wanted whatever the test (`-X`).
    pub peer_detect: bool,
    /// TCP: the server is to acknowledge at once.
    pub quick_ack: bool,
    /// TCP: TCP_NOTSENT_LOWAT of the server's writes.
    pub prefetch: Option<u32>,
    /// TCP: congestion control of the server, from 2.2 on.
    pub congestion: Option<String>,
    /// TCP: offset and length are in the header, the key itself comes behind ([`Request::key_len`]).
    pub key: Option<Vec<u8>>,
}

/// Who sends, and on which connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Traffic {
    /// The client.
    Forward,
    /// The server, on the client's connection (`-R`).
    Reverse,
    /// Both at once, on the client's connection (`--full-duplex`).
    FullDuplex,
    /// The client, and at the same time the server on a connection that it opens (`-d`).
    Dual,
    /// The client, and after it the server on a connection that it opens (`-r`).
    Tradeoff,
}

/// When a sender stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// After this time; travels in hundredths of a second.
    Time(Nanos),
    /// After these payload bytes; of the number the low 31 bits travel.
    Bytes(Bytes),
}

/// A rate to send with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Payload bits.
    Bits(BitRate),
    /// Datagrams or writes a second. 2.1 and 2.2 never say so: with `-b 1000pps` they send 1000 bits.
    Packets(u64),
}

/// How the data is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Not at all.
    Stream,
    /// Frames at a constant rate; their settings, where the server sends them too.
    Isochronous(Option<Frames>),
    /// Bursts with a period, TCP (`--burst-period`): the settings' rate and size.
    Bursts(Frames),
}

/// An iPerf2 version: `0x00020001, 0x00080003` is 2.1.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major and minor, 16 bits each.
    pub upper: u32,
    /// Patch and stage of release, 16 bits each.
    pub lower: u32,
}

/// What [`Request::read`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// More bytes are needed, this many in all.
    More(usize),
    /// A request and the bytes that it takes, its key included.
    Request(Box<Request>, usize),
    /// No header: data of an old client, or of `-C`.
    Plain,
    /// Bits of a header, and what cannot be one.
    Foreign,
}

/// Where things are, by transport.
struct Places {
    /// The base header.
    base: usize,
    /// Start time, pacing rate, settings.
    tail: usize,
}

impl Request {
    /// A ten-second test of one stream, as 2.1.8 asks for it.
    #[must_use]
    pub fn new(transport: Transport) -> Request {
        Request {
            transport,
            traffic: Traffic::Forward,
            streams: 1,
            transfer_id: None,
            port: super::PORT,
            length: 0,
            amount: Amount::Time(Nanos::from_secs(10)),
            version: Some(Version::OURS),
            wide: transport == Transport::Udp,
            rate: None,
            tos: 0,
            trip_times: false,
            start: None,
            starts_then: false,
            fq_rate: None,
            shape: Shape::Stream,
            no_fin: false,
            peer_detect: false,
            quick_ack: false,
            prefetch: None,
            congestion: None,
            key: None,
        }
    }

    /// Reads the header at the front of a TCP connection or in a UDP datagram, whole or in part. A datagram is all
    /// there is: [`Header::More`] means it is too short for what it says.
    #[must_use]
    pub fn read(transport: Transport, bytes: &[u8]) -> Header {
        let places = Places::of(transport);
        let Some(first) = word(bytes, places.base) else { return Header::More(places.base + 4) };
        if first & (flags::VERSION1 | flags::VERSION2 | flags::EXTEND) == 0 || first == DIGITS {
            return Header::Plain;
        }
        let Some(length) = header_len(first, places.base) else { return Header::Foreign };
        let needed = if transport == Transport::Tcp { length } else { places.smallest(first) };
        if bytes.len() < needed {
            return Header::More(needed);
        }
        let Some((key, total)) = read_key(first, bytes, length) else {
            return Header::More(length + MAX_KEY);
        };
        // The length of a datagram's header leaves out what follows the frame record.
        let header = if transport == Transport::Tcp { &bytes[..length] } else { bytes };
        match parse(transport, first, header) {
            Some(request) if total <= bytes.len() => {
                Header::Request(Box::new(Request { key, ..request }), total)
            }
            Some(_) => Header::More(total),
            None => Header::Foreign,
        }
    }

    /// The header as 2.1.8 writes it: at the front of a TCP connection, or the bytes every datagram of a UDP flow
    /// begins with, the first [`DATAGRAM_LEN`](super::DATAGRAM_LEN) (number and time) left empty.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let places = Places::of(self.transport);
        if self.version.is_none() {
            return self.base_bytes(&places);
        }
        let (length, size) = self.sizes();
        let mut bytes = vec![0; size];
        let keyed = if self.key.is_some() { 2 } else { 0 };
        let first = self.first_word() | flags::LENGTH | ((length + keyed) << 1) as u32;
        self.put_base(&mut bytes, places.base, first);
        self.put_extension(&mut bytes, places.base);
        if size >= places.tail + 16 {
            self.put_tail(&mut bytes, places.tail);
        }
        if let Some(key) = &self.key {
            bytes.extend_from_slice(&(key.len() as u16).to_be_bytes());
            bytes.extend_from_slice(key);
        }
        bytes
    }

    /// Bytes that a permit key takes behind the header.
    #[must_use]
    pub fn key_len(&self) -> usize {
        self.key.as_ref().map_or(0, Vec::len)
    }

    /// Does the server write an [`Ack`](super::Ack) before anything else? A plain client gets one too.
    #[must_use]
    pub fn wants_ack(&self) -> bool {
        let reused = matches!(self.traffic, Traffic::Reverse | Traffic::FullDuplex);
        self.transport == Transport::Tcp && self.version.is_some() && (self.peer_detect || !reused)
    }

    /// Does the server send on the client's connection?
    #[must_use]
    pub fn server_sends(&self) -> bool {
        matches!(self.traffic, Traffic::Reverse | Traffic::FullDuplex)
    }

    /// Does the client send on its connection?
    #[must_use]
    pub fn client_sends(&self) -> bool {
        self.traffic != Traffic::Reverse
    }

    fn base_bytes(&self, places: &Places) -> Vec<u8> {
        let mut bytes = vec![0; places.base + BASE_LEN];
        self.put_base(&mut bytes, places.base, self.first_word());
        bytes
    }

    fn first_word(&self) -> u32 {
        let mut first = match self.traffic {
            Traffic::Forward => 0,
            Traffic::Reverse | Traffic::FullDuplex => flags::VERSION2,
            Traffic::Dual => flags::VERSION1 | flags::RUN_NOW,
            Traffic::Tradeoff => flags::VERSION1,
        };
        let udp = self.transport == Transport::Udp;
        let more = self.server_sends() || self.has_tail() || self.no_fin;
        let bits = [
            (self.version.is_some(), flags::EXTEND),
            (self.transfer_id.is_some(), flags::VERSION1),
            (udp && self.wide, flags::WIDE),
            (udp && more, flags::UDP_TESTS),
            (self.peer_detect, flags::PEER_DETECT | flags::VERSION2),
            (self.key.is_some(), flags::KEY),
        ];
        bits.iter().filter(|(set, _)| *set).for_each(|(_, bit)| first |= bit);
        first
    }

    fn put_base(&self, bytes: &mut [u8], at: usize, first: u32) {
        let id =
            self.transfer_id.map_or(0, |id| HAS_TRANSFER_ID | u32::from(id & 0x7ff) << TRANSFER_ID_SHIFT);
        let amount = match self.amount {
            Amount::Time(time) => (time.0.div_ceil(HUNDREDTH).min(MAX_AMOUNT) as u32).wrapping_neg(),
            Amount::Bytes(bytes) => (bytes.0 & MAX_AMOUNT) as u32,
        };
        let words = [first, id | self.streams & STREAMS_MASK, self.port.into(), self.length, 0, amount];
        words.iter().enumerate().for_each(|(index, word)| put(bytes, at + 4 * index, *word));
    }

    fn put_extension(&self, bytes: &mut [u8], base: usize) {
        put_half(bytes, base + UPPER, self.upper());
        put_half(bytes, base + LOWER, if self.congestion.is_some() { flags::CONGESTION } else { 0 });
        let version = self.version.unwrap_or(Version::OURS);
        put(bytes, base + VERSION, version.upper);
        put(bytes, base + VERSION + 4, version.lower);
        put_half(bytes, base + TOS, self.tos.into());
        let rate = match self.rate {
            Some(Rate::Bits(rate)) => rate.0,
            Some(Rate::Packets(rate)) => rate,
            None => 0,
        };
        put(bytes, base + RATE, rate as u32);
        put(bytes, base + RATE + 4, ((rate >> 32) as u32) << 8);
        put(bytes, base + PREFETCH, self.prefetch.unwrap_or(0));
    }

    fn put_tail(&self, bytes: &mut Vec<u8>, tail: usize) {
        if let Some(start) = self.start {
            put_time(bytes, tail, start);
        }
        let fq = self.fq_rate.map_or(0, |rate| rate.0 / 8);
        put(bytes, tail + 8, fq as u32);
        put(bytes, tail + 12, (fq >> 32) as u32);
        if let Shape::Isochronous(Some(frames)) | Shape::Bursts(frames) = self.shape {
            frames.write(&mut bytes[tail + 16..]);
        }
        if let Some(name) = &self.congestion {
            bytes.extend_from_slice(&(name.len() as u16).to_be_bytes());
            bytes.extend_from_slice(name.as_bytes());
        }
    }

    fn upper(&self) -> u16 {
        let settings = matches!(self.shape, Shape::Isochronous(Some(_))) && self.transport == Transport::Udp;
        let bits = [
            (matches!(self.shape, Shape::Isochronous(_)), flags::ISOCHRONOUS),
            (matches!(self.shape, Shape::Bursts(_)), flags::BURSTS),
            (settings, flags::FRAMES),
            (self.no_fin, flags::NO_FIN),
            (self.trip_times, flags::TRIP_TIMES),
            (matches!(self.rate, Some(Rate::Packets(_))), flags::PACKETS),
            (self.fq_rate.is_some(), flags::FQ_RATE),
            (self.traffic == Traffic::Reverse, flags::REVERSE),
            (self.traffic == Traffic::FullDuplex, flags::FULL_DUPLEX),
            (self.starts_then, flags::STARTS),
            (self.prefetch.is_some(), flags::PREFETCH),
            (self.quick_ack, flags::QUICK_ACK),
        ];
        bits.iter().filter(|(set, _)| *set).fold(0, |all, (_, bit)| all | bit)
    }

    fn has_tail(&self) -> bool {
        self.trip_times || self.starts_then || self.fq_rate.is_some() || self.shape != Shape::Stream
    }

    /// The length the header says, and the bytes it takes without a key.
    fn sizes(&self) -> (usize, usize) {
        let settings = matches!(self.shape, Shape::Isochronous(Some(_)) | Shape::Bursts(_));
        let (tail, frames) =
            (self.has_tail() || self.congestion.is_some(), usize::from(settings) * Frames::LEN);
        match self.transport {
            Transport::Udp if tail => (UDP_LEN + Frames::LEN + frames, UDP_TAIL + 16 + frames),
            Transport::Udp => (UDP_LEN, UDP_LEN),
            Transport::Tcp => {
                let named = self.congestion.as_ref().map_or(0, |name| 2 + name.len() + Frames::LEN - frames);
                let size = if tail { TCP_TAIL + 16 + frames } else { TCP_LEN };
                (size + named, size + named.min(Frames::LEN - frames))
            }
        }
    }
}

impl Places {
    fn of(transport: Transport) -> Places {
        match transport {
            Transport::Tcp => Places { base: 0, tail: TCP_TAIL },
            Transport::Udp => Places { base: super::DATAGRAM_LEN, tail: UDP_TAIL },
        }
    }

    /// The bytes a datagram must have for what its first word says.
    fn smallest(&self, first: u32) -> usize {
        self.base + if first & flags::EXTEND == 0 { BASE_LEN } else { BASE_LEN + EXTENSION_LEN }
    }
}

impl Version {
    /// What this end says it is: it writes and reads as that version.
    pub const OURS: Version = Version { upper: 0x0002_0001, lower: 0x0008_0003 };
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (upper, lower) = (self.upper, self.lower);
        write!(f, "{}.{}.{}", upper >> 16, upper & 0xffff, lower >> 16)
    }
}

/// Where the header ends; `None`: no client says so.
fn header_len(first: u32, base: usize) -> Option<usize> {
    let extended = first & (flags::EXTEND | flags::VERSION2) != 0;
    let smallest = base + if extended { BASE_LEN + EXTENSION_LEN } else { BASE_LEN };
    if first & flags::LENGTH == 0 {
        // Bits of a length that is said not to be there: bytes of something else.
        return (first & flags::LENGTH_MASK == 0).then_some(smallest);
    }
    let said = ((first & flags::LENGTH_MASK) >> 1) as usize;
    (smallest..=MAX_HEADER).contains(&said).then_some(said)
}

/// The key and where it ends; `None`: it has not come.
fn read_key(first: u32, bytes: &[u8], length: usize) -> Option<(Option<Vec<u8>>, usize)> {
    if first & flags::KEY == 0 {
        return Some((None, length.min(bytes.len())));
    }
    let size = usize::from(half(bytes, length.checked_sub(2)?)?).min(MAX_KEY);
    let key = bytes.get(length..length + size)?;
    Some((Some(key.to_vec()), length + size))
}

fn parse(transport: Transport, first: u32, bytes: &[u8]) -> Option<Request> {
    let places = Places::of(transport);
    let at = |index: usize| word(bytes, places.base + 4 * index);
    let (threads, port, length, amount) = (at(1)?, at(2)?, at(3)?, at(5)?);
    let transfer_id = (threads & HAS_TRANSFER_ID != 0)
        .then_some((threads >> TRANSFER_ID_SHIFT & 0x7ff) as u16)
        .filter(|_| first & flags::VERSION1 != 0);
    let legacy = transfer_id.is_none() && first & (flags::VERSION1 | flags::VERSION2) == flags::VERSION1;
    let request = Request {
        streams: threads & STREAMS_MASK,
        transfer_id,
        port: u16::try_from(port).ok()?,
        length,
        amount: amount_of(amount as i32),
        version: None,
        wide: first & flags::WIDE != 0,
        traffic: match (legacy, first & flags::RUN_NOW != 0) {
            (true, true) => Traffic::Dual,
            (true, false) => Traffic::Tradeoff,
            (false, _) => Traffic::Forward,
        },
        ..Request::new(transport)
    };
    if first & flags::EXTEND == 0 { Some(request) } else { extend(request, first, &places, bytes) }
}

/// Reads the extension and what follows it.
fn extend(request: Request, first: u32, places: &Places, bytes: &[u8]) -> Option<Request> {
    let (base, tail) = (places.base, places.tail);
    if word(bytes, base + TYPE)? != 0 || word(bytes, base + TYPE + 4)? != 0 {
        return None;
    }
    let (upper, lower) = (half(bytes, base + UPPER)?, half(bytes, base + LOWER)?);
    let version = Version { upper: word(bytes, base + VERSION)?, lower: word(bytes, base + VERSION + 4)? };
    let (low, high) = (word(bytes, base + RATE)?, word(bytes, base + RATE + 4)? >> 8);
    let rate = Some(u64::from(high) << 32 | u64::from(low)).filter(|rate| *rate > 0);
    let packets = upper & flags::PACKETS != 0;
    let fq = || Some(u64::from(word(bytes, tail + 12)?) << 32 | u64::from(word(bytes, tail + 8)?));
    let reused = first & flags::VERSION2 != 0;
    Some(Request {
        version: Some(version),
        traffic: match upper {
            _ if reused && upper & flags::FULL_DUPLEX != 0 => Traffic::FullDuplex,
            _ if reused && upper & flags::REVERSE != 0 => Traffic::Reverse,
            _ => request.traffic,
        },
        rate: rate.map(|rate| if packets { Rate::Packets(rate) } else { Rate::Bits(BitRate(rate)) }),
        tos: half(bytes, base + TOS)? as u8,
        trip_times: upper & flags::TRIP_TIMES != 0,
        start: (upper & HAS_START != 0).then(|| time(bytes, tail)).flatten(),
        starts_then: upper & flags::STARTS != 0,
        fq_rate: (upper & flags::FQ_RATE != 0).then(fq).flatten().map(|fq| BitRate(fq.saturating_mul(8))),
        shape: shape_of(request.transport, upper, bytes.get(tail + 16..).unwrap_or_default()),
        no_fin: upper & flags::NO_FIN != 0,
        peer_detect: first & flags::PEER_DETECT != 0,
        quick_ack: upper & flags::QUICK_ACK != 0,
        prefetch: (upper & flags::PREFETCH != 0).then(|| word(bytes, base + PREFETCH)).flatten(),
        congestion: (lower & flags::CONGESTION != 0).then(|| congestion(bytes, tail)).flatten(),
        ..request
    })
}

fn shape_of(transport: Transport, upper: u16, settings: &[u8]) -> Shape {
    if upper & flags::BURSTS != 0 {
        return Shape::Bursts(Frames::read(settings));
    }
    if upper & flags::ISOCHRONOUS == 0 {
        return Shape::Stream;
    }
    let told = match transport {
        Transport::Udp => upper & flags::FRAMES != 0,
        Transport::Tcp => settings.len() >= Frames::LEN,
    };
    // In 2.2 the space is there before a congestion control's name, filled or not.
    Shape::Isochronous(told.then(|| Frames::read(settings)).filter(|frames| frames.period().is_some()))
}

fn congestion(bytes: &[u8], tail: usize) -> Option<String> {
    let at = tail + 16 + Frames::LEN;
    let name = bytes.get(at + 2..at + 2 + usize::from(half(bytes, at)?).min(MAX_CONGESTION))?;
    String::from_utf8(name.to_vec()).ok().filter(|name| name.bytes().all(|b| b.is_ascii_graphic()))
}

fn amount_of(amount: i32) -> Amount {
    if amount < 0 {
        Amount::Time(Nanos(u64::from(amount.unsigned_abs()) * HUNDREDTH))
    } else {
        Amount::Bytes(Bytes(amount as u64))
    }
}

const BASE_LEN: usize = 24;
const EXTENSION_LEN: usize = 36;
const TCP_LEN: usize = BASE_LEN + EXTENSION_LEN;
const UDP_LEN: usize = super::DATAGRAM_LEN + TCP_LEN;
/// Within the header, from its base.
const TYPE: usize = 24;
const UPPER: usize = 32;
const LOWER: usize = 34;
const VERSION: usize = 36;
const TOS: usize = 46;
const RATE: usize = 48;
const PREFETCH: usize = 56;
/// Start time, from the front.
const TCP_TAIL: usize = 64;
const UDP_TAIL: usize = 112;
/// Upper flags with which the start time is filled.
const HAS_START: u16 = flags::TRIP_TIMES | flags::STARTS | flags::FQ_RATE | flags::ISOCHRONOUS;
/// 2.2's longest: all settings, a name of 16 and a length of a key.
const MAX_HEADER: usize = 256;
/// iPerf2's own limit.
const MAX_KEY: usize = 128;
/// TCP_CA_NAME_MAX.
const MAX_CONGESTION: usize = 16;
const HAS_TRANSFER_ID: u32 = 0x8000_0000;
const TRANSFER_ID_SHIFT: u32 = 20;
const STREAMS_MASK: u32 = 0x000f_ffff;
const MAX_AMOUNT: u64 = 0x7fff_ffff;
const HUNDREDTH: u64 = 10_000_000;
/// What fills datagrams without a header: "6789".
const DIGITS: u32 = 0x3637_3839;

#[cfg(test)]
mod tests;
