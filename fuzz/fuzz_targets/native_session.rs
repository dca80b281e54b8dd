//! A native client and server over a spoiled control connection: both end, and what they told can be judged.
#![no_main]

use model::host::Host;
use model::units::Nanos;
use spoiled::{Chance, End, START, converse, judge};
use wire::Policy;
use wire::native::{Client, ClientConfig, Server, ServerConfig, Token};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut chance = Chance::new(data);
    let test = chance.test();
    let secrets = [None, Token::new(b"secret"), Token::new(b"another")];
    let token = |choice: u8| secrets[usize::from(choice % 3)].clone();
    let (binding, software) = (Vec::new(), String::from("fuzz"));
    let (ours, theirs) = match chance.byte() {
        0..200 => (token(1), token(1)),
        choice => (token(choice), token(choice / 3)),
    };
    let client = ClientConfig {
        token: ours,
        binding: binding.clone(),
        entropy: [1; 32],
        software: software.clone(),
        host: Host::default(),
    };
    let server = ServerConfig {
        token: theirs,
        binding,
        policy: Policy::default(),
        busy: chance.byte() > 250,
        entropy: [2; 32],
        software,
        host: Host::default(),
    };
    let mut client = End::new(Client::new(client, test.clone(), Nanos(1_000_000_000), START), true);
    let mut server = End::new(Server::new(server, START), false);
    converse(&mut client, &mut server, &mut chance);
    judge(test, client.events);
});
