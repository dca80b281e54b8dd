//! The flows of one client at one end: a session without control bytes. Each flow is a test by itself with a machine of its own
//! ([`Flow`]); the session decides when all are over, and which of them have failed.

use super::flow::{Flow, FlowInput, FlowOutput, TIMEOUT};
use super::{Request, TcpClient, TcpServer, Traffic, UdpClient, UdpServer};
use crate::stamp::Clock;
use crate::work::WorkReply;
use crate::work::in_band::{Back, FlowCommand, FlowUpdate, Loss, PeerFact, Reply, Request as Want};
use crate::{Input, Output, Policy, ProtocolError, Session};
use model::event::{Event, Warning};
use model::plan::Transport;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;

/// The flows of one client, at either end.
#[must_use]
pub struct Group {
    /// Transport of the flows that arrive.
    transport: Transport,
    policy: Policy,
    key: Option<Vec<u8>>,
    /// The request of a client: arriving flows are to carry out that.
    awaited: Option<Request>,
    clock: Clock,
    flows: Vec<GroupFlow>,
    /// Flows back that are being opened.
    asked: VecDeque<Request>,
    /// Flows that are opened after this session (`-r`).
    later: Vec<Request>,
    outputs: VecDeque<Output>,
    /// Deadline for the first flow to arrive, or for the last to be given up.
    timeout: Option<MonoTime>,
    leaving: bool,
    failure: Option<ProtocolError>,
    interrupted: bool,
    over: bool,
}

struct GroupFlow {
    machine: Box<dyn Flow>,
    deadline: Option<MonoTime>,
    /// Time limit of a server's flow back: the flow is stopped then, whatever remains to be sent.
    limit: Option<MonoTime>,
    over: bool,
}

impl Group {
    /// A client that has just opened this many flows. `bare`: they begin with data, for servers without support for headers.
    pub fn client(request: &Request, flows: u32, bare: bool, clock: Clock, now: MonoTime) -> Group {
        let awaited = Some(request.clone());
        let mut group = Group { awaited, ..Group::new(request.transport, clock) };
        for _ in 0..flows {
            let machine: Box<dyn Flow> = match (request.transport, bare) {
                (Transport::Tcp, false) => Box::new(TcpClient::new(request.clone(), now)),
                (Transport::Udp, false) => Box::new(UdpClient::new(request.clone(), clock, now)),
                (_, true) => back(request.clone(), clock, now),
            };
            group.add(machine, None, now);
        }
        group
    }

    /// A server that has just opened its flows back to the client: those of [`Group::later`].
    pub fn back(requests: &[Request], policy: Policy, clock: Clock, now: MonoTime) -> Group {
        let transport = requests.first().map_or(Transport::Tcp, |request| request.transport);
        let mut group = Group { policy, ..Group::new(transport, clock) };
        requests.iter().for_each(|request| group.add_back(request.clone(), now));
        group
    }

    /// A server whose client's first flow is about to be reported ([`Reply::Came`]). `key`: only clients with this key are
    /// served.
    pub fn server(
        transport: Transport,
        policy: Policy,
        key: Option<Vec<u8>>,
        clock: Clock,
        now: MonoTime,
    ) -> Group {
        let timeout = Some(now + FIRST_FLOW);
        Group { policy, key, timeout, ..Group::new(transport, clock) }
    }

    /// A client that waits for the flows which its server opens once the client's own are over (`-r`).
    pub fn listening(request: &Request, clock: Clock, now: MonoTime) -> Group {
        let awaited = Some(request.clone());
        let mut group = Group { awaited, ..Group::new(request.transport, clock) };
        group.look(now);
        group
    }

    fn new(transport: Transport, clock: Clock) -> Group {
        Group {
            transport,
            policy: Policy::default(),
            key: None,
            awaited: None,
            clock,
            flows: Vec::new(),
            asked: VecDeque::new(),
            later: Vec::new(),
            outputs: VecDeque::new(),
            timeout: None,
            leaving: false,
            failure: None,
            interrupted: false,
            over: false,
        }
    }

    /// Flows to open to the client once this session is over (`-r`).
    #[must_use]
    pub fn later(&self) -> &[Request] {
        &self.later
    }

    fn add(&mut self, machine: Box<dyn Flow>, limit: Option<MonoTime>, now: MonoTime) {
        (self.timeout, self.leaving) = (None, false);
        self.flows.push(GroupFlow { machine, deadline: None, limit, over: false });
        self.drain(self.flows.len() - 1, now);
    }

