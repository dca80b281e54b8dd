//! Memory of our client and server for a short test and for one ten times as long.

use super::cases::{self, Case, SPIN, Transport, Way};
use super::common::lab::Lab;
use super::common::options::Options;
use super::common::table::{extremes, markdown, mebibytes, middle_of, row, value};
use super::run;
use super::tools::Toolbox;
use model::units::Bytes;

/// Its name, for the filter.
pub(crate) const NAME: &str = "memory";

/// Measures it in turns and says by how much it grew.
pub(crate) fn table(toolbox: &Toolbox, lab: &Lab, options: &Options) -> anyhow::Result<String> {
    let wanted = |case: &Case| case.way == Way::Veth && case.transport == Transport::Udp && case.size == 64;
    let case = cases::all().into_iter().find(wanted).expect("this case is one of all");
    let times = [options.time, options.time * 10];
    let mut peaks = [Vec::new(), Vec::new()];
    for turn in 0..options.runs.min(MOST_RUNS) {
        for (time, peaks) in times.iter().zip(&mut peaks) {
            let peak = run::memory(&case, &SPIN, toolbox, lab, *time)?;
            let (client, server) = (mebibytes(peak.0), mebibytes(peak.1));
            eprintln!("memory {} {} s: {client:.1} + {server:.1} MiB", turn + 1, time.as_secs_f64());
            peaks.push(peak);
        }
    }
    let mut rows = vec![row(["length of the test", "client, MiB", "server, MiB", "runs"])];
    rows.extend(times.iter().zip(&peaks).map(|(time, peaks)| {
        let (client, server) = (peaks.iter().map(|p| p.0), peaks.iter().map(|p| p.1));
        row([
            &format!("{} s", time.as_secs_f64()),
            &spread(client),
            &spread(server),
            &peaks.len().to_string(),
        ])
    }));
    Ok(format!("### {NAME}: {}, {}\n\n{}", SPIN.label, case.name(), markdown(rows)))
}

fn spread(peaks: impl Iterator<Item = Bytes> + Clone) -> String {
    let (low, high) = extremes(peaks.clone().map(mebibytes));
    let middle = middle_of(peaks.map(mebibytes)).unwrap_or(f64::NAN);
    format!("{} ({} to {})", value(middle), value(low), value(high))
}

const MOST_RUNS: usize = 3;
