//! What `pathmeter hops` asks for.

use super::{Asks, origin};
use crate::cli::HopsArgs;
use engine::error::Result;
use engine::request::{FarEnd, Hops, Request};

impl Asks for HopsArgs {
    fn request(&self) -> Result<Request> {
        let far = FarEnd { host: self.host.clone(), port: self.port, origin: origin(&self.origin)? };
        Ok(Request::Hops(Box::new(Hops {
            far,
            protocol: self.protocol.into(),
            probes: self.count,
            flows: self.flows,
            interval: self.interval,
            timeout: self.timeout,
            max_hops: self.max_hops,
            size: self.size,
            mtu: !self.no_mtu,
            names: self.names,
            as_file: self.as_file.clone(),
        })))
    }
}
