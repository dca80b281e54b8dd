//! The table of figures in `docs/security.md`: `UPDATE_SECURITY=1` has the tests write what they measure into it.

use std::sync::{Mutex, PoisonError};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md");

/// Writes the figure of a row where that is requested; otherwise the row must be there.
#[track_caller]
pub(crate) fn record(row: &str, figure: &str) {
    static WRITER: Mutex<()> = Mutex::new(());
    let _one = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    let begin = format!("| {row} | ");
    let text = std::fs::read_to_string(FILE).unwrap();
    assert!(text.contains(&format!("\n{begin}")), "docs/security.md has no row `{row}`");
    if std::env::var_os("UPDATE_SECURITY").is_none() {
        return;
    }
    let line = |line: &str| match line.starts_with(&begin) {
        true => format!("{begin}{figure} |\n"),
        false => format!("{line}\n"),
    };
    std::fs::write(FILE, text.lines().map(line).collect::<String>()).unwrap();
}
