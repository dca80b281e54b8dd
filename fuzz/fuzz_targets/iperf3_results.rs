//! Results of an iPerf3 peer: any bytes are an answer, whatever the test was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::plan::{Direction, Directions, TestSpec, Transport};
use wire::iperf3::Results;

fuzz_target!(|bytes: &[u8]| {
    let Ok(results) = Results::decode(bytes) else { return };
    for transport in [Transport::Tcp, Transport::Udp] {
        let test = TestSpec { streams: 2, directions: Directions::Both, ..TestSpec::new(transport) };
        if let Ok(side) = results.to_side(&test, Direction::Down) {
            let again = Results::decode(&Results::of_side(&side, None).encode()).expect("our own results are good");
            assert_eq!(again.streams.len(), side.streams.len());
        }
    }
});