    fn add_back(&mut self, request: Request, now: MonoTime) {
        let limit = now + request.time_limit(&self.policy);
        self.add(back(request, self.clock, now), Some(limit), now);
    }

    /// Adds a flow that begins with these bytes.
    fn came(&mut self, first: Vec<u8>, now: MonoTime) {
        if self.transport == Transport::Udp {
            let machine: Box<dyn Flow> = match UdpServer::new(&first, &self.policy, self.clock, now) {
                Some(machine) => Box::new(machine.awaited(self.awaited.clone(), now)),
                // A refused flow keeps its number, because the driver counts it.
                None => Box::new(Refused(true)),
            };
            self.add(machine, None, now);
            return;
        }
        let machine = TcpServer::new(self.policy.clone(), self.clock, now).with_key(self.key.clone());
        self.add(Box::new(machine.awaited(self.awaited.clone(), now)), None, now);
        if !first.is_empty() {
            self.give(self.flows.len() - 1, now, FlowInput::Update(&FlowUpdate::Received(first)));
        }
    }

    fn give(&mut self, index: usize, now: MonoTime, input: FlowInput<'_>) {
        let Some(flow) = self.flows.get_mut(index).filter(|flow| !flow.over) else { return };
        let outcome = flow.machine.input(now, input);
        if let Err(error) = outcome {
            self.failure.get_or_insert(error);
        }
        self.drain(index, now);
    }

    /// Passes on the outputs of a flow until it waits.
    fn drain(&mut self, index: usize, now: MonoTime) {
        loop {
            let flow = &mut self.flows[index];
            if flow.over {
                return;
            }
            let command = match flow.machine.output(now) {
                FlowOutput::WaitUntil(until) => {
                    flow.deadline = until;
                    return;
                }
                // Round trips have a server of their own; a flow cannot change into one later.
                FlowOutput::Command(FlowCommand::Close) | FlowOutput::Bounce(_) => {
                    (flow.over, flow.deadline) = (true, None);
                    FlowCommand::Close
                }
                FlowOutput::Command(command) => {
                    if command == FlowCommand::Note(PeerFact::NoReport) {
                        self.miss_report();
                    }
                    command
                }
                FlowOutput::ConnectBack(request) => match self.connect_back(*request) {
                    Some(command) => command,
                    None => continue,
                },
                // The driver reports the kind of this flow.
                FlowOutput::Request(_) => continue,
            };
            self.outputs.push_back(Want::Flow(index as u32, command).into());
        }
    }

    fn connect_back(&mut self, request: Request) -> Option<FlowCommand> {
        if request.traffic == Traffic::Tradeoff {
            self.later.push(request);
            return None;
        }
        let command = FlowCommand::Connect(Box::new(Back { port: request.port, test: request.test() }));
        self.asked.push_back(request);
        Some(command)
    }

    fn miss_report(&mut self) {
        let text = "the server's report never came: what arrived is not known";
        self.outputs.push_back(Output::Event(Event::Warning(Warning::new("no-report", text))));
        self.failure.get_or_insert(ProtocolError::Timeout("to the end of the test".into()));
    }

    fn reply(&mut self, now: MonoTime, reply: Reply) -> Result<(), ProtocolError> {
        match reply {
            Reply::Came(first) => self.came(first, now),
            Reply::Connected(stands) => {
                let request = self.asked.pop_front();
                if let Some(request) = request.filter(|_| stands) {
                    self.add_back(request, now);
                }
            }
            Reply::Flow(index, FlowUpdate::Lost(loss)) => self.lose(index as usize, loss),
            Reply::Flow(index, update) => self.give(index as usize, now, FlowInput::Update(&update)),
            Reply::Left(missing) => {
                if let Some(missing) = missing.filter(|_| !self.interrupted) {
                    self.failure.get_or_insert(ProtocolError::Flows(missing));
                }
                return self.end();
            }
        }
        Ok(())
    }

