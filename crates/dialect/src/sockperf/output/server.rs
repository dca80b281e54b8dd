//! The output of a SockPerf server: at its end, on gaps in its clients' numbers (`-g`) and on its activity (`-a`, `-A`).

use model::units::Nanos;
use std::net::SocketAddr;

/// The last lines but the gaps' summary and [`EXIT`].
#[must_use]
pub fn total(messages: u64) -> String {
    match messages {
        0 => String::from("sockperf: No messages were received on the server.\n"),
        _ => format!("sockperf: Total {messages} messages received and handled\n"),
    }
}

/// The numbers of one client's messages, as `-g` looks at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    client: SocketAddr,
    expected: u64,
    missing: u64,
    started: bool,
}

impl Session {
    /// Starts the session of a new client with its first message; returns it with its first line.
    #[must_use]
    pub fn new(client: SocketAddr, sequence: u64, warm_up: bool) -> (Session, String) {
        let session = Session { client, expected: sequence.saturating_add(1), missing: 0, started: !warm_up };
        (session, session.opening())
    }

    /// Counts one more message and returns its output, mostly nothing. A warm-up after messages of a test begins a new test.
    ///
    /// A number that comes late is no gap; nor does it fill one.
    pub fn message(&mut self, sequence: u64, warm_up: bool) -> String {
        if warm_up {
            if !std::mem::take(&mut self.started) {
                return String::new();
            }
            let summary = self.summary();
            (self.expected, self.missing) = (sequence.saturating_add(1), 0);
            return summary + &self.opening();
        }
        self.started = true;
        if sequence <= self.expected {
            if sequence == self.expected {
                self.expected = sequence.saturating_add(1);
            }
            return String::new();
        }
        let gap = sequence - self.expected;
        self.missing = self.missing.saturating_add(gap);
        let (first, last) = (self.expected, sequence - 1);
        self.expected = sequence.saturating_add(1);
        let (client, gap) = (self.name(), format!("({gap})"));
        format!(
            "sockperf: {client:<23} Total Dropped/OOO: {:<12}GAP:{gap:<7} [{first} - {last}]\n",
            self.missing
        )
    }

    /// The line about it at the end.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("sockperf: {:<23} Summary: Total Dropped/OOO: {}\n", self.name(), self.missing)
    }

    fn opening(&self) -> String {
        format!("sockperf: Starting new session: {:<23}\n", self.name())
    }

    fn name(&self) -> String {
        format!("[{}]", self.client)
    }
}

/// One row of `-A`: how long `messages` of them took, and how many there were in all. `row` is its number, from 0 on.
#[must_use]
pub fn activity(row: u64, messages: u64, took: Nanos, total: u64) -> String {
    let heading = match row % 20 {
        0 => "    -- Interval --     -- Message Rate --  -- Total Message Count --\n",
        _ => "",
    };
    let rate = u128::from(messages) * 1_000_000_000 / u128::from(took.0.max(1));
    format!("{heading} {:>10} [usec]    {rate:>10} [msg/s]    {total:>13} [msg]\n", took.0 / 1000)
}

/// The very last line.
pub const EXIT: &str = "sockperf: cleanupAfterLoop() exit\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_reported_as_they_show() {
        let client = ([127, 0, 0, 1], 48171).into();
        let (mut session, line) = Session::new(client, 1, false);
        assert_eq!(line, "sockperf: Starting new session: [127.0.0.1:48171]      \n");
        assert_eq!(session.message(2, false), "");
        assert_eq!(
            session.message(5, false),
            "sockperf: [127.0.0.1:48171]       Total Dropped/OOO: 2           GAP:(2)     [3 - 4]\n"
        );
        assert_eq!(session.message(3, false), "", "late");
        assert_eq!(session.message(6, false), "");
        assert_eq!(session.summary(), "sockperf: [127.0.0.1:48171]       Summary: Total Dropped/OOO: 2\n");
    }

    #[test]
    fn a_warm_up_begins_anew() {
        let (mut session, _) = Session::new(([10, 0, 0, 1], 9).into(), 0, true);
        assert_eq!(session.message(0, true), "");
        assert_eq!(session.message(4, false).matches("GAP:(3)     [1 - 3]").count(), 1);
        let printed = session.message(0, true);
        assert!(
            printed.contains("Summary: Total Dropped/OOO: 3\nsockperf: Starting new session"),
            "{printed}"
        );
        assert_eq!(session.message(1, false), "");
    }

    #[test]
    fn rows_of_activity() {
        assert_eq!(
            activity(1, 1000, Nanos::from_millis(2), 7000),
            "       2000 [usec]        500000 [msg/s]             7000 [msg]\n"
        );
        assert!(activity(20, 1, Nanos::ZERO, 1).starts_with("    -- Interval --"));
    }
}
