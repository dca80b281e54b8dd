//! iPerf3's text against what the real `iperf3` 3.12 printed: each captured output is read into events, and these
//! must print the same bytes. The captures are loopback runs of at most three seconds.

mod numbers;
mod read;

use model::event::Event;
use model::plan::{Directions, Transport};
use pathmeter_dialect::iperf3::output::{Iperf3Options, Iperf3Role, Iperf3Text, server_banner};
use read::{Case, ResultSequence, events};

const TCP: Case = Case {
    file: "",
    transport: Transport::Tcp,
    directions: Directions::Up,
    length: 0,
    order: ResultSequence::IntervalsFirst,
    unit: 'a',
    title: None,
    interrupted: false,
};
const UDP: Case = Case { transport: Transport::Udp, length: 32_768, ..TCP };
const DOWN: Directions = Directions::Down;
const BOTH: Directions = Directions::Both;

/// One capture per row; the name is the mode.
const CASES: &[Case] = &[
    Case { file: "tcp.client", ..TCP },
    Case { file: "tcp.server", ..TCP },
    Case { file: "tcp_omit_r.client", directions: DOWN, ..TCP },
    Case { file: "tcp_omit_r.server", directions: DOWN, ..TCP },
    Case { file: "tcp_p2.client", ..TCP },
    Case { file: "tcp_p2.server", ..TCP },
    Case { file: "tcp_p2_r_gso.client", directions: DOWN, order: ResultSequence::ResultFirst, ..TCP },
    Case { file: "tcp_p2_r_gso.client", directions: DOWN, ..TCP },
    Case { file: "tcp_p2_r_long.client", directions: DOWN, ..TCP },
    Case { file: "tcp_bidir_p2.client", directions: BOTH, ..TCP },
    Case { file: "tcp_bidir_p2.server", directions: BOTH, ..TCP },
    Case { file: "tcp_bytes_f.client", unit: 'M', ..TCP },
    Case { file: "title.client", title: Some("hello"), ..TCP },
    Case { file: "int.client", interrupted: true, ..TCP },
    Case { file: "int_r.client", directions: DOWN, interrupted: true, ..TCP },
    Case { file: "udp.client", ..UDP },
    Case { file: "udp.server", ..UDP },
    Case { file: "udp_omit.server", ..UDP },
    Case { file: "udp_r.client", directions: DOWN, length: 1000, ..UDP },
    Case { file: "udp_r.server", directions: DOWN, length: 1000, ..UDP },
    Case { file: "udp_bidir.client", directions: BOTH, ..UDP },
    Case { file: "udp_bidir.server", directions: BOTH, ..UDP },
    Case { file: "udp_bidir_p2.client", directions: BOTH, ..UDP },
    Case { file: "udp_bidir_p2.server", directions: BOTH, ..UDP },
    Case { file: "udp_loss.client", length: 16_000, ..UDP },
    Case { file: "udp_loss.server", length: 16_000, ..UDP },
    Case { file: "udp_disorder.client", length: 1000, ..UDP },
    Case { file: "udp_disorder.server", length: 1000, ..UDP },
    Case { file: "v_tcp.client", ..TCP },
    Case { file: "v_tcp.server", ..TCP },
    Case { file: "v_tcp_r.client", directions: DOWN, order: ResultSequence::ResultFirst, ..TCP },
    Case { file: "v_tcp_r.server", directions: DOWN, ..TCP },
    Case { file: "v_udp.client", ..UDP },
    Case { file: "v_udp.server", ..UDP },
    Case { file: "v_udp_r.client", directions: DOWN, ..UDP },
    Case { file: "v_bidir_p2.client", directions: BOTH, ..TCP },
    Case { file: "v_bidir_p2.server", directions: BOTH, ..TCP },
    Case { file: "v_omit_mss.client", ..TCP },
    Case { file: "v_blocks.client", length: 102_400, ..TCP },
    Case { file: "v_udp_bytes.client", length: 1200, ..UDP },
];

#[test]
fn every_capture_prints_the_same() {
    for case in CASES {
        let real = capture(case.file);
        assert_eq!(printed(case, &real), real, "{}", case.file);
    }
}

/// The server's text inside a client's is a server's text like any other.
#[test]
fn the_servers_text_inside_the_clients_prints_the_same() {
    for case in CASES.iter().filter(|case| case.file.starts_with("tcp_p2_r_")) {
        let real = capture(case.file);
        let (_, inner) = real.split_once("Server output:\n").expect("captured with --get-server-output");
        let inner = inner.strip_suffix("\n\niperf Done.\n").expect("the client's text ends so");
        let server = Case { file: "of.server", order: ResultSequence::IntervalsFirst, ..*case };
        assert_eq!(printed(&server, inner), inner, "{}", case.file);
    }
}

/// `--timestamps` stands before the title, on every line.
#[test]
fn a_time_stamp_goes_before_each_line() {
    let real = capture("tcp.client");
    let case = CASES.iter().find(|case| case.file == "tcp.client").expect("it is a case");
    let mut writer = Iperf3Text::new(Iperf3Options { title: Some("T".into()), ..Iperf3Options::default() });
    writer.set_timestamp("12:30 ");
    let ours: String = events(case, &real).iter().map(|event| writer.event(event)).collect();
    let expected: String = real.lines().map(|line| format!("12:30 T:  {line}\n")).collect();
    assert_eq!(ours, expected);
}

fn capture(file: &str) -> String {
    let path = format!("{}/../report/tests/fixtures/iperf3/{file}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {path}: {error}"))
}

fn printed(case: &Case, text: &str) -> String {
    let server = case.file.ends_with(".server");
    let read = events(case, text);
    let options = Iperf3Options {
        role: if server { Iperf3Role::Server } else { Iperf3Role::Client },
        title: case.title.map(str::to_owned),
        verbose: text.contains("Cookie:"),
        unit: case.unit,
        default_length: text.contains("Setting UDP block size"),
        version: "iperf 3.12".into(),
        system_info: text.lines().nth(1).unwrap_or_default().to_owned(),
        ..Iperf3Options::default()
    };
    let banner = match text.contains("Server listening") {
        true => server_banner(&options, 5304, 1),
        false => String::new(),
    };
    let mut writer = Iperf3Text::new(options);
    let lines = read.iter().map(|event: &Event| writer.event(event));
    banner + &lines.collect::<String>()
}
