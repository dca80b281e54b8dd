//! An iPerf3 client and server over a spoiled control connection: both end, and what they told can be judged.
#![no_main]

use spoiled::{Chance, End, START, converse, judge};
use wire::iperf3::{Client, ClientConfig, Cookie, Extras, Server, ServerConfig};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut chance = Chance::new(data);
    let cookie = Cookie::from_entropy(&[3; 36]);
    let extras = Extras { get_server_output: chance.byte() & 1 == 1, ..Extras::default() };
    let test = chance.test();
    let config = ClientConfig { cookie: cookie.clone(), test: test.clone(), extras };
    let mut client = End::new(Client::new(config, START), true);
    let mut server = End::new(Server::new(ServerConfig::default(), cookie, START), false);
    converse(&mut client, &mut server, &mut chance);
    judge(test, client.events);
});
