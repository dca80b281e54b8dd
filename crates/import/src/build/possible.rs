//! Figures that cannot be: each is left out with a sentence that reports it, and none is capped.

use super::ParsedRun;
use model::plan::Direction;
use model::run::Run;
use model::sample::{Role, StreamSample};
use model::summary::DirectionSummary;
use model::units::{Bytes, Nanos};

/// A figure of a direction that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Jitter,
    Loss,
    Retransmits,
}

/// Datagrams that arrived and that were lost, of a printed pair; `None`: no receiver counts so.
pub(crate) fn counts(lost: i64, total: i64) -> Option<(u64, u64)> {
    (0..=total).contains(&lost).then(|| ((total - lost).unsigned_abs(), lost.unsigned_abs()))
}

/// A jitter of so many milliseconds; what is no time at all stands for one that is longer than any test.
pub(crate) fn jitter(milliseconds: f64) -> Nanos {
    if (0.0..1e12).contains(&milliseconds) {
        Nanos((milliseconds * 1e6).round() as u64)
    } else {
        Nanos(u64::MAX)
    }
}

/// A count of retransmits; one below zero stands for one that is larger than any.
pub(crate) fn retransmits(printed: Option<i64>) -> u64 {
    printed.map_or(0, |count| u64::try_from(count).unwrap_or(u64::MAX))
}

/// Leaves out of the rows of both ends what cannot be.
pub(crate) fn withhold(parsed: &mut ParsedRun) {
    for direction in Direction::BOTH {
        long_jitter(parsed, direction);
        many_retransmits(parsed, direction);
    }
}

/// Leaves the figures that are not known out of a document.
pub(crate) fn leave_out(run: &mut Run, unknown: &[(Direction, Figure)]) {
    for (direction, figure) in unknown {
        let summary = direction.choose(run.summary.up.as_mut(), run.summary.down.as_mut());
        summary.into_iter().for_each(|summary| leave_out_of(summary, *figure));
    }
}

fn leave_out_of(summary: &mut DirectionSummary, figure: Figure) {
    match figure {
        Figure::Jitter => summary.jitter = None,
        Figure::Loss => {
            summary.loss = None;
            summary.streams.iter_mut().for_each(|stream| stream.lost = None);
        }
        Figure::Retransmits => {
            summary.retransmits = None;
            summary.streams.iter_mut().for_each(|stream| stream.retransmits = None);
        }
    }
}

/// Interarrival jitter is a mean of differences of transit times: none is longer than the test.
fn long_jitter(parsed: &mut ParsedRun, direction: Direction) {
    let longest = parsed.longest();
    let is_long = |jitter: Nanos| jitter > longest.max(SHORTEST);
    let counters = parsed.rows_mut(direction, Role::Receiver).filter_map(|row| row.udp.as_mut());
    let worst: Vec<Nanos> = counters.map(|udp| std::mem::take(&mut udp.jitter)).collect();
    if !worst.iter().any(|jitter| is_long(*jitter)) {
        let rows = parsed.rows_mut(direction, Role::Receiver).filter_map(|row| row.udp.as_mut());
        rows.zip(&worst).for_each(|(udp, jitter)| udp.jitter = *jitter);
    } else {
        let printed = worst.iter().max().filter(|jitter| jitter.0 < u64::MAX);
        let printed = printed.map(|jitter| format!(" of {} s", jitter.as_secs_f64())).unwrap_or_default();
        parsed.withhold(
            direction,
            Figure::Jitter,
            &format!("The printed jitter{printed} cannot be: the test took {longest}. It is left out."),
        );
    }
    for udp in samples(parsed, direction).filter_map(|row| row.udp.as_mut()) {
        if is_long(udp.jitter) {
            udp.jitter = Nanos::ZERO;
        }
    }
}

/// A sender does not retransmit more segments than it can have sent.
fn many_retransmits(parsed: &mut ParsedRun, direction: Direction) {
    let cannot = |count: u64, bytes: Bytes| {
        count >= WRAPPED || count > (bytes.0 / SMALL_SEGMENT).saturating_add(A_FEW).saturating_mul(MANY_TIMES)
    };
    let mut worst = None;
    for row in parsed.rows_mut(direction, Role::Sender) {
        let bytes = row.bytes;
        let Some(tcp) = row.tcp.as_mut().filter(|tcp| cannot(tcp.retransmits, bytes)) else { continue };
        worst = Some(tcp.retransmits).max(worst);
        tcp.retransmits = 0;
    }
    for row in samples(parsed, direction) {
        let bytes = row.bytes;
        if let Some(tcp) = row.tcp.as_mut().filter(|tcp| cannot(tcp.retransmits, bytes)) {
            tcp.retransmits = 0;
        }
    }
    let Some(worst) = worst else { return };
    let printed = if worst == u64::MAX { " below zero".into() } else { format!(" of {worst}") };
    parsed.withhold(
        direction,
        Figure::Retransmits,
        &format!("The printed count{printed} retransmits cannot be: it is left out."),
    );
}

fn samples(parsed: &mut ParsedRun, direction: Direction) -> impl Iterator<Item = &mut StreamSample> {
    let rows = parsed.samples.iter_mut().flat_map(|sample| &mut sample.streams);
    rows.filter(move |row| row.direction == direction)
}

/// Tests without a length are held to this.
const SHORTEST: Nanos = Nanos::from_secs(1);
/// A count below zero in 32 bits.
const WRAPPED: u64 = 1 << 31;
/// Payload of a small segment, bytes.
const SMALL_SEGMENT: u64 = 500;
/// A segment is retransmitted a few times, seldom a hundred.
const MANY_TIMES: u64 = 100;
const A_FEW: u64 = 100;
