//! Super-packets split into the packets on the wire, like the kernel's or the card's segmentation.

use super::checksum::Sum;
use super::{Captured, Ip, Segments, be16, be32, header};

/// Makes packets of the wire out of captured ones, in a buffer that it keeps.
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    packet: Vec<u8>,
}

impl Splitter {
    /// Passes each packet of the wire to `take`: the bytes of it that were kept, and its length. `checksum`: the packet's own is
    /// not valid, and is computed.
    ///
    /// Each packet has the length, number (IPv4), sequence number and flags it had on the wire: CWR on the first alone, FIN and
    /// PSH on the last alone. Its checksum is right where the capture kept all of its payload and zero where it did not.
    /// Fragments and super-packets of an unknown kind are passed on unchanged.
    pub fn split(&mut self, captured: &Captured<'_>, checksum: bool, take: &mut dyn FnMut(&[u8], u32)) {
        let payload = captured.length - captured.headers;
        let each = match captured.segments {
            Segments::Of(each) => u32::from(each),
            Segments::Whole if checksum && captured.ip.fragment.is_none() => payload,
            _ => return take(captured.bytes, captured.length),
        };
        if captured.bytes.len() < captured.headers as usize {
            return take(captured.bytes, captured.length);
        }
        let packets = payload.div_ceil(each.max(1)).max(1);
        for index in 0..packets {
            let piece = Piece { index, start: index * each, last: index + 1 == packets };
            let length = (payload - piece.start).min(each);
            self.copy(captured, &piece, length);
            self.fix(captured, &piece, length);
            take(&self.packet, captured.wire_headers() + length);
        }
    }

    fn copy(&mut self, captured: &Captured<'_>, piece: &Piece, length: u32) {
        let (headers, payload) = captured.bytes.split_at(captured.headers as usize);
        let kept = payload.get(piece.start as usize..).unwrap_or_default();
        self.packet.clear();
        match captured.left_out() {
            0 => self.packet.extend_from_slice(headers),
            left_out => {
                self.packet.extend_from_slice(&headers[..header::IPV6]);
                self.packet.extend_from_slice(&headers[header::IPV6 + left_out as usize..]);
                // The jumbo header named the header behind it.
                self.packet[6] = headers[header::IPV6];
            }
        }
        self.packet.extend_from_slice(&kept[..kept.len().min(length as usize)]);
    }

    /// Writes the fields that differ from packet to packet. The headers are all present.
    fn fix(&mut self, captured: &Captured<'_>, piece: &Piece, length: u32) {
        let packet = self.packet.as_mut_slice();
        let total = captured.wire_headers() + length;
        let transport = (captured.ip.header - captured.left_out()) as usize;
        if captured.ip.source.is_ipv4() {
            fix_v4(&mut packet[..transport], piece, total);
        } else {
            put16(packet, 4, (total - header::IPV6 as u32) as u16);
        }
        let whole = packet.len() == total as usize;
        let segment = &mut packet[transport..];
        let checksum = match captured.ip.protocol {
            Ip::TCP if segment.len() >= header::TCP => {
                fix_tcp(segment, piece);
                16
            }
            Ip::UDP if segment.len() >= header::UDP => {
                put16(segment, 4, (total as usize - transport) as u16);
                6
            }
            _ => return,
        };
        put16(segment, checksum, 0);
        if whole {
            let ip = &captured.ip;
            let sum = Sum::pseudo_header(ip.source, ip.destination, ip.protocol, segment.len() as u32);
            let sum = sum + Sum::over(segment);
            put16(segment, checksum, if ip.protocol == Ip::UDP { sum.of_udp() } else { sum.checksum() });
        }
    }
}

/// A packet of a super-packet.
struct Piece {
    index: u32,
    /// Offset of its payload in that of the whole.
    start: u32,
    last: bool,
}

fn fix_v4(bytes: &mut [u8], piece: &Piece, total: u32) {
    put16(bytes, 2, total as u16);
    let id = be16(bytes, 4).unwrap_or(0);
    let may_not_be_cut = be16(bytes, 6).unwrap_or(0) & header::DONT_FRAGMENT != 0;
    // Number 0 with DF carries no meaning (RFC 6864): merged packets with it all had it.
    if id != 0 || !may_not_be_cut {
        put16(bytes, 4, id.wrapping_add(piece.index as u16));
    }
    put16(bytes, 10, 0);
    put16(bytes, 10, Sum::over(bytes).checksum());
}

fn fix_tcp(segment: &mut [u8], piece: &Piece) {
    let sequence = be32(segment, 4).unwrap_or(0).wrapping_add(piece.start);
    segment[4..8].copy_from_slice(&sequence.to_be_bytes());
    if piece.index > 0 {
        segment[13] &= !CWR;
    }
    if !piece.last {
        segment[13] &= !(FIN | PSH);
    }
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

#[cfg(test)]
mod tests;
