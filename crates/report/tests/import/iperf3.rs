//! iPerf3's text.

use super::{fixture, found, near, only, warned};
use model::event::Outcome;
use model::plan::Transport;
use model::units::BitRate;
use pathmeter_report::import::{Known, Tool, read};

#[test]
fn datagrams_in_fragments_that_do_not_cross() {
    let imported = only(&fixture("iperf3-udp-fragmented.txt"));
    let up = imported.run.summary.up.as_ref().unwrap();
    assert_eq!((up.transport, up.mss), (Transport::Udp, Some(8192)));
    near(up.sent.bytes.0 as f64 * 8.0 / 10.0, 8.70e9, 0.001);
    assert_eq!((up.sent.datagrams, up.received.bytes.0), (1_327_830, 0));
    assert_eq!(up.wire.frames_per_packet, Some(6));
    assert!(warned(&imported, "rebuilt-count") && warned(&imported, "all-lost"));
    let finding = imported.run.findings.iter().find(|finding| finding.id == "fragments-dropped").unwrap();
    assert!(finding.advice.contains("at most 1472 bytes"), "{}", finding.advice);
    let first = imported
        .run
        .intervals
        .iter()
        .find(|sample| sample.omitted && sample.streams[0].udp.as_ref().is_some_and(|udp| udp.lost > 0));
    assert_eq!(first.unwrap().streams[0].udp.as_ref().unwrap().datagrams, 21_955 - 18_658);
}

#[test]
fn datagrams_that_fit() {
    let imported = only(&fixture("iperf3-udp-1472.txt"));
    let up = imported.run.summary.up.as_ref().unwrap();
    assert_eq!((up.mss, up.wire.frame, up.wire.frames_per_packet), (Some(1472), Some(1518), Some(1)));
    near(up.sent.bytes.0 as f64 * 8.0 / 10.0, 4.44e9, 0.001);
    near(up.goodput.0 as f64, 4.245e9, 0.001);
    let loss = up.loss.unwrap();
    assert_eq!((loss.path, up.received.datagrams), (163_891, 3_825_046 - 163_891));
    near(loss.share, 0.043, 0.01);
    assert!(warned(&imported, "rebuilt-total") && !found(&imported, "fragments-dropped"));
}

#[test]
fn twenty_streams_without_a_heading() {
    let imported = only(&fixture("iperf3-tcp-p20-summary.txt"));
    let up = imported.run.summary.up.as_ref().unwrap();
    assert_eq!((up.streams.len(), up.retransmits), (20, None));
    near(up.received.bytes.0 as f64, 2.01 * 1024.0 * 1024.0 * 1024.0, 0.003);
    assert_eq!(up.goodput.to_string(), "1.70 Gbit/s");
    let rates: Vec<f64> = up.streams.iter().map(|stream| stream.goodput.0 as f64).collect();
    near(rates.iter().copied().fold(f64::INFINITY, f64::min), 61.7e6, 0.0009);
    near(rates.iter().copied().fold(0.0, f64::max), 132e6, 0.0039);
    near(model::stats::spread::jain_fairness(&rates).unwrap(), 0.938_412_8, 3e-4);
}

/// The rates of the final rows of one kind, as printed, in bits per second.
fn printed(text: &str, kind: &str, roles: &[&str]) -> f64 {
    let rows = text.lines().filter(|line| line.trim_end().ends_with(kind) && !line.contains("[SUM]"));
    let rows = rows.filter(|line| !line.contains("][") || roles.iter().any(|role| line.contains(role)));
    let rate = |line: &str| {
        let (figures, unit) = line.split_once("/sec")?.0.rsplit_once(' ')?;
        let factor = match unit {
            "bits" => 1.0,
            "Kbits" => 1e3,
            "Mbits" => 1e6,
            "Gbits" => 1e9,
            "MBytes" => 8.0 * 1_048_576.0,
            _ => panic!("no unit of a rate: {unit}"),
        };
        Some(figures.split_whitespace().last()?.parse::<f64>().ok()? * factor)
    };
    rows.filter_map(rate).sum()
}

