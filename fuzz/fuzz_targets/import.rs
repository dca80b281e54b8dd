//! Outputs of other tools: whatever the text, every run that is read can be written in every format, and as JSON again.
#![no_main]

use report::format::{FORMATS, Style};
use report::import::{Known, Tool, read};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(all) = read("fuzzed", text, Known::default()) else { return };
    for imported in all {
        for format in FORMATS {
            let _ = (format.render)(&imported.run, &Style::default());
        }
        let json = serde_json::to_string(&imported.run).expect("a run is JSON");
        let again = read("again", &json, Known::default()).expect("our own document is read");
        assert_eq!(again.first().map(|one| one.tool), Some(Tool::Pathmeter));
    }
});
