//! Lab reports: fixed documents in every format, and their chart.

use model::finding::{Finding, Severity};
use model::framing::{Encaps, Network, Transport};
use model::host::Host;
use model::lab::{
    Drops, Expectation, FrameSweep, INTERRUPTED, LabCpu, LabReport, LabTest, LinkSpeed, Packet, Repetition,
    SCHEMA, Series, SpeedBasis, Variant, VariantFinding, conclude,
};
use model::plan::Direction;
use model::time::WallTime;
use model::units::{BitRate, Nanos};
use pathmeter_report::format::{Style, by_name, lab, render};
use pathmeter_report::plot::png;

/// Every report, by the name of its snapshots.
pub(super) fn all() -> Vec<(&'static str, LabReport)> {
    vec![("lab-compared", compared()), ("lab-judged", judged()), ("lab-swept", swept())]
}

/// Four topologies of which one cannot be built; five repetitions.
fn compared() -> LabReport {
    let mut report = LabReport {
        schema: SCHEMA.into(),
        started: Some(WallTime(1_790_000_000_000_000_000)),
        finished: Some(WallTime(1_790_000_300_000_000_000)),
        host: Some(host()),
        repetitions: 5,
        time: Nanos::from_secs(3),
        variants: vec![
            Topology::new("direct", 20_000.0).variant(),
            Topology::new("forward", 16_000.0).variant(),
            // 40 bytes of an outer IPv6 header.
            Topology {
                encaps: "ipip6".parse().expect("it is known"),
                path_mtu: 1460,
                rtt: Nanos::from_micros(61),
                ..Topology::new("ipip6", 12_000.0)
            }
            .variant(),
            Variant {
                unavailable: Some("not on this kernel: needs WireGuard (CONFIG_WIREGUARD)".into()),
                ..empty("wireguard")
            },
        ],
        comparisons: Vec::new(),
        notes: vec!["Sender, device under test and receiver share 2 CPUs.".into()],
    };
    conclude(&mut report, true);
    report
}

/// One topology with a shaped link, its expectations, one of them broken.
fn judged() -> LabReport {
    let mut variant = Topology { path_mtu: 1430, ..Topology::new("bufferbloat", 9.72) }.variant();
    for series in &mut variant.series {
        series.speed = Some(LinkSpeed { rate: BitRate(10_000_000), basis: SpeedBasis::Shaped });
        series.runs.truncate(1);
    }
    variant.expectations = vec![
        expectation("rate up, TCP over IPv4", "10.00 Mbit/s ± 3 %", "9.98 Mbit/s", Some(true)),
        expectation("path MTU up, IPv4", "1500", "1430", Some(false)),
        expectation("finding bufferbloat", "raised", "not measured", None),
    ];
    variant.findings = vec![VariantFinding {
        family: Network::V4,
        finding: Finding {
            id: "path-loss".into(),
            severity: Severity::Warning,
            direction: Some(Direction::Up),
            egress: None,
            title: "1.25 % of the datagrams were lost on the path".into(),
            evidence: [].into(),
            advice: String::new(),
        },
    }];
    let mut report = LabReport { variants: vec![variant], repetitions: 1, ..compared() };
    report.comparisons.clear();
    conclude(&mut report, false);
    report
}

fn host() -> Host {
    Host {
        name: "box".into(),
        version: "pathmeter 0.1.0".into(),
        kernel: "Linux 6.18.0 x86_64".into(),
        cpu: "Example CPU".into(),
        cpus: 2,
        ..Host::default()
    }
}

fn empty(name: &str) -> Variant {
    Variant {
        name: name.into(),
        title: format!("two hosts, {name}"),
        device_under_test: Some("router".into()),
        unavailable: None,
        series: Vec::new(),
        sweeps: Vec::new(),
        expectations: Vec::new(),
        findings: Vec::new(),
        notes: Vec::new(),
    }
}

/// A topology, and what crosses it.
struct Topology {
    name: &'static str,
    /// TCP over IPv4, upwards.
    mbits: f64,
    /// Of IPv4.
    encaps: Encaps,
    path_mtu: u32,
    rtt: Nanos,
    /// A router's queue has drops.
    routed: bool,
}

impl Topology {
    fn new(name: &'static str, mbits: f64) -> Topology {
        let routed = name != "direct";
        let rtt = Nanos::from_micros(if routed { 55 } else { 42 });
        Topology { name, mbits, encaps: Encaps::NONE, path_mtu: 1500, rtt, routed }
    }

    fn variant(&self) -> Variant {
        let mut series = Vec::new();
        for family in [Network::V4, Network::V6] {
            for test in [LabTest::Tcp, LabTest::Udp] {
                for egress in Direction::BOTH {
                    series.push(self.throughput(family, test, egress));
                }
            }
            series.push(self.trips(family));
        }
        for egress in Direction::BOTH {
            let mut sizes = Series::new("pathmeter", Network::V4, LabTest::Mtu, Some(egress));
            let path_mtu = Some(self.path_mtu);
            sizes.runs.push(Repetition { number: 1, path_mtu, ..Repetition::default() });
            series.push(sizes);
        }
        Variant { series, ..empty(self.name) }
    }

