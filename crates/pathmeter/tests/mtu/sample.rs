//! A sample of paths with two faults, built in namespaces from a fixed seed: limits that routers report or keep silent about at
//! either router and in each direction, boxes that clamp the MSS, drops of TCP alone. What is found agrees with what was built.
//! Thousands of such paths are simulated in `engine/src/work/path/native/tests.rs`; these show that the simulation is the world.

use super::judge::{each_family, found, measured_path};
use super::lab::{Family, Lab, Node, Who};
use serde_json::{Value, json};

/// What a router does with packets of one direction.
#[derive(Clone, Copy, Debug)]
struct Limit {
    mtu: u32,
    /// It drops what is larger without a word.
    silent: bool,
}

/// One direction of a path.
#[derive(Clone, Copy, Debug)]
struct OneWay {
    /// Nearest to the sender first.
    routers: [Option<Limit>; 2],
    /// Larger packets of TCP do not cross.
    tcp: Option<u32>,
    /// A box holds the MSS of SYNs that go in this direction to it.
    clamp: Option<u32>,
}

/// The draws of a seed (SplitMix64).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of this range in so many of ten draws.
    fn sometimes(&mut self, of_ten: u64, range: std::ops::Range<u32>) -> Option<u32> {
        let (chance, number) = (self.next() % 10, self.next());
        let width = u64::from(range.end - range.start);
        (chance < of_ten).then(|| range.start + (number % width) as u32)
    }

    fn in_direction(&mut self) -> OneWay {
        let mut limit = || {
            let silent = self.next().is_multiple_of(2);
            self.sometimes(5, 1280..1500).map(|mtu| Limit { mtu, silent })
        };
        OneWay {
            routers: [limit(), limit()],
            tcp: self.sometimes(3, 1300..1500),
            clamp: self.sometimes(3, 1100..1400),
        }
    }
}

impl OneWay {
    fn mtu(&self) -> u32 {
        self.routers.iter().flatten().map(|limit| limit.mtu).min().unwrap_or(1500)
    }

    /// The first router that does not pass on what is just too large, by its place from the sender on.
    fn limiter(&self) -> Option<(usize, Limit)> {
        let mtu = self.mtu();
        let is_it = |(at, limit): (usize, &Option<Limit>)| {
            limit.filter(|limit| limit.mtu == mtu).map(|limit| (at, limit))
        };
        self.routers.iter().enumerate().find_map(is_it)
    }
}

/// Both directions; those up come first.
type Path = [OneWay; 2];

/// Puts the faults into a path.
fn build(lab: &Lab, path: &Path) {
    lab.plain_links();
    for node in [Node::R1, Node::R2, Node::C, Node::S] {
        lab.sysctl(node, "net/ipv4/icmp_ratelimit", "0");
        lab.sysctl(node, "net/ipv6/icmp/ratelimit", "0");
    }
    let mut rules = [String::new(), String::new()];
    for (at, direction) in path.iter().enumerate() {
        let from = ["near", "far"][at];
        for (hop, limit) in
            direction.routers.iter().enumerate().filter_map(|(hop, limit)| Some((hop, (*limit)?)))
        {
            let router = if at == 0 { hop } else { 1 - hop };
            if limit.silent {
                rules[router].push_str(&format!("iifname {from} meta length > {} drop\n", limit.mtu));
            } else {
                limit_by_route(lab, (at, router), limit.mtu);
            }
        }
        let nearest = if at == 0 { 0 } else { 1 };
        if let Some(size) = direction.tcp {
            rules[nearest].push_str(&format!("iifname {from} meta l4proto tcp meta length > {size} drop\n"));
        }
        if let Some(mss) = direction.clamp {
            rules[nearest]
                .push_str(&format!("iifname {from} tcp flags syn tcp option maxseg size set {mss}\n"));
        }
    }
    for (node, rules) in [Node::R1, Node::R2].into_iter().zip(rules) {
        lab.forward(node, &rules);
    }
}

/// A router that reports what is too large for the next link of a direction.
fn limit_by_route(lab: &Lab, (at, router): (usize, usize), mtu: u32) {
    match (at, router) {
        (0, 0) => lab.route(Node::R1, "2::", "12::2", Some(mtu)),
        (1, 1) => lab.route(Node::R2, "1::", "12::1", Some(mtu)),
        (direction, _) => {
            let (node, net, device) =
                if direction == 0 { (Node::R2, 2, "far") } else { (Node::R1, 1, "near") };
            lab.sh(
                node,
                &format!(
                    "ip -4 route replace 10.71.{net}.0/24 dev {device} mtu lock {mtu} && \
                     ip -6 route del fd71:{net}::/64 dev {device} && \
                     ip -6 route add fd71:{net}::/64 dev {device} mtu lock {mtu}"
                ),
            );
        }
    }
}

/// The address that a router answers a direction with.
fn address(family: Family, at: usize, hop: usize) -> &'static str {
    let [v4, v6] = match (at, hop) {
        (0, 0) => ["10.71.1.1", "fd71:1::1"],
        (0, _) => ["10.71.12.2", "fd71:12::2"],
        (_, 0) => ["10.71.2.1", "fd71:2::1"],
        _ => ["10.71.12.1", "fd71:12::1"],
    };
    if family == Family::V4 { v4 } else { v6 }
}

