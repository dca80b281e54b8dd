//! Requests to the engine from the command line. Options that exclude each other are refused here, values where the plan is made.

#[cfg(feature = "device")]
mod device;
mod expectations;
mod frames;
mod hops;
mod latency;
mod line_rate;
mod mtu;
mod throughput;
mod transfer;

pub use expectations::{answered, expectations, parse_expectations};

use crate::arguments::{
    CaptureArgs, IdentityArgs, KeepArgs, LimitArgs, MeasureArgs, OriginArgs, SessionArgs, TargetArgs,
};
use engine::error::{Failure, Result};
use engine::host::address::Family;
use engine::request::{FarEnd, Host, Measure, Origin, Request, resolve};
use engine::run::Plan;
use model::plan::Direction;

/// The plan of what was typed, on this host.
///
/// # Errors
/// `Kind::Usage` for options that exclude each other or exceed what can be, or that this host refuses; `Kind::Unreachable`
/// for a host without a usable address.
pub fn plan(args: &impl Asks) -> Result<Plan> {
    resolve(&args.request()?, &Host::here())
}

/// The command line of what the engine can do.
pub trait Asks {
    /// The request that these arguments make.
    ///
    /// # Errors
    /// Options that exclude each other, and files that cannot be read.
    fn request(&self) -> Result<Request>;
}

/// The command line of a command that measures a path.
pub trait Measures: Asks {
    /// The options that all of these commands have.
    fn shared(&self) -> Shared<'_>;
}

/// Options of all commands that measure a path.
#[derive(Clone, Debug)]
pub struct Shared<'a> {
    /// The command.
    pub command: &'static str,
    /// The far ends.
    pub target: String,
    /// Requirements on the result.
    pub expect: &'a [String],
    /// The plan is printed, and nothing is sent.
    pub dry_run: bool,
    /// The authentication of both ends; absent: the command has none.
    pub identity: Option<&'a IdentityArgs>,
    /// Where the result is kept.
    pub keep: &'a KeepArgs,
    /// The packets to capture; absent: the command captures none.
    pub capture: Option<&'a CaptureArgs>,
    /// The interface to send through.
    pub device: Option<&'a str>,
}

impl<'a> Shared<'a> {
    fn of_session(
        command: &'static str,
        target: &'a TargetArgs,
        session: &'a SessionArgs,
        keep: &'a KeepArgs,
        capture: Option<&'a CaptureArgs>,
    ) -> Shared<'a> {
        Shared {
            command,
            target: target.host.to_string(),
            expect: &session.expect,
            dry_run: session.dry_run,
            identity: Some(&session.identity),
            keep,
            capture,
            device: target.origin.device.as_deref(),
        }
    }
}

impl Measures for MeasureArgs {
    fn shared(&self) -> Shared<'_> {
        Shared::of_session("measure", &self.target, &self.session, &self.keep, Some(&self.capture))
    }
}

impl Asks for MeasureArgs {
    fn request(&self) -> Result<Request> {
        let far = far(&self.target)?;
        let (link, explain) = (self.session.link, self.explain.budget());
        let LimitArgs { place, observe } = self.limit.clone();
        Ok(Request::Measure(Box::new(Measure { far, quick: self.quick, link, explain, place, observe })))
    }
}

fn far(args: &TargetArgs) -> Result<FarEnd, Failure> {
    Ok(FarEnd { host: args.host.clone(), port: args.port, origin: origin(&args.origin)? })
}

fn origin(args: &OriginArgs) -> Result<Origin, Failure> {
    if args.ipv4 && args.ipv6 {
        return exclude(
            "-4",
            "-6",
            "each forbids the other's addresses",
            "give one of them, or none for either",
        );
    }
    Ok(Origin {
        family: Family::chosen(args.ipv4, args.ipv6, None),
        bind: args.bind,
        device: args.device.clone(),
        connect_timeout: args.connect_timeout,
    })
}

fn exclude<T>(one: &str, other: &str, why: &str, advice: &str) -> Result<T, Failure> {
    Err(Failure::usage(format!("{one} cannot be used with {other}: {why}"), advice))
}

fn direction(reverse: bool) -> Direction {
    if reverse { Direction::Down } else { Direction::Up }
}
