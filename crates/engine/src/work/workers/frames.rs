//! Frames sent and counted on an interface, which is the session's until it ends.

use super::{BUSY, Wanted, WorkContext, Worker};
use crate::error::Result;
use crate::work::dut::remote::station::{FramesObservation, PortAgent};
use crate::work::observer::SessionEvent;
use model::event::Outcome;
use model::time::MonoTime;
use std::net::TcpStream;
use wire::WorkRequest;
use wire::native::Refusal;
use wire::native::frames::FramesWish;
use wire::work::frames::{PortAnswer, PortRequest};

pub(super) struct Frames {
    station: Option<PortAgent>,
    /// Its summary, once the interface is given back.
    observed: Option<FramesObservation>,
}

impl Frames {
    /// Takes the interface; `None`: it is not available, and the session is notified.
    pub(super) fn begin(order: PortRequest, context: &mut WorkContext<'_>) -> Option<Frames> {
        let PortRequest::Open(wish) = order else { return None };
        match open(wish, context) {
            Ok(station) => Some(Frames { station: Some(station), observed: None }),
            Err(refusal) => {
                context.reply(PortAnswer::Refused(refusal));
                None
            }
        }
    }
}

fn open(wish: FramesWish, context: &mut WorkContext<'_>) -> Result<PortAgent, Refusal> {
    let station = PortAgent::start(&context.setting.offers, wish, &context.waker)?;
    if context.admit_wanted(Wanted { streams: 0, probes: false, begins: true }) {
        return Ok(station);
    }
    Err(Refusal { code: "busy".into(), reason: BUSY.into(), advice: String::new() })
}

impl Worker for Frames {
    fn ask(&mut self, request: WorkRequest, _site: &mut WorkContext<'_>, _control: Option<&TcpStream>) {
        if let (WorkRequest::Frames(PortRequest::Ask { id, ask }), Some(station)) = (request, &self.station) {
            station.ask(id, ask);
        }
    }

    fn tick(&mut self, _now: MonoTime, context: &mut WorkContext<'_>) {
        while let Some(answer) = self.station.as_ref().and_then(PortAgent::answer) {
            context.reply(answer);
        }
    }

    fn let_go(&mut self) {
        self.observed = self.station.take().map(PortAgent::finish);
    }

    fn finish(&mut self, context: &mut WorkContext<'_>, _outcome: Outcome) {
        if let Some(observed) = &self.observed {
            context.setting.watcher.event(SessionEvent::Framed(observed));
        }
    }
}
