//! Throughput in frames of each size: the request, and a test for each transport and size, or why there is none.

use super::far::{FarEnd, check_link};
use super::{Host, check};
use crate::error::{Failure, Result};
use crate::request::preflight;
use crate::run::{self, FramesPlan, FramesStep, PairCount};
use model::explain::DEFAULT_BUDGET;
use model::frames::{DEFAULT_SIZES, FrameAsked, Setting};
use model::framing::{Encaps, Framing, MIN_FRAME, Network, Transport as Header};
use model::plan::{Direction, Directions, End, LocalOptions, Plan, ProtocolName, TestSpec, Transport};
use model::units::{BitRate, Bytes, Nanos};
use wire::native;

/// A sweep over frame sizes.
#[derive(Clone, Debug)]
pub struct Frames {
    /// The far end.
    pub far: FarEnd,
    /// Sizes of the frames, FCS included; none: RFC 2544's.
    pub sizes: Vec<Bytes>,
    /// TCP, UDP or both.
    pub transports: Vec<Transport>,
    /// Direction of the data.
    pub direction: Direction,
    /// Time of each test; absent: two seconds, or half of one.
    pub time: Option<Nanos>,
    /// Half a second for each test.
    pub quick: bool,
    /// Streams of each session.
    pub streams: u32,
    /// Sessions at once.
    pub pairs: Option<PairCount>,
    /// Each packet leaves the program as a frame of its own.
    pub no_offload: bool,
    /// Encapsulations between Ethernet and IP on the link.
    pub encaps: Encaps,
    /// Speed of the link, where the interface's own is not to be used.
    pub link: Option<BitRate>,
    /// Longest time to find what limits the path; zero: nothing is sent for that.
    pub explain: Nanos,
}

impl Frames {
    /// RFC 2544's sizes to this host, over TCP and UDP.
    #[must_use]
    pub fn to(far: FarEnd) -> Frames {
        Frames {
            far,
            sizes: Vec::new(),
            transports: vec![Transport::Tcp, Transport::Udp],
            direction: Direction::Up,
            time: None,
            quick: false,
            streams: 1,
            pairs: None,
            no_offload: false,
            encaps: Encaps::default(),
            link: None,
            explain: DEFAULT_BUDGET,
        }
    }
}

pub(super) fn resolve(asked: &Frames, host: &Host) -> Result<run::Plan> {
    asked.far.check()?;
    check_link(asked.link)?;
    let time = asked.time.unwrap_or(if asked.quick { QUICK } else { DEFAULT_TIME });
    check::streams(asked.streams)?;
    check::time(time)?;
    let target = asked.far.target(native::PORT, host)?;
    let network = if target.address.ip().to_canonical().is_ipv4() { Network::V4 } else { Network::V6 };
    let framing = Framing { network, transport: Header::Raw, encaps: asked.encaps.clone(), link_mtu: None };
    framing.check().map_err(|error| Failure::usage(error.to_string(), "see `pathmeter linerate --help`"))?;
    let interval = Nanos(time.0 / 10).max(Nanos::from_millis(10));
    let local = LocalOptions { interval, ..asked.far.origin.local(asked.link) };
    preflight::check_path(&target, &local)?;
    let mtu = host.path_mtu(target.address, &local)?;
    let sizes = sizes(&asked.sizes)?;
    let mut transports = asked.transports.clone();
    transports.dedup();
    let direction = asked.direction;
    let all = transports.iter().flat_map(|protocol| sizes.iter().map(move |frame| (*protocol, *frame)));
    let step = |(protocol, frame)| {
        let row = FrameAsked { frame, network, protocol, direction, encaps: asked.encaps.clone() };
        let setting = row.setting(mtu);
        let plan = setting.as_ref().ok().map(|setting| Plan {
            target: target.clone(),
            protocol: ProtocolName::Native,
            test: spec(asked, protocol, *setting, time),
            local: local.clone(),
        });
        FramesStep { asked: row, frame, protocol, plan, skipped: setting.err() }
    };
    let rows = all.map(step).collect();
    let local = LocalOptions { explain: asked.explain, ..local };
    let plan = FramesPlan { target, local, rows, pairs: asked.pairs, no_offload: asked.no_offload };
    Ok(run::Plan::Frames(Box::new(plan)))
}

/// Ascending, each once.
fn sizes(asked: &[Bytes]) -> Result<Vec<Bytes>, Failure> {
    let mut sizes = if asked.is_empty() { DEFAULT_SIZES.to_vec() } else { asked.to_vec() };
    if let Some(small) = sizes.iter().find(|size| **size < MIN_FRAME) {
        let message = format!("--frame {}: the least frame has {} bytes", small.0, MIN_FRAME.0);
        return Err(Failure::usage(message, "give 64 or more, the FCS included"));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

fn spec(asked: &Frames, protocol: Transport, setting: Setting, time: Nanos) -> TestSpec {
    let mut test = TestSpec {
        directions: match asked.direction {
            Direction::Up => Directions::Up,
            Direction::Down => Directions::Down,
        },
        streams: asked.streams,
        end: End::Time(time),
        offload: !asked.no_offload,
        ..TestSpec::new(protocol)
    };
    match setting {
        Setting::Mss(mss) => test.mss = Some(mss),
        Setting::Payload(payload) => test.length = Some(payload),
    }
    test
}

const DEFAULT_TIME: Nanos = Nanos::from_secs(2);
const QUICK: Nanos = Nanos::from_millis(500);
