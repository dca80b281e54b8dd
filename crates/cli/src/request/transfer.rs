//! The request of `pathmeter transfer`.

use super::{Asks, Measures, Shared, origin};
use crate::arguments::{S3Args, TransferArgs};
use engine::error::Result;
use engine::request::{Body, Request, S3, Transfer};
use model::transfer::Trust;

impl Measures for TransferArgs {
    fn shared(&self) -> Shared<'_> {
        Shared {
            command: "transfer",
            target: self.urls.join(" "),
            expect: &self.expect,
            dry_run: self.dry_run,
            identity: None,
            keep: &self.keep,
            capture: Some(&self.capture),
            device: self.connection.origin.device.as_deref(),
        }
    }
}

impl Asks for TransferArgs {
    fn request(&self) -> Result<Request> {
        let connection = &self.connection;
        Ok(Request::Transfer(Box::new(Transfer {
            urls: self.urls.clone(),
            labels: self.keep.label.clone(),
            repetitions: self.repeat,
            method: self.method,
            body: self.size.map(Body::Size).or_else(|| self.file.clone().map(Body::File)),
            baseline: self.baseline.clone(),
            mtus: self.mtu.mtu.clone(),
            by_route: self.mtu.mtu_route,
            framing: self.mtu.framing,
            origin: origin(&connection.origin)?,
            timeout: connection.timeout,
            redirects: connection.redirects,
            mss: connection.mss,
            congestion: connection.congestion.clone(),
            trust: match &connection.cacert {
                _ if connection.insecure => Trust::Everybody,
                Some(path) => Trust::File(path.to_string_lossy().into_owned()),
                None => Trust::System,
            },
            s3: s3(&self.s3),
            explain: self.explain.budget(),
        })))
    }
}

fn s3(args: &S3Args) -> S3 {
    S3 {
        endpoint: args.endpoint.clone(),
        region: args.region.clone(),
        profile: args.profile.clone(),
        bucket_in: args.bucket_in,
    }
}

#[cfg(test)]
mod tests;
