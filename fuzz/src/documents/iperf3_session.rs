//! An iPerf3 client and server over a spoiled control connection: both end, their reports can be judged, and undisturbed they
//! agree.

use model::sample::{Role, StreamResult};
use spoiled::{Chance, agree, iperf3, judge, report_of};
use wire::iperf3::Extras;
use world::Who;

/// One input.
pub(crate) fn run(data: &[u8]) {
    let mut chance = Chance::new(data);
    let extras = Extras { get_server_output: chance.byte() & 1 == 1, ..Extras::default() };
    let test = chance.test();
    let chance = chance.shared();
    let mut world = iperf3(test.clone(), extras, &chance);
    let _ = world.run();
    let (client, server) = (report_of(&world, Who::Client), report_of(&world, Who::Server));
    if !chance.borrow().was_unusual() {
        agree(&client, &server, same);
    }
    judge(test, client);
}

/// For TCP only a sender's retransmits are transmitted, for UDP neither reordering nor duplicates.
fn same(one: &StreamResult, other: &StreamResult) -> bool {
    let figures = |row: &StreamResult| (row.stream, row.direction, row.role, row.elapsed, row.bytes);
    let resent =
        |row: &StreamResult| row.tcp.as_ref().filter(|_| row.role == Role::Sender).map(|tcp| tcp.retransmits);
    let datagrams =
        |row: &StreamResult| row.udp.as_ref().map(|udp| (udp.datagrams, udp.lost, udp.last_sequence));
    figures(one) == figures(other) && resent(one) == resent(other) && datagrams(one) == datagrams(other)
}
