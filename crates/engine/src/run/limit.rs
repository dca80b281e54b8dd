//! The decision phase after a test: load above the rate that it reached, so that the limit of each direction can be named.

use super::{FramesPlan, Options};
use crate::error::{Result, sentence};
use crate::work::load::LoadSession;
use crate::work::load::schedule::{Quest, probe};
use insight::limit::{evidence_of, evidence_of_load, evidence_of_rows, is_queue_filled};
use insight::run_of_events;
use model::event::{Event, Outcome};
use model::explain::DEFAULT_BUDGET;
use model::latency::{LatencyPlan, LatencyProtocol};
use model::limit::{Evidence, LoadProbing};
use model::path::headers;
use model::plan::{Direction, End, LocalOptions, Plan, ProtocolName, TestSpec, Transport};
use model::run::Run;
use model::units::{BitRate, Nanos};
use std::net::IpAddr;

impl super::Plan {
    /// The load that is sent to name a limit, beside the tests themselves, in words; absent: none is.
    #[must_use]
    pub fn announced_load(&self) -> Option<String> {
        match self {
            super::Plan::Throughput(plan) => {
                let when = match plan.test.transport {
                    Transport::Tcp => "after TCP in each direction",
                    Transport::Udp => "after the test, in each direction that loses 1 % of its datagrams,",
                };
                announced_after(&[plan.as_ref()], when)
            }
            super::Plan::Measure(plan) => {
                announced_after(&plan.tests.iter().collect::<Vec<_>>(), "after TCP in each direction")
            }
            super::Plan::Latency(work) => {
                let plan = plan_of_load(&work.plan)?;
                announced_after(&[&plan], "after the load, in each direction whose queue it filled,")
            }
            super::Plan::Frames(plan) => announced_after(&[&plan_of_rows(plan)?], "after all frame sizes"),
            _ => None,
        }
    }
}

fn announced_after(tests: &[&Plan], when: &str) -> Option<String> {
    let loads = |plan: &&&Plan| {
        let is_open = plan.protocol == ProtocolName::Native;
        is_open && !plan.local.explain.is_zero() && !is_loopback(plan)
    };
    let plan = tests.iter().find(loads)?;
    let is_short = matches!(plan.test.end, End::Time(time) if time < SHORT_BELOW);
    let (time, most) = match plan.local {
        LocalOptions { place: true, explain, .. } => (explain.max(PLACE_BUDGET), None),
        LocalOptions { explain, .. } if is_short => (SHORT_BUDGET.min(explain), None),
        LocalOptions { explain, .. } => (BUDGET.min(explain), Some(LONG_BUDGET.min(explain))),
    };
    let slow = most.map(|most| format!(" ({most} below {SLOW})")).unwrap_or_default();
    Some(format!(
        "{when} the path is loaded with UDP for up to {time}{slow}, with up to 3.1 times the rate that it takes, so that its limit \
         can be named; -b and the limits of the server hold for it, and --no-explain leaves it out"
    ))
}

/// Runs the phase after the test of these events and returns its events. An error here leaves the result as it is.
pub(super) fn decide(
    plan: &Plan,
    options: &Options,
    events: &[Event],
    sink: &mut dyn FnMut(&Event),
) -> Vec<Event> {
    if plan.local.explain.is_zero() || plan.protocol != ProtocolName::Native || options.stop.is_raised() {
        return Vec::new();
    }
    let run = run_of_events("", "throughput", events);
    if run.summary.outcome != Some(Outcome::Completed) {
        return Vec::new();
    }
    let known = |direction| Some((direction, evidence_of(&run, direction)?));
    // Datagrams that all arrive met no limit.
    let is_limited = |evidence: &Evidence| {
        evidence.udp.as_ref().is_none_or(|udp| udp.lost as f64 >= MANY_LOST * udp.datagrams.max(1) as f64)
    };
    let wanted_of: Vec<(Direction, Evidence)> =
        plan.test.directions.each().filter_map(known).filter(|(_, evidence)| is_limited(evidence)).collect();
    let lasted = wanted_of
        .iter()
        .filter_map(|(direction, _)| run.summary.direction(*direction))
        .map(|one| one.elapsed);
    let is_long = lasted.max().is_some_and(|lasted| lasted >= SHORTEST_TEST);
    if !is_long || is_loopback(plan) {
        return Vec::new();
    }
    load_each(plan, options, &wanted_of, sink)
}

