//! Standstills: intervals in a row in which no byte was moved, of a test that moved bytes before or after.

use super::{ParsedRun, role_of};
use model::plan::{Direction, Transport};
use model::sample::{IntervalSample, Role, Silence};
use model::units::Nanos;

/// The longest standstill of each direction goes into the rows of the end that received, or where its figures are missing
/// of the one that sent; a note states how much there was in all.
pub(super) fn find(parsed: &mut ParsedRun) {
    for direction in parsed.test.directions.each().collect::<Vec<_>>() {
        let moved = parsed.rows(direction, Role::Receiver).any(|row| row.bytes.0 > 0)
            || parsed.rows(direction, Role::Receiver).next().is_none();
        let found = if moved { Standstills::in_direction(parsed, direction) } else { None };
        if let Some(found) = found {
            found.put(parsed, direction);
        }
    }
}

/// An interval of all streams of one end.
struct Interval {
    start: Nanos,
    end: Nanos,
    bytes: u64,
    /// The largest congestion window, where one is printed.
    window: u64,
}

struct Standstills {
    longest: Silence,
    count: usize,
    still: Nanos,
    all: Nanos,
    /// No window was above a segment meanwhile.
    one_segment: bool,
}

impl Standstills {
    fn in_direction(parsed: &ParsedRun, direction: Direction) -> Option<Standstills> {
        let intervals_of = |role: Role| {
            let is_own = |sample: &&IntervalSample| role_of(sample.side, direction) == role;
            let own = parsed.samples.iter().filter(|sample| !sample.omitted).filter(is_own);
            own.filter_map(|sample| interval(sample, direction)).collect::<Vec<Interval>>()
        };
        let received = intervals_of(Role::Receiver);
        let is_udp = parsed.test.transport == Transport::Udp;
        let mut intervals =
            if received.is_empty() && !is_udp { intervals_of(Role::Sender) } else { received };
        intervals.sort_by_key(|interval| interval.start);
        if intervals.iter().all(|interval| interval.bytes == 0) || is_paced(parsed, direction, &intervals) {
            return None;
        }
        let runs = runs(&intervals);
        let longest = runs.iter().max_by_key(|run| run.length).copied().filter(|run| run.length >= LEAST)?;
        let first = intervals.first()?.start;
        let (mut still, mut one_segment) = (Nanos::ZERO, false);
        for interval in intervals.iter().filter(|interval| interval.bytes == 0) {
            still += interval.end.saturating_sub(interval.start);
            one_segment |= (1..=ONE_SEGMENT).contains(&interval.window);
        }
        let all = intervals.last()?.end.saturating_sub(first);
        Some(Standstills { longest, count: runs.len(), still, all, one_segment })
    }

    fn put(&self, parsed: &mut ParsedRun, direction: Direction) {
        let window = if self.one_segment { ", with a congestion window of one segment" } else { "" };
        let times = if self.count == 1 { "once".into() } else { format!("{} times", self.count) };
        let text = format!(
            "No byte was moved {direction} for {} of {}: it stood still {times}, at worst for {} from {} on{window}.",
            self.still, self.all, self.longest.length, self.longest.at
        );
        parsed.warn("standstills", text);
        let known = parsed.rows(direction, Role::Receiver).next().is_some();
        let role = if known { Role::Receiver } else { Role::Sender };
        let transport = parsed.test.transport;
        for row in parsed.rows_mut(direction, role) {
            match transport {
                Transport::Udp => row.udp.get_or_insert_default().silence = Some(self.longest),
                Transport::Tcp => row.tcp.get_or_insert_default().silence = Some(self.longest),
            }
        }
    }
}

fn interval(sample: &IntervalSample, direction: Direction) -> Option<Interval> {
    let rows = || sample.streams.iter().filter(move |row| row.direction == direction);
    rows().next()?;
    let bytes = rows().fold(0_u64, |sum, row| sum.saturating_add(row.bytes.0));
    let window = rows().filter_map(|row| row.tcp.as_ref()).map(|tcp| tcp.cwnd.0).max().unwrap_or_default();
    Some(Interval { start: sample.start, end: sample.end, bytes, window })
}

/// Intervals without a byte that follow each other.
fn runs(intervals: &[Interval]) -> Vec<Silence> {
    let mut runs: Vec<Silence> = Vec::new();
    let mut still = false;
    for interval in intervals {
        if interval.bytes > 0 {
            if let Some(run) = runs.last_mut().filter(|_| still) {
                run.ended = true;
            }
            still = false;
            continue;
        }
        match runs.last_mut().filter(|_| still) {
            Some(run) => run.length = interval.end.saturating_sub(run.at),
            None => {
                let length = interval.end.saturating_sub(interval.start);
                runs.push(Silence { at: interval.start, length, ended: false, missing: None });
            }
        }
        still = true;
    }
    runs
}

/// A sender that is held to a low rate writes a block at a time and waits: nothing stands still, and nothing is
/// retransmitted.
fn is_paced(parsed: &ParsedRun, direction: Direction, intervals: &[Interval]) -> bool {
    let retransmitted = parsed
        .rows(direction, Role::Sender)
        .filter_map(|row| row.tcp.as_ref())
        .any(|tcp| tcp.retransmits > 0);
    let blocks = u64::from(parsed.test.streams.max(1)).saturating_mul(BLOCK + BLOCK / 8);
    !retransmitted && intervals.iter().all(|interval| interval.bytes <= blocks)
}

/// Shorter ones are what TCP's retransmission timer and busy hosts make.
const LEAST: Nanos = Nanos::from_secs(1);
/// A window of a segment of Ethernet, as the tools print it, bytes.
const ONE_SEGMENT: u64 = 1536;
/// The bytes that iPerf writes at once over TCP.
const BLOCK: u64 = 131_072;
