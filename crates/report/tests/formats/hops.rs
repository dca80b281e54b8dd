//! Runs about hops: traces along paths that are made by hand; what they add up to is the tracer's, findings and verdict are
//! those of the rules.

use insight::run_of_events;
use model::event::Event;
use model::hops::{
    Answer, AnswerKind, AsOrigin, Counted, HopProtocol, HopsPlan, HopsResult, HopsSample, HopsStarted,
    MplsLabel, Probed, Schedule, Step, Tracer,
};
use model::host::{Host, Nic};
use model::path::Flow;
use model::plan::{LocalOptions, Target, Transport};
use model::run::Run;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use pathmeter_report::format::text;
use std::net::IpAddr;

/// Every run about hops, by the name of its snapshots.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![("hops", busy()), ("hops_circle", circle()), ("hops_back", both_directions())]
}

/// A clean forward path, and a return path that loses every fourth packet behind its first hop.
fn both_directions() -> Run {
    let far = IpAddr::from([198, 51, 100, 2]);
    let mut found = trace(HopProtocol::Icmp, 20, |ttl, _| {
        let from = if ttl >= 2 { far } else { [192, 0, 2, 10].into() };
        Some((from, 2 * u64::from(ttl.min(2)), ttl >= 2))
    });
    let here = IpAddr::from([192, 0, 2, 77]);
    let probe = |number: u64, ttl: u8| {
        let at = MonoTime(number * 500_000_000);
        let (from, kind) = if ttl == 2 {
            (here, AnswerKind::Arrived)
        } else {
            ([198, 51, 100, 1].into(), AnswerKind::Expired)
        };
        let time = Nanos::from_millis(u64::from(2 - ttl));
        let answer = (ttl == 1 || number % 4 != 3).then(|| Answer {
            from,
            at: at + time,
            kind,
            ttl: (ttl == 1).then_some(64),
            labels: Vec::new(),
        });
        Probed { ttl, at, answer }
    };
    let (timeout, interval) = (Nanos::from_secs(1), Nanos::from_millis(500));
    let protocol = HopProtocol::Udp;
    let schedule =
        Schedule { protocol, probes: 20, flows: 1, interval, timeout, max_hops: 30, rolling: false };
    let probes = (0..20).flat_map(|number| [probe(number, 1), probe(number, 2)]).collect();
    let mut back = Tracer::carried_out(schedule, probes).result();
    back.hops[1].rtt = None;
    back.hops[1].jitter = None;
    back.hops[1].routers[0].rtt_p50 = None;
    back.counted_on_arrival = true;
    found.back = Some(Box::new(back.judged()));
    run(plan(HopProtocol::Icmp, 20), found)
}

#[test]
fn hops_that_are_traced_fill_a_table_and_a_row() {
    let run = busy();
    let found = run.summary.hops.as_deref().unwrap();
    let sample = HopsSample::from_result(found, Nanos::from_millis(1_500));
    let table = text::hops_live_table(&sample);
    assert_eq!(table.len(), 1 + found.hops.len(), "{table:#?}");
    assert!(table[1].contains("192.0.2.10") && table[1].contains("40/40"), "{table:#?}");
    assert!(table[3].contains("and 1 more"), "two legs: {table:#?}");
    let row = text::hops_live_row(&sample);
    assert!(row.contains("1.5 s") && row.contains("hop 5 198.51.100.2: 32 of 40 answered"), "{row}");
    let nothing = text::hops_live_row(&HopsSample::default());
    assert!(nothing.contains("nothing answers yet"), "{nothing}");
}

