//! `pathmeter serve`: the other end, for many clients at once.

mod metrics;

use super::dialect::server_output;
use super::rights::{RunAs, confine};
use crate::exit::Exit;
use crate::signals;
use cli::files::{key, token};
use cli::{Common, ServeArgs};
use engine::error::Result;
use engine::server::metrics::{Counted, Metrics};
use engine::server::{Config, Confined, Server};
use engine::session::tls::ServerTls;
use engine::work::dut::remote::station::FramesObservation;
use engine::work::observer::{Observer, SessionEvent, Watcher};
use insight::run_of_events;
use linux::clock::wall_now;
use model::event::Event;
use model::plan::{ProtocolName, Transport};
use model::sample::Role;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use wire::native::LatencyObservation;
use wire::{ProtocolError, Report};

/// Runs the command.
pub(crate) fn run(args: &ServeArgs, _global: &Common) -> Result<Exit> {
    let metrics = args.metrics.map(|address| (address, Arc::<Metrics>::default()));
    let page = metrics.as_ref().map(|(address, metrics)| metrics::page(metrics, *address));
    let server = Server::bind(Config { metrics: page, ..config(args)? })?;
    let rights = rights(args)?;
    let interrupt = signals::interrupt()?;
    let observer: Arc<dyn Observer> = match metrics {
        Some((_, metrics)) => Arc::new(Counted { observer: Log, metrics }),
        None => Arc::new(Log),
    };
    server.serve(rights, &interrupt, &observer).map(|()| Exit::Done)
}

/// The rights that the server keeps. Frames are sent and counted by programs in the kernel, in interfaces that are configured
/// meanwhile: they need root's.
fn rights(args: &ServeArgs) -> Result<Confined> {
    if !args.frames_port.is_empty() && args.user.is_none() {
        return Ok(Confined::with_all_rights());
    }
    confine(RunAs { user: args.user.as_deref(), no_capabilities: args.no_capabilities, usual: None })
}

fn config(args: &ServeArgs) -> Result<Config> {
    // With --all a foreign protocol that was given no port is answered on its own.
    let port = |given: Option<u16>, own| given.or(args.all.then_some(own));
    Ok(Config {
        bind: args.bind,
        native: Some(args.port),
        // Those systemd passed to us.
        listeners: linux::privilege::activation::listeners()?,
        iperf3: port(args.iperf3, wire::iperf3::PORT),
        iperf2: port(args.iperf2, wire::iperf2::PORT),
        iperf2_udp_reverse: args.iperf2_udp_reverse,
        sockperf: port(args.sockperf, wire::sockperf::PORT),
        groups: args.group.clone(),
        stamp: port(args.stamp, wire::stamp::PORT),
        twamp: port(args.twamp, wire::twamp::PORT),
        stamp_key: args.stamp_key_file.as_deref().map(key).transpose()?,
        stamp_stateless: args.stamp_stateless,
        http: port(args.http, HTTP_PORT),
        metrics: None,
        token: args.token_file.as_deref().map(token).transpose()?,
        tls: tls(args)?,
        max_time: args.max_time,
        max_rate: args.max_rate,
        max_tests: args.max_tests,
        one_off: args.one_off,
        frames_ports: args.frames_port.clone(),
        frames_anywhere: args.frames_anywhere,
        frames_networks: args.frames_network.clone(),
        frames_vlans: args.frames_vlan.clone(),
    })
}

/// Key and certificate of control connections.
fn tls(args: &ServeArgs) -> Result<Option<ServerTls>> {
    match &args.tls_key {
        Some(file) => ServerTls::kept_in(file).map(Some),
        None => args.tls.then(ServerTls::new).transpose(),
    }
}

/// One line on standard error for everything worth knowing.
struct Log;

impl Observer for Log {
    fn session(&self, client: SocketAddr, protocol: ProtocolName) -> Box<dyn Watcher> {
        Box::new(SessionLog { client, protocol, events: Vec::new(), observed: None, framed: None })
    }

    fn note(&self, text: &str) {
        // Standard error may be closed: a server goes on without it.
        let _ = writeln!(std::io::stderr(), "{} {text}", wall_now());
    }
}