    /// Full packets; IPv6 goes as it is, 20 bytes of header dearer.
    fn throughput(&self, family: Network, test: LabTest, egress: Direction) -> Series {
        let mut series = Series::new("pathmeter", family, test, Some(egress));
        let (mtu, encaps, slower) = match family {
            Network::V4 => (self.path_mtu, self.encaps.clone(), 1.0),
            Network::V6 => (1500, Encaps::NONE, 0.97),
        };
        let (transport, headers, share) = match test {
            LabTest::Udp => (Transport::Udp, 8, 0.25),
            _ => (Transport::TCP_TIMESTAMPS, 32, 1.0),
        };
        let back = if egress == Direction::Down { 0.99 } else { 1.0 };
        let payload = mtu - family.header() as u32 - headers;
        series.packet = Packet::new(family, transport, encaps, payload);
        let rate = self.mbits * 1e6 * share * slower * back;
        let repetition =
            |(index, factor): (usize, &f64)| self.repetition((test, egress), index, rate * factor, payload);
        series.runs = [0.98, 1.0, 1.02, 0.99, 1.01].iter().enumerate().map(repetition).collect();
        series
    }

    fn repetition(
        &self,
        (test, egress): (LabTest, Direction),
        index: usize,
        rate: f64,
        payload: u32,
    ) -> Repetition {
        let udp = test == LabTest::Udp;
        // What arrived in three seconds is all but 1.25 % of what was sent.
        let received = (rate * 3.0 / 8.0 / f64::from(payload)) as u64;
        let sent = received * 80 / 79;
        let device = if egress == Direction::Up { "to-server" } else { "to-client" };
        let drops = Drops { node: "router".into(), device: device.into(), received: 0, sent: sent / 400 };
        Repetition {
            number: index as u32 + 1,
            goodput: Some(BitRate(rate as u64)),
            payload: Some(payload),
            sent: udp.then_some(sent),
            lost: udp.then_some(sent - received),
            retransmits: (!udp).then_some(3),
            cpu: Some(LabCpu { busy: 0.98, softirq: 0.41, cpus: 2, own: false }),
            drops: if udp && self.routed { vec![drops] } else { Vec::new() },
            ..Repetition::default()
        }
    }

    fn trips(&self, family: Network) -> Series {
        let mut series = Series::new("pathmeter", family, LabTest::Latency, None);
        let longer = if family == Network::V6 { 1_000 } else { 0 };
        let times = |percent: u64| Some(Nanos(self.rtt.0 * percent / 100 + longer));
        series.runs = vec![Repetition {
            number: 1,
            rtt_min: times(74),
            rtt_p50: times(100),
            rtt_p99: times(226),
            ..Repetition::default()
        }];
        series
    }
}

fn expectation(what: &str, expected: &str, found: &str, held: Option<bool>) -> Expectation {
    Expectation { what: what.into(), expected: expected.into(), found: found.into(), held }
}

/// Two topologies swept, one of which gave nothing.
fn swept() -> LabReport {
    let sweep = |rows, error| FrameSweep { family: Network::V4, rows, error };
    let rows = super::frames::sweep().summary.rows;
    let failed = Some("connection refused".to_owned());
    let variants = [("forward", sweep(rows, None)), ("bridge", sweep(Vec::new(), failed))];
    let variants = variants.map(|(name, sweep)| Variant { sweeps: vec![sweep], ..empty(name) });
    LabReport { variants: variants.into(), comparisons: Vec::new(), repetitions: 1, ..compared() }
}

#[test]
fn sweeps_are_drawn_as_lines() {
    let chart = lab::sweeps(&swept()).expect("there is a sweep");
    let lines: Vec<_> = chart.panels.iter().flat_map(|panel| &panel.lines).map(|line| &line.name).collect();
    assert_eq!(lines, ["forward, IPv4"; 2]);
    assert_eq!(chart.across.names, ["64", "128", "512", "1518"]);
    assert_eq!(chart.panels[1].lines[0].values[0], Some(3.168));
    assert!(lab::sweeps(&compared()).is_none());
}

#[test]
fn every_format_of_a_lab_report() {
    for (name, report) in all() {
        insta::assert_snapshot!(format!("{name}.text"), super::written(&report, "text"));
        insta::assert_snapshot!(format!("{name}.csv"), super::written(&report, "csv"));
        insta::assert_snapshot!(format!("{name}.markdown"), super::written(&report, "markdown"));
        let read: LabReport = serde_json::from_str(&super::written(&report, "json")).unwrap();
        assert_eq!(read, report);
        assert_eq!(super::written(&report, "ndjson").lines().count(), 1);
    }
    insta::assert_snapshot!("lab-judged.json", super::written(&judged(), "json"));
}