/// Finds the limit of the load in each direction of a latency run whose queue it filled: the same phase, after it.
pub(super) fn decide_loaded(
    plan: &LatencyPlan,
    options: &Options,
    run: &Run,
    sink: &mut dyn FnMut(&Event),
) -> Vec<Event> {
    let Some(plan) = plan_of_load(plan) else { return Vec::new() };
    if !may_load(&plan, options) {
        return Vec::new();
    }
    let queued = [Direction::Up, Direction::Down].into_iter().filter(|one| is_queue_filled(run, *one));
    let wanted: Vec<(Direction, Evidence)> =
        queued.filter_map(|one| Some((one, evidence_of_load(run, one)?))).collect();
    load_each(&plan, options, &wanted, sink)
}

/// The load beside the round trips as a test of its own; absent: there is none, or the far end takes no other.
pub(super) fn plan_of_load(plan: &LatencyPlan) -> Option<Plan> {
    let (load, [egress]) = (plan.load.as_ref()?, plan.egress_paths.as_slice()) else { return None };
    let test = TestSpec { end: End::Time(load.time), streams: load.streams, ..TestSpec::new(Transport::Tcp) };
    let local = plan.local_options(egress);
    let is_native = plan.protocol == LatencyProtocol::Native;
    is_native.then(|| Plan { target: egress.target.clone(), protocol: ProtocolName::Native, test, local })
}

/// Finds facts of the path for a sweep over frame sizes: one phase after all of its rows.
pub(super) fn decide_rows(
    plan: &FramesPlan,
    options: &Options,
    run: &Run,
    sink: &mut dyn FnMut(&Event),
) -> Vec<Event> {
    let Some(plan) = plan_of_rows(plan).filter(|plan| may_load(plan, options)) else { return Vec::new() };
    let direction = run.summary.rows.iter().find(|row| row.is_measured()).map(|row| row.direction);
    let wanted = direction.zip(evidence_of_rows(run));
    load_each(&plan, options, wanted.as_slice(), sink)
}

fn plan_of_rows(plan: &FramesPlan) -> Option<Plan> {
    let row = plan.rows.iter().find_map(|row| row.plan.as_ref())?;
    Some(Plan { local: plan.local.clone(), ..row.clone() })
}

fn may_load(plan: &Plan, options: &Options) -> bool {
    !plan.local.explain.is_zero() && !options.stop.is_raised() && !is_loopback(plan)
}

/// Loads the path in each of these directions: what came of it.
fn load_each(
    plan: &Plan,
    options: &Options,
    wanted_of: &[(Direction, Evidence)],
    sink: &mut dyn FnMut(&Event),
) -> Vec<Event> {
    let mut found = Vec::new();
    let outcome = load(plan, options, wanted_of, sink, &mut found);
    if let Err(error) = outcome {
        let missing = wanted_of
            .iter()
            .map(|(direction, _)| *direction)
            .filter(|direction| found.iter().all(|one: &LoadProbing| one.direction != *direction));
        let without: Vec<LoadProbing> =
            missing.map(|direction| LoadProbing::without(direction, sentence(&error))).collect();
        found.extend(without);
    }
    found.into_iter().map(|one| Event::LoadProbing(Box::new(one))).collect()
}

