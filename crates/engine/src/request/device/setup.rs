//! The tests of a benchmark: as a standard has them, with what was asked for otherwise.

use super::streams::streams;
use crate::cli::{GoalName, Rfc2544Args, Standard};
use engine::error::Failure;
use model::dut::y1564::Profile;
use model::dut::{NamedGoal, Setup, Test, Times};
use model::framing::{Encap, Encaps};
use model::search::Goal;
use model::units::Nanos;

/// The setup, and what became other than it was asked for. The link's speed is what was given.
///
/// # Errors
/// Code 2 for what makes no sense.
pub(super) fn setup(args: &Rfc2544Args) -> Result<(Setup, Vec<String>), Failure> {
    let (tests, mut notes) = tests(args);
    let (streams, of_streams) = streams(args, &tests)?;
    notes.extend(of_streams);
    let start = if args.quick { Setup::quick } else { Setup::standard };
    let mut setup = start(&tests, streams);
    setup.search = args.search.search.into();
    // No rate is searched for where no test needs one.
    let searched = setup.tests.contains(&Test::Throughput);
    setup.goals = if searched { goals(args, &setup.goals) } else { Vec::new() };
    setup.times = times(args, &setup);
    setup.link = args.session.link;
    setup.encaps = encaps(args)?;
    setup.min = args.search.min_rate;
    setup.max = args.search.max_rate;
    setup.service = args.profile.cir.map(|committed| Profile {
        committed,
        excess: args.profile.eir,
        loss: args.profile.max_loss.0,
        delay: args.profile.max_delay,
        variation: args.profile.max_variation,
        policing_margin: POLICING_MARGIN,
        availability: AVAILABILITY,
    });
    setup.departures = setup.find_departures();
    let advice = "see `pathmeter rfc2544 --help`";
    setup.check().map_err(|error| Failure::usage(error.to_string(), advice))?;
    Ok((setup, notes))
}

/// As given; else that of the tunnel, whose frames are the longer ones.
fn encaps(args: &Rfc2544Args) -> Result<Encaps, Failure> {
    let given = args.traffic.encap.clone();
    if given.layers().is_empty() && !args.device.tunnel.is_empty() {
        let tunnel = Encaps::new(vec![Encap::Ipip6 { encap_limit: false }]);
        return tunnel.map_err(|error| Failure::usage(error.to_string(), "give --encap too"));
    }
    Ok(given)
}

/// The tests, and which of the standard's own cannot be done here.
fn tests(args: &Rfc2544Args) -> (Vec<Test>, Vec<String>) {
    if !args.tests.is_empty() {
        let mut tests = Vec::new();
        for test in args.tests.iter().copied().map(Test::from) {
            if !tests.contains(&test) {
                tests.push(test);
            }
        }
        return (tests, Vec::new());
    }
    let mut notes = Vec::new();
    let mut tests = match args.standard {
        Standard::Y1564 => vec![Test::Service],
        _ if args.quick => vec![Test::Throughput, Test::Latency, Test::FrameLoss, Test::Mrr],
        Standard::Rfc2889 => vec![Test::Throughput, Test::FrameLoss, Test::Mrr],
        Standard::Rfc2544 | Standard::Rfc5180 => RFC2544_TESTS.to_vec(),
        Standard::Rfc8219 => [&RFC2544_TESTS[..2], &[Test::DelayVariation], &RFC2544_TESTS[2..]].concat(),
    };
    if args.device.reset_command.is_some() && !tests.contains(&Test::Reset) {
        tests.push(Test::Reset);
    }
    if args.device.reset_command.is_none() && args.lab.is_empty() && tests.contains(&Test::Reset) {
        tests.retain(|test| *test != Test::Reset);
        notes.push("Reset is left out: --reset-command says how the device is reset.".to_owned());
    }
    if args.traffic.imix.is_some() && tests.contains(&Test::BackToBack) {
        tests.retain(|test| *test != Test::BackToBack);
        notes
            .push("Back-to-back frames are left out: they are of one size (RFC 9004), not a mix.".to_owned());
    }
    (tests, notes)
}

/// The goals asked for, with the loss and the time that were.
fn goals(args: &Rfc2544Args, defaults: &[NamedGoal]) -> Vec<NamedGoal> {
    let named = match (args.search.goals.as_slice(), args.quick) {
        ([], false) => &[GoalName::Throughput][..],
        ([], true) => &[GoalName::Throughput, GoalName::Pdr][..],
        (named, _) => named,
    };
    let mut goals: Vec<NamedGoal> = Vec::new();
    let asked =
        |name: GoalName| NamedGoal { name: name.as_str().to_owned(), goal: goal(args, name, defaults) };
    for named in named.iter().copied().map(asked) {
        if !goals.iter().any(|known| known.name == named.name) {
            goals.push(named);
        }
    }
    goals
}

fn goal(args: &Rfc2544Args, name: GoalName, defaults: &[NamedGoal]) -> Goal {
    let named = |name: GoalName| defaults.iter().find(|named| named.name == name.as_str());
    // A look has one shape for all of them.
    let like =
        named(name).or(named(GoalName::Throughput)).map_or_else(Goal::rfc2544, |named| named.goal.clone());
    let like = match (name, args.quick) {
        (GoalName::Ndr, true) => Goal { exceed_ratio: 0.5, ..like },
        (GoalName::Pdr, _) => Goal { loss_ratio: args.search.loss_ratio.0, ..like },
        _ => like,
    };
    match args.search.time {
        // Trials grow by this much, and what they must add up to with them.
        Some(time) => Goal {
            initial_duration: like.initial_duration.min(time),
            final_duration: time,
            duration_sum: scaled(like.duration_sum, time, like.final_duration),
            ..like
        },
        None => like,
    }
}

fn times(args: &Rfc2544Args, setup: &Setup) -> Times {
    let mut times = Times { search_repeats: args.search.repeat, ..setup.times };
    if let Some(time) = args.search.time {
        // A search has time for as many trials as before, and for ten of the longest at least.
        let longest = setup.goals.iter().map(|named| named.goal.final_duration).max().unwrap_or_default();
        times.search = times.search.max((longest + times.pause).saturating_mul(10));
        times.trial = time;
    }
    times.service = args.profile.service_time.unwrap_or(times.service);
    times
}

/// `value × new / old`.
fn scaled(value: Nanos, new: Nanos, old: Nanos) -> Nanos {
    let scaled = u128::from(value.0) * u128::from(new.0) / u128::from(old.0.max(1));
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// RFC 2544 section 26, in its order.
const RFC2544_TESTS: [Test; 6] =
    [Test::Throughput, Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery, Test::Reset];
/// The burst of a policer, in a step of some seconds.
const POLICING_MARGIN: f64 = 0.01;
/// Five nines less one: what carriers promise at the least.
const AVAILABILITY: f64 = 0.9999;
