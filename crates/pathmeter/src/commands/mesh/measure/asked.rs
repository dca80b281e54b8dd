//! What the options of `pathmeter mesh run` ask for, and whether it held.

use cli::{MeshRunArgs, MeshTestArg};
use engine::error::Failure;
use fleet::job::End;
use fleet::results::Results;
use mesh::job::{JobResult, MeshTest};
use mesh::rounds::{Link, MeshRequest, PlanError, Uplink, pair_of};
use model::expectation::Checked;
use report::expect::Expectation;

/// The runs, and what is expected of each.
pub(super) fn asked(args: &MeshRunArgs) -> Result<(MeshRequest, Vec<Expected>), Failure> {
    let test = match args.test {
        MeshTestArg::Throughput => MeshTest::Throughput,
        MeshTestArg::Latency => MeshTest::Latency,
        MeshTestArg::Mtu => MeshTest::Mtu,
    };
    if args.together && test != MeshTest::Throughput {
        return Err(Failure::usage("--together is of throughput", "leave --test out"));
    }
    #[cfg(feature = "store")]
    if args.together && args.save {
        let what =
            "--together with --save: pairs that start together are one run, which no mesh's label holds";
        return Err(Failure::usage(what, "write it with --json -o FILE"));
    }
    let asked = MeshRequest {
        test,
        time: args.time,
        pairs: read("--pair", &args.pair, pair_of)?,
        is_together: args.together,
        links: read("--link", &args.link, |text| text.parse::<Link>())?,
        uplinks: read("--uplink", &args.uplink, |text| text.parse::<Uplink>())?,
    };
    let expected = read("--expect", &args.expect, Expected::read)?;
    Ok((asked, expected))
}

/// The values of an option that can be given several times.
fn read<T>(
    option: &str,
    texts: &[String],
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Failure> {
    let one = |text: &String| {
        let advice = "see `pathmeter mesh run --help`";
        read(text).map_err(|why| Failure::usage(format!("{option} {text}: {why}"), advice))
    };
    texts.iter().map(one).collect()
}

/// The agents that take part; none: all.
pub(super) fn names(args: &MeshRunArgs, asked: &MeshRequest) -> Vec<String> {
    let mut names = args.agent.clone();
    names.extend(asked.pairs.iter().flat_map(|(a, b)| [a.clone(), b.clone()]));
    names
}

pub(super) fn refused(error: PlanError) -> Failure {
    let advice = "`pathmeter mesh show` lists the agents; `pathmeter agent run` starts one";
    Failure::usage(error.to_string(), advice)
}

/// What is expected of a run between two hosts.
pub(super) struct Expected {
    /// As it was written: up is from the first host to the second.
    pub(super) written: Expectation,
    /// For a run that the second host carries out, as it opens the connections: what it calls down is up between the hosts.
    mirrored: Expectation,
}

impl Expected {
    fn read(text: &str) -> Result<Expected, String> {
        let parse = |text: &str| text.parse::<Expectation>().map_err(|error| error.to_string());
        let swapped = |part| match part {
            "up" => "down",
            "down" => "up",
            other => other,
        };
        let mirrored: Vec<&str> = text.split('.').map(swapped).collect();
        Ok(Expected { written: parse(text)?, mirrored: parse(&mirrored.join("."))? })
    }
}

/// The expectations that runs do not hold, a line each.
pub(super) fn broken(results: &Results, expected: &[Expected]) -> Vec<String> {
    let mut lines = Vec::new();
    for outcome in results.outcomes.values() {
        let End::Done { body } = &outcome.end else { continue };
        let Ok(JobResult { job, run }) = JobResult::read(body, &outcome.title) else { continue };
        for one in expected {
            let checked = if job.reverse { &one.mirrored } else { &one.written }.check(&run);
            if !checked.held {
                let checked = Checked { expectation: one.written.check(&run).expectation, ..checked };
                lines.push(format!("{}: {checked}", outcome.title));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_is_between_the_hosts_whoever_opens() {
        let expected = Expected::read("up.goodput>=1Gbit/s").expect("an expectation");
        let run = insight::run_of_events("1", "throughput", &[]);
        assert_eq!(expected.written.check(&run).expectation, "up.goodput>=1Gbit/s");
        assert_eq!(expected.mirrored.check(&run).expectation, "down.goodput>=1Gbit/s");
        assert!(Expected::read("up.godput>=1").is_err());
    }
}
