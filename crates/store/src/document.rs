//! Documents as stored, and the parts extracted from them for comparisons.

use crate::database::{Database, Value};
use crate::{Result, StoreError, compact};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::history::{Kept, Measured, facts, histograms};
use model::run;
use std::io::{self, Read, Write};
use uuid::Uuid;

/// JSON with intervals by columns, zlib.
pub(crate) fn packed(measured: Measured<'_>) -> io::Result<Vec<u8>> {
    let mut value = measured.value()?;
    compact::pack(&mut value);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&serde_json::to_vec(&value)?)?;
    encoder.finish()
}

/// A document of this schema.
pub(crate) fn unpack(schema: &str, packed: &[u8]) -> std::result::Result<Kept, String> {
    Kept::read(schema, unpacked(packed)?).map_err(|why| why.to_string())
}

/// The JSON of a document.
pub(crate) fn unpacked(packed: &[u8]) -> std::result::Result<serde_json::Value, String> {
    let mut text = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut text).map_err(|why| why.to_string())?;
    let mut value = serde_json::from_slice(&text).map_err(|why| why.to_string())?;
    compact::unpack(&mut value)?;
    Ok(value)
}

/// Stores the parts of a run that comparisons need: its fingerprint and its histograms.
pub(crate) fn describe(database: &Database, id: &str, measured: Measured<'_>) -> Result<()> {
    let facts = facts(measured);
    if !facts.is_empty() {
        // Names and values are plain text.
        let text = serde_json::to_string(&facts).unwrap_or_default();
        let name = Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()).to_string();
        let insert = "INSERT INTO fingerprints (id, facts) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
        database.execute(insert, &[(&name).into(), (&text).into()])?;
        let update = "UPDATE runs SET fingerprint = $1 WHERE id = $2";
        database.execute(update, &[(&name).into(), id.into()])?;
    }
    let Measured::Run(run) = measured else { return Ok(()) };
    // The encoding of the document: HdrHistogram V2, compressed.
    let counts = |(label, text): (String, &str)| Some((label, STANDARD.decode(text).ok()?));
    for (label, counts) in histograms(run).into_iter().filter_map(counts) {
        let insert = "INSERT INTO histograms (run, name, counts) VALUES ($1, $2, $3) ON CONFLICT (run, name) DO NOTHING";
        database.execute(insert, &[id.into(), (&label).into(), Value::Bytes(counts)])?;
    }
    Ok(())
}

/// Does the same for every run of a store of version 1, which had these parts in the documents alone. A damaged document yields
/// none.
pub(crate) fn describe_all(database: &Database) -> Result<()> {
    for id in database.texts("SELECT run FROM documents", &[])? {
        let select = "SELECT document FROM documents WHERE run = $1";
        let packed = database.rows(select, &[(&id).into()])?.first_mut().map(|row| row.bytes(0));
        if let Some(kept) = packed.and_then(|packed| unpack(run::SCHEMA, &packed).ok()) {
            describe(database, &id, kept.measured())?;
        }
    }
    Ok(())
}

/// The error for a part of a run that cannot be read.
pub(crate) fn damaged(database: &Database, id: &str, why: impl ToString) -> StoreError {
    StoreError::Run { store: database.location().clone(), id: id.into(), why: why.to_string() }
}
