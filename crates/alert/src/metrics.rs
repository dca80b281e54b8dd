//! The state of every path for Prometheus, and the time of the last check: a file for node_exporter's textfile collector.

use model::time::WallTime;
use report::format::prometheus::{Sample, family};

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathState {
    /// The path, as runs name it.
    pub target: String,
    /// The kind of measurement.
    pub kind: String,
    /// The figure; empty: the path itself.
    pub figure: String,
    /// The problem: `unreachable`, `silent`, `worse`.
    pub alert: &'static str,
    /// True: the problem persists.
    pub is_active: bool,
}

/// The author of the file, and its time: an old time means that the measurement has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The subject of the repeated measurement: the label of a mesh, or the target of a watch.
    pub of: String,
    /// End of the last round.
    pub at: WallTime,
}

/// The samples: 1 while an alert is active, 0 while it is not; and the time of the last round.
#[must_use]
pub fn text(states: &[PathState], heartbeat: &Heartbeat) -> String {
    let sample = |state: &PathState| -> Sample {
        let labels = [
            ("target", &state.target),
            ("kind", &state.kind),
            ("figure", &state.figure),
            ("alert", &state.alert.to_owned()),
        ];
        let labels = labels.into_iter().filter(|(_, value)| !value.is_empty());
        let labels = labels.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        (labels, f64::from(u8::from(state.is_active)))
    };
    let samples: Vec<Sample> = states.iter().map(sample).collect();
    let name = "pathmeter_alert_active";
    let active = family(name, "gauge", "1 while this is so of the path, 0 while it is not.", &samples);
    let labels = vec![("of".to_owned(), heartbeat.of.clone())];
    let beat = [(labels, (heartbeat.at.0 / 1_000_000) as f64 / 1e3)];
    let name = "pathmeter_alert_round_timestamp_seconds";
    active + &family(name, "gauge", "When the last round ended, whatever came of it.", &beat)
}
