//! A run read from a file, which somebody has spoiled: judged anew and printed in every format.

use model::run::Run;
use spoiled::{Chance, iperf3, judge, runs, report_of};
use wire::iperf3::Extras;
use world::Who;

/// One input.
pub(crate) fn run(data: &[u8]) {
    let mut chance = Chance::new(data);
    let honest = honest(&mut chance);
    runs::hold_own(&honest);
    let mut text = runs::json(&honest).into_bytes();
    for _ in 0..chance.byte() % 16 {
        chance.spoil(&mut text);
    }
    if let Some(run) = runs::read(&text) {
        runs::hold(&run);
    }
}

/// A test in which nothing went wrong.
fn honest(chance: &mut Chance<'_>) -> Run {
    let test = chance.test();
    let mut world = iperf3(test.clone(), Extras::default(), &Chance::new(&[]).shared());
    let _ = world.run();
    judge(test, report_of(&world, Who::Client))
}
