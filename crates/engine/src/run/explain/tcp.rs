//! Hypotheses about TCP that other packets do not share: its full segments vanish, segments that an offload joined are dropped, or
//! packets with the mark of the test are.

use super::{Case, Options, Probed, Result};
use crate::error::Error;
use crate::work::client;
use model::event::Event;
use model::explain::Answer;
use model::path::PathDirection;
use model::plan::{Direction, Directions, End, LocalOptions, Plan, TestSpec, Transport};
use model::summary::{DirectionSummary, Summary};
use model::units::{BitRate, Nanos};
use wire::iperf3::Extras;

/// Nothing came over TCP, and the sizes of packets are not the reason.
pub(super) fn suspects_segments(case: &Case<'_>, direction: Direction) -> bool {
    stalled(case, direction) && !case.is_explained(direction) && crossing(case, direction).is_some()
}

/// Much was retransmitted, or nothing came, and the sizes of packets are not the reason.
pub(super) fn suspects_joined(case: &Case<'_>, direction: Direction) -> bool {
    let Some(figures) = tcp(case, direction) else { return false };
    let segments = figures.segments.and_then(|segments| segments.sent).unwrap_or(0);
    let again = figures.retransmits.unwrap_or(0);
    let much = again >= A_FEW && again.saturating_mul(CRIPPLED) >= segments;
    much && case.plan.is_some() && !case.is_explained(direction)
}

/// Nothing came of a test whose packets are marked, or no more than what left before the first acknowledgement: marked ones of the other
/// direction are dropped.
pub(super) fn suspects_mark(case: &Case<'_>, direction: Direction) -> bool {
    let nothing = case.run.summary.direction(direction).is_some_and(|figures| figures.received.bytes.0 == 0);
    let no_more = tcp(case, direction).is_some() && case.finding(direction, &["outage"]);
    (nothing || no_more) && case.plan.is_some_and(|plan| plan.test.tos != 0) && !case.is_explained(direction)
}

/// The same in segments of at most [`SMALL_MSS`].
pub(super) fn segments(case: &mut Case<'_>, direction: Direction) -> Result<Probed> {
    let small = repeat(case, direction, |test| {
        (test.mss, test.end) = (Some(SMALL_MSS), End::Time(SHORT));
    })?;
    let crossed = small.as_ref().is_some_and(|figures| figures.received.bytes.0 > ENOUGH_BYTES);
    let mut probed =
        Probed { answer: Some(if crossed { Answer::Holds } else { Answer::Refuted }), ..Probed::default() };
    probed.evidence.insert("smaller_mss_bytes".into(), SMALL_MSS.into());
    probed
        .evidence
        .insert("received_bytes".into(), small.as_ref().map_or(0, |figures| figures.received.bytes.0).into());
    if let (true, Some(mut path)) = (crossed, case.run.summary.path.clone())
        && let Some(one_way) = path.direction_mut(direction).take()
    {
        let one_way = PathDirection { tcp: Some(stalled_tcp(&one_way)), ..one_way };
        let mut found = model::path::PathResult { method: path.method, ..Default::default() };
        *found.direction_mut(direction) = Some(one_way);
        probed.events.push(Event::Path(Box::new(found)));
    }
    Ok(probed)
}

/// A few segments each by itself, then as many joined, at the same rate.
pub(super) fn joined(case: &mut Case<'_>, direction: Direction) -> Result<Probed> {
    let mss = tcp(case, direction).and_then(|figures| figures.mss).unwrap_or(SMALL_MSS);
    let send = |length: u32| {
        repeat(case, direction, |test| {
            (test.length, test.nodelay, test.streams) = (Some(length), true, 1);
            (test.bitrate, test.end) = (Some(SLOW), End::Time(SHORT));
        })
    };
    let (singles, joined) = (send(mss)?, send(mss.saturating_mul(JOINED_SEGMENTS))?);
    let mut probed = Probed::default();
    let (Some(singles), Some(joined)) =
        (singles.and_then(Share::from_figures), joined.and_then(Share::from_figures))
    else {
        return Ok(Probed {
            answer: Some(Answer::Undecided),
            why: Some("the test could not be repeated".into()),
            ..probed
        });
    };
    for (name, share) in [("singles", &singles), ("joined", &joined)] {
        probed.evidence.insert(format!("{name}_segments_count"), share.segments.into());
        probed.evidence.insert(format!("{name}_retransmits_count"), share.again.into());
    }
    let held = singles.lost() <= FEW_LOST && joined.lost() >= MOST_LOST && joined.again >= A_FEW;
    probed.answer = Some(if held { Answer::Holds } else { Answer::Refuted });
    Ok(probed)
}