fn load(
    plan: &Plan,
    options: &Options,
    asked: &[(Direction, Evidence)],
    sink: &mut dyn FnMut(&Event),
    found: &mut Vec<LoadProbing>,
) -> Result<()> {
    let mut wanted = Vec::new();
    for (direction, evidence) in asked {
        match reason_to_leave_out(evidence) {
            Some(note) => found.push(LoadProbing::without(*direction, note)),
            None => wanted.push((*direction, evidence)),
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let mut session =
        LoadSession::open(&plan.target, &plan.local, &options.security, &options.stop, plan.test.tos)?;
    let allowed = session.limits().max_rate;
    for (direction, evidence) in wanted {
        if options.stop.is_raised() {
            break;
        }
        sink(&Event::progress(format!("Loading the path {direction}, to find what limits it …")));
        let quest = quest(plan, direction, evidence, allowed);
        found.push(probe(&mut session.toward(direction), quest));
    }
    session.close();
    Ok(())
}

/// Bytes of a frame beyond the payload of a datagram to this far end, as the queues of Linux count frames.
pub(super) fn frame_overhead(plan: &Plan) -> u32 {
    headers(!plan.target.address.ip().to_canonical().is_ipv4()) + ETHERNET
}

fn quest(plan: &Plan, direction: Direction, evidence: &Evidence, allowed: Option<BitRate>) -> Quest {
    let overhead = frame_overhead(plan);
    let payload = evidence.frame.saturating_sub(overhead).clamp(LEAST_PAYLOAD, MOST_PAYLOAD);
    let in_frames = |rate: BitRate| {
        BitRate((rate.0 as f64 * f64::from(payload + overhead) / f64::from(payload)).round() as u64)
    };
    let short = !plan.local.place && matches!(plan.test.end, End::Time(time) if time < SHORT_BELOW);
    // Datagrams of a test above a limit are lost by that limit: nothing is known of losses below it.
    let lost = evidence.tcp.as_ref().map_or(0.0, |tcp| tcp.lost as f64 / tcp.segments.max(1) as f64);
    let budget = match short {
        true => SHORT_BUDGET,
        false if evidence.rate < SLOW => LONG_BUDGET,
        false => BUDGET,
    };
    Quest {
        direction,
        reached: evidence.rate,
        payload,
        overhead,
        most: evidence.asked.into_iter().chain(allowed).min().map(in_frames),
        lost,
        is_met: evidence.udp.is_some(),
        short,
        place: plan.local.place || evidence.rate <= PLACE_BELOW && is_private(plan.target.address.ip()),
        budget: match plan.local.explain {
            longer if longer > DEFAULT_BUDGET => longer,
            _ if plan.local.place => PLACE_BUDGET,
            usual => usual.min(budget),
        },
    }
}

/// Why no load is sent, where TCP's own figures say enough, or load would say nothing.
fn reason_to_leave_out(evidence: &Evidence) -> Option<String> {
    let reached = evidence.asked.is_some_and(|asked| evidence.goodput.0 as f64 >= 0.97 * asked.0 as f64);
    if reached && evidence.tcp.is_some() {
        return Some("the rate that was asked for was reached".into());
    }
    if evidence.host.line_share.is_some() {
        return Some("the link of an end is full".into());
    }
    (evidence.rate > FASTEST)
        .then(|| format!("the test reached {}, and load is sent at up to {FASTEST}", evidence.rate))
}

/// The test does not leave this host.
fn is_loopback(plan: &Plan) -> bool {
    plan.target.address.ip().to_canonical().is_loopback()
}

/// An address of a private network or a laboratory: load that ends at its routers disturbs no others.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            ip.is_private() || ip.is_link_local() || (first == 198 && second & 0xfe == 18)
        }
        IpAddr::V6(ip) => ip.segments()[0] & 0xfe00 == 0xfc00 || ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// Share of the datagrams of a test that were lost.
const MANY_LOST: f64 = 0.01;
/// TCP has not found its rate in less.
const SHORTEST_TEST: Nanos = Nanos::from_millis(900);
/// A shorter test has the short form.
const SHORT_BELOW: Nanos = Nanos::from_secs(2);
const BUDGET: Nanos = Nanos::from_secs(4);
/// At a low rate packets are few.
const LONG_BUDGET: Nanos = Nanos::from_secs(5);
const SLOW: BitRate = BitRate(10_000_000);
/// With `--place`.
const PLACE_BUDGET: Nanos = Nanos::from_secs(10);
const SHORT_BUDGET: Nanos = Nanos::from_millis(1200);
/// A sender with one CPU reaches some more than this rate.
const FASTEST: BitRate = BitRate(5_000_000_000);
/// Load that ends at routers is sent below this.
const PLACE_BELOW: BitRate = BitRate(1_000_000_000);
/// An Ethernet header.
const ETHERNET: u32 = 14;
const LEAST_PAYLOAD: u32 = 256;
const MOST_PAYLOAD: u32 = 8_972;

#[cfg(test)]
mod tests {
    use super::*;
    use model::limit::TcpSigns;
    use model::plan::Target;

    #[test]
    fn routers_are_loaded_in_private_networks_alone() {
        let private = |text: &str| is_private(text.parse().expect("an address"));
        for text in ["10.77.1.2", "192.168.1.1", "172.31.0.1", "198.18.0.1", "fd00::1", "fe80::1"] {
            assert!(private(text), "{text}");
        }
        for text in ["198.51.100.2", "8.8.8.8", "2001:db8::1", "100.64.0.1"] {
            assert!(!private(text), "{text}");
        }
    }

    #[test]
    fn the_place_is_looked_for_everywhere_on_request() {
        let plan = |address: [u8; 4], place| Plan {
            target: Target { host: "far".into(), address: (address, 5201).into() },
            protocol: ProtocolName::Native,
            test: TestSpec { end: End::Time(Nanos::from_secs(1)), ..TestSpec::new(Transport::Tcp) },
            local: LocalOptions { place, explain: DEFAULT_BUDGET, ..LocalOptions::default() },
        };
        let quest = |plan: &Plan, rate| {
            let evidence = Evidence { rate: BitRate(rate), frame: 1514, ..Evidence::default() };
            let Quest { short, place, budget, .. } = quest(plan, Direction::Up, &evidence, None);
            (short, place, budget)
        };
        assert_eq!(quest(&plan([10, 0, 0, 1], false), 20_000_000), (true, true, SHORT_BUDGET));
        assert_eq!(quest(&plan([198, 51, 100, 2], false), 20_000_000), (true, false, SHORT_BUDGET));
        for rate in [2_000_000, 3_000_000_000] {
            assert_eq!(quest(&plan([198, 51, 100, 2], true), rate), (false, true, PLACE_BUDGET));
        }
        let announced = announced_after(&[&plan([198, 51, 100, 2], true)], "after TCP").expect("a sentence");
        assert!(
            announced.starts_with("after TCP the path is loaded with UDP for up to 10.0 s,"),
            "{announced}"
        );
        let announced = announced_after(&[&plan([198, 51, 100, 2], false)], "after TCP").expect("a sentence");
        assert!(
            announced.starts_with("after TCP the path is loaded with UDP for up to 1.20 s,"),
            "{announced}"
        );
    }

    #[test]
    fn no_load_is_sent_where_it_shows_nothing() {
        let reached = |goodput: u64, asked| Evidence {
            tcp: Some(TcpSigns::default()),
            asked,
            goodput: BitRate(goodput),
            rate: BitRate(goodput),
            ..Evidence::default()
        };
        let requested = Some(BitRate(10_000_000));
        assert!(reason_to_leave_out(&reached(9_900_000, requested)).is_some());
        assert!(reason_to_leave_out(&reached(5_000_000, requested)).is_none());
        let datagrams = Evidence { tcp: None, ..reached(9_900_000, requested) };
        assert!(
            reason_to_leave_out(&datagrams).is_none(),
            "they lost some, else there was no load to leave out"
        );
        assert!(reason_to_leave_out(&reached(20_000_000_000, None)).is_some());
    }
}
