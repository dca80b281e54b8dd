//! Analysis of the field's outputs: every figure that must be reached.

use super::{fixture, near};
use insight::analysis::{Analysis, AnalysisOptions, Subject};
use model::run::Run;
use model::units::{BitRate, Nanos};
use pathmeter_report::format::{Style, by_name, render};
use pathmeter_report::import::{Known, group, names, read};

fn analysed(files: &[&str], asked: AnalysisOptions, mss: Option<u32>) -> Analysis {
    let runs: Vec<(&str, usize, Run)> = files
        .iter()
        .flat_map(|file| {
            let known = Known { link: asked.link, mss };
            let all = read(file, &fixture(file), known).expect("it is an output");
            all.into_iter().map(|one| (*file, one.line, one.run)).collect::<Vec<_>>()
        })
        .collect();
    let places: Vec<(&str, usize)> = runs.iter().map(|(file, line, _)| (*file, *line)).collect();
    let names = names(&places);
    let subjects: Vec<Subject<'_>> =
        runs.iter().zip(&names).map(|((_, _, run), name)| Subject { name, group: None, run }).collect();
    Analysis::from_subjects(&subjects, asked)
}

fn plain(files: &[&str]) -> Analysis {
    analysed(files, AnalysisOptions::default(), None)
}

const LINK: AnalysisOptions = AnalysisOptions { link: Some(BitRate(25_000_000_000)), together: false };

#[test]
fn ten_streams_against_line_rate() {
    let analysis = analysed(&["iperf2-tcp-p10-final.txt"], LINK, Some(1448));
    let flow = &analysis.flows[0];
    let line = flow.line_rate.unwrap();
    assert_eq!(flow.goodput.to_string(), "22.5 Gbit/s");
    assert_eq!(flow.wire.packets_per_second.unwrap().to_string(), "1.94 Mpps");
    assert_eq!(line.packets_per_second.to_string(), "2.03 Mpps");
    assert_eq!(line.goodput.to_string(), "23.5 Gbit/s");
    assert_eq!(format!("{:.1}", flow.wire.line_rate_share.unwrap() * 100.0), "95.6");
    let segment = flow.segment.unwrap();
    assert_eq!((flow.wire.frame, segment.mss, segment.with_timestamps), (Some(1518), 1460, 1448));
    assert_eq!(
        analysis.conclusions[0],
        "iperf2-tcp-p10-final up: 22.5 Gbit/s is 95.6 % of line rate, 1.94 Mpps of 2.03 Mpps in frames of 1518 bytes; 23.5 Gbit/s of payload would be line rate at 25.0 Gbit/s."
    );
}

#[test]
fn segments_are_known_from_the_first_interval() {
    let files = ["iperf2-tcp-p10-first-interval.txt", "iperf2-tcp-p10-final.txt"];
    let analysis = analysed(&files, LINK, Some(1448));
    let goodputs: Vec<String> = analysis.flows.iter().map(|flow| flow.goodput.to_string()).collect();
    assert_eq!(goodputs, ["22.4 Gbit/s", "22.5 Gbit/s"]);
    let names: Vec<&str> = analysis.flows.iter().map(|flow| flow.run.as_str()).collect();
    assert_eq!(names, ["first-interval", "final"]);
    assert_eq!(analysis.flows[0].change_percent, None);
    near(analysis.flows[1].change_percent.unwrap(), 0.4, 0.3);
    // One stream had half more than the slowest.
    assert!(
        analysis
            .conclusions
            .iter()
            .any(|sentences| sentences.starts_with("first-interval up: its 10 streams did not"))
    );
}

#[test]
fn segments_of_smaller_frames_and_their_line_rate() {
    for (frame, mss, payload, packets) in [
        (1280, 1222, 1210, "2.40 Mpps"),
        (1024, 966, 954, "2.99 Mpps"),
        (512, 454, 442, "5.87 Mpps"),
        (256, 198, 186, "11.3 Mpps"),
        (146, 88, 76, "18.8 Mpps"),
    ] {
        let analysis = analysed(&["iperf2-tcp-p10-final.txt"], LINK, Some(payload));
        let flow = &analysis.flows[0];
        let segment = flow.segment.unwrap();
        assert_eq!((flow.wire.frame, segment.mss, segment.with_timestamps), (Some(frame), mss, payload));
        assert_eq!(flow.line_rate.unwrap().packets_per_second.to_string(), packets);
    }
}

