//! The plan of `pathmeter frames`: a test for each transport and frame size, or why there is none.

use super::{check, target, way};
use crate::cli::FramesArgs;
use engine::error::Failure;
use engine::flows::believed_mtu;
use engine::preflight;
use engine::run::{FramesPlan, FramesStep};
use model::frames::{DEFAULT_SIZES, FrameAsked, Setting};
use model::framing::{Framing, MIN_FRAME, Network, Transport as Header};
use model::plan::{Direction, Directions, End, LocalOptions, Plan, ProtocolName, TestSpec, Transport};
use model::units::Nanos;

/// The plan of `pathmeter frames`.
///
/// # Errors
/// `Kind::Usage` for options that exclude each other or exceed what can be; `Kind::Unreachable` for a host without a usable address.
pub(crate) fn frames(args: &FramesArgs) -> anyhow::Result<FramesPlan> {
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
    preflight::way(&target, &local)?;
    let mtu = believed_mtu(target.address, &local)?;
    let mut sizes = if args.frame.is_empty() { DEFAULT_SIZES.to_vec() } else { args.frame.clone() };
    if let Some(small) = sizes.iter().find(|size| **size < MIN_FRAME) {
        let said = format!("--frame {}: the least frame has {} bytes", small.0, MIN_FRAME.0);
        return Err(Failure::usage(said, "give 64 or more, the FCS included").into());
    }
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
        FramesStep { asked, frame, protocol, plan, skipped: setting.err() }
    };
    let rows = all.map(step).collect();
    Ok(FramesPlan { target, local, rows, pairs: args.pairs, no_offload: args.no_offload })
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
