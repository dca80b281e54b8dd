//! Judging a fault: both families, both ends, with and without privilege, each number to the byte.

use super::lab::{Family, Lab, Node, Who};
use super::support::Ended;
use serde_json::Value;

/// What one direction has to be found to do.
#[derive(Clone, Debug)]
pub(super) struct OneWay {
    /// MTU of the sender's interface.
    pub(super) interface: u32,
    /// Path MTU.
    pub(super) mtu: u32,
    pub(super) discovery: &'static str,
    /// Where larger ones end and how that was found; absent: no hop may be named.
    pub(super) hop: Option<(Node, &'static str)>,
    /// First and last size that vanish, and why.
    pub(super) hole: Option<(u32, u32, &'static str)>,
    /// How fragments are handled, and what can be known of that without privilege.
    pub(super) delivery: [&'static str; 2],
    /// MSS of the SYN as it left and as it arrived; absent: it arrived as it left.
    pub(super) mss: Option<(u32, u32)>,
}

/// What a fault has to be found to be.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// From c to s.
    pub(super) there: OneWay,
    /// From s to c.
    pub(super) back: OneWay,
    /// Every finding, and what it is about. No other may be raised.
    pub(super) findings: Vec<(&'static str, About)>,
    /// Those that take privilege to be observed.
    pub(super) privileged: Vec<&'static str>,
}

/// Which direction a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    There,
    Back,
    Both,
}

impl OneWay {
    /// Nothing in it but its interface limits.
    pub(super) fn clean(mtu: u32) -> OneWay {
        OneWay {
            interface: mtu,
            mtu,
            discovery: "not_needed",
            hop: None,
            hole: None,
            delivery: ["pass"; 2],
            mss: None,
        }
    }

    /// A router reports that it takes no more than this.
    pub(super) fn one_way_by(self, mtu: u32, by: Node) -> OneWay {
        OneWay { mtu, discovery: "works", hop: Some((by, "too_big")), ..self }
    }

    /// What is larger vanishes behind this router.
    pub(super) fn silent(self, mtu: u32, behind: Node, cause: &'static str) -> OneWay {
        let hole = Some((mtu + 1, self.interface, cause));
        OneWay { mtu, discovery: "silent", hop: Some((behind, "trace")), hole, ..self }
    }

    pub(super) fn delivery(self, root: &'static str, unprivileged: &'static str) -> OneWay {
        OneWay { delivery: [root, unprivileged], ..self }
    }

    pub(super) fn mss(self, sent: u32, received: u32) -> OneWay {
        OneWay { mss: Some((sent, received)), ..self }
    }
}

impl Wanted {
    pub(super) fn new(there: OneWay, back: OneWay, findings: &[(&'static str, About)]) -> Wanted {
        Wanted { there, back, findings: findings.to_vec(), privileged: Vec::new() }
    }

    /// Nothing but interfaces limits, and nothing is found.
    pub(super) fn clean(mtu: u32) -> Wanted {
        Wanted::new(OneWay::clean(mtu), OneWay::clean(mtu), &[])
    }
}

/// Judges the lab as it is, from both ends, with and without privilege, both families at once. `wanted` of each family;
/// `None`: not judged.
#[track_caller]
pub(super) fn judge(lab: &Lab, wanted: impl Fn(Family) -> Option<Wanted> + Sync) {
    for who in [Who::Root, Who::Unprivileged] {
        for (client, server) in [(Node::C, Node::S), (Node::S, Node::C)] {
            let serving = lab.serve(server, who, &[]);
            lab.forget();
            let runs = each_family(|family| {
                let run = || lab.run(client, who, &["mtu", server.address(family), "--json"]);
                wanted(family).map(|wanted| (wanted, run()))
            });
            for (family, judged) in Family::BOTH.into_iter().zip(runs) {
                if let Some((wanted, run)) = judged {
                    assert_as_wanted(&Look { client, who, family, run: &run }, &wanted);
                }
            }
            serving.signal("TERM");
            serving.end().code(0);
        }
    }
}

/// The same of both families, side by side: nearly all of it is waiting.
pub(super) fn each_family<T: Send>(work: impl Fn(Family) -> T + Sync) -> [T; 2] {
    let work = &work;
    std::thread::scope(|scope| {
        let begun = Family::BOTH.map(|family| scope.spawn(move || work(family)));
        begun.map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// `pathmeter mtu` at c, asking s, with privilege, successful, and as JSON.
#[track_caller]
pub(super) fn measured_path(lab: &Lab, family: Family, args: &[&str]) -> Value {
    let args = [&["mtu", Node::S.address(family), "--json"], args].concat();
    lab.run(Node::C, Who::Root, &args).code(0).json()
}

struct Look<'a> {
    client: Node,
    who: Who,
    family: Family,
    run: &'a Ended,
}

#[track_caller]
fn assert_as_wanted(look: &Look<'_>, wanted: &Wanted) {
    let at = format!("{:?} at {:?}, {:?}", look.who, look.client, look.family);
    assert_eq!(look.run.code, Some(0), "{at}\n{}\n{}", look.run.stdout, look.run.stderr);
    let run = look.run.json();
    let path = &run["summary"]["path"];
    assert_eq!(path["method"], "native", "{at}: {run:#}");
    let [up, down] = match look.client {
        Node::C => [&wanted.there, &wanted.back],
        _ => [&wanted.back, &wanted.there],
    };
    let mut wrong = Vec::new();
    for (name, direction) in [("up", up), ("down", down)] {
        differences(look, name, &path[name], direction, &mut wrong);
    }
    let (found, expected) = (found(&run), expected(look, wanted));
    if found != expected {
        wrong.push(format!("findings {found:?}, not {expected:?}"));
    }
    let args = path["unknown"].to_string();
    match look.who {
        Who::Root if args.contains("CAP_NET_RAW") => wrong.push(format!("unknown to root: {args}")),
        Who::Unprivileged if !args.contains("CAP_NET_RAW") || !args.contains("`pathmeter doctor`") => {
            wrong.push(format!("no hint how to get the rights: {args}"))
        }
        _ => (),
    }
    let packets = path["packets"].as_u64().unwrap_or(u64::MAX);
    if wanted.findings.is_empty() && packets > 400 {
        wrong.push(format!("{packets} packets on a clean path"));
    }
    assert!(wrong.is_empty(), "{at}:\n  {}\n{:#}\n{:#}", wrong.join("\n  "), run["findings"], path);
}

/// What of this direction is not as it has to be.
fn differences(look: &Look<'_>, name: &str, direction: &Value, wanted: &OneWay, wrong: &mut Vec<String>) {
    let mut same = |what: &str, found: &Value, wanted: Value| {
        if *found != wanted {
            wrong.push(format!("{name}.{what} is {found}, not {wanted}"));
        }
    };
    same("interface_mtu", &direction["interface_mtu"], wanted.interface.into());
    same("path_mtu", &direction["path_mtu"], wanted.mtu.into());
    same("bound", &direction["bound"], "exact".into());
    same("max_udp_payload", &direction["max_udp_payload"], (wanted.mtu - look.family.headers()).into());
    same("ipv6", &direction["ipv6"], (look.family == Family::V6).into());
    same("discovery", &direction["discovery"], wanted.discovery.into());
    same("changed", &direction["changed"], false.into());
    let delivery = wanted.delivery[usize::from(look.who == Who::Unprivileged)];
    same("fragments.fate", &direction["fragments"]["fate"], delivery.into());
    let hole = &direction["black_hole"];
    match wanted.hole {
        None => same("black_hole", hole, Value::Null),
        Some((first, last, cause)) => {
            // Only IPv4's routers show the difference, as they alone cut what is too big.
            let cause = if look.family == Family::V6 { "unknown" } else { cause };
            same(
                "black_hole",
                &serde_json::json!([hole["first"], hole["last"], hole["cause"]]),
                serde_json::json!([first, last, cause]),
            );
        }
    }
    let hop = &direction["limiting_hop"];
    match wanted.hop {
        None => same("limiting_hop", hop, Value::Null),
        Some((node, by)) => {
            same("limiting_hop.address", &hop["address"], node.address(look.family).into());
            same("limiting_hop.found_by", &hop["found_by"], by.into());
        }
    }
    match wanted.mss {
        None => {
            same("tcp.mss_received", &direction["tcp"]["mss_received"], direction["tcp"]["mss_sent"].clone())
        }
        Some((sent, received)) => {
            same("tcp.mss_sent", &direction["tcp"]["mss_sent"], sent.into());
            same("tcp.mss_received", &direction["tcp"]["mss_received"], received.into());
        }
    }
}

/// The id and direction of each finding of a run.
pub(super) fn found(run: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("both").to_owned();
    let findings = run["findings"].as_array().expect("a list");
    let mut found: Vec<_> = findings.iter().map(|f| (text(&f["id"]), text(&f["direction"]))).collect();
    found.sort();
    found
}

fn expected(look: &Look<'_>, wanted: &Wanted) -> Vec<(String, String)> {
    let visible = |id: &str| look.who == Who::Root || !wanted.privileged.contains(&id);
    let direction = |about| match (about, look.client) {
        (About::Both, _) => "both",
        (About::There, Node::C) | (About::Back, Node::S) => "up",
        _ => "down",
    };
    let mut expected: Vec<_> = wanted
        .findings
        .iter()
        .filter(|(id, _)| visible(id))
        .map(|(id, about)| ((*id).to_owned(), direction(*about).to_owned()))
        .collect();
    expected.sort();
    expected
}