    /// Ends a flow that cannot go on; the data it has moved stays counted.
    fn lose(&mut self, index: usize, loss: Loss) {
        let Some(flow) = self.flows.get_mut(index) else { return };
        flow.deadline = None;
        if !std::mem::replace(&mut flow.over, true) {
            self.outputs.push_back(Want::Flow(index as u32, FlowCommand::Close).into());
        }
        let error = match loss {
            Loss::Unanswered(_) | Loss::LeftOpen if self.interrupted => return,
            Loss::LeftOpen => ProtocolError::Timeout(LEFT_OPEN.into()),
            Loss::Unanswered(None) => ProtocolError::Timeout(UNANSWERED.into()),
            Loss::Unanswered(Some(until)) => ProtocolError::Timeout(format!(
                "{UNANSWERED}; its host took the last new data {until} after the start"
            )),
            Loss::Broken(why) => ProtocolError::Closed(format!("while this end was sending: {why}")),
            Loss::Unusable(why) => ProtocolError::Flows(why),
            Loss::Stopped(why) => ProtocolError::Stopped(why),
        };
        self.failure.get_or_insert(error);
    }

    fn interrupt(&mut self, now: MonoTime, why: &str) {
        self.interrupted = true;
        (0..self.flows.len()).for_each(|index| self.give(index, now, FlowInput::Interrupt(why)));
        // The session waits for no other flow.
        self.leaving = false;
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        let is_due = |deadline: Option<MonoTime>| deadline.is_some_and(|deadline| deadline <= now);
        for index in 0..self.flows.len() {
            if is_due(self.flows[index].deadline) {
                self.give(index, now, FlowInput::Timer);
            }
            let flow = &mut self.flows[index];
            if !flow.over && is_due(flow.limit) {
                // At the second request it does not wait for its sender.
                flow.limit = Some(now + TIMEOUT);
                self.failure.get_or_insert(ProtocolError::Stopped(TOO_LONG.into()));
                self.give(index, now, FlowInput::Interrupt(TOO_LONG));
            }
        }
        if is_due(self.timeout) {
            self.failure.get_or_insert(ProtocolError::Timeout("with a flow".into()));
            return self.end();
        }
        Ok(())
    }

    /// All flows are over: may more arrive?
    fn look(&mut self, now: MonoTime) {
        let waits_for_first = self.flows.is_empty() && self.timeout.is_some() && !self.interrupted;
        if self.over || self.leaving || waits_for_first || self.flows.iter().any(|flow| !flow.over) {
            return;
        }
        (self.leaving, self.timeout) = (true, Some(now + LAST_FLOW));
        let hurry = self.interrupted || self.failure.is_some();
        self.outputs.push_back(Want::Leave { hurry }.into());
    }

    fn end(&mut self) -> Result<(), ProtocolError> {
        (self.over, self.timeout) = (true, None);
        self.outputs.push_back(Output::Close);
        self.failure.take().map_or(Ok(()), Err)
    }
}

impl Session for Group {
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        if self.over {
            return Ok(());
        }
        match input {
            Input::Timer => self.timer(now)?,
            Input::Interrupt(why) => self.interrupt(now, why),
            Input::Work(WorkReply::InBand(reply)) => self.reply(now, reply)?,
            // There is no control connection, and no other work.
            Input::Received(_) | Input::Closed | Input::Work(_) => {}
        }
        self.look(now);
        Ok(())
    }

    fn output(&mut self, _now: MonoTime) -> Output {
        let flows = self.flows.iter().filter(|flow| !flow.over);
        let next = || flows.flat_map(|flow| [flow.deadline, flow.limit]).flatten().chain(self.timeout).min();
        let wait = || Output::WaitUntil(if self.over { None } else { next() });
        self.outputs.pop_front().unwrap_or_else(wait)
    }
}

/// A flow that does not begin a test. It requests to be closed, once.
struct Refused(bool);

impl Flow for Refused {
    fn input(&mut self, _now: MonoTime, _input: FlowInput<'_>) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn output(&mut self, _now: MonoTime) -> FlowOutput {
        if std::mem::take(&mut self.0) { FlowCommand::Close.into() } else { FlowOutput::WaitUntil(None) }
    }
}

fn back(request: Request, clock: Clock, now: MonoTime) -> Box<dyn Flow> {
    match request.transport {
        Transport::Tcp => Box::new(TcpClient::back(request, now)),
        Transport::Udp => Box::new(UdpClient::back(request, clock, now)),
    }
}

const TOO_LONG: &str = "the flow back takes longer than this server allows (--max-time)";
const UNANSWERED: &str = "to what this end has sent last: it, or the path to it, is gone";
const LEFT_OPEN: &str = "to the end of the data: the server's host took all of it, and its program has not closed the connection: it hangs";
/// Longest wait for the flow that a server's session was made for.
const FIRST_FLOW: Nanos = Nanos::from_secs(10);
/// Longest wait for the driver to report that no more flows arrive.
const LAST_FLOW: Nanos = Nanos::from_secs(30);
