//! Reports over the flows of a session of load themselves. The control connection crosses the load too, and waits for
//! retransmissions where the load is lost; these datagrams are asked for again as soon as one is missing.
//!
//! ```text
//! 0         7      8 …
//! | PMTRPRB | 05   | steps, u32 each
//! | PMTRPRB | 06   | figures, u64 each
//! ```

use super::MAGIC;
use crate::work::load::StepReport;
use model::limit::{StepReceived, StepSent};
use model::time::MonoTime;
use model::units::Nanos;

/// Bytes of a report.
pub const REPORT: usize = HEAD + FIGURES * 8;
/// The most steps of one request.
const MOST_REPORTS: usize = 16;

/// A request for the far end's reports of these steps, of which more than 16 are left out.
#[must_use]
pub fn report_request(steps: &[u32]) -> Vec<u8> {
    let mut bytes = head(REQUEST).to_vec();
    steps.iter().take(MOST_REPORTS).for_each(|step| bytes.extend(step.to_be_bytes()));
    bytes
}

/// The steps of which reports are requested; none: the datagram is no request.
#[must_use]
pub fn requested_reports(datagram: &[u8]) -> Vec<u32> {
    let steps = datagram.strip_prefix(&head(REQUEST)).unwrap_or_default();
    steps.as_chunks().0.iter().take(MOST_REPORTS).map(|step| u32::from_be_bytes(*step)).collect()
}

impl StepReport {
    /// The report as a datagram.
    #[must_use]
    pub fn to_datagram(&self) -> Vec<u8> {
        let mut bytes = head(ANSWER).to_vec();
        self.figures().iter().for_each(|figure| bytes.extend(figure.to_be_bytes()));
        bytes
    }

    /// Reads a report; `None`: the datagram is none.
    #[must_use]
    pub fn from_datagram(datagram: &[u8]) -> Option<StepReport> {
        let figures = datagram.strip_prefix(&head(ANSWER))?.as_chunks().0.first_chunk::<FIGURES>()?;
        Some(StepReport::from_figures(figures.map(u64::from_be_bytes)))
    }

    fn figures(&self) -> [u64; FIGURES] {
        let StepReport { step, sent, received, newest, total, at, ttl, dropped } = self;
        let time = |transit: i64| transit.cast_unsigned();
        let perhaps = |transit: Option<i64>| transit.unwrap_or(ABSENT).cast_unsigned();
        [
            u64::from(*step),
            u64::from(*newest),
            *total,
            at.0,
            ttl.unwrap_or(0).into(),
            *dropped,
            sent.datagrams,
            sent.late,
            sent.late_sparse,
            sent.late_time.0,
            sent.stalled.0,
            sent.ended.into(),
            received.datagrams,
            received.late,
            received.late_sparse,
            received.late_time.0,
            received.ahead,
            received.marked.to_bits(),
            received.reordered.to_bits(),
            time(received.transit_min),
            time(received.transit_first),
            time(received.transit_p10),
            time(received.transit_p50),
            time(received.transit_p90),
            time(received.transit_p98),
            time(received.transit_max),
            perhaps(received.transit_at_loss),
            perhaps(received.sparse_first),
            perhaps(received.sparse_p50),
        ]
    }

    fn from_figures(figures: [u64; FIGURES]) -> StepReport {
        let mut figures = figures.into_iter();
        let mut next = || figures.next().unwrap_or(0);
        let number = |figure: u64| u32::try_from(figure).unwrap_or(u32::MAX);
        let share =
            |figure: u64| Some(f64::from_bits(figure)).filter(|share| share.is_finite()).unwrap_or(0.0);
        let perhaps = |figure: u64| Some(figure.cast_signed()).filter(|transit| *transit != ABSENT);
        // Fields are evaluated as they are written, in the order of the figures.
        StepReport {
            step: number(next()),
            newest: number(next()),
            total: next(),
            at: MonoTime(next()),
            ttl: u8::try_from(next()).ok().filter(|ttl| *ttl > 0),
            dropped: next(),
            sent: StepSent {
                datagrams: next(),
                late: next(),
                late_sparse: next(),
                late_time: Nanos(next()),
                stalled: Nanos(next()),
                ended: next() > 0,
            },
            received: StepReceived {
                datagrams: next(),
                late: next(),
                late_sparse: next(),
                late_time: Nanos(next()),
                ahead: next(),
                marked: share(next()),
                reordered: share(next()),
                transit_min: next().cast_signed(),
                transit_first: next().cast_signed(),
                transit_p10: next().cast_signed(),
                transit_p50: next().cast_signed(),
                transit_p90: next().cast_signed(),
                transit_p98: next().cast_signed(),
                transit_max: next().cast_signed(),
                transit_at_loss: perhaps(next()),
                sparse_first: perhaps(next()),
                sparse_p50: perhaps(next()),
            },
        }
    }
}

fn head(kind: u8) -> [u8; HEAD] {
    let [a, b, c, d, e, f, g] = MAGIC;
    [a, b, c, d, e, f, g, kind]
}

const REQUEST: u8 = 5;
const ANSWER: u8 = 6;
const HEAD: usize = MAGIC.len() + 1;
const FIGURES: usize = 29;
/// A transit that is absent.
const ABSENT: i64 = i64::MIN;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::load::LoadHeader;
    use proptest::prelude::*;

    #[test]
    fn each_figure_of_a_report_arrives_in_its_own_place() {
        let figures: [u64; FIGURES] = std::array::from_fn(|place| place as u64 + 1);
        let mut report = StepReport::from_figures(figures);
        assert!(report.sent.ended);
        (report.received.marked, report.received.reordered) = (0.5, 0.25);
        let datagram = report.to_datagram();
        assert_eq!(datagram.len(), REPORT);
        assert_eq!(StepReport::from_datagram(&datagram), Some(report.clone()));
        assert_eq!((report.step, report.newest, report.dropped), (1, 2, 6));
        assert_eq!((report.sent.datagrams, report.received.datagrams), (7, 13));
        assert_eq!((report.received.transit_max, report.received.sparse_p50), (26, Some(29)));
        assert_eq!(StepReport::from_datagram(&datagram[..REPORT - 1]), None);
        let nothing = StepReport::default();
        assert_eq!(StepReport::from_datagram(&nothing.to_datagram()), Some(nothing));
    }

    #[test]
    fn a_request_names_its_steps() {
        let steps: Vec<u32> = (1..=20).collect();
        assert_eq!(requested_reports(&report_request(&steps)), steps[..MOST_REPORTS]);
        assert_eq!(LoadHeader::read(&report_request(&steps)), None);
        assert!(requested_reports(&StepReport::default().to_datagram()).is_empty());
    }

    proptest! {
        #[test]
        fn any_datagram_is_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let bytes = [&head(ANSWER)[..], &bytes].concat();
            let report = StepReport::from_datagram(&bytes);
            prop_assert_eq!(report.is_some(), bytes.len() >= REPORT);
            prop_assert!(report.is_none_or(|report| report.received.marked.is_finite()));
            prop_assert!(requested_reports(&bytes).is_empty());
        }
    }
}