#[test]
fn datagrams_whose_total_was_lost() {
    let analysis = plain(&["iperf3-udp-1472.txt"]);
    let flow = &analysis.flows[0];
    near(flow.sent_rate.unwrap().0 as f64, 4.44e9, 0.003);
    assert!((4.24e9..=4.255e9).contains(&(flow.goodput.0 as f64)), "{}", flow.goodput);
    let loss = flow.loss.unwrap();
    assert_eq!((loss.path, flow.received.datagrams + loss.path), (163_891, 3_825_046));
    assert_eq!((format!("{:.1}", loss.share * 100.0).as_str(), flow.wire.frame), ("4.3", Some(1518)));
    assert_eq!((flow.segment, flow.payload), (None, Some(1472)));
}

#[test]
fn fragments_that_do_not_cross() {
    let analysis = plain(&["iperf3-udp-fragmented.txt"]);
    let flow = &analysis.flows[0];
    near(flow.sent_rate.unwrap().0 as f64, 8.70e9, 0.003);
    assert_eq!(
        (flow.goodput, flow.wire.frames_per_packet, flow.loss.unwrap().share),
        (BitRate(0), Some(6), 1.0)
    );
    assert_eq!(flow.sent.datagrams, 1_327_830);
    let finding = analysis.findings.iter().find(|one| one.finding.id == "fragments-dropped").unwrap();
    assert!(finding.finding.advice.contains("-l 1472"));
    assert!(written(&analysis, "text").contains("6 × 1518 B"));
}

#[test]
fn twenty_streams_and_their_fairness() {
    let analysis = plain(&["iperf3-tcp-p20-summary.txt"]);
    let (flow, fair) = (&analysis.flows[0], analysis.flows[0].fairness.unwrap());
    near(flow.received.bytes.0 as f64, 2.01 * 1_073_741_824.0, 0.003);
    assert_eq!(flow.goodput.to_string(), "1.70 Gbit/s");
    assert_eq!(
        (fair.streams, fair.most.to_string(), fair.least.to_string()),
        (20, "132 Mbit/s".into(), "61.7 Mbit/s".into())
    );
    let rates = [
        75.7, 80.6, 81.7, 63.3, 78.1, 72.6, 115.0, 132.0, 78.7, 69.7, 83.9, 77.9, 63.0, 61.7, 111.0, 64.0,
        123.0, 61.9, 118.0, 83.8_f64,
    ];
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    near(fair.jain.unwrap(), sum * sum / (20.0 * squares), 1e-3);
}

const PATHS: [&str; 5] = [
    "sockperf-tcp-350-default-snat.txt",
    "sockperf-tcp-350-public-ip.txt",
    "sockperf-tcp-350-load-balancer-outbound.txt",
    "sockperf-tcp-350-nat-gateway.txt",
    "sockperf-tcp-350-azure-firewall-snat.txt",
];

#[test]
fn five_paths_side_by_side() {
    let analysis = plain(&PATHS);
    let means: Vec<(&str, Nanos, Nanos, Nanos, Nanos)> = analysis
        .trips
        .iter()
        .map(|one| (one.run.as_str(), one.rtt.mean, one.rtt.max, one.rtt.min, one.rtt.p99))
        .collect();
    let row = |name, [mean, max, min, p99]: [u64; 4]| (name, Nanos(mean), Nanos(max), Nanos(min), Nanos(p99));
    assert_eq!(
        means,
        [
            row("default-snat", [383_460_308, 390_394_628, 382_767_135, 385_171_272]),
            row("public-ip", [382_677_430, 386_769_649, 381_988_746, 385_135_128]),
            row("load-balancer-outbound", [385_770_944, 392_620_433, 385_127_088, 387_222_430]),
            row("nat-gateway", [385_027_305, 398_506_853, 384_332_180, 386_800_495]),
            row("azure-firewall-snat", [387_909_824, 975_994_156, 383_961_904, 400_546_401]),
        ]
    );
    let sentences = analysis.conclusions.join("\n");
    assert!(sentences.contains("The medians of all 5 lie within 0.9 %"), "{sentences}");
    assert!(
        sentences.contains("Only one has round trips far off the others: azure-firewall-snat, the longest 2.5 times its median."),
        "{sentences}"
    );
}

#[test]
fn a_size_that_crosses_and_the_next_that_does_not() {
    let files = [
        "ping-do-1402-mtu1430.txt",
        "ping-do-1403-mtu1430.txt",
        "ping-do-1472-mtu1500.txt",
        "ping-do-1473-mtu1500.txt",
    ];
    let sentences = plain(&files).conclusions;
    for (mtu, crossed, refused) in [(1430, 1402, 1403), (1500, 1472, 1473)] {
        let expected = format!(
            "The path MTU is {mtu}: packets of {mtu} bytes crossed ({crossed}-mtu{mtu}), larger ones did not ({refused}-mtu{mtu})."
        );
        assert!(sentences.contains(&expected), "{sentences:?}");
    }
}

