//! Outputs of other tools: whatever the text, the runs that are read have figures that can be true, can be written in every
//! format, and are read from JSON as they were.

use report::import::{Known, Tool, read};
use spoiled::runs;

/// One input.
pub(crate) fn run(text: &str) {
    let Ok(all) = read("fuzzed", text, Known::default()) else { return };
    assert!(all.is_sorted_by_key(|one| one.line), "outputs out of order");
    for imported in all {
        assert!((1..=text.split('\n').count()).contains(&imported.line), "line {}", imported.line);
        // Our own document is kept as it is, whatever stands in it.
        if imported.tool == Tool::Pathmeter {
            runs::hold(&imported.run)
        } else {
            runs::hold_own(&imported.run)
        }
        let again =
            read("again", &runs::json(&imported.run), Known::default()).expect("our own document is read");
        let [again] = &again[..] else { panic!("one document became {}", again.len()) };
        assert_eq!((again.tool, again.line), (Tool::Pathmeter, 1));
        assert_eq!(
            runs::json(&again.run),
            runs::json(&imported.run),
            "a run changed when it went through its document"
        );
    }
}
