//! The server's report on a UDP flow, sent in answer to its FIN.
//!
//! ```text
//! 0          16      20      28        36     40          44          48       56
//! | 16 zeros | flags | bytes | elapsed | lost | reordered | datagrams | jitter |
//! 56                              76                       96     112            116    120         124         128
//! | min, max, sum, mean of transit | squares and variances | count | gaps | lost, high | reordered, high | datagrams, high |
//! ```
//!
//! Servers before 2.0.10 end at 56, and those with numbers of 32 bits begin the report at 12 where others have 16.

use super::fields::{MICROS_PER_SECOND, NANOS_PER_SECOND, put, word};
use super::{ServerReport, TransitReport, flags};
use model::units::Nanos;

impl ServerReport {
    /// Bytes of a report.
    pub const LEN: usize = 128;

    /// Reads a report; `None`: the datagram is not a report. 2.1 and 2.2 overwrite their report with the client's own datagram
    /// before they repeat it: such a repetition is recognised by its header and refused.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<ServerReport> {
        let is_report = |at| {
            let first = word(datagram, at);
            first.is_some_and(|first| first & flags::VERSION1 != 0 && first & NEVER_SET == 0)
        };
        let at = [16, 12].into_iter().find(|at| is_report(*at))?;
        let field = |offset| word(datagram, at + offset);
        let both = |low: u32, high: Option<u32>| u64::from(high.unwrap_or(0)) << 32 | u64::from(low);
        Some(ServerReport {
            bytes: both(field(8)?, field(4)),
            elapsed: span(field(12)?, field(16)?)?,
            lost: both(field(20)?, field(100)),
            reordered: both(field(24)?, field(104)),
            datagrams: both(field(28)?, field(108)),
            jitter: span(field(32)?, field(36)?)?,
            transit: TransitReport::read(datagram, at + 40),
        })
    }

    /// The datagram of this report.
    #[must_use]
    pub fn bytes(&self) -> [u8; ServerReport::LEN] {
        let mut bytes = [0; ServerReport::LEN];
        let extended = if self.transit.is_some() { flags::EXTEND } else { 0 };
        put(&mut bytes, 16, flags::VERSION1 | flags::WIDE | extended);
        let halves = [
            (20, 24, self.bytes),
            (116, 36, self.lost),
            (120, 40, self.reordered),
            (124, 44, self.datagrams),
        ];
        for (high, low, number) in halves {
            put(&mut bytes, high, (number >> 32) as u32);
            put(&mut bytes, low, number as u32);
        }
        put_span(&mut bytes, 28, self.elapsed);
        put_span(&mut bytes, 48, self.jitter);
        if let Some(transit) = &self.transit {
            transit.write(&mut bytes, 56);
        }
        bytes
    }
}

impl TransitReport {
    fn read(bytes: &[u8], at: usize) -> Option<TransitReport> {
        let signed = |offset| {
            let (seconds, micros) = (word(bytes, at + offset)? as i32, word(bytes, at + offset + 4)? as i32);
            (micros.unsigned_abs() < MICROS_PER_SECOND).then_some(())?;
            Some(i64::from(seconds) * NANOS_PER_SECOND as i64 + i64::from(micros) * 1000)
        };
        let count = word(bytes, at + 48)?;
        let transit = TransitReport { min_ns: signed(0)?, max_ns: signed(8)?, mean_ns: signed(24)?, count };
        (count > 0 && transit.min_ns <= transit.max_ns).then_some(transit)
    }

    fn write(&self, bytes: &mut [u8], at: usize) {
        let sum = self.mean_ns.saturating_mul(self.count.into());
        for (offset, nanos) in [(0, self.min_ns), (8, self.max_ns), (16, sum), (24, self.mean_ns)] {
            put(bytes, at + offset, (nanos / NANOS_PER_SECOND as i64) as u32);
            put(bytes, at + offset + 4, (nanos % NANOS_PER_SECOND as i64 / 1000) as u32);
        }
        put(bytes, at + 48, self.count);
        // Gaps between datagrams, without which 2.1 shows none of these times.
        put(bytes, at + 52, self.count);
        put(bytes, at + 56, 1);
    }
}

fn span(seconds: u32, micros: u32) -> Option<Nanos> {
    (micros < MICROS_PER_SECOND)
        .then(|| Nanos(u64::from(seconds) * NANOS_PER_SECOND + u64::from(micros) * 1000))
}

