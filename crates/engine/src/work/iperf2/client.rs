//! The client's end of a test.

use super::active_flow::{ActiveFlow, Known};
use super::source::{Listener, ReturnListener, Source};
use super::steps::RateSteps;
use super::udp_listener::UdpListener;
use super::worker::{self, Setting};
use super::{Back, Extras, clock, flow_plan};
use crate::error::Result;
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::session::connect::unreachable;
use crate::work::observer::{Fact, SessionEvent, ToListener};
use crate::work::throughput::flows;
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use linux::poll::Waker;
use linux::socket::{UdpOptions, tcp_listen, udp_bind};
use model::plan::{Direction, Directions, LocalOptions, Plan, Transport};
use model::units::Nanos;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use wire::iperf2::{Group, Rate, Request, Traffic};
use wire::stamp::Clock;
use wire::{FlowPlan, Policy};

/// Runs one client. Events go to `sink` as they happen; the measurement before a failure has been reported.
///
/// # Errors
/// The server cannot be reached, or the test has failed.
pub fn client(
    plan: &Plan,
    extras: &Extras,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(SessionEvent<'_>),
) -> Result<()> {
    let clock = clock();
    let mut request = request(plan, extras, clock);
    let listener = is_back(request.traffic).then(|| listener(plan, extras)).transpose()?;
    if let Some((_, port)) = &listener {
        request.port = *port;
    }
    let _presence = shows_itself(plan, &request);
    let active_flows = open_all(plan, extras, &request, interrupt, sink)?;
    let _steps = match (extras.rate_step, plan.test.fq_rate) {
        (Some(step), Some(start)) => Some(RateSteps::start(&active_flows, start, step)?),
        _ => None,
    };
    if extras.connect_only {
        active_flows
            .iter()
            .filter_map(|active_flow| active_flow.fact(&plan.test))
            .for_each(|fact| sink(SessionEvent::Fact(&fact)));
        return Ok(());
    }
    let tradeoff = request.traffic == Traffic::Tradeoff;
    let (here, after) = match listener {
        Some((listener, _)) if tradeoff => (Source::Complete, Some(listener)),
        Some((listener, _)) => (Source::ReturnListener(listener), None),
        None => (Source::Complete, None),
    };
    let waker = Arc::new(Waker::new()?);
    let mut watcher = ToListener(sink);
    let mut session = |directions, mut group: Group, active_flows, source| -> Result<()> {
        let mut plan = plan.clone();
        plan.test.directions = directions;
        let setting = Setting {
            host: host::describe(Some(plan.target.address.ip())),
            plan,
            interrupt: interrupt.clone(),
            waker: waker.clone(),
            clock,
            source,
            held: None,
            is_there: &|| true,
            timing: extras.timing,
            watcher: &mut watcher,
        };
        Ok(worker::run(&mut group, setting, active_flows)?)
    };
    let directions = if tradeoff { Directions::Up } else { plan.test.directions };
    let group = Group::client(&request, plan.test.streams, extras.compatible, clock, mono_now());
    session(directions, group, active_flows, here)?;
    match after {
        Some(listener) if !interrupt.is_raised() => {
            let group = Group::listening(&request, clock, mono_now());
            session(Directions::Down, group, Vec::new(), Source::ReturnListener(listener))
        }
        _ => Ok(()),
    }
}

/// The request to the servers.
fn request(plan: &Plan, extras: &Extras, clock: Clock) -> Request {
    let test = &plan.test;
    let header = Request::of_test(test);
    let traffic = match (test.directions, extras.back) {
        (Directions::Both, Back::Dual) => Traffic::Dual,
        (Directions::Both, Back::Tradeoff) => Traffic::Tradeoff,
        _ => header.traffic,
    };
    let back = test.directions.down() && test.transport == Transport::Udp;
    let rate = match (extras.packet_rate, test.bitrate) {
        (Some(packets), _) => Some(Rate::Packets(packets)),
        (None, Some(rate)) => Some(Rate::Bits(rate)),
        // A server without a rate in the request sends a megabit per second.
        (None, None) => back.then_some(Rate::Bits(super::UNLIMITED)),
    };
    let timed = extras.trip_times || extras.starts.is_some();
    Request {
        traffic,
        rate,
        port: plan.target.address.port(),
        trip_times: extras.trip_times,
        start: extras.starts.or(timed.then_some(clock.wall)),
        starts_then: extras.starts.is_some(),
        shape: extras.shape,
        // A server that answers a group would answer for many.
        no_fin: extras.no_fin || plan.target.address.ip().is_multicast(),
        peer_detect: extras.peer_detect,
        transfer_id: extras.transfer_id,
        congestion: test.congestion.clone(),
        prefetch: extras.unsent_limit.and_then(|limit| u32::try_from(limit.0).ok()),
        key: extras.key.clone(),
        ..header
    }
}

/// When data is requested over UDP, a server of ours needs proof that its client is at this address: an idle connection is one.
/// Others refuse or ignore it.
fn shows_itself(plan: &Plan, request: &Request) -> Option<TcpStream> {
    let remote = plan.target.address;
    let asks = request.transport == Transport::Udp && request.sends_to_source();
    if !asks || remote.ip().to_canonical().is_loopback() {
        return None;
    }
    let local = LocalOptions { connect_timeout: Some(PRESENCE), client_port: None, ..plan.local.clone() };
    flows::connect_tcp(&flow_plan(&plan.test), 0, remote, &local).ok()
}

fn is_back(traffic: Traffic) -> bool {
    matches!(traffic, Traffic::Dual | Traffic::Tradeoff)
}

/// Opens the port at which the server is awaited.
fn listener(plan: &Plan, extras: &Extras) -> Result<(ReturnListener, u16)> {
    let server = plan.target.address.ip().to_canonical();
    let address = flows::own_end(SocketAddr::new(server, 0), plan.local.bind, extras.back_port);
    let (listener, local) = match plan.test.transport {
        Transport::Tcp => {
            let listener = tcp_listen(address, &flows::tcp_options(&plan.test, &plan.local), BACKLOG)?;
            let local = listener.local_addr()?;
            listener.set_nonblocking(true)?;
            (Listener::Tcp(listener), local)
        }
        Transport::Udp => {
            let device = plan.local.device.clone();
            let options = UdpOptions { reuse_address: true, device, ..UdpOptions::default() };
            let socket = udp_bind(address, &options)?;
            let local = socket.local_addr()?;
            (Listener::Udp(Box::new(UdpListener::new(socket, Policy::default())?)), local)
        }
    };
    Ok((ReturnListener::new(listener, server, plan.test.streams), local.port()))
}

/// Opens every flow; none sends before all are open.
fn open_all(
    plan: &Plan,
    extras: &Extras,
    request: &Request,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(SessionEvent<'_>),
) -> Result<Vec<ActiveFlow>> {
    let flow_plan = flow_plan(&plan.test);
    let (mut opened, began) = (Vec::new(), mono_now());
    for index in 0..plan.test.streams {
        let mut tries = 0;
        let flow = loop {
            match open(plan, extras, &flow_plan, index) {
                Ok(flow) => break flow,
                Err(error) if interrupt.is_raised() => return Err(error),
                Err(error) if tries < extras.connect_retries || mono_now() < began + extras.retry_time => {
                    tries += 1;
                    sink(SessionEvent::Fact(&Fact::Retry { stream: index, reason: format!("{error:#}") }));
                    interrupt.sleep(extras.retry_pause.unwrap_or(RETRY_PAUSE));
                }
                Err(error) => return Err(error),
            }
        };
        opened.push(flow);
    }
    let active_flows = opened.into_iter().zip(0..).map(|((socket, took), index)| {
        let active_flow = ActiveFlow::new(socket, Direction::Up, Known::Opened(took));
        ActiveFlow { index, shape: request.shape, trip_times: request.trip_times, ..active_flow }
    });
    Ok(active_flows.collect())
}

fn open(plan: &Plan, extras: &Extras, flow_plan: &FlowPlan, index: u32) -> Result<(FlowSocket, Nanos)> {
    let (remote, began) = (plan.target.address, mono_now());
    let socket = match plan.test.transport {
        Transport::Tcp => {
            let socket = flows::connect_tcp(flow_plan, index, remote, &plan.local).map_err(|error| {
                match error.system() {
                    Some(os) => unreachable(&plan.target, plan.protocol, os).into(),
                    None => error,
                }
            })?;
            if let Some(limit) = extras.unsent_limit {
                linux::options::set_unsent_limit(&socket, limit)?;
            }
            FlowSocket::Tcp(Arc::new(socket.into()))
        }
        Transport::Udp => {
            let (socket, _) = flows::connect_udp(flow_plan, index, remote, &plan.local)?;
            if let (Some(hops), true) = (extras.multicast_hops, remote.is_ipv4()) {
                socket.set_multicast_ttl_v4(hops.into())?;
            }
            FlowSocket::Udp(Arc::new(socket))
        }
    };
    Ok((socket, mono_now().saturating_since(began)))
}

const BACKLOG: u16 = 128;
/// Between two tries to connect, unless another time is asked for.
const RETRY_PAUSE: Nanos = Nanos::from_secs(1);
/// Longest wait for a connection that only shows that this end is there.
const PRESENCE: Nanos = Nanos::from_millis(500);
