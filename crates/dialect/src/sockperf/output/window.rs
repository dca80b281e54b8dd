//! From what happened to each message to what counts: SockPerf's valid window.

use model::units::Nanos;

/// A message that requested a reply. Times are since any one moment before the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number, over all sockets.
    pub sequence: u64,
    /// The socket that it went over, from 0 on.
    pub socket: usize,
    /// When it was sent.
    pub sent: Nanos,
    /// When the first reply came.
    pub received: Option<Nanos>,
}

/// One round trip that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Request sent.
    pub sent: Nanos,
    /// Reply received.
    pub received: Nanos,
}

/// The part of a test that is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The first 400 ms and the last 50 ms.
    Time,
    /// All but this many messages after the first 8000 (`-n`).
    Number(u64),
    /// Nothing (playback).
    Nothing,
}

/// Replies that were dropped, duplicated or out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// In the window: no reply.
    pub dropped: u64,
    /// In the whole test: replies after a message's first.
    pub duplicated: u64,
    /// In the window: replies that came before one of an earlier message. No observations.
    pub out_of_order: u64,
}

/// The counted part of a test with one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// In the order of sending.
    pub observations: Vec<Observation>,
    /// Replies that were dropped, duplicated or out of order.
    pub counters: Counters,
    /// From the first message to the last reply, or the last message that is lost.
    pub run_time: Nanos,
    /// Messages sent in that time, also those that requested no reply.
    pub sent: u64,
}

/// Why nothing counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWindow {
    /// Not one reply came during the whole test.
    Silence,
    /// The test is shorter than what is cut from it.
    TooShort,
    /// No reply in the window.
    Empty,
}

/// Finds the window of a test with one server. `records` are in the order of sending; `duplicated` counts the replies
/// that were not the first of their message.
///
/// Where sockperf stops once it has found as many replies as there were, messages that are lost after the last reply are
/// counted here.
///
/// # Errors
/// When there is none, and why.
pub fn window(records: &[Record], duplicated: u64, cut: Cut) -> Result<Window, NoWindow> {
    if records.iter().all(|record| record.received.is_none()) {
        return Err(NoWindow::Silence);
    }
    let counted = counted(records, cut)?;
    let Some(first) = counted.first() else { return Err(NoWindow::Empty) };
    let mut window = Window { counters: Counters { duplicated, ..Counters::default() }, ..Window::default() };
    let (mut end, mut last) = (first.sent, first.sequence);
    // Sockets answer each in its own order.
    let mut latest: Vec<Nanos> = Vec::new();
    for record in counted {
        if latest.len() <= record.socket {
            latest.resize(record.socket + 1, Nanos::ZERO);
        }
        let latest = &mut latest[record.socket];
        match record.received {
            None => {
                window.counters.dropped += 1;
                if end < record.sent {
                    (end, last) = (record.sent, record.sequence);
                }
            }
            Some(received) if received < *latest => window.counters.out_of_order += 1,
            Some(received) => {
                window.observations.push(Observation { sent: record.sent, received });
                (end, last, *latest) = (end.max(received), record.sequence, received);
            }
        }
    }
    if window.observations.is_empty() {
        return Err(NoWindow::Empty);
    }
    window.run_time = end.saturating_sub(first.sent);
    window.sent = last.saturating_sub(first.sequence) + 1;
    Ok(window)
}

/// The records that are not cut away.
fn counted(records: &[Record], cut: Cut) -> Result<&[Record], NoWindow> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Err(NoWindow::Silence) };
    let (start, end) = match cut {
        Cut::Time => (first.sent.saturating_add(WARM_UP), last.sent.saturating_sub(COOL_DOWN)),
        Cut::Number(_) | Cut::Nothing => (first.sent, last.sent),
    };
    if end < start {
        return Err(NoWindow::TooShort);
    }
    let (skipped, kept) = match cut {
        Cut::Number(count) => (WARM_UP_MESSAGES, usize::try_from(count).unwrap_or(usize::MAX)),
        Cut::Time | Cut::Nothing => (records.partition_point(|record| record.sent < start), usize::MAX),
    };
    let rest = records.get(skipped..).unwrap_or_default();
    let until = rest.partition_point(|record| record.sent <= end);
    Ok(&rest[..until.min(kept)])
}

