//! Findings: the reason behind a number, with its evidence and advice. Pure functions, one row each in [`RULES`].

mod contradiction;
mod cpu;
mod crippled;
mod fragments;
mod frames;
mod hops;
mod latency;
pub mod limit;
mod limits;
mod loss;
mod measured;
mod noise;
mod one_way;
mod outage;
mod path;
mod ramp_up;
mod reach;
mod receiver;
mod streams;
mod text;
mod transfer;
mod verdict;
mod window;

pub(crate) use cpu::full_cpus;
pub(crate) use measured::{MeasuredDirection, measured_directions};
pub(crate) use noise::is_noisy;
pub use outage::is_lasting;
pub(crate) use ramp_up::{Growth, progress};
pub use text::capital;
pub(crate) use text::{lower, percent, significant};
pub use verdict::first_sentence;

use model::finding::{Finding, Severity, Status, Verdict};
use model::latency::EgressResult;
use model::plan::Direction;
use model::run::Run;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use Find::{Both, Egress, Once, OneWay, Sizes, Trace, Whole};

/// A reason that can be found: the one row that names it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The stable name of the finding.
    pub id: &'static str,
    /// The finding in a few words, to which directions can be added.
    pub short: &'static str,
    /// Where it looks.
    find: Find,
    /// From which severity on it names the limit of the rate; it is no fault by itself then. `None`: it never does.
    pub limits: Option<Severity>,
    /// Its figures have a row in the table of a run of several tests.
    pub is_in_table: bool,
}

/// How a rule finds its reason, at most once for each direction and egress path.
#[derive(Clone, Copy, Debug)]
enum Find {
    /// In all figures of a run.
    Whole(fn(&Run) -> Vec<Finding>),
    /// Likewise, once.
    Once(fn(&Run) -> Option<Finding>),
    /// In one measured direction.
    OneWay(InDirection),
    /// On one egress path of round trips.
    Egress(OnEgress),
    /// In one measured direction, and on one egress path of round trips.
    Both(InDirection, OnEgress),
    /// In one direction whose packet sizes are known.
    Sizes(BySize),
    /// In one direction of a trace.
    Trace(ByTrace),
}

