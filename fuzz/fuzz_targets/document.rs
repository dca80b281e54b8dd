//! A run read from a file, which somebody has spoiled: judged anew and printed in every format.
#![no_main]

use model::run::Run;
use report::format::{FORMATS, Style};
use spoiled::{Chance, End, START, converse, judge};
use wire::iperf3::{Client, ClientConfig, Cookie, Extras, Server, ServerConfig};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut chance = Chance::new(data);
    let mut text = serde_json::to_vec(&honest(&mut chance)).expect("a run is JSON");
    for _ in 0..chance.byte() % 16 {
        text = chance.spoil(text);
    }
    let Ok(run) = serde_json::from_slice::<Run>(&text) else { return };
    let _ = (model::finding::all(&run), model::finding::verdict(&run));
    FORMATS.iter().for_each(|format| drop((format.render)(&run, &Style::default())));
});

/// A test in which nothing went wrong.
fn honest(chance: &mut Chance<'_>) -> Run {
    let (cookie, test) = (Cookie::from_entropy(&[3; 36]), chance.test());
    let config = ClientConfig { cookie: cookie.clone(), test: test.clone(), extras: Extras::default() };
    let mut client = End::new(Client::new(config, START), true);
    let mut server = End::new(Server::new(ServerConfig::default(), cookie, START), false);
    converse(&mut client, &mut server, &mut Chance::new(&[]));
    judge(test, client.events)
}
