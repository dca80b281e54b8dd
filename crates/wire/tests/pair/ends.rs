//! The native protocol's two ends for the world.

use model::host::Host;
use model::plan::{Directions, End, TestSpec, Transport};
use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_wire::Session;
use pathmeter_wire::native::{Client, ClientConfig, Server, ServerConfig, Token};
use pathmeter_wire::{Policy, ProtocolError};
use world::{Flows, Nature, Who, Work, World};

pub(crate) type NativePair = World<'static, Client, Server, Flows>;

/// A client of another kind and its server.
pub(crate) type Talk<C, W> = World<'static, C, Server, W>;

pub(crate) fn host(name: &str) -> Host {
    Host { name: name.into(), ..Host::default() }
}

pub(crate) fn client_config() -> ClientConfig {
    ClientConfig {
        token: None,
        binding: Vec::new(),
        entropy: [1; 32],
        software: "pathmeter test client".into(),
        host: host("client"),
    }
}

pub(crate) fn server_config() -> ServerConfig {
    ServerConfig {
        token: None,
        binding: Vec::new(),
        policy: Policy::default(),
        busy: false,
        entropy: [2; 32],
        software: "pathmeter test server".into(),
        host: host("server"),
    }
}

pub(crate) fn token(text: &str) -> Option<Token> {
    (!text.is_empty()).then(|| Token::new(format!("{text:*<16}").as_bytes()).expect("long enough"))
}

/// A test of three seconds.
pub(crate) fn spec(transport: Transport, directions: Directions) -> TestSpec {
    let length = (transport == Transport::Udp).then_some(1000);
    TestSpec { directions, length, end: End::Time(Nanos::from_secs(3)), ..TestSpec::new(transport) }
}

pub(crate) fn pair(nature: Nature<'static>, spec: &TestSpec) -> NativePair {
    pair_of(nature, spec, client_config(), server_config())
}

pub(crate) fn pair_of(
    nature: Nature<'static>,
    spec: &TestSpec,
    client: ClientConfig,
    server: ServerConfig,
) -> NativePair {
    let (interval, flows) = (nature.interval, Flows::new(&nature));
    let client = |now| Client::new(client, spec.clone(), interval, now);
    World::new(nature, client, |now| Server::new(server, now), flows)
}

/// A client of any kind, a server, and what they do beside the dialogue.
pub(crate) fn talk<C: Session, W: Work>(
    client: impl FnOnce(MonoTime) -> C,
    server: ServerConfig,
    work: W,
) -> Talk<C, W> {
    World::new(Nature::default(), client, |now| Server::new(server, now), work)
}

/// The same with a server as usual, once the client satisfies the condition.
pub(crate) fn talk_until<C: Session, W: Work>(
    client: impl FnOnce(MonoTime) -> C,
    work: W,
    is_ready: impl Fn(&C) -> bool,
) -> Talk<C, W> {
    let mut talk = talk(client, server_config(), work);
    talk.run_until(|talk| is_ready(&talk.client.session));
    talk
}

pub(crate) fn error(pair: &NativePair, who: Who) -> Option<&ProtocolError> {
    pair.errors()[usize::from(who == Who::Server)]
}
