//! Frames sent and counted on an interface, which is the session's until it ends.

use super::{BUSY, Site, Wanted, Worker};
use crate::error::Result;
use crate::work::dut::remote::station::{FramesSeen, Station};
use crate::work::observer::SessionEvent;
use model::time::MonoTime;
use std::net::TcpStream;
use wire::native::Refusal;
use wire::native::frames::FramesWish;
use wire::work::frames::{PortAnswer, PortOrder};
use wire::{ProtocolError, WorkRequest};

pub(super) struct Frames {
    station: Option<Station>,
    /// What it has done, once the interface is given back.
    seen: Option<FramesSeen>,
}

impl Frames {
    /// Takes the interface; `None`: it cannot be had, and the session is told.
    pub(super) fn begin(order: PortOrder, site: &mut Site<'_>) -> Option<Frames> {
        let PortOrder::Open(wish) = order else { return None };
        match open(wish, site) {
            Ok(station) => Some(Frames { station: Some(station), seen: None }),
            Err(refusal) => {
                site.reply(PortAnswer::Refused(refusal));
                None
            }
        }
    }
}

fn open(wish: FramesWish, site: &mut Site<'_>) -> Result<Station, Refusal> {
    let station = Station::start(&site.setting.offers, wish, &site.waker)?;
    if site.admit_wanted(Wanted { streams: 0, probes: false, begins: true }) {
        return Ok(station);
    }
    Err(Refusal { code: "busy".into(), reason: BUSY.into(), advice: String::new() })
}

impl Worker for Frames {
    fn ask(&mut self, request: WorkRequest, _site: &mut Site<'_>, _control: Option<&TcpStream>) {
        if let (WorkRequest::Frames(PortOrder::Ask { id, ask }), Some(station)) = (request, &self.station) {
            station.ask(id, ask);
        }
    }

    fn tick(&mut self, _now: MonoTime, site: &mut Site<'_>) {
        while let Some(answer) = self.station.as_ref().and_then(Station::answer) {
            site.reply(answer);
        }
    }

    fn let_go(&mut self) {
        self.seen = self.station.take().map(Station::finish);
    }

    fn finish(&mut self, site: &mut Site<'_>, _outcome: &Result<(), ProtocolError>, _interrupted: bool) {
        if let Some(seen) = &self.seen {
            site.setting.watcher.event(SessionEvent::Framed(seen));
        }
    }
}
