//! The hops of a path: a trace in which each rule must be raised, one in which it must not, and the verdicts.

use crate::rules::{Scenario, raises, spares};
use model::event::Event;
use model::finding::{Severity, Status};
use model::hops::{
    Beyond, Counted, Hop, HopFlow, HopProtocol, HopRouter, HopsEnd, HopsResult, RouteChange, TtlRewritten,
};
use model::plan::Direction;
use model::run::Run;
use model::stats::distribution::Distribution;
use model::units::Nanos;
use pathmeter_insight::run_of_events;
use std::net::IpAddr;

pub(crate) const SCENARIOS: &[Scenario] = &[
    raises("loss-from-hop", "a tenth is lost from the third hop on", || trace(&[100, 100, 90, 90]).run()),
    raises("loss-from-hop", "the hops answer too little to know where", || trace(&[10, 10, 10, 90]).run()),
    spares("loss-from-hop", "one hop answers little, the far end all", || trace(&[100, 30, 100, 100]).run()),
    spares("loss-from-hop", "the far end may limit its answers", || {
        trace(&[100, 100, 100, 60]).with(|t| t.protocol = HopProtocol::Udp).run()
    }),
    spares("loss-from-hop", "it does limit them: all echo requests are answered", || {
        trace(&[100, 100, 100, 60])
            .with(|t| (t.protocol, t.echo) = (HopProtocol::Udp, Some(counted(100, 100))))
            .run()
    }),
    raises("loss-from-hop", "echo requests are lost too", || {
        trace(&[100, 100, 60, 60])
            .with(|t| (t.protocol, t.echo) = (HopProtocol::Udp, Some(counted(60, 100))))
            .run()
    }),
    raises("loss-from-hop", "packets of the return path are lost", || back(&[100, 100, 80]).run()),
    spares("loss-from-hop", "the hops of the return path limit their answers", || back(&[10, 60, 100]).run()),
    raises("icmp-rate-limited", "the hops of the return path limit their answers", || {
        back(&[10, 60, 100]).run()
    }),
    raises("icmp-rate-limited", "one hop answers little, the far end all", || {
        trace(&[100, 30, 100, 100]).run()
    }),
    raises("icmp-rate-limited", "the far end limits its errors", || {
        trace(&[100, 100, 100, 60])
            .with(|t| (t.protocol, t.echo) = (HopProtocol::Udp, Some(counted(100, 100))))
            .run()
    }),
    spares("icmp-rate-limited", "as much is lost at the far end", || trace(&[100, 90, 90, 90]).run()),
    spares("icmp-rate-limited", "one answer is missing, which may be chance", || {
        trace(&[100, 99, 100, 100]).run()
    }),
    spares("icmp-rate-limited", "a hop that never answers", || trace(&[100, 0, 100, 100]).run()),
    raises("latency-from-hop", "a long link", || trace(&[100; 4]).times(&[1, 2, 40, 41]).run()),
    spares("latency-from-hop", "a router that is slow to answer", || {
        trace(&[100; 4]).times(&[1, 60, 3, 4]).run()
    }),
    spares("latency-from-hop", "many links of like length", || {
        trace(&[100; 4]).times(&[10, 20, 30, 40]).run()
    }),
    spares("latency-from-hop", "a short path", || trace(&[100; 4]).times(&[1, 1, 3, 3]).run()),
    raises("mtu-from-hop", "a router refuses packets of full size", || {
        trace(&[100; 4]).with(|t| t.hops[1].routers[0].next_mtu = Some(1400)).run()
    }),
    spares("mtu-from-hop", "they cross", || trace(&[100; 4]).with(|t| t.path_mtu = Some(1500)).run()),
    raises("paths-differ", "two routers at one distance", || shared().run()),
    spares("paths-differ", "the router there changed", || {
        shared().with(|t| t.changes = vec![change()]).run()
    }),
    raises("route-changed", "another router from some time on", || {
        shared().with(|t| t.changes = vec![change()]).run()
    }),
    spares("route-changed", "two routers take turns", || shared().run()),
    raises("answered-on-path", "datagrams are passed on where SYNs are answered", || proxied().run()),
    spares("answered-on-path", "no other packet went further", || proxied().with(|t| t.beyond = None).run()),
    raises("ttl-rewritten", "a quoted probe has more hops left than it was sent with", || {
        rewritten(Some(64), Some(4)).run()
    }),
    raises("ttl-rewritten", "the far end's answers alone take longer", || rewritten(None, Some(5)).run()),
    spares("ttl-rewritten", "nothing shows it", || trace(&[100; 4]).run()),
    raises("quotes-untranslated", "errors quote another sender", || {
        trace(&[100; 4]).with(|t| t.untranslated = 7).run()
    }),
    spares("quotes-untranslated", "none does", || trace(&[100; 4]).run()),
    raises("dead-flows", "one of two is never answered, not even one by one", || silent_flow(4).run()),
    spares("dead-flows", "further probes of it are answered", || {
        silent_flow(4).with(|t| t.flows[1].again = Some(counted(4, 4))).run()
    }),
    spares("dead-flows", "the far end limits its answers, no further probe shows more", || {
        silent_flow(4).with(|t| t.flows[1].again = None).run()
    }),
    spares("dead-flows", "all flows are answered", || trace(&[100; 4]).run()),
    raises("addresses-alternate", "one flow hears of two addresses", || alternating().run()),
    spares("addresses-alternate", "each flow hears of one", || shared().run()),
    spares("addresses-alternate", "the router there changed", || {
        alternating().with(|t| t.changes = vec![change()]).run()
    }),
    spares("paths-differ", "one flow hears of two addresses", || alternating().run()),
    raises("routing-loop", "two routers send to one another", || circle().run()),
    spares("routing-loop", "nothing behind the last hop answers", || {
        circle().with(|t| (t.end, t.circle) = (HopsEnd::Silent, Vec::new())).run()
    }),
];

