//! Single datagrams of a probe session: every one that comes is the session's own.

use super::{WorkContext, Worker};
use crate::error::{Result, fault};
use crate::work::probe::flow::ProbeFlow;
use crate::work::throughput::flows;
use crate::work::throughput::shared::Flow;
use linux::poll::Interest;
use model::plan::LocalOptions;
use model::time::MonoTime;
use std::net::TcpStream;
use wire::WorkRequest;
use wire::work::probes::{Reply, Request};

pub(super) struct Probes {
    flow: ProbeFlow,
    buffer: Vec<u8>,
}

impl Probes {
    /// Over the first of these flows.
    pub(super) fn new(flows: &[Flow], local: &LocalOptions) -> Result<Probes> {
        let Some(socket) = flows.first().and_then(|flow| flow.socket.udp()) else {
            return Err(fault("a probe session without a UDP flow"));
        };
        let flow = ProbeFlow::open(socket.clone(), local.device.as_deref())?;
        Ok(Probes { flow, buffer: vec![0; 1 << 16] })
    }
}

impl Worker for Probes {
    fn ask(&mut self, request: WorkRequest, context: &mut WorkContext<'_>, control: Option<&TcpStream>) {
        let WorkRequest::Probes(request) = request else { return };
        match request {
            Request::Send { bytes, cut, hops } => {
                if let Err(e) = self.flow.send(&bytes, cut, hops)
                    && flows::is_too_big(&e)
                {
                    context.reply(Reply::TooBig(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
                }
            }
            Request::ReportPath { since } => {
                let observed = control.map(|control| self.flow.observed(control, since));
                context.reply(Reply::PathObservation(Box::new(observed.unwrap_or_default())));
            }
        }
    }

    fn interests(&self) -> Vec<Interest<'_>> {
        vec![Interest::readable(self.flow.socket.as_ref())]
    }

    fn tick(&mut self, _now: MonoTime, context: &mut WorkContext<'_>) {
        self.flow.hear();
        for _ in 0..DATAGRAMS_AT_ONCE {
            let Some((length, fragment)) = self.flow.receive(&mut self.buffer) else { break };
            context.reply(Reply::Datagram { bytes: self.buffer[..length].to_vec(), fragment });
        }
    }
}

/// Datagrams read before looking at anything else.
const DATAGRAMS_AT_ONCE: usize = 64;