/// Cut from the beginning of a test that ends by time.
pub const WARM_UP: Nanos = Nanos::from_millis(400);
/// Cut from its end.
pub const COOL_DOWN: Nanos = Nanos::from_millis(50);
/// Messages before those that count, in a test that ends by their number.
pub const WARM_UP_MESSAGES: usize = 8000;
/// Messages after them.
pub const COOL_DOWN_MESSAGES: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    /// One message each 10 ms from 1 s on, answered after 1 ms.
    fn records(count: u64) -> Vec<Record> {
        let record = |sequence| {
            let sent = Nanos::from_millis(990 + 10 * sequence);
            Record { sequence, socket: 0, sent, received: Some(sent.saturating_add(Nanos::from_millis(1))) }
        };
        (1..=count).map(record).collect()
    }

    #[test]
    fn each_socket_has_an_order_of_its_own() {
        let millis = |sequence, socket, sent, received| Record {
            sequence,
            socket,
            sent: Nanos::from_millis(sent),
            received: Some(Nanos::from_millis(received)),
        };
        // The third overtakes the first one of its socket; the second is of another.
        let reported =
            [millis(1, 0, 10, 19), millis(2, 1, 11, 12), millis(3, 0, 13, 18), millis(4, 1, 14, 15)];
        let window = window(&reported, 0, Cut::Nothing).unwrap();
        assert_eq!((window.sent, window.observations.len(), window.counters.out_of_order), (4, 3, 1));
        assert_eq!(window.run_time, Nanos::from_millis(9));
    }

    #[test]
    fn the_first_400_and_the_last_50_milliseconds_are_cut() {
        let window = window(&records(101), 0, Cut::Time).unwrap();
        // Sent at 1.4 to 1.95 s.
        assert_eq!((window.observations.len(), window.sent), (56, 56));
        assert_eq!(window.observations[0].sent, Nanos::from_millis(1400));
        assert_eq!(window.observations[55].sent, Nanos::from_millis(1950));
        assert_eq!(window.run_time, Nanos::from_millis(551));
        assert_eq!(window.counters, Counters::default());
    }

    #[test]
    fn nothing_or_a_number_is_cut() {
        let all = window(&records(101), 0, Cut::Nothing).unwrap();
        assert_eq!((all.observations.len(), all.run_time), (101, Nanos::from_millis(1001)));
        let some = window(&records(9100), 0, Cut::Number(100)).unwrap();
        assert_eq!((some.observations.len(), some.sent), (100, 100));
        assert_eq!(some.observations[0].sent, Nanos::from_millis(990 + 80_010));
        assert_eq!(window(&records(8000), 0, Cut::Number(100)), Err(NoWindow::Empty));
    }

    #[test]
    fn messages_that_ask_for_no_reply_count_as_sent() {
        let every_tenth: Vec<Record> = records(101)
            .into_iter()
            .map(|record| Record { sequence: record.sequence * 10, ..record })
            .collect();
        let window = window(&every_tenth, 0, Cut::Time).unwrap();
        assert_eq!((window.observations.len(), window.sent), (56, 551));
    }

    #[test]
    fn lost_late_and_doubled() {
        let mut records = records(101);
        records[45].received = None;
        // Answered before the one before it: the later request overtakes, the earlier one is no observation.
        records[50].received = Some(Nanos::from_millis(1515));
        records[95].received = None;
        records[10].received = None;
        let window = window(&records, 3, Cut::Time).unwrap();
        assert_eq!(window.counters, Counters { dropped: 2, duplicated: 3, out_of_order: 1 });
        assert_eq!((window.observations.len(), window.sent), (53, 56));
        assert_eq!(window.run_time, Nanos::from_millis(550), "the lost one is the last");
    }

    #[test]
    fn why_nothing_counts() {
        let silent: Vec<Record> =
            records(101).into_iter().map(|record| Record { received: None, ..record }).collect();
        assert_eq!(window(&silent, 0, Cut::Time), Err(NoWindow::Silence));
        assert_eq!(window(&[], 0, Cut::Time), Err(NoWindow::Silence));
        assert_eq!(window(&records(40), 0, Cut::Time), Err(NoWindow::TooShort));
        let mut early = silent;
        early[0].received = Some(Nanos::from_millis(1001));
        assert_eq!(window(&early, 0, Cut::Time), Err(NoWindow::Empty));
    }
}
