//! `--format`: the names are those of the table, and each of them writes every document.

use super::{run, succeed};
use report::format::FORMATS;

/// Commands that need neither a far end nor rights.
const COMMANDS: [&str; 5] = [
    "linerate --link 25G",
    "linerate --link 25G --pps 1.9M",
    "doctor",
    "lab list",
    "lab show bufferbloat direct",
];

#[test]
fn every_document_is_written_in_every_format() {
    for command in COMMANDS {
        for format in FORMATS {
            let written = succeed(&format!("{command} --format {}", format.name));
            assert!(written.ends_with('\n') && !written.contains('\u{1b}'), "{command} as {}", format.name);
        }
    }
}

#[test]
fn the_names_are_those_of_the_table() {
    let refused = run("linerate --link 25G --format nonsense");
    assert_eq!(refused.code, Some(2));
    for format in FORMATS {
        assert!(refused.stderr.contains(format.name), "{}: {}", format.name, refused.stderr);
        assert!(succeed("linerate --help").contains(format.name), "{}", format.name);
    }
}
