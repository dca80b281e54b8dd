//! `pathmeter throughput`: how much a path carries, and what limits it.

use super::session::{Live, blame, conclude, expectations, link, print_plan, security, too_early};
use super::sizes::explain;
use super::without_copy;
use crate::cli::{Common, ThroughputArgs};
use crate::exit::Exit;
use crate::planner;
use crate::signals;
use engine::{capture, client, flows, preflight, reach};
use model::event::Event;
use model::plan::{Plan, ProtocolName, Transport};
use model::reach::Reach;

/// Runs the command.
pub(crate) fn run(args: &ThroughputArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = expectations(&args.session)?;
    let security = security(&args.session)?;
    if args.pairs.is_some() || !args.more.is_empty() {
        return super::pairs::run(args, &security, &expected, global);
    }
    let mut plan = planner::throughput(args)?;
    preflight::check(&plan)?;
    fill_payload(&mut plan)?;
    if args.session.dry_run {
        return print_plan(&plan, global);
    }
    let interrupt = signals::interrupt()?;
    let mut live = Live::new(global);
    if let Some(link) = link(&plan.target, &plan.local) {
        live.event(&link);
    }
    let watch = reach::watch(plan.target.address.ip());
    let options = args.capture.options(args.target.origin.device.as_deref());
    let capture = capture::start(&options, plan.target.address.ip())?;
    let outcome = client::run(&plan, &security, &wire::iperf3::Extras::default(), &interrupt, &mut |event| {
        live.event(event)
    });
    if let (Err(_), Some(watch)) = (&outcome, &watch) {
        watch.settle(&interrupt);
    }
    if let Some(seen) = watch.and_then(|watch| watch.finish(Reach::default())) {
        live.event(&seen);
    }
    if let Some(capture) = capture {
        live.event(&capture.finish());
    }
    if outcome.is_ok() {
        explain(&plan, &security, &interrupt, &mut live);
        for event in without_copy::repeat(&live.events, &security, &interrupt) {
            live.event(&event);
        }
    }
    let started = live.events.iter().any(|e| matches!(e, Event::Started(_)));
    match outcome {
        Err(_) if !started && interrupt.is_raised() => Err(too_early().into()),
        Err(e) if !started => Err(blame(&plan.target, plan.protocol, false, e)),
        Err(e) if !interrupt.is_raised() => {
            // What was measured until then is shown before the reason it ended.
            conclude(&live.run("throughput")?, true, &expected, global)?;
            Err(blame(&plan.target, plan.protocol, true, e))
        }
        _ => conclude(&live.run("throughput")?, true, &expected, global),
    }
}

/// UDP without a length gets the payload that this path carries in one packet.
pub(crate) fn fill_payload(plan: &mut Plan) -> anyhow::Result<()> {
    if plan.test.transport == Transport::Udp && plan.test.length == 0 {
        let fits = flows::default_udp_payload(plan.target.address, &plan.local)?;
        // Servers of iPerf2 read no more of a datagram than their own -l, and 2.1 falls over larger ones.
        let most = match (plan.protocol, plan.target.address.is_ipv4()) {
            (ProtocolName::Iperf2, true) => IPERF2_PAYLOAD,
            (ProtocolName::Iperf2, false) => IPERF2_PAYLOAD_V6,
            _ => u32::MAX,
        };
        plan.test.length = fits.min(most);
    }
    Ok(())
}

/// What `iperf -u` sends, and what its servers read, over IPv4 and IPv6.
const IPERF2_PAYLOAD: u32 = 1470;
const IPERF2_PAYLOAD_V6: u32 = 1450;
