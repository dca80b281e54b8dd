//! A receiver-limited TCP test repeated for a moment without the copy to the program: what the copy costs is the host's
//! limit, not the path's.

use super::Options;
use crate::work::client;
use insight::run_of_events;
use model::event::{Event, Probe, WithoutCopy};
use model::plan::{Direction, End, Plan, ProtocolName, Transport};
use model::summary::Summary;
use model::units::Nanos;
use wire::iperf3::Extras;

/// Repeats the test of these events when its receiver was the limit, and returns its rate without the copy as events. An error
/// here leaves the result as it is.
pub(super) fn repeat(events: &[Event], options: &Options) -> Vec<Event> {
    let run = run_of_events("", "throughput", events);
    let limited: Vec<Direction> = run
        .findings
        .iter()
        .filter(|finding| finding.id == "receiver-limited")
        .filter_map(|finding| finding.direction)
        .collect();
    let Some(plan) = run.throughput().filter(|_| !limited.is_empty()).and_then(shortened) else {
        return Vec::new();
    };
    if options.stop.is_raised() {
        return Vec::new();
    }
    let mut repeated = Vec::new();
    let mut keep = |event: &Event| repeated.push(event.clone());
    if client::run(&plan, &options.security, &Extras::default(), &options.stop, &mut keep).is_err() {
        return Vec::new();
    }
    let summary = Summary::from_events(&repeated);
    let probe = |direction: Direction| {
        let figures = summary.direction(direction).filter(|figures| figures.goodput.0 > 0)?;
        let without = WithoutCopy { direction, goodput: figures.goodput, time: figures.elapsed };
        Some(Event::Probe(Probe::WithoutCopy(without)))
    };
    limited.into_iter().filter_map(probe).collect()
}

/// The same test without the copy, a second long and never longer than half of the first; none where the copy is not to
/// be left out.
fn shortened(plan: &Plan) -> Option<Plan> {
    let End::Time(time) = plan.test.end else { return None };
    let fits = plan.protocol == ProtocolName::Native
        && plan.test.transport == Transport::Tcp
        && !plan.test.receive_discard;
    let time = Nanos((time.0 / 2).min(LONGEST.0));
    let mut plan = plan.clone();
    // TCP has to find its rate again; that is not counted.
    plan.test.omit = Nanos(time.0 / 4);
    plan.test.end = End::Time(Nanos(time.0 - plan.test.omit.0));
    plan.test.receive_discard = true;
    plan.local.interval = Nanos::ZERO;
    plan.local.connect_timeout = Some(plan.local.connect_timeout.map_or(LONGEST, |given| given.min(LONGEST)));
    fits.then_some(plan)
}

/// No repetition lasts longer, and none waits longer for its server.
const LONGEST: Nanos = Nanos::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::{LocalOptions, Target, TestSpec};

    #[test]
    fn only_a_timed_tcp_test_that_copied_is_repeated_and_at_most_for_a_second() {
        let target = Target { host: "h".into(), address: ([192, 0, 2, 7], 5210).into() };
        let test = TestSpec { end: End::Time(Nanos::from_secs(10)), ..TestSpec::new(Transport::Tcp) };
        let (protocol, local) = (ProtocolName::Native, LocalOptions::default());
        let plan = Plan { target, protocol, test, local };
        let with = |change: fn(&mut Plan)| {
            let mut plan = plan.clone();
            change(&mut plan);
            shortened(&plan)
        };
        let total = |plan: Plan| match plan.test.end {
            End::Time(time) => (time.0 + plan.test.omit.0, plan.test.receive_discard),
            _ => panic!("it has no time"),
        };
        assert_eq!(with(|_| {}).map(total), Some((1_000_000_000, true)));
        let quick = with(|plan| plan.test.end = End::Time(Nanos::from_millis(1200)));
        assert_eq!(quick.map(total), Some((600_000_000, true)));
        assert_eq!(with(|plan| plan.test.receive_discard = true), None);
        assert_eq!(with(|plan| plan.test.transport = Transport::Udp), None);
        assert_eq!(with(|plan| plan.protocol = ProtocolName::Iperf3), None);
        assert_eq!(with(|plan| plan.test.end = End::Bytes(model::units::Bytes(1 << 30))), None);
    }
}
