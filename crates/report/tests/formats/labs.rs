//! Lab reports: fixed documents in every format, and their chart.

use model::finding::{Finding, Severity};
use model::framing::{Encaps, Network, Transport};
use model::host::Host;
use model::lab::{
    Drops, Expectation, FrameSweep, LabCpu, LabReport, LabTest, LinkSpeed, Packet, Repetition, SCHEMA,
    Series, SpeedBasis, Variant, VariantFinding, conclude,
};
use model::plan::Direction;
use model::time::WallTime;
use model::units::{BitRate, Nanos};
use report::format::{Style, lab};
use report::plot::png;

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
            variant("direct", 20_000.0, Encaps::NONE),
            variant("forward", 16_000.0, Encaps::NONE),
            variant("ipip6", 12_000.0, "ipip6".parse().expect("it is known")),
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
    let mut variant = variant("bufferbloat", 9.6, Encaps::NONE);
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
            way: None,
            title: "12 % of the datagrams were lost on the path".into(),
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

fn variant(name: &str, mbits: f64, encaps: Encaps) -> Variant {
    let mut series = Vec::new();
    for family in [Network::V4, Network::V6] {
        for (test, factor) in [(LabTest::Tcp, 1.0), (LabTest::Udp, 0.25)] {
            for way in [Direction::Up, Direction::Down] {
                series.push(throughput(family, test, way, mbits * factor, &encaps));
            }
        }
        series.push(trips(family));
    }
    for way in [Direction::Up, Direction::Down] {
        let mut sizes = Series::new("pathmeter", Network::V4, LabTest::Mtu, Some(way));
        sizes.runs.push(Repetition { number: 1, path_mtu: Some(1500), ..Repetition::default() });
        series.push(sizes);
    }
    Variant { series, ..empty(name) }
}

fn throughput(family: Network, test: LabTest, way: Direction, mbits: f64, encaps: &Encaps) -> Series {
    let mut series = Series::new("pathmeter", family, test, Some(way));
    let (transport, payload) = match test {
        LabTest::Udp => (Transport::Udp, 1400),
        _ => (Transport::TCP_TIMESTAMPS, 1400),
    };
    let encaps = if family == Network::V4 { encaps.clone() } else { Encaps::NONE };
    series.packet = Packet::new(family, transport, encaps, payload);
    let run = |(index, factor): (usize, &f64)| Repetition {
        number: index as u32 + 1,
        goodput: Some(BitRate((mbits * 1e6 * factor) as u64)),
        payload: Some(payload),
        sent: (test == LabTest::Udp).then_some(100_000),
        lost: (test == LabTest::Udp).then_some(1_250),
        retransmits: (test == LabTest::Tcp).then_some(3),
        cpu: Some(LabCpu { busy: 0.98, softirq: 0.41, cpus: 2, own: false }),
        drops: match test {
            LabTest::Udp => {
                vec![Drops { node: "router".into(), device: "to-server".into(), received: 0, sent: 250 }]
            }
            _ => Vec::new(),
        },
        ..Repetition::default()
    };
    series.runs = [0.98, 1.0, 1.02, 0.99, 1.01].iter().enumerate().map(run).collect();
    series
}

fn trips(family: Network) -> Series {
    let mut series = Series::new("pathmeter", family, LabTest::Latency, None);
    series.runs = vec![Repetition {
        number: 1,
        rtt_min: Some(Nanos(31_000)),
        rtt_p50: Some(Nanos(42_000)),
        rtt_p99: Some(Nanos(95_000)),
        ..Repetition::default()
    }];
    series
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
    assert_eq!(chart.sizes, ["64", "128", "512", "1518"]);
    assert_eq!(chart.panels[1].lines[0].values[0], Some(3.2));
    assert!(lab::sweeps(&compared()).is_none());
}

#[test]
fn every_format_of_a_lab_report() {
    let reports = [("lab-compared", compared()), ("lab-judged", judged()), ("lab-swept", swept())];
    for (name, report) in reports {
        insta::assert_snapshot!(format!("{name}.text"), lab::text(&report, &Style::default()));
        insta::assert_snapshot!(format!("{name}.csv"), lab::csv(&report));
        insta::assert_snapshot!(format!("{name}.markdown"), lab::to_markdown(&report));
        let read: LabReport = serde_json::from_str(&lab::json(&report)).unwrap();
        assert_eq!(read, report);
        assert_eq!(lab::ndjson(&report).lines().count(), 1);
    }
    insta::assert_snapshot!("lab-judged.json", lab::json(&judged()));
}

