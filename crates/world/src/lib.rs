//! A virtual world for the tests of every dialogue and for the fuzz targets: two machines of [`wire::Session`] on a virtual link,
//! which delivers control bytes late and in any portions, by a virtual clock. Nothing in it waits; a minute of test takes a
//! millisecond.
//!
//! Work that an end requests beside the dialogue is played by a [`Work`]: [`Flows`] the data of a throughput test, [`InBand`]
//! flows that carry their own description. The world checks every session against the rules: outputs end in a wait, a timer that
//! fires early has no effect, nothing follows `Close`, and an error is returned once.
//!
//! With the feature `broker`, the hosts of a fleet meet at a broker in this process.

#[cfg(feature = "broker")]
pub mod broker;
mod end;
mod flows;
mod in_band;

pub use end::End;
pub use flows::{Flows, Moved};
pub use in_band::{Activity, Delivery, InBand};

use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use wire::{Input, Output, ProtocolError, Session, WorkReply, WorkRequest};

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The end that begins.
    Client,
    /// The other end.
    Server,
}

/// Both ends, in the sequence of their turns.
pub const BOTH: [Who; 2] = [Who::Client, Who::Server];

/// Properties of the world.
pub struct Nature<'a> {
    /// One-way delay, control and data.
    pub delay: Nanos,
    /// Largest portion in which control bytes arrive.
    pub portion: usize,
    /// Payload bytes per second on each stream of [`Flows`].
    pub rate: u64,
    /// One datagram in this many is lost; 0: none.
    pub lose_every: u64,
    /// The server's clock less the client's, nanoseconds.
    pub clock_offset: i64,
    /// Time between an end's reports of its flows.
    pub interval: Nanos,
    /// Seed of portions and delays; not 0.
    pub seed: u64,
    /// Disturbances, in any sequence, by the time since the beginning.
    pub troubles: Vec<(Nanos, Trouble)>,
    /// May change the bytes that an end sends, one `Send` at a time.
    pub tamper: Option<Tamper<'a>>,
}

/// May change bytes that an end sends.
pub type Tamper<'a> = Box<dyn FnMut(Who, &mut Vec<u8>) + 'a>;

/// A disturbance.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The user, or a signal, wants this end to stop.
    Interrupt(Who),
    /// From now on this end does nothing, and nothing reaches it; the other end is not notified.
    Vanish(Who),
    /// The control connection breaks; both ends notice.
    Break,
    /// These bytes reach an end on its control connection as if the peer had sent them.
    Inject(Who, Vec<u8>),
}

/// Plays the work that the ends request beside their dialogue. Times are the world's.
pub trait Work {
    /// Takes a request of an end and returns the immediate reply. Later replies are kept until they are due.
    fn request(&mut self, now: MonoTime, who: Who, request: WorkRequest) -> Option<WorkReply>;

    /// The time of the next reply.
    fn due(&self) -> Option<MonoTime> {
        None
    }

    /// The reply that is due, and its end; `None`: the reply is no longer needed.
    fn take(&mut self, _now: MonoTime) -> Option<(Who, WorkReply)> {
        None
    }

    /// Stops the work of this end, which has closed or vanished.
    fn gone(&mut self, _now: MonoTime, _who: Who) {}
}

/// Two ends and the link between them.
pub struct World<'a, C, S, W> {
    /// The client's clock.
    pub now: MonoTime,
    /// The end that began.
    pub client: End<C>,
    /// The other end.
    pub server: End<S>,
    /// The work of the ends beside the dialogue.
    pub work: W,
    nature: Nature<'a>,
    agenda: BTreeMap<(MonoTime, u64), Happening>,
    ticket: u64,
}

#[derive(Debug)]
enum Happening {
    Bytes(Who, Vec<u8>),
    Closed(Who),
    Trouble(Trouble),
    /// The end of a wait.
    Moment,
}

/// The world's first moment.
pub const BEGIN: MonoTime = MonoTime(1_000_000_000_000);

impl Default for Nature<'_> {
    fn default() -> Self {
        Nature {
            delay: Nanos::from_millis(5),
            portion: 700,
            rate: 1_000_000,
            lose_every: 0,
            clock_offset: 0,
            interval: Nanos::from_secs(1),
            seed: 88_172_645_463_325_252,
            troubles: Vec::new(),
            tamper: None,
        }
    }
}

impl Who {
    /// The one at the other end.
    #[must_use]
    pub fn other(self) -> Who {
        if self == Who::Client { Who::Server } else { Who::Client }
    }
}

