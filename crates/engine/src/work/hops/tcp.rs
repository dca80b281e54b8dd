//! SYNs: a local port for each flow, so that its probes take one way. Needs no privilege: each is an attempt to connect whose
//! TTL ends at a hop. As no two attempts can have the same ports at once, each waits for the one before of its flow.

use super::udp::answer_in;
use super::{Channel, Heard, Probe};
use crate::error::Result;
use linux::clock::mono_now;
use linux::errno::ECONNREFUSED;
use linux::error_queue::{self, QueueEntry};
use linux::options;
use linux::poll::{Interest, wait};
use linux::socket::{TcpOptions, tcp_attempt};
use model::hops::{Answer, AnswerKind, HopsPlan};
use model::path::Flow;
use model::plan::Transport;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

/// The attempts of each flow.
#[derive(Debug)]
pub(super) struct Syns {
    flows: Vec<Attempts>,
    to: SocketAddr,
    options: TcpOptions,
    heard: Vec<Heard>,
    /// The longest answer so far.
    longest: Option<Nanos>,
}

#[derive(Debug, Default)]
struct Attempts {
    waiting: VecDeque<Probe>,
    open: Option<Attempt>,
    /// Once the first attempt has one.
    from: Option<SocketAddr>,
}

#[derive(Debug)]
struct Attempt {
    number: u32,
    stream: TcpStream,
    at: MonoTime,
}

impl Syns {
    pub(super) fn open(plan: &HopsPlan) -> Result<Syns> {
        let options = TcpOptions {
            local_address: plan.local.bind,
            device: plan.local.device.clone(),
            ..TcpOptions::default()
        };
        linux::socket::tcp_try(plan.target.address, &options)?;
        let flows = (0..plan.flows.max(1)).map(|_| Attempts::default()).collect();
        Ok(Syns { flows, to: plan.target.address, options, heard: Vec::new(), longest: None })
    }

    /// The kernel repeats a SYN after a second: until then only.
    fn timeout(&self) -> Nanos {
        self.longest.map_or(LONGEST_WAIT, |time| time.saturating_mul(4).clamp(LEAST_WAIT, LONGEST_WAIT))
    }

    /// Begins the next attempt of each flow that has none open.
    fn begin(&mut self) -> Result<()> {
        for flow in &mut self.flows {
            if flow.open.is_some() {
                continue;
            }
            let Some(probe) = flow.waiting.pop_front() else { continue };
            let options =
                TcpOptions { local_port: flow.from.map(|from| from.port()), ..self.options.clone() };
            let at = mono_now();
            match tcp_attempt(self.to, &options, probe.ttl) {
                Ok(stream) => {
                    flow.from = flow.from.or_else(|| stream.local_addr().ok());
                    flow.open = Some(Attempt { number: probe.number, stream, at });
                    self.heard.push(Heard::Sent(probe.number, at));
                }
                // A port of this very host that is closed is refused at once.
                Err(error) if error.errno() == Some(ECONNREFUSED) => {
                    self.heard.push(Heard::Sent(probe.number, at));
                    self.heard.push(Heard::Answer(probe.number, arrived(self.to.ip())));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes the answers, and gives up attempts that are too old.
    fn end(&mut self) -> Result<()> {
        let (timeout, to) = (self.timeout(), self.to);
        for flow in &mut self.flows {
            let Some(attempt) = &flow.open else { continue };
            if let Some(answer) = attempt.answer(to)? {
                let time = answer.at.saturating_since(attempt.at);
                self.longest = Some(self.longest.map_or(time, |longest| longest.max(time)));
                self.heard.push(Heard::Answer(attempt.number, answer));
                flow.open = None;
            } else if mono_now().saturating_since(attempt.at) >= timeout {
                flow.open = None;
            }
        }
        Ok(())
    }
}

impl Channel for Syns {
    fn send(&mut self, probe: Probe) -> Result<()> {
        if let Some(flow) = self.flows.get_mut(probe.flow as usize) {
            flow.waiting.push_back(probe);
        }
        Ok(())
    }

    fn take(&mut self, heard: &mut Vec<Heard>) -> Result<()> {
        self.end()?;
        self.begin()?;
        heard.append(&mut self.heard);
        Ok(())
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        self.flows.iter().filter_map(|flow| Some(flow.open.as_ref()?.stream.as_fd())).collect()
    }

    fn interest<'fd>(&self, socket: &'fd BorrowedFd<'_>) -> Interest<'fd> {
        Interest::writable(socket)
    }

    fn deadline(&self) -> Option<MonoTime> {
        let open = self.flows.iter().filter_map(|flow| flow.open.as_ref());
        open.map(|attempt| attempt.at + self.timeout()).min()
    }

    fn flows(&self) -> Vec<Option<Flow>> {
        let flow =
            |attempts: &Attempts| Some(Flow { transport: Transport::Tcp, from: attempts.from?, to: self.to });
        self.flows.iter().map(flow).collect()
    }
}

impl Attempt {
    fn answer(&self, to: SocketAddr) -> Result<Option<Answer>> {
        let mut interests = [Interest::writable(&self.stream)];
        wait(&mut interests, Some(mono_now()))?;
        if !interests[0].is_ready() {
            return Ok(None);
        }
        let at = mono_now();
        let mut quote = [0; QUOTED];
        let entry = error_queue::take(&self.stream, &mut quote)?;
        // The error that ended the attempt must not be raised by a later call.
        let ended = options::take_error(&self.stream)?;
        Ok(match entry {
            Some(QueueEntry::Error(error)) => answer_in(&error, &quote[..error.quoted.min(QUOTED)], to, at),
            // Accepted, or reset by the far end: it arrived.
            _ if ended.as_ref().is_none_or(|error| error.raw_os_error() == Some(ECONNREFUSED)) => {
                Some(arrived(to.ip()))
            }
            _ => None,
        })
    }
}

/// The answer of the far end itself.
pub(super) fn arrived(from: IpAddr) -> Answer {
    let from = from.to_canonical();
    Answer { from, at: mono_now(), kind: AnswerKind::Arrived, ttl: None, labels: Vec::new() }
}

const LEAST_WAIT: Nanos = Nanos::from_millis(200);
const LONGEST_WAIT: Nanos = Nanos::from_millis(900);
const QUOTED: usize = 576;