/// A trace by echo requests, a hundred to each hop.
struct Trace(HopsResult);

fn counted(answered: u32, sent: u32) -> Counted {
    Counted { sent, answered }
}

fn router(last: u8, answered: u32) -> HopRouter {
    HopRouter { flows: vec![0, 1], answered, ..HopRouter::at(IpAddr::from([192, 0, 2, last])) }
}

/// A trace with so many answers to the 100 probes of each hop, in two flows.
fn trace(answered: &[u32]) -> Trace {
    let hop = |(at, answered): (usize, &u32)| {
        let ttl = u8::try_from(at + 1).expect("a short path");
        Hop {
            ttl,
            far_end: at + 1 == LENGTH,
            counted: counted(*answered, 100),
            routers: if *answered > 0 { vec![router(ttl, *answered)] } else { Vec::new() },
            flows: vec![counted(answered / 2, 50), counted(answered - answered / 2, 50)],
            ..Hop::default()
        }
    };
    let flow = HopFlow { flow: None, reached_at: Some(4), far_end: None, again: None };
    Trace(HopsResult {
        protocol: HopProtocol::Icmp,
        hops: answered.iter().enumerate().map(hop).collect(),
        flows: vec![flow, flow],
        end: HopsEnd::Reached,
        packets: 400,
        ..HopsResult::default()
    })
}

/// The far end answers one of two flows, and so many further probes of the other were in vain.
fn silent_flow(again: u32) -> Trace {
    trace(&[100; 4]).with(|t| {
        let far = t.hops.last_mut().expect("it has hops");
        far.flows[1] = counted(0, 50);
        far.counted = counted(50, 100);
        far.routers[0].flows = vec![0];
        (t.flows[1].reached_at, t.flows[1].again) = (None, Some(counted(0, again)));
    })
}

/// A clean forward path; a return path whose probes this end counted on arrival.
fn back(answered: &[u32]) -> Trace {
    let Trace(mut back) = trace(answered);
    back.protocol = HopProtocol::Udp;
    back.counted_on_arrival = true;
    let last = u8::try_from(answered.len()).expect("a short path");
    back.hops.last_mut().expect("it has hops").far_end = true;
    back.flows.iter_mut().for_each(|flow| flow.reached_at = Some(last));
    trace(&[100; 4]).with(|t| t.back = Some(Box::new(back.judged())))
}

fn shared() -> Trace {
    trace(&[100; 4]).with(|t| {
        t.hops[1].routers = vec![
            HopRouter { flows: vec![0], ..router(2, 50) },
            HopRouter { flows: vec![1], ..router(22, 50) },
        ];
    })
}

fn alternating() -> Trace {
    trace(&[100; 4]).with(|t| t.hops[1].routers = vec![router(2, 50), router(22, 50)])
}

fn rewritten(ttl_quoted: Option<u8>, hops_back: Option<u8>) -> Trace {
    trace(&[100; 4]).with(|t| t.ttl_rewritten = Some(TtlRewritten { behind: 3, ttl_quoted, hops_back }))
}

fn proxied() -> Trace {
    trace(&[100; 4]).with(|t| {
        t.protocol = HopProtocol::Tcp;
        t.beyond = Some(Beyond {
            protocol: HopProtocol::Udp,
            ttl: 4,
            router: IpAddr::from([192, 0, 2, 4]),
            answered: 4,
            reached_at: Some(6),
        });
    })
}

fn change() -> RouteChange {
    let [from, to] = [2, 22].map(|last| IpAddr::from([192, 0, 2, last]));
    RouteChange { ttl: 2, flow: 0, from, to, at: Nanos::from_secs(3) }
}

fn circle() -> Trace {
    trace(&[100; 4]).with(|t| {
        (t.end, t.circle) = (HopsEnd::Circle, vec![[192, 0, 2, 2].into(), [192, 0, 2, 3].into()]);
        t.hops[3].far_end = false;
        t.flows.iter_mut().for_each(|flow| flow.reached_at = None);
    })
}

