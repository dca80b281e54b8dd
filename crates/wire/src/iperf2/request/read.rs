//! Reading a request from the first bytes of a flow.

use super::{
    Amount, BASE_LEN, EXTENSION_LEN, HAS_TRANSFER_ID, HUNDREDTH, Header, LOWER, PREFETCH, Places, RATE, Rate,
    Request, STREAMS_MASK, Shape, TOS, TRANSFER_ID_SHIFT, TYPE, Traffic, UPPER, VERSION, Version,
};
use crate::iperf2::fields::{half, time, word};
use crate::iperf2::flags;
use crate::iperf2::frames::Frames;
use model::plan::Transport;
use model::units::{BitRate, Bytes, Nanos};

impl Request {
    /// Reads the header at the front of a TCP connection or in a UDP datagram, whole or in part. A datagram is complete:
    /// [`Header::More`] means that it is shorter than its header requires.
    #[must_use]
    pub fn read(transport: Transport, bytes: &[u8]) -> Header {
        let places = Places::for_transport(transport);
        let Some(first) = word(bytes, places.base) else { return Header::More(places.base + 4) };
        if first & (flags::VERSION1 | flags::VERSION2 | flags::EXTEND) == 0 || first == DIGITS {
            return Header::Plain;
        }
        // Clients that know the second version's bit write the extension.
        if first & (flags::VERSION2 | flags::EXTEND) == flags::VERSION2 {
            return Header::Foreign;
        }
        let Some(length) = header_len(first, places.base) else { return Header::Foreign };
        let needed = if transport == Transport::Tcp { length } else { smallest(places.base, first) };
        if bytes.len() < needed {
            return Header::More(needed);
        }
        // Keys exist over TCP alone, from clients with an extension.
        let has_keys = transport == Transport::Tcp && first & flags::EXTEND != 0;
        let keyless = if has_keys { 0 } else { flags::KEY };
        let Some((key, total)) = read_key(first & !keyless, bytes, length) else {
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
}

/// The bytes that a datagram must have by its first word.
fn smallest(base: usize, first: u32) -> usize {
    base + if first & flags::EXTEND == 0 { BASE_LEN } else { BASE_LEN + EXTENSION_LEN }
}

/// The end of the header; `None`: no client sends such a length.
fn header_len(first: u32, base: usize) -> Option<usize> {
    let smallest = smallest(base, first);
    if first & flags::LENGTH == 0 {
        // A length without its flag: bytes of another protocol.
        return (first & flags::LENGTH_MASK == 0).then_some(smallest);
    }
    let length = ((first & flags::LENGTH_MASK) >> 1) as usize;
    (smallest..=MAX_HEADER).contains(&length).then_some(length)
}

/// The key and its end; `None`: it is incomplete.
fn read_key(first: u32, bytes: &[u8], length: usize) -> Option<(Option<Vec<u8>>, usize)> {
    if first & flags::KEY == 0 {
        return Some((None, length.min(bytes.len())));
    }
    let size = usize::from(half(bytes, length.checked_sub(2)?)?).min(MAX_KEY);
    let key = bytes.get(length..length + size)?;
    Some((Some(key.to_vec()), length + size))
}

fn parse(transport: Transport, first: u32, bytes: &[u8]) -> Option<Request> {
    let places = Places::for_transport(transport);
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
    let reported = match transport {
        Transport::Udp => upper & flags::FRAMES != 0,
        Transport::Tcp => settings.len() >= Frames::LEN,
    };
    // 2.2 reserves the space before a congestion control's name, filled or not.
    Shape::Isochronous(reported.then(|| Frames::read(settings)).filter(|frames| frames.period().is_some()))
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

/// Upper flags with which the start time is filled.
const HAS_START: u16 = flags::TRIP_TIMES | flags::STARTS | flags::FQ_RATE | flags::ISOCHRONOUS;
/// The longest header of 2.2: all settings, a name of 16 bytes and the length of a key.
const MAX_HEADER: usize = 256;
/// iPerf2's own limit.
const MAX_KEY: usize = 128;
/// TCP_CA_NAME_MAX.
const MAX_CONGESTION: usize = 16;
/// Filler of datagrams without a header: "6789".
const DIGITS: u32 = 0x3637_3839;
