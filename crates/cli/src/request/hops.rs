//! The request of `pathmeter hops`.

use super::{Asks, Measures, Shared, origin};
use crate::arguments::HopsArgs;
use engine::error::Result;
use engine::request::{FarEnd, Hops, Request};

impl Measures for HopsArgs {
    fn shared(&self) -> Shared<'_> {
        Shared {
            command: "hops",
            target: self.host.to_string(),
            expect: &self.expect,
            dry_run: self.dry_run,
            identity: Some(&self.identity),
            keep: &self.keep,
            capture: Some(&self.capture),
            device: self.origin.device.as_deref(),
        }
    }
}

impl Asks for HopsArgs {
    fn request(&self) -> Result<Request> {
        let far = FarEnd { host: self.host.clone(), port: self.port, origin: origin(&self.origin)? };
        Ok(Request::Hops(Box::new(Hops {
            far,
            protocol: self.protocol,
            probes: self.count,
            flows: self.flows,
            interval: self.interval,
            timeout: self.timeout,
            max_hops: self.max_hops,
            size: self.size,
            mtu: !self.no_mtu,
            names: self.names,
            as_file: self.as_file.clone(),
            back_port: (!self.one_way).then_some(self.server_port),
            watch: self.watch,
        })))
    }
}
