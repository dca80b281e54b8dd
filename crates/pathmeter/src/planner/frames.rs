//! The plan of `pathmeter frames`: a test for each transport and frame size, or why there is none.

use super::{check, target, way};
use crate::cli::FramesArgs;
use engine::error::Failure;
use model::frames::{DEFAULT_SIZES, FrameAsked, Setting};
use model::framing::{Framing, Network, Transport as Header};
use model::plan::{
    Direction, Directions, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport,
};
use model::units::{Bytes, Nanos};
use serde::Serialize;

/// One row of the sweep.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    /// Its frame and what it carries.
    #[serde(skip)]
    pub(crate) asked: FrameAsked,
    frame: Bytes,
    protocol: Transport,
    /// What will be done.
    pub(crate) plan: Option<Plan>,
    /// Why nothing will.
    pub(crate) skipped: Option<String>,
}

/// The far end, and the rows in the order in which they run. `mtu` asks this host's kernel for the path's.
///
/// # Errors
/// Code 2 for options that exclude each other or exceed what can be; code 3 for a host without a usable address.
pub(crate) fn frames(
    args: &FramesArgs,
    mtu: impl FnOnce(&Target, &LocalOptions) -> anyhow::Result<u32>,
) -> anyhow::Result<(Target, LocalOptions, Vec<Step>)> {
    check::target(&args.target)?;
    check::session(&args.session, ProtocolName::Native)?;
    let time = args.time.unwrap_or(if args.quick { QUICK } else { DEFAULT_TIME });
    check::frames(args.parallel, time)?;
    let target = target(&args.target, ProtocolName::Native)?;
    let network = if target.address.ip().to_canonical().is_ipv4() { Network::V4 } else { Network::V6 };
    let framing = Framing { network, transport: Header::Raw, encaps: args.encap.clone(), link_mtu: None };
    framing.check().map_err(|error| Failure::usage(error.to_string(), "see `pathmeter linerate --help`"))?;
    // Sums of pairs are taken from intervals.
    let interval = Nanos(time.0 / 10).max(Nanos::from_millis(10));
    let local = LocalOptions { interval, link: args.session.link, ..way(&args.target.origin) };
    let mtu = mtu(&target, &local)?;
    let mut sizes = if args.frame.is_empty() { DEFAULT_SIZES.to_vec() } else { args.frame.clone() };
    sizes.sort_unstable();
    sizes.dedup();
    let mut tests: Vec<Transport> = args.tests.iter().copied().map(Transport::from).collect();
    tests.dedup();
    let direction = if args.reverse { Direction::Down } else { Direction::Up };
    let all = tests.iter().flat_map(|protocol| sizes.iter().map(move |frame| (*protocol, *frame)));
    let step = |(protocol, frame)| {
        let asked = FrameAsked { frame, network, protocol, direction, encaps: args.encap.clone() };
        let setting = asked.setting(mtu);
        let plan = setting.as_ref().ok().map(|setting| Plan {
            target: target.clone(),
            protocol: ProtocolName::Native,
            test: spec(args, protocol, *setting, time),
            local: local.clone(),
        });
        Step { asked, frame, protocol, plan, skipped: setting.err() }
    };
    let steps = all.map(step).collect();
    Ok((target, local, steps))
}

fn spec(args: &FramesArgs, protocol: Transport, setting: Setting, time: Nanos) -> TestSpec {
    let mut test = TestSpec {
        directions: if args.reverse { Directions::Down } else { Directions::Up },
        streams: args.parallel,
        end: End::Time(time),
        offload: !args.no_offload,
        ..TestSpec::new(protocol)
    };
    match setting {
        Setting::Mss(mss) => test.mss = Some(mss),
        Setting::Payload(payload) => test.length = payload,
    }
    test
}

const DEFAULT_TIME: Nanos = Nanos::from_secs(2);
const QUICK: Nanos = Nanos::from_millis(500);
