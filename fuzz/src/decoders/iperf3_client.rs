//! The client machine against a server that sends anything, in any order, at any time.

use model::plan::{Directions, End, TestSpec, Transport};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use spoiled::driver::{Driver, Script};
use wire::iperf3::{Client, ClientConfig, Cookie, Extras};

/// One input.
pub(crate) fn run(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let choice = script.byte();
    let transport = if choice & 1 == 0 { Transport::Tcp } else { Transport::Udp };
    let directions = [Directions::Up, Directions::Down, Directions::Both][usize::from(choice >> 1 & 3) % 3];
    let end = [End::Time(Nanos::from_secs(1)), End::Bytes(Bytes(1000)), End::Blocks(3)];
    let end = end[usize::from(choice >> 3 & 3) % 3];
    let extras = Extras { get_server_output: choice & 32 != 0, ..Extras::default() };
    let test = TestSpec { directions, end, streams: 2, length: Some(100), ..TestSpec::new(transport) };
    let config = ClientConfig { cookie: Cookie::from_entropy(&[0; 36]), test, extras };
    Driver::new(Box::new(Client::new(config, MonoTime(1))), &SAYINGS).run(&mut script);
}

/// Messages of a good server, so that the fuzzer need not find them.
const SAYINGS: [&[u8]; 8] = [
    &[9],
    &[10],
    &[1, 2],
    &[13],
    b"\0\0\0\xeb{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":1,\"sender_has_retransmits\":1,\"streams\":[{\"id\":1,\"bytes\":9,\"retransmits\":1,\"jitter\":0,\"errors\":0,\"packets\":9},{\"id\":3,\"bytes\":9,\"retransmits\":1,\"jitter\":0,\"errors\":0,\"packets\":9}]}",
    &[14],
    &[0xfe, 0, 0, 0, 7, 0, 0, 0, 0],
    &[11],
];
