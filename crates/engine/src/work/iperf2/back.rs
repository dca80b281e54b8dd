//! The flows that a server opens to its client (`-d`, `-r`).

use super::active_flow::{ActiveFlow, Known};
use super::flow_plan;
use crate::error::Result;
use crate::session::closing::Tcp;
use crate::work::throughput::flows;
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use model::plan::{Direction, LocalOptions, Transport};
use model::units::Nanos;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use wire::FlowPlan;
use wire::work::in_band::Back;

/// Opens the return path that a client asks for, number `index` of its client.
///
/// # Errors
/// The client cannot be reached at its port.
pub(super) fn connect(back: &Back, client: IpAddr, local: &LocalOptions, index: u32) -> Result<ActiveFlow> {
    let remote = SocketAddr::new(client, back.port);
    let plan = flow_plan(&back.test);
    let local = LocalOptions { connect_timeout: Some(TIMEOUT), client_port: None, ..local.clone() };
    let socket = match back.test.transport {
        Transport::Tcp => {
            FlowSocket::Tcp(Arc::new(Tcp::served(connect_patiently(&plan, index, remote, &local)?)))
        }
        Transport::Udp => FlowSocket::Udp(Arc::new(flows::connect_udp(&plan, index, remote, &local)?.0)),
    };
    let flow = ActiveFlow::new(socket, Direction::Down, Known::Back);
    Ok(ActiveFlow { index, ..flow })
}

/// A client that requests a return connection may begin to listen a moment later.
fn connect_patiently(
    plan: &FlowPlan,
    index: u32,
    remote: SocketAddr,
    local: &LocalOptions,
) -> Result<TcpStream> {
    let deadline = mono_now() + TIMEOUT;
    loop {
        match flows::connect_tcp(plan, index, remote, local) {
            Err(_) if mono_now() < deadline => std::thread::sleep(PAUSE.to_duration()),
            done => return done,
        }
    }
}

/// For the whole of it.
const TIMEOUT: Nanos = Nanos::from_secs(3);
const PAUSE: Nanos = Nanos::from_millis(50);
