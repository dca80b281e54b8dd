//! Writing a request as 2.1.8 does.

use super::{
    Amount, BASE_LEN, HAS_TRANSFER_ID, HUNDREDTH, LOWER, MAX_AMOUNT, PREFETCH, Places, RATE, Rate, Request,
    STREAMS_MASK, Shape, TCP_LEN, TCP_TAIL, TOS, TRANSFER_ID_SHIFT, Traffic, UDP_LEN, UDP_TAIL, UPPER,
    VERSION, Version,
};
use crate::iperf2::fields::{put, put_half, put_time};
use crate::iperf2::flags;
use crate::iperf2::frames::Frames;
use model::plan::Transport;

impl Request {
    /// The header as 2.1.8 writes it: at the front of a TCP connection, or the bytes every datagram of a UDP flow
    /// begins with, the first [`DATAGRAM_LEN`](crate::iperf2::DATAGRAM_LEN) (number and time) left empty.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let places = Places::for_transport(self.transport);
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
        let fields = [first, id | self.streams & STREAMS_MASK, self.port.into(), self.length, 0, amount];
        fields.iter().enumerate().for_each(|(index, word)| put(bytes, at + 4 * index, *word));
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

    /// The length in the header, and its bytes without a key.
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
