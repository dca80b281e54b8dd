//! The tests of a benchmark: those of a standard, changed by the request.

use super::streams::streams;
use super::{Device, GoalName, Standard};
use crate::error::Failure;
use model::dut::{NamedGoal, Setup, Test, Times};
use model::framing::{Encap, Encaps};
use model::search::Goal;
use model::units::Nanos;
use model::{distinct, scale};

/// The setup, and notes on its differences from the request. The link's speed is what was given.
///
/// # Errors
/// `Kind::Usage` for a request that makes no sense.
pub(super) fn setup(asked: &Device) -> Result<(Setup, Vec<String>), Failure> {
    let (tests, mut notes) = tests(asked);
    let (streams, of_streams) = streams(asked, &tests)?;
    notes.extend(of_streams);
    let start = if asked.quick { Setup::quick } else { Setup::standard };
    let mut setup = start(&tests, streams);
    setup.search = asked.search.method;
    // No rate is searched for where no test needs one.
    let searched = setup.tests.contains(&Test::Throughput);
    setup.goals = if searched { goals(asked, &setup.goals) } else { Vec::new() };
    setup.times = times(asked, &setup);
    setup.link = asked.link;
    setup.encaps = encaps(asked)?;
    setup.min = asked.search.min_rate;
    setup.max = asked.search.max_rate;
    setup.service = asked.service;
    setup.departures = setup.find_departures();
    let advice = "see `pathmeter rfc2544 --help`";
    setup.check().map_err(|error| Failure::usage(error.to_string(), advice))?;
    Ok((setup, notes))
}

/// The given encapsulations; else that of the tunnel, whose frames are the longer ones.
fn encaps(asked: &Device) -> Result<Encaps, Failure> {
    let given = asked.traffic.encap.clone();
    if given.layers().is_empty() && !asked.tunnel.is_empty() {
        let tunnel = Encaps::new(vec![Encap::Ipip6 { encap_limit: false }]);
        return tunnel.map_err(|error| Failure::usage(error.to_string(), "give --encap too"));
    }
    Ok(given)
}

/// The tests, and which of the standard's own cannot be done here.
fn tests(asked: &Device) -> (Vec<Test>, Vec<String>) {
    if !asked.tests.is_empty() {
        return (distinct(asked.tests.iter().copied()), Vec::new());
    }
    let mut notes = Vec::new();
    let mut tests = match asked.standard {
        Standard::Y1564 => vec![Test::Service],
        _ if asked.quick => vec![Test::Throughput, Test::Latency, Test::FrameLoss, Test::Mrr],
        Standard::Rfc2889 => vec![Test::Throughput, Test::FrameLoss, Test::Mrr],
        Standard::Rfc2544 | Standard::Rfc5180 => RFC2544_TESTS.to_vec(),
        Standard::Rfc8219 => [&RFC2544_TESTS[..2], &[Test::DelayVariation], &RFC2544_TESTS[2..]].concat(),
    };
    if asked.reset_command.is_some() && !tests.contains(&Test::Reset) {
        tests.push(Test::Reset);
    }
    if asked.reset_command.is_none() && asked.lab.is_empty() && tests.contains(&Test::Reset) {
        tests.retain(|test| *test != Test::Reset);
        notes.push("Reset is left out: --reset-command resets the device.".to_owned());
    }
    if asked.traffic.imix.is_some() && tests.contains(&Test::BackToBack) {
        tests.retain(|test| *test != Test::BackToBack);
        notes
            .push("Back-to-back frames are left out: they are of one size (RFC 9004), not a mix.".to_owned());
    }
    (tests, notes)
}

/// The requested goals, with the requested loss and time.
fn goals(asked: &Device, defaults: &[NamedGoal]) -> Vec<NamedGoal> {
    let named = match (asked.search.goals.as_slice(), asked.quick) {
        ([], false) => &[GoalName::Throughput][..],
        ([], true) => &[GoalName::Throughput, GoalName::Pdr][..],
        (named, _) => named,
    };
    let named_goal =
        |name: GoalName| NamedGoal { name: name.as_str().to_owned(), goal: goal(asked, name, defaults) };
    distinct(named.iter().copied()).into_iter().map(named_goal).collect()
}

fn goal(asked: &Device, name: GoalName, defaults: &[NamedGoal]) -> Goal {
    let named = |name: GoalName| defaults.iter().find(|named| named.name == name.as_str());
    // A look has one shape for all of them.
    let like =
        named(name).or(named(GoalName::Throughput)).map_or_else(Goal::rfc2544, |named| named.goal.clone());
    let like = match (name, asked.quick) {
        (GoalName::Ndr, true) => Goal { exceed_ratio: 0.5, ..like },
        (GoalName::Pdr, _) => Goal { loss_ratio: asked.search.loss_ratio, ..like },
        _ => like,
    };
    match asked.search.time {
        // Trials grow by this much, and what they must add up to with them.
        Some(time) => Goal {
            initial_duration: like.initial_duration.min(time),
            final_duration: time,
            duration_sum: Nanos(scale(like.duration_sum.0, time.0, like.final_duration.0.max(1))),
            ..like
        },
        None => like,
    }
}

fn times(asked: &Device, setup: &Setup) -> Times {
    let mut times = Times { search_repeats: asked.search.repeat, ..setup.times };
    if let Some(time) = asked.search.time {
        // A search has time for as many trials as before, and for ten of the longest at least.
        let longest = setup.goals.iter().map(|named| named.goal.final_duration).max().unwrap_or_default();
        times.search = times.search.max((longest + times.pause).saturating_mul(10));
        times.trial = time;
    }
    times.service = asked.service_time.unwrap_or(times.service);
    times
}

/// RFC 2544 section 26, in its order.
const RFC2544_TESTS: [Test; 6] =
    [Test::Throughput, Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery, Test::Reset];
