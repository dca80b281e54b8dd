//! The file of `--full-log`: the requested test, the statistics, a row for each observation.

use super::{End, Observation, RULE, RequestedTest};
use model::units::Nanos;
use std::fmt::Write;

/// The requested test.
pub(super) fn heading(asked: &RequestedTest) -> String {
    let RequestedTest { burst, reply_every, size, .. } = asked;
    let rate = asked.shown_rate();
    let what = match asked.end {
        End::Seconds(time) => {
            format!(
                "--mps={rate} --burst={burst} --reply-every={reply_every} --msg-size={size} --time={time}"
            )
        }
        End::Observations(count) => format!("--burst={burst} --msg-size={size} --number-of-packets={count}"),
    };
    let rtt = if asked.full_rtt { " --full-rtt" } else { "" };
    format!("{RULE}test was performed using the following parameters: {what}{rtt}\n{RULE}")
}

/// The rows. Numbers are from 0 on, not those of the messages.
pub(super) fn rows(full_rtt: bool, observations: &[Observation]) -> String {
    let (what, parts) = if full_rtt { ("rtt", 1.0) } else { ("latency", 2.0) };
    let mut text = format!("{RULE}packet, txTime(sec), rxTime(sec), {what}(usec)\n");
    for (number, observed) in observations.iter().enumerate() {
        // In floating point as sockperf does it, and so with its rounding of the last digit.
        let (sent, received) = (seconds(observed.sent), seconds(observed.received));
        let trip = (received - sent) * (1_000_000.0 / parts);
        let _ = writeln!(text, "{number}, {sent:.9}, {received:.9}, {trip:.3}");
    }
    text + RULE
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1000.0 / 1000.0 / 1000.0
}
