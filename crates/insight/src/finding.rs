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
    Run(fn(&Run) -> Vec<Finding>),
    /// Likewise, once.
    Once(fn(&Run) -> Option<Finding>),
    /// In one measured direction.
    Direction(InDirection),
    /// On one egress path of round trips.
    Egress(OnEgress),
    /// In one measured direction, and on one egress path of round trips.
    Both(InDirection, OnEgress),
    /// In one direction whose packet sizes are known.
    Path(BySize),
    /// In one direction of a trace.
    Hops(ByTrace),
}

type InDirection = fn(&MeasuredDirection<'_>) -> Option<Finding>;
type OnEgress = fn(&Run, &EgressResult) -> Option<Finding>;
type BySize = fn(path::Side<'_>) -> Option<Finding>;
type ByTrace = fn(hops::Look<'_>) -> Option<Finding>;

impl Rule {
    const fn of(id: &'static str, short: &'static str, find: Find) -> Rule {
        Rule { id, short, find, limits: None, is_in_table: false }
    }

    const fn new(id: &'static str, short: &'static str, find: fn(&Run) -> Vec<Finding>) -> Rule {
        Rule::of(id, short, Find::Run(find))
    }

    const fn once(id: &'static str, short: &'static str, find: fn(&Run) -> Option<Finding>) -> Rule {
        Rule::of(id, short, Find::Once(find))
    }

    const fn by_direction(id: &'static str, short: &'static str, find: InDirection) -> Rule {
        Rule::of(id, short, Find::Direction(find))
    }

    const fn by_egress(id: &'static str, short: &'static str, find: OnEgress) -> Rule {
        Rule::of(id, short, Find::Egress(find))
    }

    const fn by_both(
        id: &'static str,
        short: &'static str,
        in_direction: InDirection,
        on_egress: OnEgress,
    ) -> Rule {
        Rule::of(id, short, Find::Both(in_direction, on_egress))
    }

    const fn by_size(id: &'static str, short: &'static str, find: BySize) -> Rule {
        Rule::of(id, short, Find::Path(find))
    }

    const fn by_trace(id: &'static str, short: &'static str, find: ByTrace) -> Rule {
        Rule::of(id, short, Find::Hops(find))
    }

    fn findings(&self, run: &Run) -> Vec<Finding> {
        match self.find {
            Find::Run(find) => find(run),
            Find::Once(find) => find(run).into_iter().collect(),
            Find::Direction(find) => each_direction(run, find),
            Find::Egress(find) => latency::each_egress(run, find),
            Find::Both(first, second) => {
                [each_direction(run, first), latency::each_egress(run, second)].concat()
            }
            Find::Path(find) => path::each_side(run, find),
            Find::Hops(find) => hops::each(run, find),
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
    Rule::new("contradictory-figures", "The two ends contradict each other", contradiction::contradictory),
    Rule::new(
        "link-speed-wrong",
        "More was transferred than the given link speed allows",
        window::link_speed_wrong,
    ),
    Rule::once("neighbour-failed", "The next hop stopped answering", reach::neighbour_failed),
    Rule::new("duplicate-address", "Two devices have one address", reach::duplicate_address),
    Rule::once("one-way-reachable", "Only one end can open connections", one_way::one_way_reachable),
    Rule::once("udp-unreachable", "UDP does not get through", contradiction::udp_unreachable),
    Rule::by_egress("no-reply", "Nothing answers", latency::no_reply),
    Rule::once("one-family-only", "Only one IP version works", reach::one_family_only),
    Rule::by_trace("routing-loop", "Routers send packets in a circle", hops::circle),
    Rule::once("answered-on-path", "Something on the path answers for the far end", hops::answered_on_path),
    Rule::new("mtu-black-hole", "Large packets vanish without a message", path::black_hole),
    Rule::by_size("tcp-blackhole", "Full-sized TCP segments vanish", path::tcp_black_hole),
    Rule::by_size("mtu-hole", "Packets of some sizes vanish", path::hole),
    Rule::by_size("mtu-discovery-wrong", "Routers report a wrong path MTU", path::wrong),
    Rule::new("paths-differ", "Flows take paths of different MTU", paths_differ),
    Rule::new("dead-flows", "Some flows are dropped whole", contradiction::dead_flows),
    Rule::by_direction("streams-stalled", "Some streams delivered nothing", streams::stalled),
    Rule::new("fragments-dropped", "IP fragments are dropped", fragments::fragments_dropped).in_table(),
    Rule::by_direction("udp-fragmented", "The datagrams were sent in fragments", fragments::udp_fragmented),
    Rule::by_size("df-ignored", "A router cuts packets that forbid it", path::df_ignored),
    Rule::by_direction(
        "reassembly-failed",
        "The receiver did not put fragments together",
        receiver::reassembly_failed,
    ),
    Rule::by_direction("checksum-errors", "Packets arrive with wrong checksums", receiver::checksum_errors),
    Rule::once("conntrack-drops", "Connection tracking dropped packets", receiver::conntrack_drops),
    Rule::once("service-limit", "The service answers small datagrams only", path::service_limit),
    Rule::new("joined-segments-dropped", "Segments joined by an offload are dropped", crippled::joined),
    Rule::new("mark-dropped", "Packets with a mark are dropped", crippled::mark),
    Rule::by_direction("receiver-stalled", "The receiving program stopped reading", crippled::stalled),
    Rule::by_both("outage", "The path was down for a while", outage::outage, latency::outage),
    Rule::by_direction("receiver-buffer-loss", "The receiver dropped datagrams", loss::receiver_buffer_loss)
        .limiting(Severity::Info)
        .in_table(),
    Rule::by_direction("policer", "A policer drops what exceeds its rate", limits::policer)
        .limiting(Severity::Info),
    Rule::by_direction("random-loss", "Random loss limits TCP", limits::random_loss).limiting(Severity::Info),
    Rule::by_direction("packet-rate", "The path limits packets per second", limits::packet_rate)
        .limiting(Severity::Info),
    Rule::by_direction(
        "host-limited",
        "A host's queue, link, bus or tunnel sets the rate",
        limits::host_limited,
    )
    .limiting(Severity::Info),
    Rule::by_both("path-loss", "The path lost packets", loss::path_loss, latency::loss).in_table(),
    Rule::by_direction("tcp-crippled", "TCP hardly moves", crippled::crippled),
    Rule::by_trace("loss-from-hop", "Packets are lost on the path", hops::loss_from_hop),
    Rule::by_trace("route-changed", "The route changed during the test", hops::changed),
    Rule::by_size("size-dependent-loss", "Large packets are lost more often", path::size_dependent_loss),
    Rule::by_size("path-changed", "The path changed during the test", path::changed),
    Rule::new("mss-clamped", "TCP's MSS is clamped on the path", path::clamped),
    Rule::by_size("stale-path-mtu", "The kernel remembers a wrong path MTU", path::stale),
    Rule::once("mtu-asymmetric", "The path MTU differs by direction", path::asymmetric),
    Rule::by_size("route-mtu", "A configured route holds packets small", path::route_mtu),
    Rule::once("echo-filtered", "Large echo requests are not answered", path::echo_filtered),
    Rule::by_size("mtu-reduced", "The path MTU is below the interface's", path::reduced),
    Rule::once("mtu-from-hop", "A hop lets smaller packets pass only", hops::mtu_from_hop),
    Rule::once("latency-from-hop", "One hop makes most of the round trip", hops::latency_from_hop),
    Rule::by_trace("icmp-rate-limited", "A router limits its own answers", hops::rate_limited),
    Rule::new("ttl-rewritten", "A router sets the TTL of packets", hops::ttl_rewritten),
    Rule::once("quotes-untranslated", "A NAT leaves what ICMP errors quote", hops::quotes_untranslated),
    Rule::by_trace(
        "addresses-alternate",
        "A hop answers one flow from several addresses",
        hops::addresses_alternate,
    ),
    Rule::by_direction("ramp-up", "TCP was still growing when the test ended", ramp_up::ramp_up),
    Rule::by_direction("window-scaling-removed", "TCP's window cannot grow", crippled::unscaled),
    Rule::by_direction("window-limited", "The TCP window sets the rate", window::window_limited)
        .limiting(Severity::Info),
    Rule::by_direction("receiver-limited", "The receiving host sets the rate", cpu::receiver_limited)
        .limiting(Severity::Info),
    Rule::by_both("sender-limited", "The sending host sets the rate", cpu::sender_limited, latency::behind)
        .limiting(Severity::Info),
    Rule::by_direction("at-line-rate", "The path runs at line rate", window::at_line_rate)
        .limiting(Severity::Info),
    Rule::by_both("reordering", "Packets arrive out of order", loss::reordering, latency::reordering),
    Rule::by_both("duplicates", "Packets arrive twice", loss::duplicates, latency::duplicates),
    Rule::by_egress("level-shift", "The round trip changed its level", latency::level_shift),
    Rule::by_egress("rtt-outliers", "Some round trips take far longer than the rest", latency::rtt_outliers),
    Rule::by_egress("sent-late", "This host sent messages late", latency::sent_late),
    Rule::new("bufferbloat", "Queues fill under load", latency::bufferbloat),
    Rule::new("host-noise", "Other work on the host moved the figures", noise::host_noise)
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