impl<'a, C: Session, S: Session, W: Work> World<'a, C, S, W> {
    /// Creates the ends at the world's first moment, each by its own clock.
    pub fn new(
        nature: Nature<'a>,
        client: impl FnOnce(MonoTime) -> C,
        server: impl FnOnce(MonoTime) -> S,
        work: W,
    ) -> World<'a, C, S, W> {
        let server_now = MonoTime(BEGIN.0.wrapping_add_signed(nature.clock_offset));
        let (client, server) = (End::new(client(BEGIN)), End::new(server(server_now)));
        let mut world =
            World { now: BEGIN, client, server, work, nature, agenda: BTreeMap::new(), ticket: 0 };
        for (at, trouble) in std::mem::take(&mut world.nature.troubles) {
            world.plan(BEGIN + at, Happening::Trouble(trouble));
        }
        world
    }

    /// Runs until both ends are closed or vanished and returns how long that took.
    ///
    /// # Panics
    /// When that never happens, or an end breaks a rule.
    pub fn run(&mut self) -> Nanos {
        self.run_until(|world| !world.client.is_there() && !world.server.is_there());
        self.now.saturating_since(BEGIN)
    }

    /// Runs for this time.
    ///
    /// # Panics
    /// The same as [`World::run`].
    pub fn run_for(&mut self, time: Nanos) {
        let until = self.now + time;
        self.plan(until, Happening::Moment);
        self.run_until(|world| world.now >= until);
    }

    /// Runs until the condition holds.
    ///
    /// # Panics
    /// The same as [`World::run`].
    pub fn run_until(&mut self, is_done: impl Fn(&Self) -> bool) {
        BOTH.into_iter().for_each(|who| self.take_outputs(who));
        for _ in 0..MOST_STEPS {
            if is_done(self) {
                return;
            }
            self.step();
        }
        let since = self.now.saturating_since(BEGIN);
        panic!("not done after {since}: {:?}, {:?}", self.client.error, self.server.error);
    }

    /// Gives an input to an end that is there, then takes its outputs: the drain rule.
    ///
    /// # Panics
    /// When the end breaks a rule.
    pub fn give(&mut self, who: Who, input: Input<'_>) {
        let now = self.clock(who);
        self.end(who).input(now, input);
        self.take_outputs(who);
    }

    /// Delivers a message of the native protocol that the other end would not send.
    ///
    /// # Panics
    /// The same as [`World::give`].
    pub fn send_as_other(&mut self, to: Who, json: &str) {
        let length = u32::try_from(json.len()).expect("a message is short");
        self.give(to, Input::Received(&[length.to_be_bytes().as_slice(), json.as_bytes()].concat()));
    }

    /// From now on this end does nothing, and nothing reaches it; the other end is not notified.
    pub fn vanish(&mut self, who: Who) {
        self.end(who).vanished = true;
        self.work.gone(self.now, who);
    }

    /// Control bytes in flight to this end.
    #[must_use]
    pub fn in_flight(&self, to: Who) -> Vec<u8> {
        let bytes = self.agenda.values().filter_map(|happening| match happening {
            Happening::Bytes(who, bytes) if *who == to => Some(bytes.as_slice()),
            _ => None,
        });
        bytes.collect::<Vec<_>>().concat()
    }

    /// The errors of client and server.
    pub fn errors(&self) -> [Option<&ProtocolError>; 2] {
        [self.client.error.as_ref(), self.server.error.as_ref()]
    }

    /// Have client and server closed?
    pub fn closed(&self) -> [bool; 2] {
        [self.client.closed.is_some(), self.server.closed.is_some()]
    }

    /// Carries out the outputs of an end, until it waits.
    ///
    /// # Panics
    /// When it never waits, or has an output after it has closed.
    pub fn take_outputs(&mut self, who: Who) {
        // Immediate replies are delivered once the end waits.
        let mut replies = Vec::new();
        for _ in 0..MOST_OUTPUTS {
            if !self.end(who).is_there() {
                return;
            }
            let now = self.clock(who);
            match self.end(who).session.output(now) {
                Output::WaitUntil(wake) => {
                    let wake = wake.map(|wake| self.to_world(who, wake));
                    self.end(who).wake = wake;
                    return replies.into_iter().for_each(|reply| self.give(who, Input::Work(reply)));
                }
                Output::Send(bytes) => self.send(who, bytes),
                Output::Work(request) => replies.extend(self.work.request(self.now, who, request)),
                Output::Event(event) => self.end(who).events.push(event),
                Output::Close => self.close(who),
            }
        }
        panic!("{who:?} never waits");
    }

    fn end(&mut self, who: Who) -> &mut End<dyn Session + '_> {
        match who {
            Who::Client => &mut self.client,
            Who::Server => &mut self.server,
        }
    }

    fn close(&mut self, who: Who) {
        let (at, now) = (self.now, self.clock(who));
        let end = self.end(who);
        end.closed = Some(at);
        let next = end.session.output(now);
        assert!(matches!(next, Output::WaitUntil(None)), "{next:?} after Close");
        self.work.gone(at, who);
        let arrival = self.arrival(who.other());
        self.plan(arrival, Happening::Closed(who.other()));
    }

    fn step(&mut self) {
        let wakes = [self.client.waits(), self.server.waits(), self.work.due()];
        let planned = self.agenda.keys().next().map(|key| key.0);
        let next = wakes.into_iter().flatten().chain(planned).min();
        self.now = self.now.max(next.expect("an end that is not over waits for something"));
        for who in BOTH {
            if self.end(who).waits().is_some_and(|wake| wake <= self.now) {
                self.give(who, Input::Timer);
            }
        }
        if self.agenda.keys().next().is_some_and(|key| key.0 <= self.now)
            && let Some((_, happening)) = self.agenda.pop_first()
        {
            self.happen(happening);
        } else if self.work.due().is_some_and(|due| due <= self.now)
            && let Some((who, reply)) = self.work.take(self.now)
        {
            self.give(who, Input::Work(reply));
        }
        BOTH.into_iter().for_each(|who| self.wake_early(who));
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Bytes(who, bytes) => self.give(who, Input::Received(&bytes)),
            Happening::Closed(who) => self.give(who, Input::Closed),
            Happening::Moment => {}
            Happening::Trouble(Trouble::Interrupt(who)) => self.give(who, Input::Interrupt("Ctrl-C")),
            Happening::Trouble(Trouble::Inject(who, bytes)) => self.give(who, Input::Received(&bytes)),
            Happening::Trouble(Trouble::Break) => {
                BOTH.into_iter().for_each(|who| self.give(who, Input::Closed));
            }
            Happening::Trouble(Trouble::Vanish(who)) => self.vanish(who),
        }
    }

    /// A timer that fires early must have no effect.
    fn wake_early(&mut self, who: Who) {
        let (world, now) = (self.now, self.clock(who));
        let end = self.end(who);
        let wake = end.waits();
        if wake.is_none_or(|wake| wake <= world) {
            return;
        }
        end.session.input(now, Input::Timer).expect("an early timer is no error");
        let output = end.session.output(now);
        let Output::WaitUntil(until) = output else { panic!("an early timer made {who:?} say {output:?}") };
        assert_eq!(until.map(|until| self.to_world(who, until)), wake, "an early timer moved the deadline");
    }

    fn clock(&self, who: Who) -> MonoTime {
        let offset = if who == Who::Client { 0 } else { self.nature.clock_offset };
        MonoTime(self.now.0.wrapping_add_signed(offset))
    }

    fn to_world(&self, who: Who, time: MonoTime) -> MonoTime {
        let offset = if who == Who::Client { 0 } else { self.nature.clock_offset };
        MonoTime(time.0.wrapping_sub(offset.cast_unsigned()))
    }

    /// Sends in portions, none of which overtakes another.
    fn send(&mut self, from: Who, mut bytes: Vec<u8>) {
        if let Some(tamper) = &mut self.nature.tamper {
            tamper(from, &mut bytes);
        }
        let (to, mut rest) = (from.other(), &bytes[..]);
        while !rest.is_empty() {
            let most = self.nature.portion as u64;
            let length = usize::try_from(1 + self.random() % most).unwrap_or(1).min(rest.len());
            let (portion, later) = rest.split_at(length);
            let at = self.arrival(to);
            self.plan(at, Happening::Bytes(to, portion.to_vec()));
            rest = later;
        }
    }

    fn arrival(&mut self, to: Who) -> MonoTime {
        let at = self.now + self.nature.delay + Nanos(self.random() % (1 + self.nature.delay.0 / 100));
        let last = &mut self.end(to).last_arrival;
        *last = at.max(*last);
        *last
    }

    fn plan(&mut self, at: MonoTime, happening: Happening) {
        self.ticket += 1;
        self.agenda.insert((at, self.ticket), happening);
    }

    /// xorshift64.
    fn random(&mut self) -> u64 {
        let seed = &mut self.nature.seed;
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    }
}

/// A valid test of a minute with reports every second takes a few hundred steps.
const MOST_STEPS: u32 = 200_000;
/// More outputs than this in a row is an endless loop.
const MOST_OUTPUTS: u32 = 100_000;
