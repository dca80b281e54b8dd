//! Two honest machines joined by a channel that the fuzzer spoils: this reaches every state of a dialogue.

pub mod driver;
pub mod held;
mod played;
pub mod runs;
pub mod samples;
pub mod topology;

pub use played::Played;

use insight::run_of_events;
use model::event::{Connected, EndResult, Event};
use model::host::Host;
use model::plan::{Directions, End as Ending, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::run::Run;
use model::sample::{Side, SideResult, StreamResult};
use model::time::{MonoTime, WallTime};
use model::units::{Bytes, Nanos};
use std::cell::RefCell;
use std::rc::Rc;
use wire::iperf3::{self, Cookie, Extras};
use wire::{Output, Session};
use world::{Nature, Who, World};

/// A target: what is done with one input.
pub type FuzzTarget = fn(&[u8]);

/// The target that `FUZZ_TARGET` in the environment names. One program has many, which takes far less time to build than a program
/// for each.
pub fn chosen(targets: &[(&str, FuzzTarget)]) -> FuzzTarget {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = targets.iter().find(|(target, _)| *target == name);
    let names: Vec<&str> = targets.iter().map(|(target, _)| *target).collect();
    found.unwrap_or_else(|| panic!("FUZZ_TARGET is {name:?}, and not one of {}", names.join(", "))).1
}

/// The input as text, up to the first byte that is not UTF-8.
pub fn text(data: &[u8]) -> &str {
    let valid = std::str::from_utf8(data).map_or_else(|error| error.valid_up_to(), str::len);
    std::str::from_utf8(&data[..valid]).unwrap_or_default()
}

/// The fuzzer's choices, byte by byte; when they are used up, nothing unusual happens any more.
pub struct Chance<'a> {
    rest: &'a [u8],
    unusual: bool,
}

impl<'a> Chance<'a> {
    /// From the fuzzer's bytes.
    pub fn new(data: &'a [u8]) -> Chance<'a> {
        Chance { rest: data, unusual: false }
    }

    /// The same for a world, in which link and work share it.
    pub fn shared(self) -> Rc<RefCell<Chance<'a>>> {
        Rc::new(RefCell::new(self))
    }

    /// The next byte, or 0.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// Does something fail at an end? Seldom.
    pub fn fails(&mut self) -> bool {
        let fails = self.byte() > 250;
        self.unusual |= fails;
        fails
    }

    /// Was anything spoiled, or did anything fail?
    #[must_use]
    pub fn was_unusual(&self) -> bool {
        self.unusual
    }

    /// A test of some kind.
    pub fn test(&mut self) -> TestSpec {
        let choice = self.byte();
        let transport = if choice & 1 == 0 { Transport::Tcp } else { Transport::Udp };
        let directions = [Directions::Up, Directions::Down, Directions::Both][usize::from(choice >> 1) % 3];
        let end = match choice >> 6 {
            0 | 1 => Ending::Time(Nanos::from_secs(2)),
            2 => Ending::Bytes(Bytes(100_000)),
            _ => Ending::Blocks(100),
        };
        let length = (transport == Transport::Udp).then_some(1000);
        TestSpec { directions, end, length, ..TestSpec::new(transport) }
    }

    /// Spoils bytes in transit.
    pub fn spoil(&mut self, bytes: &mut Vec<u8>) {
        let what = self.byte();
        if what < 128 {
            return;
        }
        self.unusual = true;
        let at = usize::from(u16::from_be_bytes([self.byte(), self.byte()])) % bytes.len().max(1);
        let with = self.byte();
        match what % 6 {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= with),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, with),
            3 => drop(bytes.drain(..at)),
            4 => bytes.splice(at..at, b"18446744073709551615".iter().copied()).for_each(drop),
            _ => bytes.extend_from_within(at..),
        }
    }
}

/// Two ends whose messages are spoiled in transit.
pub type Spoiled<'a, C, S> = World<'a, C, S, Played<'a>>;

