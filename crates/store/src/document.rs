//! Documents as they are kept, and what is taken out of them for comparisons.

use crate::database::{Database, Value};
use crate::{Result, StoreError, compact};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::dut::DutReport;
use model::finding::Status;
use model::history::{Measured, facts, histograms};
use model::lab::LabReport;
use model::run::Run;
use model::time::WallTime;
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use uuid::Uuid;

/// What is found of it again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    Run(Box<Run>),
    Device(Box<DutReport>),
    Lab(Box<LabReport>),
}

/// What a row says of a document.
pub(crate) struct Outline {
    pub(crate) schema: String,
    pub(crate) started: Option<WallTime>,
    pub(crate) finished: Option<WallTime>,
    /// The verdict in a word and in a sentence.
    pub(crate) status: String,
    pub(crate) verdict: String,
}

/// The outline of a document.
pub(crate) fn outline(measured: Measured<'_>) -> Outline {
    match measured {
        Measured::Run(run) => Outline {
            schema: run.schema.clone(),
            started: run.started,
            finished: run.finished,
            status: run.verdict.status.word().into(),
            verdict: run.verdict.text.clone(),
        },
        Measured::Device(report) => {
            let worst =
                report.devices.iter().map(|device| &device.verdict).max_by_key(|verdict| verdict.status);
            let worst = worst.cloned().unwrap_or_default();
            Outline {
                schema: report.schema.clone(),
                started: report.started,
                finished: report.finished,
                status: worst.status.word().into(),
                verdict: worst.text,
            }
        }
        Measured::Lab(report) => {
            let (status, verdict) = match (report.is_void(), report.is_broken()) {
                (true, _) => (Status::Void, "no topology could be built"),
                (_, true) => (Status::Problem, "a topology is otherwise than expected"),
                _ => (Status::Ok, "every expectation held"),
            };
            Outline {
                schema: report.schema.clone(),
                started: report.started,
                finished: report.finished,
                status: status.word().into(),
                verdict: verdict.into(),
            }
        }
    }
}

/// JSON with intervals by columns, zlib.
pub(crate) fn packed(measured: Measured<'_>) -> io::Result<Vec<u8>> {
    let mut value = serde_json::to_value(measured)?;
    compact::pack(&mut value);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&serde_json::to_vec(&value)?)?;
    encoder.finish()
}

/// A document of this schema.
pub(crate) fn unpack(schema: &str, packed: &[u8]) -> std::result::Result<Found, String> {
    match schema {
        "pathmeter/rfc2544/1" => read(packed).map(|report| Found::Device(Box::new(report))),
        "pathmeter/lab/1" => read(packed).map(|report| Found::Lab(Box::new(report))),
        _ => read(packed).map(|run| Found::Run(Box::new(run))),
    }
}

fn read<T: DeserializeOwned>(packed: &[u8]) -> std::result::Result<T, String> {
    let reader = io::BufReader::new(ZlibDecoder::new(packed));
    let mut value = serde_json::from_reader(reader).map_err(|why| why.to_string())?;
    compact::unpack(&mut value)?;
    serde_json::from_value(value).map_err(|why| why.to_string())
}

/// Writes what comparisons need of a run: its fingerprint and its histograms.
pub(crate) fn describe(database: &Database, id: &str, measured: Measured<'_>) -> Result<()> {
    let Measured::Run(run) = measured else { return Ok(()) };
    let facts = facts(run);
    if !facts.is_empty() {
        // Names and values are plain text.
        let text = serde_json::to_string(&facts).unwrap_or_default();
        let name = Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()).to_string();
        let insert = "INSERT INTO fingerprints (id, facts) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
        database.execute(insert, &[(&name).into(), (&text).into()])?;
        let update = "UPDATE runs SET fingerprint = $1 WHERE id = $2";
        database.execute(update, &[(&name).into(), id.into()])?;
    }
    // As they stand in the document: HdrHistogram V2, compressed.
    let counts = |(label, text): (String, &str)| Some((label, STANDARD.decode(text).ok()?));
    for (label, counts) in histograms(run).into_iter().filter_map(counts) {
        let insert = "INSERT INTO histograms (run, name, counts) VALUES ($1, $2, $3) ON CONFLICT (run, name) DO NOTHING";
        database.execute(insert, &[id.into(), (&label).into(), Value::Bytes(counts)])?;
    }
    Ok(())
}

/// The same for every run of a store of version 1, which had it in the documents alone. A damaged document has none.
pub(crate) fn describe_all(database: &Database) -> Result<()> {
    let mut ids = Vec::new();
    database.each("SELECT run FROM documents", &[], |mut row| ids.push(row.text(0)))?;
    for id in ids {
        let select = "SELECT document FROM documents WHERE run = $1";
        let packed = database.rows(select, &[(&id).into()])?.first_mut().map(|row| row.bytes(0));
        if let Some(run) = packed.and_then(|packed| read::<Run>(&packed).ok()) {
            describe(database, &id, Measured::Run(&run))?;
        }
    }
    Ok(())
}

/// What cannot be read of a run.
pub(crate) fn damaged(database: &Database, id: &str, why: impl ToString) -> StoreError {
    StoreError::Run { store: database.location().clone(), id: id.into(), why: why.to_string() }
}