/// A hop that limits its answers, two legs, a link that loses every fifth packet, a router with labels and one with a name.
fn busy() -> Run {
    let mut probes = [0_u32; 6];
    let mut found = trace(HopProtocol::Udp, 40, |ttl, flow| {
        let hop = usize::from(ttl.min(5));
        probes[hop] += 1;
        let lost = ttl >= 4 && probes[hop] % 5 == 0;
        let limited = ttl == 2 && probes[2] > 6;
        let leg = u8::from(flow % 2 == 1 && ttl == 3);
        let millis = [0, 1, 9, 3, 24, 25][hop] + u64::from(probes[hop] % 3);
        let from = IpAddr::from([192, 0, 2, ttl * 10 + leg]);
        (!lost && !limited).then_some((
            if ttl >= 5 { [198, 51, 100, 2].into() } else { from },
            millis,
            ttl >= 5,
        ))
    });
    found.echo = Some(Counted { sent: 40, answered: 32 });
    for hop in &mut found.hops {
        for router in &mut hop.routers {
            let number = if hop.ttl < 3 { 64_496 } else { 64_511 };
            router.origin =
                Some(AsOrigin { number, name: if hop.ttl < 3 { "Near Net".into() } else { String::new() } });
            router.name = (hop.ttl == 1).then(|| "gateway.near.example".into());
        }
    }
    found.hops[2].routers[0].labels = vec![MplsLabel { label: 16_001, class: 0, bottom: true, ttl: 1 }];
    found.hops[3].routers[0].hops_back = Some(6);
    found.hops[3].routers[0].next_mtu = Some(1400);
    found.path_mtu = Some(1400);
    run(plan(HopProtocol::Udp, 40), found)
}

/// Two routers that send to one another.
fn circle() -> Run {
    let found = trace(HopProtocol::Udp, 4, |ttl, _| {
        let router = if ttl < 2 { 1 } else { ttl % 2 + 2 };
        Some((IpAddr::from([192, 0, 2, router]), u64::from(ttl), false))
    });
    run(plan(HopProtocol::Udp, 4), found)
}

/// Who answers after how many milliseconds, and whether it is the far end.
type Reply = Option<(IpAddr, u64, bool)>;

fn trace(protocol: HopProtocol, probes: u32, mut reply: impl FnMut(u8, u32) -> Reply) -> HopsResult {
    let (timeout, interval) = (Nanos::from_secs(1), Nanos::from_millis(500));
    let mut now = MonoTime(0);
    let mut tracer = Tracer::new(
        Schedule { protocol, probes, flows: 2, interval, timeout, max_hops: 30, rolling: false },
        now,
    );
    loop {
        match tracer.poll(now) {
            Step::Send { number, ttl, flow } => {
                tracer.sent(number, now);
                if let Some((from, millis, arrived)) = reply(ttl, flow) {
                    let kind = if arrived { AnswerKind::Arrived } else { AnswerKind::Expired };
                    let at = now + Nanos::from_millis(millis);
                    let ttl = Some(65 - ttl);
                    tracer.answered(number, Answer { from, at, kind, ttl, labels: Vec::new() });
                }
            }
            Step::Wait(until) => now = until,
            Step::Done => break,
        }
    }
    let mut found = tracer.result();
    for (flow, port) in found.flows.iter_mut().zip(40_001..) {
        let (from, to) = (([192, 0, 2, 77], port).into(), target().address);
        flow.flow = Some(Flow { transport: Transport::Udp, from, to });
    }
    found.elapsed = now.saturating_since(MonoTime(0));
    found
}

fn target() -> Target {
    Target { host: "far.example".into(), address: ([198, 51, 100, 2], 33_434).into() }
}

fn plan(protocol: HopProtocol, probes: u32) -> HopsPlan {
    HopsPlan {
        target: target(),
        protocol,
        probes,
        flows: 2,
        interval: Nanos::from_millis(500),
        timeout: Nanos::from_secs(1),
        max_hops: 30,
        size: 60,
        mtu: true,
        names: true,
        as_file: Some("prefixes.txt".into()),
        back_port: Some(5210),
        watch: false,
        local: LocalOptions::default(),
    }
}

fn run(plan: HopsPlan, found: HopsResult) -> Run {
    let nic = Nic { name: "eth0".into(), mtu: 1500, is_virtual: true, ..Nic::default() };
    let host = Host {
        name: "near".into(),
        version: "pathmeter 0.1.0".into(),
        cpus: 8,
        nic: Some(nic),
        ..Host::default()
    };
    let begun = HopsStarted { wall: WallTime(1_785_587_400_000_000_000), plan, host };
    let events = [Event::HopsStarted(Box::new(begun)), Event::Hops(Box::new(found.judged()))];
    run_of_events("20260801-123000-cd34", "hops", &events)
}
