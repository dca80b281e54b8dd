//! Figures of `--expect` by the names that other tools have for them.

use super::table::FIGURES;

/// The figure here, for the name that another tool has for it.
pub(crate) fn meant(command: &str, key: &str) -> Option<&'static str> {
    let key = key.to_lowercase();
    let is_named = |row: &&(&str, &str, &str)| row.1.split(' ').any(|name| name == key);
    let figure =
        |command: &str| FIGURES.iter().filter(is_named).find(|row| row.0 == command).map(|row| row.2);
    figure(command).or_else(|| figure(""))
}
