//! `pathmeter iperf` against the real `iperf` 2.1.8, in both roles, and against itself: what is printed has the lines
//! that iPerf2 prints in the same mode, and both ends tell the same figures.

mod figures;
mod paced;
mod process;
mod shapes;
mod troubled;

use process::{Tool, played};
use shapes::{missing, shapes};

/// A mode: options of the server, options of the client.
type Mode = (&'static str, &'static str);

/// Both ends of iPerf2 print the same in these whoever they talk to.
const MODES: &[Mode] = &[
    ("-s", "-t 1"),
    ("-s -i 1", "-t 2 -i 1 -P 2 -M 1460"),
    ("-s", "-t 1 -R"),
    ("-s -i 1", "-t 2 -i 1 --full-duplex"),
    ("-s", "-t 1 -f M -P 2 --sum-only"),
    ("-s -x CS", "-t 1 -x CS"),
    ("-s -y C -i 1", "-t 2 -i 1 -P 2 -y C"),
    ("-s -u -i 1", "-u -t 2 -i 1 -b 2M"),
    ("-s -u", "-u -t 1 -P 2 -b 2M"),
    ("-s -u", "-u -t 1 -R"),
    ("-s -u -y C", "-u -t 1 -y C"),
];

/// With `-e`, which says more of this end.
const ENHANCED: &[Mode] = &[
    ("-s -e -i 1", "-t 2 -i 1 -e -P 2"),
    ("-s -e", "-t 1 -e -R"),
    ("-s -e -u -i 1", "-u -t 2 -i 1 -e -b 2M"),
];

#[test]
fn a_client_prints_what_iperf2_prints() {
    for (server, client) in MODES.iter().chain(ENHANCED) {
        let model = played((Tool::Real, server), (Tool::Real, client));
        let ours = played((Tool::Real, server), (Tool::Ours, client));
        assert_eq!(ours.status, 0, "{client}: {}", ours.client_errors);
        let (lacks, adds) = missing(&shapes(&model.client), &shapes(&ours.client));
        assert!(
            lacks.is_empty() && adds.is_empty(),
            "{client}: lacks {lacks:#?}, adds {adds:#?}\n{}",
            ours.client
        );
    }
}

#[test]
fn a_server_prints_what_iperf2_prints() {
    for (server, client) in MODES.iter().chain(ENHANCED) {
        let model = played((Tool::Real, server), (Tool::Real, client));
        let ours = played((Tool::Ours, server), (Tool::Real, client));
        let (lacks, adds) = missing(&shapes(&model.server), &shapes(&ours.server));
        assert!(
            lacks.is_empty() && adds.is_empty(),
            "{server}: lacks {lacks:#?}, adds {adds:#?}\n{}",
            ours.server
        );
    }
}
