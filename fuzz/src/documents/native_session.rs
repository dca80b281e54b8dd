//! A native client and server over a spoiled control connection: both end, their reports can be judged, and undisturbed they
//! agree.

use model::host::Host;
use model::sample::StreamResult;
use model::units::Nanos;
use spoiled::{Chance, agree, judge, meet, report_of};
use wire::Policy;
use wire::native::{Client, ClientConfig, Server, ServerConfig, Token};
use world::Who;

/// One input.
pub(crate) fn run(data: &[u8]) {
    let mut chance = Chance::new(data);
    let test = chance.test();
    let secrets = [None, Token::new(b"a secret of 16 b"), Token::new(b"another of 16 by")];
    let token = |choice: u8| secrets[usize::from(choice % 3)].clone();
    let (binding, software) = (Vec::new(), String::from("fuzz"));
    let (ours, theirs) = match chance.byte() {
        0..200 => (1, 1),
        choice => (choice % 3, choice / 3 % 3),
    };
    let busy = chance.byte() > 250;
    let client = ClientConfig {
        token: token(ours),
        binding: binding.clone(),
        entropy: [1; 32],
        software: software.clone(),
        host: Host::default(),
    };
    let server = ServerConfig {
        token: token(theirs),
        binding,
        policy: Policy::default(),
        busy,
        entropy: [2; 32],
        software,
        host: Host::default(),
    };
    let chance = chance.shared();
    let client = |now| Client::new(client, test.clone(), Nanos::from_secs(1), now);
    let mut world = meet(client, |now| Server::new(server, now), &chance);
    let _ = world.run();
    let (client, server) = (report_of(&world, Who::Client), report_of(&world, Who::Server));
    if ours == theirs && !busy && !chance.borrow().was_unusual() {
        agree(&client, &server, StreamResult::eq);
    }
    judge(test, client);
}
