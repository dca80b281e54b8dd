//! Round trips of each run and egress path, side by side.

use super::{Subject, change};
use model::run::Run;
use model::stats::distribution::Distribution;
use serde::{Deserialize, Serialize};

/// One egress path of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trips {
    /// Name of the run; of several egress paths the path's label too.
    pub run: String,
    /// The round trips; percentiles beyond what so many can show are the longest.
    #[serde(rename = "rtt_ns")]
    pub rtt: Distribution,
    /// Messages sent, where that is known.
    pub sent: Option<u64>,
    /// Messages without an answer.
    pub lost: u64,
    /// The longest as a multiple of the median; absent where one of them is not known, and of a median of zero.
    pub max_over_median: Option<f64>,
    /// A round trip lies far off the others, as in the finding `rtt-outliers`.
    pub far: bool,
    /// The median against the lowest one, percent; absent of that one, and where the median is not known.
    pub change_percent: Option<f64>,
}

/// Every run and egress path with round trips.
pub(super) fn trips(subjects: &[Subject<'_>]) -> Vec<Trips> {
    let mut all: Vec<Trips> = subjects.iter().flat_map(|subject| of_run(subject.name, subject.run)).collect();
    let medians = all.iter().enumerate().filter_map(|(index, one)| Some((one.rtt.known_median()?, index)));
    let Some((least, base)) = medians.min() else { return all };
    for (_, one) in all.iter_mut().enumerate().filter(|(index, _)| *index != base) {
        one.change_percent =
            one.rtt.known_median().and_then(|median| change(least.0 as f64, median.0 as f64));
    }
    all
}

fn of_run(name: &str, run: &Run) -> Vec<Trips> {
    let egress_paths = &run.summary.egress_paths;
    let far = |label: Option<&str>| {
        let outliers = run.findings.iter().filter(|finding| finding.id == "rtt-outliers");
        outliers
            .clone()
            .any(|finding| finding.egress.is_none() || label.is_none() || finding.egress.as_deref() == label)
    };
    if egress_paths.is_empty() {
        let own =
            run.summary.rtt.map(|rtt| trips_row(name.to_owned(), rtt, None, run.summary.lost, far(None)));
        return own.into_iter().collect();
    }
    let egress = |egress: &model::latency::EgressResult| {
        let name = if egress_paths.len() > 1 { format!("{name} {}", egress.label) } else { name.to_owned() };
        Some(trips_row(
            name,
            egress.rtt?,
            Some(egress.counted.sent),
            egress.counted.lost,
            far(Some(&egress.label)),
        ))
    };
    egress_paths.iter().filter_map(egress).collect()
}

fn trips_row(run: String, rtt: Distribution, sent: Option<u64>, lost: u64, far: bool) -> Trips {
    let mut row = Trips { run, rtt, sent, lost, max_over_median: None, far, change_percent: None };
    let known = rtt.known_median().filter(|median| median.0 > 0).zip(rtt.longest());
    row.max_over_median = known.map(|(median, longest)| longest.0 as f64 / median.0 as f64);
    row
}
