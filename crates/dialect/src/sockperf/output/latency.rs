//! The statistics of a ping-pong, under-load or playback test: on the screen, and in the file of `--full-log`.

use super::stats::Figures;
use super::{
    Counters, End, MAGENTA, NoWindow, PLAIN, RED, RequestedTest, Totals, Version, Window, histogram, log,
    micros, seconds,
};
use std::fmt::Write;

/// The same figures, twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// For standard output.
    pub screen: String,
    /// For the file of `--full-log`.
    pub file: String,
}

impl Report {
    /// A line for both.
    fn say(&mut self, line: &str) {
        for text in [&mut self.screen, &mut self.file] {
            let _ = writeln!(text, "sockperf: {line}");
        }
    }
}

/// The text after the test. `window`: what counts of it; `width`: that of the terminal, where there is one.
#[must_use]
pub fn report(
    asked: &RequestedTest,
    totals: &Totals,
    window: &Result<Window, NoWindow>,
    width: Option<u16>,
) -> Report {
    let mut report = Report::default();
    if totals.sent == 0 {
        report.screen.push_str("sockperf: No messages were sent\n");
        return report;
    }
    report.file = log::heading(asked);
    if totals.received == 0 {
        report.say("No messages were received from the server. Is the server down?");
        return report;
    }
    report.say(&total_run(asked, totals));
    report.say("========= Printing statistics for Server No: 0");
    match window {
        Ok(window) => one_server(&mut report, asked, window, width),
        Err(none) => report.say(why(asked.version, *none)),
    }
    report
}

fn total_run(asked: &RequestedTest, totals: &Totals) -> String {
    let Totals { run_time, warm_up_millis, sent, received } = totals;
    let warm_up = match asked.end {
        End::Seconds(_) => format!("Warm up time={warm_up_millis} msec"),
        End::Observations(_) => format!("Warm up packets={}", super::window::WARM_UP_MESSAGES),
    };
    let run_time = seconds(*run_time);
    format!(
        "[Total Run] RunTime={run_time:.3} sec; {warm_up}; SentMessages={sent}; ReceivedMessages={received}"
    )
}

fn why(version: Version, none: NoWindow) -> &'static str {
    match (version, none) {
        (Version::V3_10, NoWindow::TooShort) => "Test end before test start. Ending statistics early",
        (Version::V3_10, _) => {
            "No valid observations found. Try tune parameters: --time/--number-of-packets/--mps/--reply-every"
        }
        (Version::V3_7, _) => "No valid observations found. Try tune parameters: --time/--mps/--reply-every",
    }
}

fn one_server(report: &mut Report, asked: &RequestedTest, window: &Window, width: Option<u16>) {
    let Some(figures) = Figures::from_observations(&window.observations, asked.full_rtt) else {
        return report.say(why(asked.version, NoWindow::Empty));
    };
    let (run_time, received) = (seconds(window.run_time), window.observations.len());
    report.say(&format!(
        "[Valid Duration] RunTime={run_time:.3} sec; SentMessages={}; ReceivedMessages={received}",
        window.sent
    ));
    report.say(&averages(asked, &figures));
    report.say(&counters(window.counters));
    if figures.average.0 > 0 {
        let _ = writeln!(report.screen, "sockperf: {}", summary(asked, &figures));
    }
    percentiles(report, &figures);
    report.file.push_str(&log::rows(asked.full_rtt, &window.observations));
    if let Some(bins) = asked.histogram {
        let histogram = histogram::Histogram::from_bins(bins, &figures.sorted);
        report.screen.push_str(&histogram.screen(width));
        report.file.push_str(&histogram.file());
    }
}

fn averages(asked: &RequestedTest, figures: &Figures) -> String {
    let what = if asked.full_rtt { "rtt" } else { "latency" };
    let (average, std_dev) = (micros(figures.average), micros(figures.std_dev));
    let begin = format!("{MAGENTA}====> avg-{what}={average:.3} (std-dev={std_dev:.3}");
    if asked.version == Version::V3_7 {
        return format!("{begin}){PLAIN}");
    }
    let interval = figures.interval(asked.confidence);
    format!(
        "{begin}, mean-ad={:.3}, median-ad={:.3}, siqr={:.3}, cv={:.3}, std-error={:.3}, {:.1}% ci=[{:.3}, {:.3}]){PLAIN}",
        micros(figures.mean_ad),
        micros(figures.median_ad),
        micros(figures.siqr),
        figures.cv(),
        figures.std_error(),
        f64::from(asked.confidence),
        interval.low,
        interval.high,
    )
}

fn counters(counters: Counters) -> String {
    let Counters { dropped, duplicated, out_of_order } = counters;
    let (begin, end) = if counters == Counters::default() { ("", "") } else { (RED, PLAIN) };
    format!(
        "{begin}# dropped messages = {dropped}; # duplicated messages = {duplicated}; # out-of-order messages = {out_of_order}{end}"
    )
}

fn summary(asked: &RequestedTest, figures: &Figures) -> String {
    let what = if asked.full_rtt { "Round trip" } else { "Latency" };
    let burst =
        if asked.burst == 1 { String::new() } else { format!(" of burst of {} messages", asked.burst) };
    format!("Summary: {what}{burst} is {:.3} usec", micros(figures.average))
}

fn percentiles(report: &mut Report, figures: &Figures) {
    let sorted = &figures.sorted;
    let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else { return };
    let (count, each) = (sorted.len(), sorted.len() as f64 / 100.0);
    report.say(&format!(
        "{MAGENTA}Total {count} observations{PLAIN}; each percentile contains {each:.2} observations"
    ));
    report.say(&format!("---> <MAX> observation = {:8.3}", micros(*max)));
    for share in SHARES {
        if let Some(value) = figures.percentile(share) {
            report.say(&format!("---> percentile {:6.3} = {:8.3}", 100.0 * share, micros(value)));
        }
    }
    report.say(&format!("---> <MIN> observation = {:8.3}", micros(*min)));
}

const SHARES: [f64; 8] = [0.99999, 0.9999, 0.999, 0.99, 0.90, 0.75, 0.50, 0.25];
