//! The quickest of the cases of public reports that no other test has. `scripts/mtu-cases` runs all of them.

use super::net::may_make_networks;
use std::process::Command;

#[test]
fn cases_of_public_reports_are_right() {
    if !may_make_networks("cases_of_public_reports_are_right") {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/mtu-cases");
    let ended = Command::new(script)
        .args(CASES)
        .env("PATHMETER", env!("CARGO_BIN_EXE_pathmeter"))
        .env("MTU_CASES_OUTPUT", "1")
        .output()
        .expect("python3 runs it");
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with("  right")).count(), CASES.len(), "{text}");
}

const CASES: [&str; 3] = ["05", "21", "51"];
