//! The state of every path for Prometheus, and when that was looked at: a file for node_exporter's textfile collector.

use model::time::WallTime;
use report::format::prometheus::{Sample, family};

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathState {
    /// The path, as runs name it.
    pub target: String,
    /// What is measured.
    pub kind: String,
    /// The figure; empty: the path itself.
    pub figure: String,
    /// What is wrong: `unreachable`, `silent`, `worse`.
    pub alert: &'static str,
    /// It is so now.
    pub is_active: bool,
}

/// Who wrote the file, and when: an old time means that nobody measures any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// What is measured again and again: the label of a mesh, or the target of a watch.
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
