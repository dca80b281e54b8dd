//! SockPerf's statistics and full log.

use super::{fixture, found, near, only, warned};
use model::finding::Status;
use model::plan::Transport;
use model::run::Run;
use model::stats::distribution::Distribution;
use model::units::Nanos;

/// The five paths of the field: mean, max, min and p99 in nanoseconds.
const PATHS: [(&str, [u64; 4]); 5] = [
    ("default-snat", [383_460_308, 390_394_628, 382_767_135, 385_171_272]),
    ("public-ip", [382_677_430, 386_769_649, 381_988_746, 385_135_128]),
    ("load-balancer-outbound", [385_770_944, 392_620_433, 385_127_088, 387_222_430]),
    ("nat-gateway", [385_027_305, 398_506_853, 384_332_180, 386_800_495]),
    ("azure-firewall-snat", [387_909_824, 975_994_156, 383_961_904, 400_546_401]),
];

fn rtt(run: &Run) -> Distribution {
    run.summary.rtt.expect("round trips")
}

#[test]
fn five_paths_to_one_server() {
    let mut medians = Vec::new();
    for (name, [mean, max, min, p99]) in PATHS {
        let imported = only(&fixture(&format!("sockperf-tcp-350-{name}.txt")));
        let rtt = rtt(&imported.run);
        let expected = [mean, max, min, p99].map(Nanos);
        assert_eq!([rtt.mean, rtt.max, rtt.min, rtt.p99], expected, "{name}");
        assert_eq!(found(&imported, "rtt-outliers"), name == "azure-firewall-snat", "{name}");
        assert!(warned(&imported, "no-heading") && !warned(&imported, "halved"));
        medians.push(rtt.p50.0 as f64);
        if name == "azure-firewall-snat" {
            let finding = imported.run.findings.iter().find(|finding| finding.id == "rtt-outliers").unwrap();
            near(finding.evidence["max_over_median_ratio"].as_f64().unwrap(), 2.536, 1e-3);
            assert_eq!((rtt.count, imported.run.summary.lost), (258, 0));
        }
    }
    let (least, most) =
        (medians.iter().copied().fold(f64::MAX, f64::min), medians.iter().copied().fold(0.0, f64::max));
    assert!(most / least < 1.009, "{medians:?}");
}

fn real(name: &str) -> String {
    let path = format!("{}/tests/fixtures/sockperf/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn halves_are_doubled() {
    let imported = only(&real("3.10-pp.out"));
    let rtt = rtt(&imported.run);
    assert_eq!(imported.version.as_deref(), Some("3.10"));
    assert_eq!([rtt.mean, rtt.p50, rtt.max], [426_730, 53_048, 6_288_932].map(Nanos));
    assert!(warned(&imported, "halved"));
    let egress = &imported.run.summary.egress_paths[0];
    assert_eq!(egress.ends.remote.to_string(), "127.0.0.1:22111");
    let plan = imported.run.latency().unwrap();
    assert_eq!((plan.transport, plan.size), (Transport::Udp, 14));
    assert!(warned(&imported, "assumed-size"));
    near(imported.run.summary.egress_paths[0].mad.unwrap().0 as f64, 2.0 * 9546.0 / 1.4826, 1e-4);
}

#[test]
fn the_full_log_gives_every_round_trip() {
    for name in
        ["3.10-pp", "3.7-pp", "3.10-pp-rtt", "3.7-pp-rtt", "3.7-pp-burst", "3.10-ul", "3.7-pb", "3.10-hist"]
    {
        let printed = only(&real(&format!("{name}.out")));
        let logged = only(&real(&format!("{name}.log")));
        let (one, two) = (rtt(&printed.run), rtt(&logged.run));
        assert_eq!(one.count, two.count, "{name}");
        for (one, two) in
            [(one.mean, two.mean), (one.min, two.min), (one.max, two.max), (one.stddev, two.stddev)]
        {
            assert!(one.0.abs_diff(two.0) <= 4, "{name}: {one} {two}");
        }
        let egress = &logged.run.summary.egress_paths[0];
        assert!(egress.histogram.is_some() && egress.counted.received == two.count, "{name}");
        assert_eq!(egress.counted, printed.run.summary.egress_paths[0].counted, "{name}");
    }
}

#[test]
fn a_silent_server_is_no_zero() {
    let imported = only(&real("3.10-silent.out"));
    assert_eq!(imported.run.summary.rtt, None);
    assert!(
        imported.run.verdict.text.contains("No messages were received from the server"),
        "{:?}",
        imported.run.verdict
    );
}

#[test]
fn five_outputs_in_one_file() {
    let all: String =
        PATHS.iter().map(|(name, _)| fixture(&format!("sockperf-tcp-350-{name}.txt"))).collect();
    let runs = pathmeter_report::import::read("all", &all, Default::default()).unwrap();
    let means: Vec<u64> = runs.iter().map(|one| rtt(&one.run).mean.0).collect();
    assert_eq!(means, PATHS.map(|(_, [mean, ..])| mean));
}

#[test]
fn times_that_contradict_each_other_are_left_out() {
    let text = fixture("sockperf-tcp-350-nat-gateway.txt");
    let whole = only(&text);
    assert!(whole.run.summary.rtt.is_some() && !warned(&whole, "contradictory-times"));
    for (figure, damaged) in [
        ("<MIN> observation =", "<MIN> observation = 9999999.9; "),
        ("percentile 50.000 =", "percentile 50.000 = 9999999.9; "),
    ] {
        let imported = only(&text.replace(figure, damaged));
        assert_eq!(imported.run.summary.rtt, None, "{damaged}");
        assert!(warned(&imported, "contradictory-times"), "{damaged}");
    }
}

#[test]
fn what_a_throughput_test_has_sent() {
    // Messages, milliseconds, bytes of a message, and the rate that was asked for.
    for (name, transport, sent, millis, size, rate) in [
        ("3.10-tp.out", Transport::Udp, 148_585, 1000, 64, None),
        ("3.7-tp-mps.out", Transport::Udp, 1001, 1001, 4096, Some(1000)),
        ("3.10-tp-range.out", Transport::Tcp, 354_854, 1000, 4096, None),
        // The size is not printed: the two rates give it.
        ("3.10-tp-1472.out", Transport::Tcp, 529_856, 1003, 1472, None),
    ] {
        let imported = only(&real(name));
        let plan = imported.run.throughput().expect("a plan");
        assert_eq!((plan.test.transport, plan.test.length), (transport, Some(size)), "{name}");
        if let Some(rate) = rate {
            assert_eq!(plan.test.bitrate.map(|bits| bits.0), Some(rate * 8 * u64::from(size)), "{name}");
        }
        let up = imported.run.summary.up.as_ref().expect("a direction");
        assert_eq!(
            (up.sent.bytes.0, up.elapsed),
            (sent * u64::from(size), Nanos::from_millis(millis)),
            "{name}"
        );
        assert!(
            up.receiver_unknown && warned(&imported, "sender-alone") && !found(&imported, "path-loss"),
            "{name}"
        );
        assert_ne!(imported.run.verdict.status, Status::Void, "{name}: {:?}", imported.run.verdict);
        assert_ne!(imported.run.verdict.status, Status::Problem, "{name}: {:?}", imported.run.verdict);
    }
}
