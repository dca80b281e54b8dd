//! Two honest machines joined by a channel that the fuzzer spoils: the way to reach every state of a dialogue.

pub mod driver;
mod end;
pub mod runs;
pub mod samples;
pub mod topology;

pub use end::End;

use insight::run_of_events;
use model::event::{Connected, Event};
use model::host::Host;
use model::plan::{Directions, End as Ending, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::run::Run;
use model::sample::{Side, SideResult, StreamResult};
use model::time::{MonoTime, WallTime};
use model::units::{Bytes, Nanos};
use wire::iperf3::{self, Cookie, Extras};
use wire::{Output, Session};

/// What the fuzzer wants of the world, byte by byte; when they are used up, nothing unusual happens any more.
pub struct Chance<'a> {
    rest: &'a [u8],
    unusual: bool,
}

impl<'a> Chance<'a> {
    /// From the fuzzer's bytes.
    pub fn new(data: &'a [u8]) -> Chance<'a> {
        Chance { rest: data, unusual: false }
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
        let length = if transport == Transport::Udp { 1000 } else { 0 };
        TestSpec { directions, end, length, ..TestSpec::new(transport) }
    }

    /// What becomes of bytes on their way.
    pub fn spoil(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        let what = self.byte();
        if what < 128 {
            return bytes;
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
        bytes
    }
}

/// An iPerf3 client and server that have just met. The driver of a server has read the cookie before there is a session.
///
/// # Panics
/// When the client does not begin with its cookie.
#[must_use]
pub fn iperf3(test: TestSpec, extras: Extras) -> (End<iperf3::Client>, End<iperf3::Server>) {
    let cookie = Cookie::from_entropy(&[3; 36]);
    let config = iperf3::ClientConfig { cookie: cookie.clone(), test, extras };
    let mut client = iperf3::Client::new(config, START);
    assert!(
        matches!(client.output(START), Output::Send(bytes) if bytes == cookie.to_wire()),
        "it begins otherwise"
    );
    let server = iperf3::Server::new(iperf3::ServerConfig::default(), cookie, START);
    (End::new(client, true), End::new(server, false))
}

/// Lets client and server talk until both are done. Panics when one of them waits for ever or never stops talking.
pub fn converse<C: Session, S: Session>(client: &mut End<C>, server: &mut End<S>, chance: &mut Chance<'_>) {
    let mut now = START;
    for _ in 0..MANY {
        let to_server = client.turn(now, chance);
        let to_client = server.turn(now, chance);
        server.hear(to_server);
        client.hear(to_client);
        if client.is_over() && server.is_over() {
            return;
        }
        if client.has_work() || server.has_work() {
            now = now + STEP;
            continue;
        }
        let next = [client.deadline(), server.deadline()].into_iter().flatten().min();
        now = next.expect("a session waits for ever").max(now + STEP);
    }
    panic!("the dialogue does not end");
}

/// Both ends had what either measured, where nothing disturbed them. `same`: as far as the protocol tells it.
pub fn agree(client: &[Event], server: &[Event], same: fn(&StreamResult, &StreamResult) -> bool) {
    let of = |events: &[Event], side: Side| -> SideResult {
        let mut found = events.iter().filter_map(|event| match event {
            Event::Result(told) if told.side == side => Some(told.result.clone()),
            _ => None,
        });
        let result = found.next().unwrap_or_else(|| panic!("no result of {side:?}: {events:?}"));
        assert!(found.next().is_none(), "two results of {side:?}");
        result
    };
    for (here, there) in [(client, server), (server, client)] {
        let (measured, told) = (of(here, Side::Local).streams, of(there, Side::Peer).streams);
        let alike =
            measured.len() == told.len() && measured.iter().zip(&told).all(|(one, other)| same(one, other));
        assert!(alike, "measured {measured:#?}\ntold {told:#?}");
    }
}

/// Folds and judges what a client told of this test, as its command would.
pub fn judge(test: TestSpec, told: Vec<Event>) -> Run {
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
    let events: Vec<Event> = std::iter::once(Event::Connected(connected)).chain(told).collect();
    run_of_events("1", "throughput", &events)
}

/// When a session begins.
pub const START: MonoTime = MonoTime(1_000_000_000);
const STEP: Nanos = Nanos(100_000);
/// Rounds: an honest test of two seconds with reports every second takes some dozens.
const MANY: usize = 20_000;
