//! Runs that were kept, as a list shows them.

mod facts;
mod kept;

pub use facts::{Fact, facts, histograms};
pub use kept::Kept;

use crate::dut::DutReport;
use crate::finding::{Status, Verdict};
use crate::lab::LabReport;
use crate::run::Run;
use crate::stats::histogram::Histogram;
use crate::time::WallTime;
use serde::{Deserialize, Serialize};

/// A kept run in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// The run's name, unique. Commands accept any prefix that no other run shares.
    pub id: String,
    /// The command: `throughput`, `measure`.
    pub kind: String,
    /// The far end, as requested; empty: none is known.
    pub target: String,
    /// A word that holds runs together; empty: none.
    pub label: String,
    /// The user's note on it; empty: none.
    #[serde(default)]
    pub note: String,
    /// Origin of the run.
    pub origin: Origin,
    /// Begin, wall clock of the host that measured; RFC 3339 in JSON.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started: WallTime,
    /// End, likewise; absent: it has not ended, or was cut off.
    #[serde(with = "rfc3339::optional")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub finished: Option<WallTime>,
    /// A program measures it now.
    #[serde(default)]
    pub running: bool,
    /// The verdict in one word; absent: it has not ended.
    pub status: Option<String>,
    /// The verdict in a sentence.
    pub verdict: Option<String>,
    /// Its foremost figures.
    pub figures: Vec<Headline>,
}

/// The origin of a run in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Measured by this program.
    #[default]
    Measured,
    /// Read from the output of another tool, or of another host.
    Imported,
}

impl Origin {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Origin::Measured => "measured",
            Origin::Imported => "imported",
        }
    }

    /// The one of this name; [`Origin::Measured`] where there is none.
    #[must_use]
    pub fn named(name: &str) -> Origin {
        if name == Origin::Imported.name() { Origin::Imported } else { Origin::Measured }
    }
}

/// A run's entry in a store, beside its document: exported with it under the key `stored`, so that another store has the same
/// entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAs {
    /// Its name.
    pub id: String,
    /// The command.
    pub kind: String,
    /// The far end, as requested; empty: none is known.
    pub target: String,
    /// A word that holds runs together; empty: none.
    pub label: String,
    /// Origin of the run.
    pub origin: Origin,
    /// Begin, RFC 3339.
    #[serde(with = "rfc3339")]
    pub started: WallTime,
    /// The user's note on it; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl From<Entry> for StoredAs {
    fn from(entry: Entry) -> StoredAs {
        let Entry { id, kind, target, label, note, origin, started, .. } = entry;
        StoredAs { id, kind, target, label, origin, started, note }
    }
}

/// A known change of a path: trends begin anew here. Exported as a document of its own, whose schema is [`MARK_SCHEMA`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "schema", rename = "pathmeter/mark/1")]
pub struct Mark {
    /// The far end, as runs name it.
    pub target: String,
    /// When, RFC 3339.
    #[serde(with = "rfc3339")]
    pub at: WallTime,
    /// The change.
    pub note: String,
}

/// Version of the document of a mark.
pub const MARK_SCHEMA: &str = "pathmeter/mark/1";

/// A figure of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Headline {
    /// Its name, as an expectation names it: `down.goodput`.
    pub name: String,
    /// Its value: bits per second, nanoseconds, bytes or a share.
    pub value: f64,
    /// The same with its unit, to be read.
    pub text: String,
}

