//! The request of the options of `pathmeter mesh run`.

use cli::{MeshIpArg, MeshRunArgs, MeshTestArg};
use engine::error::Failure;
use mesh::expected::Expected;
use mesh::job::MeshTest;
use mesh::rounds::{MeshRequest, PlanError, link_of, pair_of, uplink_of};
use model::distinct;

/// The runs, and what is expected of each.
pub(super) fn request_of(args: &MeshRunArgs) -> Result<(MeshRequest, Vec<Expected>), Failure> {
    let tests = distinct(args.test.iter().map(|test| match test {
        MeshTestArg::Throughput => MeshTest::Throughput,
        MeshTestArg::Latency => MeshTest::Latency,
        MeshTestArg::Mtu => MeshTest::Mtu,
        MeshTestArg::Hops => MeshTest::Hops,
    }));
    if args.together && tests != [MeshTest::Throughput] {
        return Err(Failure::usage("--together is of throughput", "leave --test out"));
    }
    #[cfg(feature = "store")]
    if !args.alerts.is_empty() && !args.save {
        let what = "alerts without --save: a change is known by the runs that are kept";
        return Err(Failure::usage(what, "add --save"));
    }
    let request = MeshRequest {
        tests,
        time: args.time,
        pairs: read("--pair", &args.pair, pair_of)?,
        families: match args.ip {
            None => vec![None],
            Some(MeshIpArg::V4) => vec![Some(4)],
            Some(MeshIpArg::V6) => vec![Some(6)],
            Some(MeshIpArg::Both) => vec![Some(4), Some(6)],
        },
        is_together: args.together,
        links: read("--link", &args.link, link_of)?,
        uplinks: read("--uplink", &args.uplink, uplink_of)?,
    };
    let expected = read("--expect", &args.expect, Expected::read)?;
    Ok((request, expected))
}

/// The values of an option that can be given several times.
fn read<T>(
    option: &str,
    texts: &[String],
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Failure> {
    let parsed = |text: &String| {
        let advice = "see `pathmeter mesh run --help`";
        read(text).map_err(|why| Failure::usage(format!("{option} {text}: {why}"), advice))
    };
    texts.iter().map(parsed).collect()
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