#[test]
fn what_iperf3_3_12_printed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/iperf3");
    let mut observed = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let imported = only(&text);
        let summary = &imported.run.summary;
        for (direction, roles) in [(&summary.up, ["[TX-C]", "[RX-S]"]), (&summary.down, ["[RX-C]", "[TX-S]"])]
        {
            let Some(direction) = direction else { continue };
            let (sent, received) = (printed(&text, "sender", &roles), printed(&text, "receiver", &roles));
            let goodput = direction.goodput.0 as f64;
            let handed_over = BitRate::from_bytes(direction.sent.bytes, direction.elapsed).0 as f64;
            match (direction.receiver_unknown, direction.transport) {
                (false, _) => near(goodput, received, 0.01),
                // What TCP has sent has arrived but for a window; of UDP nothing is known but what was sent.
                (true, Transport::Tcp) => near(goodput, sent, 0.01),
                (true, Transport::Udp) => {
                    assert_eq!(goodput, 0.0, "{path:?}");
                    near(handed_over, sent, 0.01);
                }
            }
            observed += 1;
        }
        assert!(!text.contains("iperf 3.12") || imported.version.as_deref() == Some("3.12"), "{path:?}");
    }
    assert!(observed >= 39, "{observed}");
}

const CLIENT: &str = include_str!("../fixtures/iperf3/v_tcp.client.txt");

#[test]
fn what_the_long_form_reports() {
    let imported = only(CLIENT);
    let run = &imported.run;
    assert_eq!(run.started.unwrap().to_string(), "2026-11-21T00:31:23.000Z");
    let up = run.summary.up.as_ref().unwrap();
    assert_eq!((up.congestion.as_deref(), up.mss, up.retransmits), (Some("bbr"), Some(32_768), Some(0)));
    near(up.cpu.sender.as_ref().unwrap().process, 0.03, 1e-9);
    near(up.cpu.receiver.as_ref().unwrap().user, 0.001, 1e-9);
    assert_eq!(run.summary.outcome, Some(Outcome::Completed));
}

#[test]
fn it_reads_through_terminals_and_locales() {
    let plain = only(CLIENT).run.summary;
    let crlf = CLIENT.replace('\n', "\r\n");
    let coloured = CLIENT.replace("[  5]", "\u{1b}[1;32m[  5]\u{1b}[0m");
    let commas =
        CLIENT.replace("1.25 MB", "1,25 MB").replace("10.5 Mb", "10,5 Mb").replace("0.00-1.00", "0,00-1,00");
    for text in [crlf, coloured, commas] {
        let read = only(&text).run.summary;
        assert_eq!(read.up, plain.up);
    }
}

#[test]
fn an_output_that_is_cut_off_has_its_intervals() {
    let whole = fixture("iperf3-udp-1472.txt");
    let cut: String = whole.lines().take(8).map(|line| format!("{line}\n")).collect();
    let imported = only(&cut);
    assert!(warned(&imported, "no-summary"));
    assert_eq!(imported.run.summary.outcome, Some(Outcome::Interrupted));
    let sent = imported.run.summary.up.unwrap().sent;
    assert_eq!(sent.datagrams, 376_850 + 376_980 + 376_690 + 376_620);
    for end in 0..whole.len() {
        let _ = read("cut", &whole[..end], Known::default());
    }
}

#[test]
fn many_outputs_in_one_log() {
    let log = format!(
        "$ iperf3 -c 127.0.0.1\n{CLIENT}\n$ ls\nfile1 file2\n$ iperf3 -u …\n{}\nroot@vm:~# exit\n{}",
        fixture("iperf3-udp-1472.txt"),
        fixture("iperf3-tcp-p20-summary.txt"),
    );
    let all = read("log.txt", &log, Known::default()).unwrap();
    assert_eq!(all.iter().map(|one| one.tool).collect::<Vec<_>>(), [Tool::Iperf3; 3]);
    assert_eq!((all[0].line, all[0].run.id.as_str()), (2, "log.txt:2"));
    assert_eq!(all[1].run.summary.up.as_ref().unwrap().mss, Some(1472));
    assert_eq!(all[2].run.summary.up.as_ref().unwrap().streams.len(), 20);
}

#[test]
fn a_test_that_failed_states_why() {
    let imported = only("iperf3: error - unable to connect to server: Connection refused\n");
    assert_eq!(
        imported.run.verdict.text,
        "Nothing was measured: unable to connect to server: Connection refused."
    );
}