fn put_span(bytes: &mut [u8], at: usize, span: Nanos) {
    put(bytes, at, (span.0 / NANOS_PER_SECOND).min(u32::MAX.into()) as u32);
    put(bytes, at + 4, (span.0 % NANOS_PER_SECOND / 1000) as u32);
}

/// Bits that a report never has and a client's header always has.
const NEVER_SET: u32 = 0x00ff_ffff;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The report of `iperf -s -u` 2.1.8 on datagrams 1 to 10 without number 4 and FIN 11, each of 476 bytes.
    const REPORT: [u32; 32] = [
        0,
        0,
        0,
        0,
        0x8800_0000,
        0,
        0x1298,
        0,
        0x1729e,
        1,
        0,
        0xb,
        0,
        5,
        0,
        0x25,
        0,
        0x40,
        0,
        0x1f0,
        0,
        0x31,
        0x314,
        0x6_1a80,
        0,
        0xffff_fffb,
        0xa,
        0x73,
        1,
        0,
        0,
        0,
    ];

    fn recorded() -> Vec<u8> {
        REPORT.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn expected() -> ServerReport {
        let transit = TransitReport { min_ns: 37_000, max_ns: 64_000, mean_ns: 49_000, count: 10 };
        ServerReport {
            bytes: 4760,
            elapsed: Nanos::from_micros(94_878),
            lost: 1,
            reordered: 0,
            datagrams: 11,
            jitter: Nanos::from_micros(5),
            transit: Some(transit),
        }
    }

    #[test]
    fn a_report_of_2_1_8() {
        assert_eq!(ServerReport::read(&recorded()), Some(expected()));
    }

    #[test]
    fn reports_of_old_servers() {
        let old = ServerReport { transit: None, ..expected() };
        assert_eq!(ServerReport::read(&recorded()[..56]), Some(old), "without an extension");
        assert_eq!(ServerReport::read(&recorded()[4..56]), Some(old), "with numbers of 32 bits");
        assert_eq!(ServerReport::read(&recorded()[..55]), None);
    }

    /// The second report of 2.1.8: the client's FIN with its header, returned.
    #[test]
    fn transit_times_with_more_microseconds_than_a_second_has_are_left_out() {
        for micros in [1_000_000_u32, 0x8000_0000, (-1_000_000_i32) as u32] {
            let mut bytes = recorded();
            bytes[60..64].copy_from_slice(&micros.to_be_bytes());
            let read = ServerReport::read(&bytes).unwrap();
            assert_eq!(read, ServerReport { transit: None, ..expected() }, "{micros:#x}");
        }
        let mut bytes = recorded();
        bytes[60..64].copy_from_slice(&(-999_999_i32).to_be_bytes());
        assert_eq!(ServerReport::read(&bytes).unwrap().transit.unwrap().min_ns, -999_999_000);
    }

    #[test]
    fn a_clients_own_datagram_is_no_report() {
        let mut echo = recorded();
        for header in [0x4801_0098_u32, 0xc801_0099, 0x6c01_0098, 0x3637_3839] {
            echo[16..20].copy_from_slice(&header.to_be_bytes());
            assert_eq!(ServerReport::read(&echo), None, "{header:08x}");
        }
        let mut broken = recorded();
        broken[32..36].copy_from_slice(&1_000_000_u32.to_be_bytes());
        assert_eq!(ServerReport::read(&broken), None, "a million microseconds");
    }

    proptest! {
        #[test]
        fn reports_survive_the_wire(
            bytes: u64, micros in 0..u64::from(u32::MAX), lost: u64, reordered: u64, datagrams: u64,
            transit in prop::option::of((-2_000_000_000_000..0_i64, 0..2_000_000_000_000_i64, 1..100_u32)),
        ) {
            let transit = transit.map(|(min, max, count)| TransitReport {
                min_ns: min / 1000 * 1000, max_ns: max / 1000 * 1000, mean_ns: 0, count,
            });
            let time = Nanos(micros * 1000);
            let report = ServerReport { bytes, elapsed: time, lost, reordered, datagrams, jitter: time, transit };
            prop_assert_eq!(ServerReport::read(&report.bytes()), Some(report));
        }

        #[test]
        fn any_bytes_are_an_answer(bytes: Vec<u8>) {
            let _ = ServerReport::read(&bytes);
        }
    }
}