/// Keeps a session's events until it can be printed in one line.
struct SessionLog {
    client: SocketAddr,
    protocol: ProtocolName,
    events: Vec<Event>,
    /// Counts of a latency session.
    observed: Option<LatencyObservation>,
    /// Summary of a session of frames.
    framed: Option<FramesObservation>,
}

impl Watcher for SessionLog {
    fn event(&mut self, event: SessionEvent<'_>) {
        match event {
            SessionEvent::Event(Event::Warning(warning)) => {
                Log.note(&format!("{}: {}", self.name(), warning.text));
            }
            // These events make the line at the end. A server that runs for months keeps none of the periodic ones.
            SessionEvent::Event(
                event @ (Event::Connected(_) | Event::Started(_) | Event::Result(_) | Event::Finished(_)),
            ) => self.events.push(event.clone()),
            SessionEvent::Reflected(observed) => self.observed = Some(*observed),
            SessionEvent::Framed(observed) => self.framed = Some(observed.clone()),
            _ => {}
        }
    }

    fn report(&self, events: &[Event], _extras: &wire::iperf3::Extras) -> Option<Report> {
        server_output(events)
    }

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        // The client opened a session, requested nothing and went: the clients' probes of how quickly this server answers.
        let has_begun =
            self.protocol != ProtocolName::Native || !self.events.is_empty() || self.framed.is_some();
        if !has_begun && matches!(outcome, Err(ProtocolError::Closed(_))) {
            return;
        }
        let line = match outcome {
            Ok(()) => String::new(),
            Err(e) => format!(": {e}"),
        };
        Log.note(&format!("{} ({}) {}{line}", self.name(), self.protocol, self.summary_line()));
    }
}

impl SessionLog {
    fn name(&self) -> SocketAddr {
        linux::sockaddr::plain(self.client)
    }

    /// The session in a few words. This end is the server: what it received came up.
    fn summary_line(&self) -> String {
        if let Some(FramesObservation { interface, sent, counted }) = &self.framed {
            return format!("frames on {interface}: {sent} sent, {counted} counted");
        }
        let run = run_of_events("", "serve", &self.events);
        let Some(plan) = run.throughput() else { return "no test".into() };
        if !self.events.iter().any(|event| matches!(event, Event::Started(_))) {
            return match &self.observed {
                Some(observed) => format!(
                    "round trips over {}: {} messages in {}, waited by {}",
                    plan.test.transport, observed.received, observed.elapsed, observed.wait
                ),
                None => "probes, or a test that did not start".into(),
            };
        }
        let ends = [run.summary.local.as_ref(), run.summary.peer.as_ref()];
        let rows = || ends.iter().flatten().flat_map(|end| &end.streams);
        let one_way = |direction| {
            let moved = |role| rows().filter(move |r| r.direction == direction && r.role == role);
            // The received amount; where only the sender reports, the sent one.
            let received = moved(Role::Receiver).next().is_some();
            let role = if received { Role::Receiver } else { Role::Sender };
            let bytes: model::units::Bytes = moved(role).map(|r| r.bytes).sum();
            let elapsed = moved(role).map(|r| r.elapsed).max().unwrap_or_default();
            let udp = moved(role).filter_map(|r| r.udp.as_ref());
            let (datagrams, lost) = udp.fold((0, 0), |(all, lost), u| (all + u.datagrams, lost + u.lost));
            let amount = match plan.test.transport {
                Transport::Tcp => format!("{} bytes", bytes.0),
                Transport::Udp if received => format!("{datagrams} datagrams, {lost} lost"),
                Transport::Udp => format!("{datagrams} datagrams sent"),
            };
            format!("{direction} {} ({amount})", model::units::BitRate::from_bytes(bytes, elapsed))
        };
        let both_directions: Vec<String> = plan.test.directions.each().map(one_way).collect();
        let streams =
            if plan.test.streams == 1 { "1 stream" } else { &format!("{} streams", plan.test.streams) };
        format!("{} {streams}, {}", plan.test.transport, both_directions.join(", "))
    }
}

/// Where HTTP is answered.
const HTTP_PORT: u16 = 8080;