/// Two ends that have just met.
pub fn meet<'a, C: Session, S: Session>(
    client: impl FnOnce(MonoTime) -> C,
    server: impl FnOnce(MonoTime) -> S,
    chance: &Rc<RefCell<Chance<'a>>>,
) -> Spoiled<'a, C, S> {
    let own = chance.clone();
    let tamper = move |_: Who, bytes: &mut Vec<u8>| own.borrow_mut().spoil(bytes);
    let nature = Nature { delay: Nanos::from_micros(100), portion: 2000, tamper: Some(Box::new(tamper)), ..Nature::default() };
    World::new(nature, client, server, Played::new(chance))
}

/// An iPerf3 client and server that have just met. The driver of a server has read the cookie before there is a session.
///
/// # Panics
/// When the client does not begin with its cookie.
pub fn iperf3<'a>(
    test: TestSpec,
    extras: Extras,
    chance: &Rc<RefCell<Chance<'a>>>,
) -> Spoiled<'a, iperf3::Client, iperf3::Server> {
    let cookie = Cookie::from_entropy(&[3; 36]);
    let config = iperf3::ClientConfig { cookie: cookie.clone(), test, extras };
    let own = cookie.clone();
    let client = |now| {
        let mut client = iperf3::Client::new(config, now);
        assert!(
            matches!(client.output(now), Output::Send(bytes) if bytes == own.to_wire()),
            "it begins otherwise"
        );
        client
    };
    let server = |now| iperf3::Server::new(iperf3::ServerConfig::default(), cookie, now);
    meet(client, server, chance)
}

/// The events that an end reported, with its own result as its engine would have reported it.
pub fn report_of<C, S>(world: &Spoiled<'_, C, S>, who: Who) -> Vec<Event> {
    let mut events = match who {
        Who::Client => world.client.events.clone(),
        Who::Server => world.server.events.clone(),
    };
    if let Some(result) = world.work.measured[played::index(who)].clone() {
        let own = EndResult { side: Side::Local, result, output_text: None, output_json: None };
        let at = events.iter().position(|event| matches!(event, Event::Result(_))).unwrap_or(events.len());
        events.insert(at, Event::Result(own));
    }
    events
}

/// Both ends had what either measured, where nothing disturbed them. `same`: as far as the protocol transmits it.
pub fn agree(client: &[Event], server: &[Event], same: fn(&StreamResult, &StreamResult) -> bool) {
    let result_of = |events: &[Event], side: Side| -> SideResult {
        let mut found = events.iter().filter_map(|event| match event {
            Event::Result(reported) if reported.side == side => Some(reported.result.clone()),
            _ => None,
        });
        let result = found.next().unwrap_or_else(|| panic!("no result of {side:?}: {events:?}"));
        assert!(found.next().is_none(), "two results of {side:?}");
        result
    };
    for (here, there) in [(client, server), (server, client)] {
        let (measured, reported) = (result_of(here, Side::Local).streams, result_of(there, Side::Peer).streams);
        let alike =
            measured.len() == reported.len() && measured.iter().zip(&reported).all(|(one, other)| same(one, other));
        assert!(alike, "measured {measured:#?}\ntold {reported:#?}");
    }
}

/// Folds and judges a client's events of this test, as its command would.
pub fn judge(test: TestSpec, reported: Vec<Event>) -> Run {
    let address = ([192, 0, 2, 7], 5210).into();
    let target = Target { host: String::from("far"), address };
    let plan = Plan { target, protocol: ProtocolName::Native, test, local: LocalOptions::default() };
    let connected = Connected {
        wall: WallTime(0),
        plan,
        local: address,
        remote: address,
        session: String::new(),
        control_mss: None,
        host: Host::default(),
        peer: None,
    };
    let events: Vec<Event> = std::iter::once(Event::Connected(connected)).chain(reported).collect();
    run_of_events("1", "throughput", &events)
}
