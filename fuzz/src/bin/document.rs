//! A run read from a file, which somebody has spoiled: judged anew and printed in every format.
#![no_main]

use model::run::Run;
use spoiled::{Chance, converse, iperf3, judge, runs};
use wire::iperf3::Extras;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut chance = Chance::new(data);
    let honest = honest(&mut chance);
    runs::hold_own(&honest);
    let mut text = runs::json(&honest).into_bytes();
    for _ in 0..chance.byte() % 16 {
        text = chance.spoil(text);
    }
    if let Some(run) = runs::read(&text) {
        runs::hold(&run);
    }
});

/// A test in which nothing went wrong.
fn honest(chance: &mut Chance<'_>) -> Run {
    let test = chance.test();
    let (mut client, mut server) = iperf3(test.clone(), Extras::default());
    converse(&mut client, &mut server, &mut Chance::new(&[]));
    judge(test, client.events)
}