#[test]
fn colour_changes_no_letter() {
    let report = compared();
    let colour = lab::text(&report, &Style { colour: true, width: 80 });
    assert_eq!(super::without_codes(&colour), lab::text(&report, &Style::default()));
}

#[test]
fn rows_have_the_headers_columns() {
    for line in lab::csv(&compared()).lines() {
        assert_eq!(line.split(',').count(), lab::COLUMNS.len(), "{line}");
    }
}

/// A frame of 1466 bytes carries 1400 of TCP; in an IPv6 header it has 1506 bytes, so that a link as fast as that of
/// `direct` carries 1466/1506 of its goodput.
#[test]
fn the_limit_knows_the_encapsulation() {
    let report = compared();
    let tunnel = &report.variants[2].series[0];
    assert_eq!(tunnel.packet.as_ref().unwrap().frame, 1400 + 32 + 20 + 14 + 40);
    let limit = tunnel.limit.unwrap().0 as f64;
    assert!((limit / 20e9 - 1466.0 / 1506.0).abs() < 1e-6, "{limit}");
    assert!((tunnel.share_of_limit.unwrap() - 12e9 / limit).abs() < 1e-6);
    assert!((tunnel.share_of_nic.unwrap() - 0.6 * 1506.0 / 1466.0).abs() < 1e-6);
    let native = report.variants[2].series.iter().find(|s| s.family == Network::V6).unwrap();
    assert!(native.limit.unwrap().0.abs_diff(20_000_000_000) <= 1, "the same frames, rounded down");
    assert_eq!(report.variants[0].series[0].limit, None, "the first is what the others are held against");
}

#[test]
fn significance_is_told() {
    let report = compared();
    let row = report.comparisons.iter().find(|one| one.variant == "forward").unwrap();
    assert_eq!(row.base, "direct");
    assert!((row.comparison.shift.unwrap().percent + 20.0).abs() < 1e-6);
    assert_eq!(row.comparison.judgement.to_string(), "worse");
}

#[test]
fn bars_are_as_long_as_their_values() {
    let svg = lab::chart(&compared()).svg();
    let bars: Vec<(f64, f64)> = svg.lines().filter_map(bar).collect();
    assert_eq!(bars.len(), 3 * 2 * 4, "three topologies, two families, four panels");
    // The panels of TCP share an axis, and so do those of UDP.
    for panels in bars.chunks(12) {
        let scale = panels[0].0 / panels[0].1;
        for (width, value) in panels {
            assert!((width - value * scale).abs() < 0.2, "{width} for {value}");
        }
    }
    for text in ["not on this host", "Mbit/s", ">IPv4<", ">IPv6<", ">TCP up<", ">UDP down<", "share 2 CPUs"] {
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
    let svg = lab::chart(&judged()).svg();
    let side = |name: &str| -> u32 {
        let value = svg.split(&format!("{name}=\"")).nth(1).unwrap();
        value.split('"').next().unwrap().parse().unwrap()
    };
    let (width, height) = (side("width"), side("height"));
    let picture = png(&svg, 2.0).unwrap();
    assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
    let at = |from: usize| u32::from_be_bytes(picture[from..from + 4].try_into().unwrap());
    assert_eq!((at(16), at(20)), (2 * width, 2 * height));
    let inked = png(&svg.replace("<text", "<desc").replace("</text>", "</desc>"), 2.0).unwrap();
    assert_ne!(picture, inked, "the built-in font draws the texts");
    assert!(png("no drawing", 1.0).is_err());
    if let Some(dir) = std::env::var_os("CHARTS_TO") {
        let dir = std::path::PathBuf::from(dir);
        std::fs::write(dir.join("judged.png"), picture).unwrap();
        std::fs::write(dir.join("compared.png"), png(&lab::chart(&compared()).svg(), 2.0).unwrap()).unwrap();
    }
}