/// The packets that full segments of a direction make: their MSS was announced in the SYN that came in the opposite direction.
fn full_segment(family: Family, path: &Path, at: usize) -> u32 {
    let headers = family.headers() + 12;
    path[1 - at].clamp.unwrap_or(u32::MAX).min(1500 - headers) + headers
}

/// Segments of TCP are not tried where a router reports that they are too large: the kernel would keep what it learns.
fn is_left_out(family: Family, path: &Path, at: usize) -> bool {
    let [first, _] = path[at].routers;
    let is_reported = path[at]
        .limiter()
        .is_some_and(|(hop, limit)| !limit.silent || (hop == 1 && first.is_some_and(|first| !first.silent)));
    is_reported && full_segment(family, path, at) > path[at].mtu()
}

/// The findings that must be there, and that no other may be of their kind.
fn expected(family: Family, path: &Path) -> Vec<(String, String)> {
    let mut wanted = Vec::new();
    for (at, (direction, name)) in path.iter().zip(["up", "down"]).enumerate() {
        let mut raised = |id: &str| wanted.push((id.to_owned(), name.to_owned()));
        let silent = direction.limiter().is_some_and(|(_, limit)| limit.silent);
        if silent {
            raised("mtu-black-hole");
        }
        let segment = full_segment(family, path, at);
        if segment <= direction.mtu() && direction.tcp.is_some_and(|size| segment > size) {
            raised("tcp-blackhole");
        }
        if direction.clamp.is_some() {
            raised("mss-clamped");
        }
    }
    wanted.sort();
    wanted
}

/// What of a run is not as it was built.
fn differences(family: Family, path: &Path, run: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, (direction, name)) in path.iter().zip(["up", "down"]).enumerate() {
        let reported = &run["summary"]["path"][name];
        let mut same = |what: &str, found: &Value, wanted: Value| {
            if *found != wanted {
                wrong.push(format!("{name}.{what} is {found}, not {wanted}"));
            }
        };
        same("path_mtu", &reported["path_mtu"], direction.mtu().into());
        same("bound", &reported["bound"], "exact".into());
        let limiter = direction.limiter();
        let hop = limiter.map(|(hop, _)| address(family, at, hop));
        same("limiting_hop.address", &reported["limiting_hop"]["address"], json!(hop));
        let silent = limiter.filter(|(_, limit)| limit.silent);
        let reports =
            |one: &&Value| one["direction"] == name && one["why"].as_str().unwrap().starts_with("not tried");
        let left_out = run["summary"]["path"]["unknown"].as_array().unwrap().iter().any(|one| reports(&one));
        same("TCP left out", &left_out.into(), is_left_out(family, path, at).into());
        same(
            "black_hole.first",
            &reported["black_hole"]["first"],
            json!(silent.map(|(_, limit)| limit.mtu + 1)),
        );
    }
    let about = [
        "mtu-black-hole",
        "tcp-blackhole",
        "mss-clamped",
        "mtu-discovery-wrong",
        "paths-differ",
        "fragments-dropped",
    ];
    let found: Vec<_> = found(run).into_iter().filter(|(id, _)| about.contains(&id.as_str())).collect();
    let wanted = expected(family, path);
    if found != wanted {
        wrong.push(format!("findings {found:?}, not {wanted:?}"));
    }
    wrong
}

#[test]
fn a_sample_of_two_faults_is_reported_as_it_was_built() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).ok().map_or(usual, |text| text.parse().expect("a number"))
    };
    let (paths, seed) = (number("MTU_SAMPLE", PATHS), number("MTU_SEED", SEED));
    let mut draws = Draws(seed);
    let paths: Vec<(usize, Path)> =
        (0..paths as usize).map(|number| (number, [draws.in_direction(), draws.in_direction()])).collect();
    // Side by side: nearly all of it is waiting.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let halves = paths.chunks(paths.len().div_ceil(2));
        let judged: Vec<_> = halves
            .map(|half| {
                scope
                    .spawn(|| half.iter().flat_map(|(number, path)| judge(*number, path)).collect::<Vec<_>>())
            })
            .collect();
        judged.into_iter().flat_map(|half| half.join().expect("a judge that ends")).collect()
    });
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// Builds a path and compares what is found of it over each family; prints a line for each, and returns what is wrong.
#[expect(clippy::print_stdout, reason = "the lines are the table of a large sample")]
fn judge(number: usize, path: &Path) -> Vec<String> {
    let Some(lab) = Lab::new(&format!("two_faults_{number}")) else { return Vec::new() };
    build(&lab, path);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let mut all = Vec::new();
    for (family, run) in each_family(|family| (family, measured_path(&lab, family, &[]))) {
        let wrong = differences(family, path, &run);
        println!("path {number} {family:?}: {}", if wrong.is_empty() { "right" } else { "WRONG" });
        if !wrong.is_empty() {
            all.push(format!(
                "path {number} {family:?} {path:#?}\n  {}\n{:#}\n{:#}",
                wrong.join("\n  "),
                run["findings"],
                run["summary"]["path"]
            ));
        }
    }
    all
}

/// Each over both families; `MTU_SAMPLE` asks for another number, `MTU_SEED` for others.
const PATHS: u64 = 14;
const SEED: u64 = 17;