#[test]
fn a_topology_fits_one_screen_and_its_details_have_every_table() {
    let text = |report: &LabReport, detail| {
        render(report, by_name("text").unwrap(), &Style { detail, ..Style::default() })
    };
    let brief = text(&judged(), false);
    assert!(
        brief.lines().count() <= 24 && brief.starts_with("BROKEN  bufferbloat: 1 expectation broken"),
        "{brief}"
    );
    assert!(brief.contains("  broken   path MTU up, IPv4: 1430, expected: 1500\n"), "{brief}");
    assert!(brief.trim_end().ends_with("Details and 1 note on the figures: -v"), "{brief}");
    for width in [60, 80, 120] {
        let text = render(&judged(), by_name("text").unwrap(), &Style { width, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        assert_eq!(text.contains("IPv4 down       IPv6 up"), width > 60, "{text}");
    }
    insta::assert_snapshot!("lab-judged.details", text(&judged(), true));
    // Figures of what was measured stand, and what was not is neither held nor broken.
    let mut stopped = judged();
    stopped.variants[0].expectations.remove(1);
    stopped.notes.push(INTERRUPTED.into());
    let stopped = text(&stopped, false);
    assert!(
        stopped.starts_with("VOID  interrupted: bufferbloat: 1 expectation held, 1 not measured"),
        "{stopped}"
    );
}

#[test]
fn colour_changes_no_letter() {
    let report = compared();
    let colour = render(&report, by_name("text").unwrap(), &Style { colour: true, ..Style::default() });
    assert_eq!(super::without_codes(&colour), super::written(&report, "text"));
}

/// Full frames of 1514 bytes carry 1448 of TCP, in an outer IPv6 header 1408: a link as fast as that of `direct` carries
/// that share of its goodput.
#[test]
fn the_limit_knows_the_encapsulation() {
    let report = compared();
    let tunnel = &report.variants[2].series[0];
    assert_eq!(tunnel.packet.as_ref().unwrap().frame, 1408 + 32 + 20 + 14 + 40);
    let limit = tunnel.limit.unwrap().0 as f64;
    assert!((limit / 20e9 - 1408.0 / 1448.0).abs() < 1e-6, "{limit}");
    assert!((tunnel.share_of_limit.unwrap() - 12e9 / limit).abs() < 1e-6);
    assert!((tunnel.share_of_nic.unwrap() - 0.6 * 1448.0 / 1408.0).abs() < 1e-6);
    let native = report.variants[2].series.iter().find(|s| s.family == Network::V6).unwrap();
    assert!(native.limit.unwrap().0.abs_diff(19_400_000_000) <= 1, "the same frames, rounded down");
    assert_eq!(report.variants[0].series[0].limit, None, "the first is what the others are held against");
}

#[test]
fn significance_is_reported() {
    let report = compared();
    let row = report.comparisons.iter().find(|one| one.variant == "forward").unwrap();
    assert_eq!(row.base, "direct");
    assert!((row.comparison.shift.unwrap().percent + 20.0).abs() < 1e-6);
    assert_eq!(row.comparison.judgement.to_string(), "worse");
}

#[test]
fn bars_are_as_long_as_their_values() {
    let svg = lab::chart(&compared()).drawing().svg();
    let bars: Vec<(f64, f64)> = svg.lines().filter_map(bar).collect();
    assert_eq!(bars.len(), 3 * 2 * 4, "three topologies, two families, four panels");
    // All panels share an axis. The values are those of the labels, of three digits, the last of which is a point wide.
    let scale = bars[0].0 / bars[0].1;
    for (width, value) in &bars {
        assert!((width - value * scale).abs() < 1.0, "{width} for {value}");
    }
    for text in ["not on this host", "Gbit/s", ">IPv4<", ">IPv6<", ">TCP up<", ">UDP down<", "share 2 CPUs"] {
        assert!(svg.contains(text), "{text}");
    }
}

/// Width and value of a bar: `<rect … width="101.3" …><title>forward IPv4: 16 000 Mbit/s</title></rect>`.
fn bar(line: &str) -> Option<(f64, f64)> {
    let width = line.split("width=\"").nth(1)?.split('"').next()?.parse().ok()?;
    let title = line.split("<title>").nth(1)?.split("</title>").next()?;
    let value: String =
        title.split(": ").nth(1)?.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    Some((width, value.parse().ok()?))
}

#[test]
fn the_picture_is_as_large_as_the_drawing() {
    let drawing = lab::chart(&judged()).drawing();
    let svg = drawing.svg();
    let side = |name: &str| -> u32 {
        let value = svg.split(&format!("{name}=\"")).nth(1).unwrap();
        value.split('"').next().unwrap().parse().unwrap()
    };
    let (width, height) = (side("width"), side("height"));
    let picture = png(&drawing, 2.0).unwrap();
    assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
    let at = |from: usize| u32::from_be_bytes(picture[from..from + 4].try_into().unwrap());
    assert_eq!((at(16), at(20)), (2 * width, 2 * height));
}