impl Trace {
    fn with(mut self, bend: impl FnOnce(&mut HopsResult)) -> Trace {
        bend(&mut self.0);
        self
    }

    /// Every round trip to each hop, milliseconds.
    fn times(self, each: &[u64]) -> Trace {
        self.with(|t| {
            for (hop, time) in t.hops.iter_mut().zip(each) {
                let time = Nanos::from_millis(*time);
                let delays = Distribution {
                    count: 100,
                    min: time,
                    p50: time,
                    p90: time,
                    max: time,
                    ..Distribution::default()
                };
                hop.rtt = Some(delays);
            }
        })
    }

    fn run(self) -> Run {
        run_of_events("1", "hops", &[Event::Hops(Box::new(self.0.judged()))])
    }
}

#[test]
fn the_hop_behind_which_loss_begins_is_named() {
    let run = trace(&[100, 100, 90, 90]).run();
    let found = run.findings.iter().find(|finding| finding.id == "loss-from-hop").unwrap();
    assert_eq!((&found.evidence["clean_hops"], &found.evidence["first_lossy_hops"]), (&2.into(), &3.into()));
    assert_eq!((found.severity, run.verdict.status), (Severity::Problem, Status::Problem));
    let limited = trace(&[100, 100, 10, 90]).run();
    let found = limited.findings.iter().find(|finding| finding.id == "loss-from-hop").unwrap();
    assert_eq!(found.evidence.get("first_lossy_hops"), None, "hop 3 limits its answers: {}", found.title);
    assert_eq!(found.evidence["clean_hops"], 2);
}

#[test]
fn loss_of_one_direction_is_reported_as_such() {
    let run = back(&[100, 100, 80]).run();
    let [found] = run.findings.as_slice() else { panic!("{:#?}", run.findings) };
    assert_eq!(found.direction, Some(Direction::Down));
    assert_eq!(
        found.title,
        "On the return path, 20.0 % of packets to this host are lost (20 of 100): it begins behind hop 2 (192.0.2.2)"
    );
    assert!(!found.advice.contains("It may be the return path"), "{}", found.advice);
    assert!(run.verdict.text.contains("The return path takes 3 hops; 20 of 100 packets on it were lost"));
    let there = back(&[100; 3]).with(|t| {
        t.hops[3].counted = counted(80, 100);
        t.hops[3].flows = vec![counted(40, 50), counted(40, 50)];
    });
    let run = there.run();
    let [found] = run.findings.as_slice() else { panic!("{:#?}", run.findings) };
    assert_eq!(found.direction, None);
    assert!(
        found.title.ends_with("the return path lost 0 of 100, so it is the path there"),
        "{}",
        found.title
    );
}

#[test]
fn a_flow_that_loses_alone_is_named() {
    let run = shared()
        .with(|t| {
            t.hops[3].flows = vec![counted(50, 50), counted(20, 50)];
            t.hops[3].counted = counted(70, 100);
        })
        .run();
    let found = run.findings.iter().find(|finding| finding.id == "paths-differ").unwrap();
    assert_eq!((found.severity, &found.evidence["lossy_flow"]), (Severity::Warning, &2.into()));
}

#[test]
fn verdicts_say_how_far_it_is_and_what_is_open() {
    let verdict = |trace: Trace| {
        let verdict = trace.run().verdict;
        (verdict.status, verdict.text)
    };
    assert_eq!(
        verdict(trace(&[100; 4])),
        (Status::Ok, "The far end is 4 hops away; none of 100 packets to it was lost.".into())
    );
    let (status, text) = verdict(trace(&[100, 100, 100, 60]).with(|t| t.protocol = HopProtocol::Udp));
    assert_eq!(status, Status::Ok);
    assert!(text.contains("left 40 of 100 probes unanswered, which may be loss or its limit"), "{text}");
    let silent = trace(&[100, 100, 100]).with(|t| (t.end, t.flows) = (HopsEnd::Silent, Vec::new()));
    let (status, text) = verdict(silent);
    assert_eq!(status, Status::Degraded);
    assert!(text.starts_with("Nothing behind hop 3 answers"), "{text}");
    assert_eq!(verdict(trace(&[])).0, Status::Void);
    let (status, text) = verdict(proxied());
    assert_eq!(status, Status::Degraded);
    let (proven, open) = (verdict(rewritten(Some(64), None)), verdict(rewritten(None, Some(5))));
    assert!(
        proven.1.starts_with("Probes of 4 hops reach the far end, which is further away"),
        "{}",
        proven.1
    );
    assert_eq!((proven.0, open.0), (Status::Degraded, Status::Ok), "two reasons are no fault");
    assert!(text.starts_with("These probes are answered 4 hops away, and not by the far end"), "{text}");
    assert_eq!(verdict(circle()).0, Status::Problem);
}

/// Hops of all these paths.
const LENGTH: usize = 4;
