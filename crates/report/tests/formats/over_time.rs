//! What a run measured over time, for charts that are looked into.

use super::{frames, latency, runs};
use model::run::Run;
use model::time::WallTime;
use pathmeter_report::format::{Series, series};

fn named(all: &[Series], figure: &str) -> Series {
    all.iter().find(|one| one.figure == figure).unwrap_or_else(|| panic!("no {figure}")).clone()
}

fn marks(one: &Series) -> Vec<&str> {
    one.marks.iter().map(|mark| mark.name.as_str()).collect()
}

/// The same run with its parts so many seconds after one another.
fn apart(mut run: Run, seconds: u64) -> Run {
    let begin = WallTime(1_790_000_000_000_000_000);
    run.started = Some(begin);
    for (number, test) in (0..).zip(&mut run.tests) {
        test.started = Some(WallTime(begin.0 + number * seconds * 1_000_000_000));
    }
    run
}

/// The parts of a `measure` run share one axis: what was drawn while it ran, also where a part has two points.
#[test]
fn parts_of_a_run_share_an_axis() {
    let all = series(&apart(runs::measure(Vec::new()), 20));
    let goodput = named(&all, "Goodput");
    assert_eq!(all.iter().filter(|one| one.figure == "Goodput").count(), 1);
    assert_eq!(marks(&goodput), ["TCP up", "TCP down", "UDP down"]);
    let names: Vec<&str> = goodput.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["TCP up", "TCP down", "UDP down"]);
    let down = &goodput.lines[1];
    assert_eq!((down.at[0], down.values[0]), (20.0, None), "it begins with its part");
    assert_eq!(down.at[1..], [21.0, 22.0], "two points are a chart");
    assert!(down.values[1..].iter().all(|value| value.is_some_and(|rate| rate > 1e9)));
}

/// Each part of a sweep over frame sizes states which size it had.
#[test]
fn parts_of_a_sweep_name_their_frames() {
    let all = series(&apart(frames::with_tests(), 2));
    assert_eq!(marks(&named(&all, "Goodput")), ["TCP 512", "UDP 64", "UDP 1518"]);
}

/// Beside a load the phases are marked, goodput stands on the same axis, and no line is called by the label of the run.
#[test]
fn phases_of_a_load_are_marked() {
    let (_, loaded) =
        latency::all().into_iter().find(|(name, _)| *name == "latency_loaded").expect("it is there");
    let all = series(&loaded);
    let (rtt, goodput) = (named(&all, "RTT"), named(&all, "Goodput"));
    assert_eq!(marks(&rtt)[..2], ["idle", "load up"]);
    assert_eq!(rtt.marks, goodput.marks);
    assert_eq!(rtt.marks[0].at, 0.0);
    assert_eq!(rtt.lines[0].name, "median");
    assert!(goodput.lines.iter().any(|line| line.name == "up"), "{goodput:?}");
    let (_, several) =
        latency::all().into_iter().find(|(name, _)| *name == "latency_five_paths").expect("it is there");
    assert!(series(&several).iter().all(|one| one.figure != "RTT"), "several paths have a line each");
}
