//! A client of any kind and a server on a connection with delay, by a virtual clock. What is no word is left to a [`Rest`]:
//! the flow, or the interface, that a driver would have.

use crate::ends::server_config;
use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_wire::native::{Server, ServerConfig};
use pathmeter_wire::{Input, Output, ProtocolError, Session, WorkReply, WorkRequest};
use std::collections::VecDeque;

/// The two machines, and what is on its way between them.
pub(crate) struct Talk<C, R> {
    pub(crate) now: MonoTime,
    pub(crate) client: C,
    pub(crate) server: Server,
    /// Bytes on their way: to the client?, arrival, bytes; empty: closed.
    pub(crate) control: VecDeque<(bool, MonoTime, Vec<u8>)>,
    wakes: [Option<MonoTime>; 2],
    /// Of the server, of the client.
    pub(crate) errors: [Option<ProtocolError>; 2],
    pub(crate) closed: [bool; 2],
    pub(crate) rest: R,
}

/// What the drivers of the two ends do.
pub(crate) trait Rest {
    /// What comes at once of what an end asks for.
    fn work(&mut self, now: MonoTime, client: bool, request: WorkRequest) -> Option<WorkReply>;

    /// When the server is told more.
    fn due(&self) -> Option<MonoTime> {
        None
    }

    /// What it is told then.
    fn take(&mut self) -> Option<WorkReply> {
        None
    }
}

impl<C: Session, R: Rest> Talk<C, R> {
    pub(crate) fn new(client: impl FnOnce(MonoTime) -> C, server: ServerConfig, rest: R) -> Talk<C, R> {
        let now = MonoTime(1_000_000_000);
        Talk {
            now,
            client: client(now),
            server: Server::new(server, now),
            control: VecDeque::new(),
            wakes: [None; 2],
            errors: [None, None],
            closed: [false; 2],
            rest,
        }
    }

    /// Until the client is as it should be, with a server as usual.
    pub(crate) fn until(
        client: impl FnOnce(MonoTime) -> C,
        rest: R,
        is_ready: impl Fn(&C) -> bool,
    ) -> Talk<C, R> {
        let mut talk = Talk::new(client, server_config(), rest);
        talk.run_until(|talk| is_ready(&talk.client));
        talk
    }

    pub(crate) fn input(&mut self, client: bool, input: Input<'_>) {
        let end = usize::from(client);
        if self.closed[end] {
            return;
        }
        let result =
            if client { self.client.input(self.now, input) } else { self.server.input(self.now, input) };
        if let Err(error) = result {
            assert!(self.errors[end].is_none(), "an error is the end, once");
            self.errors[end] = Some(error);
        }
        self.outputs(client);
    }

    /// Takes the outputs of an end, then tells it what came of them.
    pub(crate) fn outputs(&mut self, client: bool) {
        let end = usize::from(client);
        let mut replies = Vec::new();
        loop {
            let output = if client { self.client.output(self.now) } else { self.server.output(self.now) };
            let arrival = self.now + Nanos::from_millis(5);
            match output {
                Output::Send(bytes) => self.control.push_back((!client, arrival, bytes)),
                Output::Work(request) => replies.extend(self.rest.work(self.now, client, request)),
                Output::WaitUntil(wake) => {
                    self.wakes[end] = wake;
                    break;
                }
                Output::Close => {
                    self.closed[end] = true;
                    self.control.push_back((!client, arrival, Vec::new()));
                }
                Output::Event(event) => panic!("{event:?} in such a session"),
            }
        }
        replies.into_iter().for_each(|reply| self.input(client, Input::Work(reply)));
    }

    pub(crate) fn run_until(&mut self, done: impl Fn(&Talk<C, R>) -> bool) {
        self.outputs(true);
        for _ in 0..100_000 {
            if done(self) {
                return;
            }
            let wakes = self.wakes.iter().zip(self.closed).filter(|(_, closed)| !closed);
            let coming = [self.control.front().map(|control| control.1), self.rest.due()];
            let next = wakes.filter_map(|(wake, _)| *wake).chain(coming.into_iter().flatten()).min();
            self.now = self.now.max(next.expect("nothing more to come"));
            if self.control.front().is_some_and(|control| control.1 <= self.now) {
                let (client, _, bytes) = self.control.pop_front().unwrap();
                let input = if bytes.is_empty() { Input::Closed } else { Input::Received(&bytes) };
                self.input(client, input);
            } else if self.rest.due().is_some_and(|due| due <= self.now) {
                let reply = self.rest.take().expect("it is due");
                self.input(false, Input::Work(reply));
            } else {
                [true, false].into_iter().for_each(|client| self.input(client, Input::Timer));
            }
        }
        panic!("not done: {:?}", self.errors);
    }

    /// A message that the other end would not send.
    pub(crate) fn says(&mut self, to_client: bool, json: &str) {
        let frame = [(json.len() as u32).to_be_bytes().as_slice(), json.as_bytes()].concat();
        self.input(to_client, Input::Received(&frame));
    }
}