#[test]
fn runs_that_ran_at_once_are_summed_over_their_overlap() {
    let options = AnalysisOptions { together: true, link: Some(BitRate(10_000_000_000)) };
    let analysis = analysed(&["iperf3-udp-1472.txt", "iperf3-udp-1472.txt"], options, None);
    let (sum, flow) = (analysis.together.clone().unwrap(), &analysis.flows[0]);
    let up = sum.up.unwrap();
    near(up.goodput.0 as f64, 2.0 * flow.goodput.0 as f64, 0.002);
    near(up.line_rate_share.unwrap(), 2.0 * flow.wire.line_rate_share.unwrap(), 0.002);
    assert_eq!((sum.clocked, up.runs, sum.down), (false, 2, None));
    let other = analysed(&["iperf3-udp-1472.txt", "iperf2-tcp-p10-first-interval.txt"], options, None);
    let sum = other.together.unwrap();
    assert_eq!(sum.overlap, Nanos::from_secs(10));
    near(sum.whole.as_secs_f64(), 10.15, 0.001);
    assert_eq!(plain(&["iperf3-udp-1472.txt"]).together, None);
}

#[test]
fn groups_are_compared_with_the_first() {
    let runs: Vec<(String, Run)> = (0..12)
        .map(|number| {
            let (group, rate) = if number < 6 { ("one", 400 + number) } else { ("two", 200 + number) };
            let text = format!(
                "Connecting to host 10.0.0.1, port 5201\n[  5]   0.00-10.00  sec  {rate} MBytes  336 Mbits/sec                  receiver\n"
            );
            let run = read("x", &text, Known::default()).unwrap().remove(0).run;
            (format!("{group}-{number}.txt"), run)
        })
        .collect();
    let subjects: Vec<Subject<'_>> =
        runs.iter().map(|(name, run)| Subject { name, group: Some(group(name)), run }).collect();
    let analysis = Analysis::from_subjects(&subjects, AnalysisOptions::default());
    assert_eq!(analysis.comparisons.len(), 1);
    let sentences = analysis.conclusions.join("\n");
    assert!(
        sentences.contains("two against one: goodput up is worse: −4")
            && sentences.contains("from 6 and 6 runs"),
        "{sentences}"
    );
}

#[test]
fn every_format_shows_it() {
    let analysis = analysed(&["iperf2-tcp-p10-final.txt", PATHS[0]], LINK, Some(1448));
    let rows = written(&analysis, "csv");
    let [header, rates, trips] = rows.lines().collect::<Vec<_>>()[..] else { panic!("{rows}") };
    assert!(header.contains("goodput_bps") && header.contains("rtt_p99_ns"), "{header}");
    assert!(rates.starts_with("throughput,") && trips.starts_with("round-trips,"), "{rows}");
    let again: Analysis = serde_json::from_str(&written(&analysis, "json")).unwrap();
    assert_eq!(again.schema, "pathmeter/analysis/1");
    assert_eq!(again.conclusions, analysis.conclusions);
    let markdown = written(&analysis, "markdown");
    assert!(markdown.contains("## On the wire\n\n| run") && markdown.contains(" 1460 − 12 |"), "{markdown}");
    insta::assert_snapshot!("analysis", written(&analysis, "text"));
    let page = written(&analysis, "html");
    let (_, article) = page.split_once("<body>").expect("a page");
    insta::assert_snapshot!("analysis.html", article);
    insta::assert_snapshot!("analysis.junit", written(&analysis, "junit"));
}

fn written(analysis: &Analysis, format: &str) -> String {
    render(analysis, by_name(format).expect(format), &Style::default())
}

/// qperf reports the mean alone: it is neither the shortest nor compared with medians.
#[test]
fn a_median_that_is_not_known_is_compared_with_none() {
    let analysis = plain(&["cases/qperf-conf.txt", "cases/ping-openbsd.txt", "cases/ping-macos.txt"]);
    let changes: Vec<Option<f64>> = analysis.trips.iter().map(|one| one.change_percent).collect();
    assert_eq!((changes[0], changes[1]), (None, None));
    near(changes[2].expect("a change"), 5.3, 0.02);
    assert_eq!(analysis.trips[0].max_over_median, None);
    let medians = analysis.conclusions.iter().find(|text| text.contains("medians")).expect("a sentence");
    assert!(medians.contains("the 2 of 3 that are known") && !medians.contains("51"), "{medians}");
}