type InDirection = fn(&MeasuredDirection<'_>) -> Option<Finding>;
type OnEgress = fn(&Run, &EgressResult) -> Option<Finding>;
type BySize = fn(path::Side<'_>) -> Option<Finding>;
type ByTrace = fn(hops::Look<'_>) -> Option<Finding>;

impl Rule {
    const fn new(id: &'static str, short: &'static str, find: Find) -> Rule {
        Rule { id, short, find, limits: None, is_in_table: false }
    }

    fn findings(&self, run: &Run) -> Vec<Finding> {
        match self.find {
            Whole(find) => find(run),
            Once(find) => find(run).into_iter().collect(),
            OneWay(find) => each_direction(run, find),
            Egress(find) => latency::each_egress(run, find),
            Both(first, second) => [each_direction(run, first), latency::each_egress(run, second)].concat(),
            Sizes(find) => path::each_side(run, find),
            Trace(find) => hops::each(run, find),
        }
    }

    const fn limiting(self, from: Severity) -> Rule {
        Rule { limits: Some(from), ..self }
    }

    const fn in_table(self) -> Rule {
        Rule { is_in_table: true, ..self }
    }
}

/// Every rule; of equally bad findings the earlier comes first.
pub const RULES: &[Rule] = &[
    Rule::new(
        "contradictory-figures",
        "The two ends contradict each other",
        Whole(contradiction::contradictory),
    ),
    Rule::new(
        "link-speed-wrong",
        "More was transferred than the given link speed allows",
        Whole(window::link_speed_wrong),
    ),
    Rule::new("neighbour-failed", "The next hop stopped answering", Once(reach::neighbour_failed)),
    Rule::new("duplicate-address", "Two devices have one address", Whole(reach::duplicate_address)),
    Rule::new("one-way-reachable", "Only one end can open connections", Once(one_way::one_way_reachable)),
    Rule::new("udp-unreachable", "UDP does not get through", Once(contradiction::udp_unreachable)),
    Rule::new("no-reply", "Nothing answers", Egress(latency::no_reply)),
    Rule::new("one-family-only", "Only one IP version works", Once(reach::one_family_only)),
    Rule::new("routing-loop", "Routers send packets in a circle", Trace(hops::circle)),
    Rule::new(
        "answered-on-path",
        "Something on the path answers for the far end",
        Once(hops::answered_on_path),
    ),
    Rule::new("mtu-black-hole", "Large packets vanish without a message", Whole(path::black_hole)),
    Rule::new("tcp-blackhole", "Full-sized TCP segments vanish", Sizes(path::tcp_black_hole)),
    Rule::new("mtu-hole", "Packets of some sizes vanish", Sizes(path::hole)),
    Rule::new("mtu-discovery-wrong", "Routers report a wrong path MTU", Sizes(path::wrong)),
    Rule::new("paths-differ", "Flows take paths of different MTU", Whole(paths_differ)),
    Rule::new("dead-flows", "Some flows are dropped whole", Whole(contradiction::dead_flows)),
    Rule::new("streams-stalled", "Some streams delivered nothing", OneWay(streams::stalled)),
    Rule::new("fragments-dropped", "IP fragments are dropped", Whole(fragments::fragments_dropped))
        .in_table(),
    Rule::new("udp-fragmented", "The datagrams were sent in fragments", OneWay(fragments::udp_fragmented)),
    Rule::new("df-ignored", "A router cuts packets that forbid it", Sizes(path::df_ignored)),
    Rule::new(
        "reassembly-failed",
        "The receiver did not put fragments together",
        OneWay(receiver::reassembly_failed),
    ),
    Rule::new("checksum-errors", "Packets arrive with wrong checksums", OneWay(receiver::checksum_errors)),
    Rule::new("conntrack-drops", "Connection tracking dropped packets", Once(receiver::conntrack_drops)),
    Rule::new("service-limit", "The service answers small datagrams only", Once(path::service_limit)),
    Rule::new(
        "joined-segments-dropped",
        "Segments joined by an offload are dropped",
        Whole(crippled::joined),
    ),
    Rule::new("mark-dropped", "Packets with a mark are dropped", Whole(crippled::mark)),
    Rule::new("receiver-stalled", "The receiving program stopped reading", OneWay(crippled::stalled)),
    Rule::new("outage", "The path was down for a while", Both(outage::outage, latency::outage)),
    Rule::new("receiver-buffer-loss", "The receiver dropped datagrams", OneWay(loss::receiver_buffer_loss))
        .limiting(Severity::Info)
        .in_table(),
    Rule::new("policer", "A policer drops what exceeds its rate", OneWay(limits::policer))
        .limiting(Severity::Info),
    Rule::new("random-loss", "Random loss limits TCP", OneWay(limits::random_loss)).limiting(Severity::Info),
    Rule::new("packet-rate", "The path limits packets per second", OneWay(limits::packet_rate))
        .limiting(Severity::Info),
    Rule::new(
        "host-limited",
        "A host's queue, link, bus or tunnel sets the rate",
        OneWay(limits::host_limited),
    )
    .limiting(Severity::Info),
    Rule::new("path-loss", "The path lost packets", Both(loss::path_loss, latency::loss)).in_table(),
    Rule::new("tcp-crippled", "TCP hardly moves", OneWay(crippled::crippled)),
    Rule::new("loss-from-hop", "Packets are lost on the path", Trace(hops::loss_from_hop)),
    Rule::new("route-changed", "The route changed during the test", Trace(hops::changed)),
    Rule::new("size-dependent-loss", "Large packets are lost more often", Sizes(path::size_dependent_loss)),
    Rule::new("path-changed", "The path changed during the test", Sizes(path::changed)),
    Rule::new("mss-clamped", "TCP's MSS is clamped on the path", Whole(path::clamped)),
    Rule::new("stale-path-mtu", "The kernel remembers a wrong path MTU", Sizes(path::stale)),
    Rule::new("mtu-asymmetric", "The path MTU differs by direction", Once(path::asymmetric)),
    Rule::new("route-mtu", "A configured route holds packets small", Sizes(path::route_mtu)),
    Rule::new("echo-filtered", "Large echo requests are not answered", Once(path::echo_filtered)),
    Rule::new("mtu-reduced", "The path MTU is below the interface's", Sizes(path::reduced)),
    Rule::new("mtu-from-hop", "A hop lets smaller packets pass only", Once(hops::mtu_from_hop)),
    Rule::new("latency-from-hop", "One hop makes most of the round trip", Once(hops::latency_from_hop)),
    Rule::new("icmp-rate-limited", "A router limits its own answers", Trace(hops::rate_limited)),
    Rule::new("ttl-rewritten", "A router sets the TTL of packets", Whole(hops::ttl_rewritten)),
    Rule::new("quotes-untranslated", "A NAT leaves what ICMP errors quote", Once(hops::quotes_untranslated)),
    Rule::new(
        "addresses-alternate",
        "A hop answers one flow from several addresses",
        Trace(hops::addresses_alternate),
    ),
    Rule::new("ramp-up", "TCP was still growing when the test ended", OneWay(ramp_up::ramp_up)),
    Rule::new("window-scaling-removed", "TCP's window cannot grow", OneWay(crippled::unscaled)),
    Rule::new("window-limited", "The TCP window sets the rate", OneWay(window::window_limited))
        .limiting(Severity::Info),
    Rule::new("receiver-limited", "The receiving host sets the rate", OneWay(cpu::receiver_limited))
        .limiting(Severity::Info),
    Rule::new("sender-limited", "The sending host sets the rate", Both(cpu::sender_limited, latency::behind))
        .limiting(Severity::Info),
    Rule::new("at-line-rate", "The path runs at line rate", OneWay(window::at_line_rate))
        .limiting(Severity::Info),
    Rule::new("reordering", "Packets arrive out of order", Both(loss::reordering, latency::reordering)),
    Rule::new("duplicates", "Packets arrive twice", Both(loss::duplicates, latency::duplicates)),
    Rule::new("level-shift", "The round trip changed its level", Egress(latency::level_shift)),
    Rule::new(
        "rtt-outliers",
        "Some round trips take far longer than the rest",
        Egress(latency::rtt_outliers),
    ),
    Rule::new("sent-late", "This host sent messages late", Egress(latency::sent_late)),
    Rule::new("bufferbloat", "Queues fill under load", Whole(latency::bufferbloat)),
    Rule::new("host-noise", "Other work on the host moved the figures", Whole(noise::host_noise))
        .limiting(Severity::Warning),
];

/// The largest packets that the test of this run sent in a direction, whole; `None`: it is not known.
#[must_use]
pub fn packet_of_test(run: &Run, direction: Direction) -> Option<u32> {
    measured_directions(run).find(|one_way| one_way.direction == direction)?.full_packet()
}

/// The rule of this id.
#[must_use]
pub fn rule_named(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The ids of all rules, in their order.
pub fn rule_ids() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.id)
}

/// Flows take paths of different size, or through different routers.
fn paths_differ(run: &Run) -> Vec<Finding> {
    path::each_side(run, path::paths_differ).into_iter().chain(hops::paths_differ(run)).collect()
}

fn each_direction(run: &Run, find: InDirection) -> Vec<Finding> {
    measured_directions(run).filter_map(|one_way| find(&one_way)).collect()
}

/// All findings of a run and of its tests, worst first, each id, direction and egress path once.
pub fn findings_of_run(run: &Run) -> Vec<Finding> {
    let own = RULES.iter().flat_map(|rule| rule.findings(run));
    let of_tests = run.tests.iter().flat_map(|test| test.findings.iter().cloned());
    let mut found: Vec<Finding> = own.chain(of_tests).collect();
    let place = |finding: &Finding| RULES.iter().position(|rule| rule.id == finding.id);
    found.sort_by_key(|finding| (Reverse(finding.severity), place(finding), finding.direction));
    let mut observed = BTreeSet::new();
    found.retain(|finding| observed.insert((finding.id.clone(), finding.direction, finding.egress.clone())));
    found
}

/// The conclusion of a run, from its figures and its findings.
pub fn verdict(run: &Run) -> Verdict {
    verdict::verdict_of_run(run)
}

/// The status that findings alone give.
pub(crate) fn status(findings: &[Finding]) -> Status {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Problem) => Status::Problem,
        Some(Severity::Warning) => Status::Degraded,
        Some(Severity::Info) | None => Status::Ok,
    }
}
