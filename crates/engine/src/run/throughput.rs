//! One test of throughput, and what explains it.

use super::begun::{Begun, Watched};
use super::explain::Subject;
use super::explain::tcp::{begins_unmarked, mark_dropped};
use super::observe::Observing;
use super::{Measured, Options, explain, is_start, link, without_copy};
use crate::error::{Error, Result};
use crate::session::protocol::attribute;
use crate::work::client;
use insight::run_of_events;
use model::event::Event;
use model::finding::Finding;
use model::plan::Plan;
use model::reach::Reach;
use wire::iperf3::Extras;

/// The far end answered, and not to the mark.
pub(super) fn is_refused(error: &Error) -> bool {
    error.system().is_some_and(|system| system.source.kind() == std::io::ErrorKind::ConnectionRefused)
}

pub(super) fn run(plan: &Plan, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    let mut begun = Begun::new(options, sink);
    begun.take(link(&plan.target, &plan.local));
    let watched = Watched::start(plan.target.address.ip(), &options.capture)?;
    let observing = Observing::start(plan, options);
    let outcome = client::run(plan, &options.security, &Extras::default(), &options.stop, &mut |event| {
        begun.event(event);
    });
    begun.take(observing.finish());
    begun.take(watched.finish(outcome.as_ref().err(), &options.stop, Reach::default()));
    if outcome.is_ok() {
        begun.find_limit(plan, options);
    }
    let known = run_of_events("", "throughput", begun.events());
    explain::explain(&Subject::of_test(plan), options, known, &mut |event| begun.event(event));
    if outcome.is_ok() {
        begun.take(without_copy::repeat(begun.events(), options));
    }
    let has_begun = begun.events().iter().any(is_start);
    let outcome = match outcome {
        Err(error) if !has_begun && !is_refused(&error) && begins_unmarked(plan, options) => {
            Err(mark_dropped(error, plan.test.tos))
        }
        other => other,
    };
    let findings = || run_of_events("", "throughput", begun.events()).findings;
    let is_reason = |finding: &Finding| explain::is_cause(&finding.id);
    let reason = outcome.is_err().then(|| findings().into_iter().find(is_reason)).flatten();
    let attribute = |has_begun, error: Error| match reason {
        Some(reason) if has_begun => {
            error.advised("throughput", format!("{}. {}", reason.title, reason.advice))
        }
        _ => attribute(&plan.target, plan.protocol, has_begun, error),
    };
    let mut ended = begun.end("throughput", outcome, options, is_start, attribute)?;
    ended.error.take_if(|_| options.stop.is_raised());
    Ok(ended)
}
