//! The native protocol's two ends for the world.

use crate::world::{Nature, Pair};
use model::host::Host;
use model::plan::{Directions, End, TestSpec, Transport};
use model::units::Nanos;
use pathmeter_wire::Policy;
use pathmeter_wire::native::{Client, ClientConfig, Server, ServerConfig, Token};

pub(crate) type NativePair = Pair<Client, Server>;

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
    let length = if transport == Transport::Udp { 1000 } else { 0 };
    TestSpec { directions, length, end: End::Time(Nanos::from_secs(3)), ..TestSpec::new(transport) }
}

pub(crate) fn pair(nature: Nature, spec: &TestSpec) -> NativePair {
    pair_of(nature, spec, client_config(), server_config())
}

pub(crate) fn pair_of(
    nature: Nature,
    spec: &TestSpec,
    client: ClientConfig,
    server: ServerConfig,
) -> NativePair {
    let interval = nature.interval;
    Pair::new(nature, |now| Client::new(client, spec.clone(), interval, now), |now| Server::new(server, now))
}