/// A document that can be kept.
#[derive(Clone, Copy, Debug)]
pub enum Measured<'a> {
    /// A path, schema `pathmeter/result/1`.
    Run(&'a Run),
    /// Devices, schema `pathmeter/rfc2544/1`.
    Device(&'a DutReport),
    /// Topologies, schema `pathmeter/lab/1`.
    Lab(&'a LabReport),
}

impl Measured<'_> {
    /// The document as JSON: the one place where a whole document is made into it, as a serializer is compiled for each type
    /// and each form of text.
    ///
    /// # Errors
    /// A map in it has other keys than strings, which no document has.
    pub fn value(&self) -> serde_json::Result<serde_json::Value> {
        match self {
            Measured::Run(run) => serde_json::to_value(run),
            Measured::Device(report) => serde_json::to_value(report),
            Measured::Lab(report) => serde_json::to_value(report),
        }
    }

    /// The verdict: of devices that of the worst one.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdict = |status, text: &str| Verdict { status, text: text.into() };
        match self {
            Measured::Run(run) => run.verdict.clone(),
            Measured::Device(report) => {
                let verdicts = report.devices.iter().map(|device| &device.verdict);
                verdicts.max_by_key(|verdict| verdict.status).cloned().unwrap_or_default()
            }
            Measured::Lab(report) if report.is_void() => verdict(Status::Void, "no topology could be built"),
            Measured::Lab(report) if report.is_broken() => {
                verdict(Status::Broken, "a topology is otherwise than expected")
            }
            Measured::Lab(_) => verdict(Status::Ok, "every expectation held"),
        }
    }

    /// The source of the measurement: the command, and the far end or the devices as requested.
    #[must_use]
    pub fn origin(&self) -> (String, String) {
        match self {
            Measured::Run(run) => (run.kind.clone(), run.target()),
            Measured::Device(report) => {
                let names: Vec<&str> = report.devices.iter().map(|device| device.name.as_str()).collect();
                ("rfc2544".into(), names.join(" "))
            }
            Measured::Lab(report) => {
                let names: Vec<&str> = report.variants.iter().map(|variant| variant.name.as_str()).collect();
                ("lab".into(), names.join(" "))
            }
        }
    }

    /// Begin and end, wall clock of the host that measured.
    #[must_use]
    pub fn times(&self) -> [Option<WallTime>; 2] {
        match self {
            Measured::Run(run) => [run.started, run.finished],
            Measured::Device(report) => [report.started, report.finished],
            Measured::Lab(report) => [report.started, report.finished],
        }
    }

    /// The schema that the document names.
    #[must_use]
    pub fn schema(&self) -> &str {
        match self {
            Measured::Run(run) => &run.schema,
            Measured::Device(report) => &report.schema,
            Measured::Lab(report) => &report.schema,
        }
    }

    /// Its name; empty: it has none.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Measured::Run(run) => &run.id,
            Measured::Device(report) => &report.id,
            Measured::Lab(_) => "",
        }
    }
}

/// The parts of a run that a comparison needs: its figures, and the conditions of their measurement.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The run's name.
    pub id: String,
    /// The command.
    pub kind: String,
    /// The far end, as requested.
    pub target: String,
    /// The word that holds runs together; empty: none.
    pub label: String,
    /// Begin, wall clock of the host that measured.
    pub started: WallTime,
    /// The verdict in one word; absent: it has not ended.
    pub status: Option<String>,
    /// Its figures, named as an expectation names them.
    pub figures: Vec<(String, f64)>,
    /// Facts that are needed to judge them.
    pub facts: Vec<Fact>,
    /// Its round trips, in nanoseconds: the label of the path, and how often each time was measured.
    pub histograms: Vec<(String, Histogram)>,
}

impl Sample {
    /// A figure of it.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(named, _)| named == name).map(|(_, value)| *value)
    }

    /// Its figures must not be used.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.status.as_deref() == Some(Status::Void.word())
    }
}

/// Times as text: a number of nanoseconds is too large for the numbers of many readers of JSON.
mod rfc3339 {
    use crate::time::WallTime;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &WallTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(time)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<WallTime, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }

    pub(super) mod optional {
        use super::{Deserialize, Deserializer, Error, Serialize, Serializer, WallTime};

        pub(in super::super) fn serialize<S: Serializer>(
            time: &Option<WallTime>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            time.map(|time| time.to_string()).serialize(to)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<WallTime>, D::Error> {
            let text: Option<String> = Option::deserialize(from)?;
            text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_its_schema() {
        let mark = Mark { target: "far".into(), at: WallTime(1_000_000), note: "new router".into() };
        let json = serde_json::to_value(&mark).unwrap();
        assert_eq!(json["schema"], MARK_SCHEMA);
        assert_eq!(serde_json::from_value::<Mark>(json).unwrap(), mark);
    }

    #[test]
    fn times_are_text_and_come_back() {
        let entry = Entry {
            id: "a".into(),
            kind: "throughput".into(),
            target: "far.example".into(),
            label: String::new(),
            note: String::new(),
            origin: Origin::Measured,
            started: "2026-11-01T12:00:00.001Z".parse().unwrap(),
            finished: None,
            running: false,
            status: None,
            verdict: None,
            figures: Vec::new(),
        };
        let json = serde_json::to_value(&entry).unwrap();
        assert_eq!(json["started"], "2026-11-01T12:00:00.001Z");
        assert_eq!(serde_json::from_value::<Entry>(json).unwrap(), entry);
    }
}
