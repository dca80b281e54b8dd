//! JSON: the run document itself, `pathmeter/result/1`.

use super::Style;
use model::run::Run;

/// The whole run, indented.
pub fn document(run: &Run, _style: &Style) -> String {
    let mut text = serde_json::to_string_pretty(run).expect("a run has string keys and plain values only");
    text.push('\n');
    text
}
