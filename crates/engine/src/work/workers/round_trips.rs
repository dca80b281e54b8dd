//! Messages that are answered as they come, in a thread of their own.

use super::{WorkContext, Worker};
use crate::error::sentence;
use crate::work::echo::reflector::Reflecting;
use crate::work::observer::SessionEvent;
use crate::work::throughput::shared::Flow;
use model::event::Outcome;
use std::net::TcpStream;
use wire::WorkRequest;
use wire::work::round_trips::Request;

pub(super) struct RoundTrips {
    flows: Vec<Flow>,
    reflecting: Option<Reflecting>,
}

impl RoundTrips {
    /// Over the last of these flows: there is one.
    pub(super) fn new(flows: Vec<Flow>) -> RoundTrips {
        RoundTrips { flows, reflecting: None }
    }
}

impl Worker for RoundTrips {
    fn ask(&mut self, request: WorkRequest, context: &mut WorkContext<'_>, _control: Option<&TcpStream>) {
        let WorkRequest::RoundTrips(request) = request else { return };
        match request {
            Request::Reflect { spec, most } => {
                let Some(flow) = std::mem::take(&mut self.flows).pop() else { return };
                match Reflecting::start(flow.socket, flow.info.remote, &spec, most) {
                    Ok(reflecting) => self.reflecting = Some(reflecting),
                    Err(e) => context.fail(sentence(&e)),
                }
            }
            Request::Count => {
                if let Some(reflecting) = &self.reflecting {
                    context.reply(reflecting.observed());
                }
            }
        }
    }

    fn finish(&mut self, context: &mut WorkContext<'_>, _outcome: Outcome) {
        if let Some(reflecting) = self.reflecting.take() {
            context.setting.watcher.event(SessionEvent::Reflected(&reflecting.observed()));
        }
    }
}
