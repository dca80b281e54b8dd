//! `--expect`, of runs and of devices: an expectation prints as it was written; for a measured figure exactly one of `>` and
//! `<=` holds, for any other none.

use model::dut::DutReport;
use model::run::Run;
use report::expect::{Checked, DeviceExpectation, Expectation};
use spoiled::samples::{devices, runs};
use std::str::FromStr;
use std::sync::LazyLock;

static RUNS: LazyLock<Vec<Run>> = LazyLock::new(runs);
static DEVICES: LazyLock<Vec<DutReport>> = LazyLock::new(devices);

/// One input.
pub(crate) fn run(text: &str) {
    match text.parse::<Expectation>() {
        Ok(expectation) => {
            for run in &*RUNS {
                hold::<Expectation>(text, &expectation.check(run), |other| other.check(run));
            }
        }
        Err(error) => assert!(error.to_string().contains(text)),
    }
    if let Ok(expectation) = text.parse::<DeviceExpectation>() {
        for report in &*DEVICES {
            let checked = expectation.check(report);
            assert_eq!(checked.expectation, text.trim());
            assert!(checked.measured.is_some() || !checked.held, "held without a figure: {checked}");
        }
    }
}

fn hold<E: FromStr>(text: &str, checked: &Checked, check: impl Fn(&E) -> Checked) {
    assert_eq!(checked.expectation, text.trim());
    assert!(checked.measured.is_some() || !checked.held, "held without a figure: {checked}");
    let at = text.find(['<', '>', '=']).expect("it was read");
    let (figure, rest) = text.split_at(at);
    let value = rest.trim_start_matches(['<', '>', '=']);
    // A value does not begin with a sign of comparison; where it seems to, the rest is none.
    let held: Vec<bool> = [">", "<=", "<", ">=", "=="]
        .iter()
        .filter_map(|sign| format!("{figure}{sign}{value}").parse().ok())
        .map(|other| check(&other).held)
        .collect();
    let [above, most, below, least, equal] = held[..] else { return };
    let measured = checked.measured.is_some();
    assert_eq!((above ^ most, below ^ least), (measured, measured), "{text}");
    assert_eq!(equal, most && least, "{text}");
}
