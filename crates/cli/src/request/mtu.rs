//! The request of `pathmeter mtu`.

use super::{Asks, Measures, Shared, far};
use crate::arguments::{MtuArgs, Pattern, ServiceArgs};
use engine::error::Result;
use engine::request::{Path, Request, UdpService};

impl Measures for MtuArgs {
    fn shared(&self) -> Shared<'_> {
        Shared::of_session("mtu", &self.target, &self.session, &self.keep, Some(&self.capture))
    }
}

impl Asks for MtuArgs {
    fn request(&self) -> Result<Request> {
        Ok(Request::Path(Box::new(Path {
            far: far(&self.target)?,
            method: self.protocol,
            largest: self.largest,
            encap: self.encap.clone(),
            service: self.service.service.map(|port| service(&self.service, port)),
            link: self.session.link,
        })))
    }
}

fn service(args: &ServiceArgs, port: u16) -> UdpService {
    let octets = |pattern: &Option<Pattern>| pattern.as_ref().map(|p| p.0.clone()).unwrap_or_default();
    UdpService {
        port,
        payload: octets(&args.payload),
        fill: args.fill,
        reply: octets(&args.reply),
        timeout: args.reply_timeout,
    }
}
