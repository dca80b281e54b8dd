//! The state of every path for Prometheus: a file for node_exporter's textfile collector.

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

/// The samples: 1 while an alert is active, 0 while it is not.
#[must_use]
pub fn text(states: &[PathState]) -> String {
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
    family("pathmeter_alert_active", "gauge", "1 while this is so of the path, 0 while it is not.", &samples)
}
