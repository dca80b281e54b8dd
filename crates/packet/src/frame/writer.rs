//! Frames written in user space: byte for byte those that the generator in the kernel makes, except for the time in them.

use super::{DESTINATION_PORTS, PortRange, SCATTER, SOURCE_PORTS};
use super::{FrameError, FrameSpec, Offsets, Template};
use crate::checksum::Sum;
use units::time::MonoTime;

/// Writes the frames of one trial.
#[derive(Debug)]
pub struct Writer {
    template: Template,
    offsets: Offsets,
    /// Lengths of the frames, in sequence.
    lengths: Vec<usize>,
    is_mixed: bool,
    is_ipv6: bool,
    has_changing_ports: bool,
    is_timed: bool,
}

impl Writer {
    /// A writer of these frames.
    ///
    /// # Errors
    /// When a size or an address is not valid.
    pub fn new(spec: &FrameSpec) -> Result<Writer, FrameError> {
        Ok(Writer {
            template: spec.template()?,
            offsets: spec.offsets(),
            lengths: spec.lengths().collect(),
            is_mixed: spec.is_mixed(),
            is_ipv6: spec.is_ipv6(),
            has_changing_ports: spec.ports.is_none(),
            is_timed: spec.is_timed(),
        })
    }

    /// The longest frame, with the constant part of every one.
    #[must_use]
    pub fn blank(&self) -> &[u8] {
        &self.template.bytes
    }

    /// Turns a copy of [`Writer::blank`], or a frame written before, into the frame with this number; returns its length.
    pub fn write(&self, frame: &mut [u8], number: u64, time: MonoTime) -> usize {
        let Offsets { udp, payload, .. } = self.offsets;
        let length = self.length(number);
        let mut total = Sum::from(self.template.udp_sum);
        if self.is_mixed {
            total = total + self.write_lengths(frame, length);
        }
        if self.has_changing_ports {
            total = total + put(frame, udp, &port(SOURCE_PORTS, number));
            total = total + put(frame, udp + 2, &port(DESTINATION_PORTS, number));
        }
        total = total + put(frame, payload + 4, &number.to_be_bytes());
        if self.is_timed {
            total = total + put(frame, payload + 12, &time.0.to_be_bytes()[2..]);
        }
        put(frame, udp + 6, &total.of_udp().to_be_bytes());
        length
    }

    /// Length of the frame with this number, bytes without FCS.
    #[must_use]
    pub fn length(&self, number: u64) -> usize {
        self.lengths[(number % self.lengths.len() as u64) as usize]
    }

    /// Writes the lengths in the headers of IP and UDP, and IPv4's checksum; returns the sum that UDP's checksum covers.
    fn write_lengths(&self, frame: &mut [u8], length: usize) -> Sum {
        let Offsets { packet, ip, udp, .. } = self.offsets;
        let of_udp = ((length - udp) as u16).to_be_bytes();
        // The length is once in UDP's header, and once in the pseudo-header of its checksum.
        let once = put(frame, udp + 4, &of_udp);
        if self.is_ipv6 {
            put(frame, ip + 4, &of_udp);
        } else {
            let of_ip = put(frame, ip + 2, &((length - ip) as u16).to_be_bytes());
            let checksum = (Sum::from(self.template.ip_sum) + of_ip).checksum();
            put(frame, ip + 10, &checksum.to_be_bytes());
            if packet < ip {
                put(frame, packet + 4, &((length - ip) as u16).to_be_bytes());
            }
        }
        once + once
    }
}

/// Writes bytes, and returns their sum (RFC 1071).
fn put(frame: &mut [u8], at: usize, bytes: &[u8]) -> Sum {
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    Sum::over(bytes)
}

/// A port of the frame with this number, as in the header.
fn port(PortRange { shift, first, count }: PortRange, number: u64) -> [u8; 2] {
    let bits = number.wrapping_mul(SCATTER) >> shift & 0xffff;
    (first + ((bits * u64::from(count)) >> 16) as u16).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Checks every length and checksum of a frame, as its receiver computes them.
    fn check(frame: &[u8], family: u8, ip: usize) {
        let half = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
        let (udp, addresses) =
            if family == 4 { (ip + 20, ip + 12..ip + 20) } else { (ip + 40, ip + 8..ip + 40) };
        if family == 4 {
            assert_eq!(Sum::over(&frame[ip..udp]).folded(), 0xffff, "the header's checksum");
            assert_eq!(half(ip + 2), frame.len() - ip);
        } else {
            assert_eq!(half(ip + 4), frame.len() - udp);
        }
        assert_eq!(half(udp + 4), frame.len() - udp);
        let pretended =
            Sum::over(&frame[addresses]) + Sum::over(&frame[udp + 4..udp + 6]) + Sum::over(&[0, 17]);
        assert_eq!((pretended + Sum::over(&frame[udp..])).folded(), 0xffff, "UDP's checksum");
        assert_ne!(half(udp + 6), 0, "no checksum at all");
        assert!(half(udp) >= 1024 && (1..=49_151).contains(&half(udp + 2)));
    }

    #[test]
    fn every_frame_of_every_kind_is_well_formed() {
        let kinds: [(u8, Option<u16>, &[u64]); 7] = [
            (4, None, &[64]),
            (4, Some(7), &[68]),
            (4, None, &[64, 1518, 571, 64]),
            (4, Some(4094), &[64, 9018]),
            (6, None, &[78]),
            (6, None, &[84, 1517, 512]),
            (6, Some(1), &[88, 256]),
        ];
        for (family, vlan, sizes) in kinds {
            all_well_formed(FrameSpec::example(family, vlan, sizes));
            if family == 4 {
                all_well_formed(FrameSpec::example(family, vlan, sizes).wrapped());
            }
        }
    }

    fn all_well_formed(spec: FrameSpec) {
        let writer = Writer::new(&spec).unwrap();
        // One frame written again and again, as the sources do.
        let mut frame = writer.blank().to_vec();
        let mut flows = BTreeSet::new();
        for step in 0..2000_u64 {
            let number = step.wrapping_mul(step);
            let time = MonoTime(step.wrapping_mul(0x1234_5678_9abc_def1));
            let length = writer.write(&mut frame, number, time);
            let size = spec.whole_sizes().nth(number as usize % spec.sizes.len()).unwrap();
            assert_eq!(length as u64, size.0 - 4);
            let packet = if spec.vlan.is_some() { 18 } else { 14 };
            let ip = packet + if spec.outer.is_some() { 40 } else { 0 };
            if spec.outer.is_some() {
                assert_eq!(frame[packet + 4..packet + 6], ((length - ip) as u16).to_be_bytes());
            }
            let family = if spec.is_ipv6() { 6 } else { 4 };
            check(&frame[..length], family, ip);
            let udp = ip + if family == 4 { 20 } else { 40 };
            assert_eq!(frame[udp + 8..udp + 12], [0x12, 0x34, 0x56, 0x78]);
            assert_eq!(frame[udp + 12..udp + 20], number.to_be_bytes());
            if writer.is_timed {
                assert_eq!(frame[udp + 20..udp + 26], time.0.to_be_bytes()[2..]);
            }
            flows.insert(<[u8; 4]>::try_from(&frame[udp..udp + 4]).unwrap());
        }
        assert!(flows.len() > 1950, "{} flows", flows.len());
    }
}
