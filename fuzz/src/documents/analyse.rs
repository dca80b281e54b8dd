//! Outputs of other tools looked at together: every analysis can be written in every format, and has figures that are.

use insight::analysis::{Analysis, AnalysisOptions, Subject};
use model::units::BitRate;
use report::document::Document;
use report::format::{FORMATS, Style, render};
use report::import::{Known, group, names, read};

/// One input.
pub(crate) fn run(text: &str) {
    // Two files, so that groups are compared: the second begins at a form feed, which no tool prints.
    let (link, mss) = (Some(BitRate(1_000_000_000)), Some(1448));
    for (link, mss, together) in [(None, None, false), (link, mss, true)] {
        let files = text.split('\u{c}').take(3).zip(["one-1.txt", "one-2.txt", "two-1.txt"]);
        let all: Vec<_> = files
            .flat_map(|(text, file)| {
                let read = read(file, text, Known { link, mss }).unwrap_or_default();
                read.into_iter().map(move |one| (file, one))
            })
            .collect();
        let places: Vec<(&str, usize)> = all.iter().map(|(file, one)| (*file, one.line)).collect();
        let names = names(&places);
        assert_eq!(names.len(), all.len());
        for by_file in [false, true] {
            let subjects = all.iter().zip(&names).map(|((file, one), name)| Subject {
                name,
                group: by_file.then(|| group(file)),
                run: &one.run,
            });
            let subjects: Vec<_> = subjects.collect();
            hold(&Analysis::from_subjects(&subjects, AnalysisOptions { link, together }));
        }
    }
}

fn hold(found: &Analysis) {
    let json = found.json();
    let again: Analysis = serde_json::from_str(&json).expect("our own document is read");
    assert!(
        again == *found,
        "an analysis changed when it went through JSON:\n{json}\n{}",
        again.json()
    );
    assert!(found.ndjson().lines().all(|line| line.starts_with('{')));
    for format in FORMATS {
        assert!(render(found, format, &Style::default()).ends_with('\n'), "{}", format.name);
    }
    let csv = found.csv();
    assert!(csv.rows.iter().all(|row| row.len() == csv.columns.len()), "rows of other lengths: {:?}", csv.rows);
}
