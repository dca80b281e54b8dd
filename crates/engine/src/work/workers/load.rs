//! Steps of load of a session, and what arrived of them.

use super::{WorkContext, Worker};
use crate::error::sentence;
use crate::work::load::{Load, prepare_control};
use crate::work::throughput::shared::Flow;
use std::net::TcpStream;
use wire::WorkRequest;
use wire::work::load::Request;

/// Load on the flows of one session.
pub(super) struct Loads {
    /// Until the first request.
    flows: Vec<Flow>,
    class: u8,
    load: Option<Load>,
}

impl Loads {
    /// Over these flows.
    pub(super) fn new(flows: Vec<Flow>, class: u8) -> Loads {
        Loads { flows, class, load: None }
    }
}

impl Worker for Loads {
    fn ask(&mut self, request: WorkRequest, context: &mut WorkContext<'_>, control: Option<&TcpStream>) {
        let WorkRequest::Load(request) = request else { return };
        if self.load.is_none() {
            control.into_iter().for_each(prepare_control);
            match Load::start(self.flows.drain(..).map(|flow| flow.socket), self.class) {
                Ok(load) => self.load = Some(load),
                Err(error) => return context.fail(sentence(&error)),
            }
        }
        let Some(load) = &self.load else { return };
        match request {
            Request::Send(steps) => load.send(steps),
            Request::Report(step) => context.reply(Box::new(load.report(step))),
        }
    }

    fn let_go(&mut self) {
        self.load = None;
    }
}
