//! `pathmeter iperf` against the real `iperf` 2.1.8, in both roles, and against itself: the output has the lines that iPerf2
//! prints in the same mode, and both ends report the same figures.

mod figures;
mod paced;
#[path = "../peers/ports.rs"]
mod ports;
mod process;
mod rows;
#[path = "../peers/running.rs"]
mod running;
mod shapes;
mod troubled;
#[path = "../peers/workers.rs"]
mod workers;

use process::{Played, Rows, Tool, played, played_until, rows_of_whole};
use shapes::{shapes, without_window};
use std::sync::OnceLock;
use workers::for_each;

/// A mode: options of the server, options of the client.
type Mode = (&'static str, &'static str);

/// Both ends of iPerf2 print the same in these, whatever the peer. The last ones, with `-e`, print more of this end.
const MODES: [Mode; 16] = [
    ("-s", "-t 1"),
    ("-s -i 1", "-t 2 -i 1 -P 2 -M 1460"),
    ("-s", "-t 1 -R"),
    ("-s -i 1", "-t 2 -i 1 --full-duplex"),
    ("-s -f k", "-t 1 -f M -P 2 --sum-only"),
    ("-s -f G", "-t 1 -f m"),
    ("-s -x CS", "-t 1 -x CS"),
    ("-s -y C -i 1", "-t 2 -i 1 -P 2 -y C"),
    ("-s -u -i 1", "-u -t 2 -i 1 -b 2M"),
    ("-s -u", "-u -t 1 -P 2 -b 2M"),
    ("-s -u", "-u -t 1 -R"),
    ("-s -u -y C", "-u -t 1 -y C"),
    ("-s -e -i 1", "-t 2 -i 1 -e -P 2"),
    ("-s -e", "-t 1 -e -R"),
    ("-s -e -u -i 1", "-u -t 2 -i 1 -e -b 2M"),
    ("-s -e -u", "-u -t 1 --isochronous=60:10m,0 --trip-times"),
];

/// The output of the real client and the real server, played once. A server of 2.1.8 loses its sum when one stream is over
/// before it looks at the other: such a run is no model.
fn model(mode: &Mode) -> &'static Played {
    static PLAYED: [OnceLock<Played>; MODES.len()] = [const { OnceLock::new() }; MODES.len()];
    let at = MODES.iter().position(|known| known == mode).expect("a mode of the table");
    PLAYED[at].get_or_init(|| {
        let mut runs = (0..MOST_RUNS).map(|_| played((Tool::Real, mode.0), (Tool::Real, mode.1)));
        let whole = runs.find(|run| Rows::from_text(&run.server) == rows_of_whole(mode.0, mode.1));
        whole.unwrap_or_else(|| panic!("{mode:?}: no run of {MOST_RUNS} has its sums"))
    })
}

#[test]
fn a_client_prints_what_iperf2_prints() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for_each(&MODES, |mode| {
        let rows = Rows { sums: 0, ..rows_of_whole(mode.0, mode.1) };
        let play = || played_until((Tool::Real, mode.0), (Tool::Ours, mode.1), rows);
        let ours = on_time(mode.1, |run| &run.client, play);
        prints_the_same(mode.1, &ours.client, &model(mode).client);
    });
}

#[test]
fn a_server_prints_what_iperf2_prints() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for_each(&MODES, |mode| {
        let ours = on_time(mode.0, |run| &run.server, || played((Tool::Ours, mode.0), (Tool::Real, mode.1)));
        prints_the_same(mode.0, &ours.server, &model(mode).server);
    });
}

/// A run of ours in which no interval was closed late, as happens where neighbours take both CPUs for a second.
fn on_time(options: &str, end: fn(&Played) -> &str, play: impl Fn() -> Played) -> Played {
    let mut runs = (0..MOST_RUNS).map(|_| play());
    let run = runs.find(|run| interval(options).is_none_or(|long| rows::are_on_time(end(run), long)));
    run.unwrap_or_else(|| panic!("{options}: every one of {MOST_RUNS} runs closed an interval late"))
}

/// Seconds between reports.
fn interval(options: &str) -> Option<f64> {
    options.split_whitespace().any(|word| word == "-i").then_some(1.0)
}

/// Runs until one is whole: it rarely takes a second.
const MOST_RUNS: usize = 8;

fn prints_the_same(options: &str, ours: &str, theirs: &str) {
    let has = |option: &str| options.split_whitespace().any(|word| word == option);
    rows::hold(ours, interval(options));
    let shapes_of = |text: &str| match options.starts_with("-s") {
        true => shapes(text, has("-f")),
        false => without_window(shapes(text, has("-f"))),
    };
    let (own, wanted) = (shapes_of(ours), shapes_of(theirs));
    assert_eq!(own, wanted, "\nours:\n{ours}\ntheirs:\n{theirs}");
}
