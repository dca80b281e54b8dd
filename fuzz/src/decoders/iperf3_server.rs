//! The server machine against a client that sends anything, in any order, at any time.

use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use spoiled::driver::{Driver, Script};
use wire::Policy;
use wire::iperf3::{Cookie, Server, ServerConfig, Verifier};

/// One input.
pub(crate) fn run(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let choice = script.byte();
    let policy = Policy {
        max_time: (choice & 1 != 0).then_some(Nanos::from_secs(100)),
        max_rate: (choice & 2 != 0).then_some(BitRate(1_000_000)),
        max_streams: (choice & 4 != 0).then_some(2),
    };
    // With both bits no token is right.
    let (guarded, unauthenticated) = (choice & 8 != 0, choice & 24 == 24);
    let verifier: Option<Verifier> =
        if guarded { Some(Box::new(move |token: &str| token.len() > 2 && !unauthenticated)) } else { None };
    let server = Server::new(ServerConfig { policy, verifier }, Cookie::from_entropy(&[0; 36]), MonoTime(1));
    Driver::new(Box::new(server), &SAYINGS).with_unauthenticated(unauthenticated).run(&mut script);
}

/// Messages of a good client, so that the fuzzer need not find them.
const SAYINGS: [&[u8]; 8] = [
    b"\0\0\0\x2c{\"tcp\":true,\"time\":1,\"parallel\":2,\"len\":999}",
    b"\0\0\0\x43{\"udp\":true,\"num\":9000,\"parallel\":2,\"len\":999,\"bidirectional\":true}",
    b"\0\0\0\x4d{\"udp\":true,\"time\":1,\"reverse\":true,\"get_server_output\":1,\"authtoken\":\"abcd\"}",
    &[4],
    b"\0\0\0\xeb{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":1,\"sender_has_retransmits\":1,\"streams\":[{\"id\":1,\"bytes\":9,\"retransmits\":1,\"jitter\":0,\"errors\":0,\"packets\":9},{\"id\":3,\"bytes\":9,\"retransmits\":1,\"jitter\":0,\"errors\":0,\"packets\":9}]}",
    &[16],
    &[12],
    &[13],
];