/// The same test without the mark, for a moment.
pub(super) fn mark(case: &mut Case<'_>, direction: Direction) -> Result<Probed> {
    let tos = case.plan.map_or(0, |plan| plan.test.tos);
    let is_silent =
        case.run.summary.direction(direction).is_some_and(|figures| figures.received.bytes.0 == 0);
    let received = |tos: u8| -> Result<u64> {
        let figures = repeat(case, direction, |test| (test.tos, test.end) = (tos, End::Time(SHORT)))?;
        Ok(figures.map_or(0, |figures| figures.received.bytes.0))
    };
    let plain = received(0)?;
    // Where something came, the path may have been down for a while: the same must stop again.
    let marked = if is_silent { 0 } else { received(tos)? };
    let held = plain > marked.saturating_mul(MUCH_MORE);
    let answer = Some(if held { Answer::Holds } else { Answer::Refuted });
    let mut probed = Probed { answer, ..Probed::default() };
    probed.evidence.insert("tos_byte".into(), tos.into());
    probed.evidence.insert("unmarked_received_bytes".into(), plain.into());
    probed.evidence.insert("marked_received_bytes".into(), marked.into());
    Ok(probed)
}

/// A test whose packets are marked could not begin: whether it can without the mark, so that the mark is the reason.
pub(in crate::run) fn begins_unmarked(plan: &Plan, options: &Options) -> bool {
    let is_asked = plan.test.tos != 0 && !plan.local.explain.is_zero() && !options.stop.is_raised();
    if !is_asked {
        return false;
    }
    let test = TestSpec { tos: 0, omit: Nanos::ZERO, end: End::Time(SHORT), ..plan.test.clone() };
    let local = LocalOptions { interval: Nanos::ZERO, client_port: None, ..plan.local.clone() };
    let (plan, mut has_begun) = (Plan { test, local, ..plan.clone() }, false);
    let mut note = |event: &Event| has_begun |= matches!(event, Event::Started(_));
    // How it ends is of no matter.
    client::run(&plan, &options.security, &Extras::default(), &options.stop, &mut note).ok();
    has_begun
}

/// The error of a test that begins without its mark.
pub(in crate::run) fn mark_dropped(error: Error, tos: u8) -> Error {
    error.advised(format!("packets with the mark of this test (DSCP {}) are dropped", tos / 4), MARKED)
}

fn tcp<'a>(case: &'a Case<'_>, direction: Direction) -> Option<&'a DirectionSummary> {
    case.run.summary.direction(direction).filter(|figures| figures.transport == Transport::Tcp)
}

fn stalled(case: &Case<'_>, direction: Direction) -> bool {
    let nothing = tcp(case, direction).is_some_and(|figures| figures.received.bytes.0 == 0);
    nothing && case.plan.is_some()
}

/// The largest packet that is known to cross.
fn crossing(case: &Case<'_>, direction: Direction) -> Option<u32> {
    case.run.summary.path.as_ref()?.in_direction(direction)?.crosses()
}

fn stalled_tcp(one_way: &PathDirection) -> model::path::TcpDirection {
    let known = one_way.tcp.clone().unwrap_or_default();
    model::path::TcpDirection { stalled: true, smaller_mss: Some(SMALL_MSS), ..known }
}

/// Segments of a test, and its retransmits.
struct Share {
    segments: u64,
    again: u64,
}

impl Share {
    fn from_figures(figures: DirectionSummary) -> Option<Share> {
        let segments = figures.segments?.sent?;
        Some(Share { segments, again: figures.retransmits? })
    }

    /// The share that was lost of those that were sent for the first time.
    fn lost(&self) -> f64 {
        self.again as f64 / self.segments.saturating_sub(self.again).max(1) as f64
    }
}

/// The test of the case once more in one direction, changed; `None`: it has no figures.
fn repeat(
    case: &Case<'_>,
    direction: Direction,
    change: impl FnOnce(&mut TestSpec),
) -> Result<Option<DirectionSummary>> {
    let Some(plan) = case.plan else { return Ok(None) };
    let directions = if direction == Direction::Up { Directions::Up } else { Directions::Down };
    let mut test = TestSpec { directions, omit: Nanos::ZERO, ..plan.test.clone() };
    change(&mut test);
    let local = LocalOptions { interval: Nanos::ZERO, client_port: None, ..plan.local.clone() };
    let plan = Plan { test, local, ..plan.clone() };
    let (mut events, options) = (Vec::new(), case.options);
    client::run(&plan, &options.security, &Extras::default(), &options.stop, &mut |event| {
        events.push(event.clone());
    })?;
    Ok(Summary::from_events(&events).direction(direction).cloned())
}

/// Crosses every IPv6 link with its headers (RFC 8200 section 5), and any path that is of use.
const SMALL_MSS: u32 = 1200;
/// More than a send buffer's first segments.
const ENOUGH_BYTES: u64 = 16 << 10;
/// How long each repetition takes.
const SHORT: Nanos = Nanos::from_millis(800);
/// Each write finds an empty queue at this rate.
const SLOW: BitRate = BitRate(1_000_000);
/// Segments of a joined write: a kernel hands them to the card as one, and no smaller policer's burst is so short.
const JOINED_SEGMENTS: u32 = 8;
/// One retransmit in so many segments cripples TCP.
const CRIPPLED: u64 = 5;
const A_FEW: u64 = 10;
/// A first window is less than what moves in a moment.
const MUCH_MORE: u64 = 20;
const FEW_LOST: f64 = 0.02;
const MOST_LOST: f64 = 0.5;
/// A test that is dropped for its mark begins without it.
const MARKED: &str = "the same test without it begins: look for a firewall or a provider's edge that drops marked packets, or a \
                      queue for this class without any bandwidth; until then leave out --dscp and --tos";
