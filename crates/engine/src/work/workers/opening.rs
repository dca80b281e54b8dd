//! Opening the data flows of a session: a client connects them, a server waits for them.

use super::{BUSY, Opener, WorkContext};
use crate::error::{fault, sentence};
use crate::session::connect::opened_late;
use crate::work::arrivals::{Arrival, Slot};
use crate::work::observer::SessionEvent;
use crate::work::throughput::flows;
use crate::work::throughput::shared::{Flow, FlowSocket};
use linux::clock::wall_now;
use linux::poll::Interest;
use linux::tcp_info::tcp_info;
use model::event::{Connected, Event, Warning};
use model::plan::{Direction, Plan, Target};
use std::net::TcpStream;
use wire::work::{round_trips, throughput};
use wire::{FlowsRequest, WorkRequest};

/// Flows that are being opened.
pub(super) struct Opening {
    request: FlowsRequest,
    progress: Progress,
}

enum Progress {
    /// All are open.
    Connected(Option<Vec<Flow>>),
    /// They arrive one by one.
    Arriving { slot: Slot, flows: Vec<Arrival>, complete: bool },
}

/// Opening datagrams that come again are answered until this request: then the flow is known to be open at both ends.
pub(super) fn is_over(request: &WorkRequest) -> bool {
    matches!(
        request,
        WorkRequest::Throughput(throughput::Request::Start)
            | WorkRequest::RoundTrips(round_trips::Request::Reflect { .. })
            | WorkRequest::Load(_)
    )
}

impl Opening {
    /// Begins; `None`: it has failed, and the session is notified.
    pub(super) fn begin(
        request: FlowsRequest,
        context: &mut WorkContext<'_>,
        control: Option<&TcpStream>,
    ) -> Option<Opening> {
        if !context.admit(&request, false) {
            context.fail(BUSY);
            return None;
        }
        say_connected(&request, context, control);
        let (plan, setting) = (&request.plan, &context.setting);
        let mut warnings = Vec::new();
        let opened = match &setting.opener {
            Opener::Client { target } => {
                flows::connect_all(plan, target.address, &setting.local).map(|opened| {
                    warnings.extend(lost_syns(&opened.flows));
                    warnings.extend(flows::unanswered_ports(opened.dead_ports));
                    Progress::Connected(Some(opened.flows))
                })
            }
            Opener::Server(arrivals) => arrivals
                .wait_for(plan, context.ends.0, context.ends.1, &context.waker)
                .map(|slot| Progress::Arriving { slot, flows: Vec::new(), complete: false }),
            Opener::Worker => Err(fault("flows are requested that no worker opens")),
        };
        match opened {
            Ok(progress) => {
                warnings.into_iter().for_each(|warning| context.emit(Event::Warning(warning)));
                Some(Opening { request, progress })
            }
            Err(error) => {
                context.fail(sentence(&error));
                None
            }
        }
    }

    /// Repeated openings of UDP flows.
    pub(super) fn interests(&self) -> impl Iterator<Item = Interest<'_>> {
        let arrived = match &self.progress {
            Progress::Arriving { flows, .. } => flows.as_slice(),
            Progress::Connected(_) => &[],
        };
        arrived.iter().filter_map(|flow| Some(Interest::readable(flow.socket.udp()?.as_ref())))
    }

    /// Takes what has arrived, and answers what came again.
    pub(super) fn tick(&mut self) {
        if let Progress::Arriving { slot, flows, .. } = &mut self.progress {
            flows.extend(slot.take());
            flows.iter().for_each(Arrival::greet_again);
        }
    }

    /// The flows once all are there, only once.
    pub(super) fn take(&mut self, context: &mut WorkContext<'_>) -> Option<(Vec<Flow>, FlowsRequest)> {
        let flows = match &mut self.progress {
            Progress::Connected(flows) => flows.take()?,
            Progress::Arriving { flows, complete, .. } => {
                let all = self.request.plan.test.all_streams() as usize;
                if *complete || flows.len() < all {
                    return None;
                }
                *complete = true;
                flows.sort_by_key(|flow| (flow.stream, flow.sequence));
                accepted(flows, &self.request, context)
            }
        };
        Some((flows, self.request.clone()))
    }

    /// The flows are open at both ends: from now on they are the worker's alone.
    pub(super) fn finish(self) {
        let Progress::Arriving { flows, .. } = self.progress else { return };
        for socket in flows.iter().filter_map(|flow| flow.socket.udp()) {
            socket.set_nonblocking(false).ok();
        }
    }
}

/// Connections that opened only after their SYN had been retransmitted, a second or more later.
fn lost_syns(flows: &[Flow]) -> Option<Warning> {
    let tcp: Vec<_> = flows.iter().filter_map(|flow| tcp_info(flow.socket.tcp()?).ok()).collect();
    opened_late(tcp.iter().filter(|tcp| tcp.retransmits > 0).count(), tcp.len())
}

/// The flows that have arrived, as the test wants them.
fn accepted(arrivals: &[Arrival], request: &FlowsRequest, context: &mut WorkContext<'_>) -> Vec<Flow> {
    let test = &request.plan.test;
    let mut refused = None;
    let mut flows = Vec::new();
    for (index, arrival) in arrivals.iter().enumerate() {
        let configured = match &arrival.socket {
            FlowSocket::Tcp(socket) => flows::configure_accepted(socket, test),
            FlowSocket::Udp(socket) => flows::configure_udp(socket, test, flows::Wish::Peers),
        };
        if let Err(error) = configured {
            refused.get_or_insert(error);
        }
        flows.push(flows::describe(test, index as u32, arrival.socket.clone(), Direction::Down));
    }
    if let Some(error) = refused {
        let text = format!("{error}; the kernel's default is used");
        context.emit(Event::Warning(Warning::new("option-refused", text)));
    }
    flows
}

fn say_connected(request: &FlowsRequest, context: &mut WorkContext<'_>, control: Option<&TcpStream>) {
    let target = match &context.setting.opener {
        Opener::Client { target } => target.clone(),
        Opener::Server(_) | Opener::Worker => {
            Target { host: context.ends.1.ip().to_canonical().to_string(), address: context.ends.1 }
        }
    };
    if let Some(extras) = &request.extras {
        context.setting.watcher.event(SessionEvent::Extras(extras));
        if let Some(cpu) = extras.server_affinity {
            context.setting.local.affinity = vec![cpu];
        }
    }
    context.reported = request.extras.clone().filter(|extras| extras.get_server_output);
    let FlowsRequest { plan, peer, .. } = request;
    let protocol = plan.hello.protocol();
    let event = Event::Connected(Connected {
        wall: wall_now(),
        plan: Plan { target, protocol, test: plan.test.clone(), local: context.setting.local.clone() },
        local: context.ends.0,
        remote: context.ends.1,
        session: plan.hello.session(),
        control_mss: control.and_then(flows::mss),
        host: context.setting.host.clone(),
        peer: peer.clone(),
    });
    context.emit(event);
}
