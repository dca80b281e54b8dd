//! What holds of every output: printed figures are those that are imported, and neither hosts, digits, the order of keys, blank lines,
//! ends of lines, heads nor encodings change them. Figures are drawn anew from a seed in each round.

use super::near;
use model::finding::Status;
use model::summary::DirectionSummary;
use pathmeter_report::import::{Imported, Known, read, texts};
use serde_json::{Value, json};

/// Numbers by xorshift (Marsaglia 2003), the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// Spread over magnitudes.
    pub(super) fn magnitude(&mut self, least: f64, most: f64) -> f64 {
        let share = self.next() as f64 / u64::MAX as f64;
        (least.ln() + share * (most / least).ln()).exp()
    }

    pub(super) fn address(&mut self) -> String {
        format!("10.{}.{}.{}", self.within(0, 255), self.within(0, 255), self.within(1, 254))
    }
}

/// Three digits and a unit, as iPerf prints them.
fn unit(value: f64, base: f64, names: [&str; 4]) -> String {
    let mut value = value;
    let mut name = 0;
    while value >= base && name < 3 {
        value /= base;
        name += 1;
    }
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {}", names[name])
}

pub(super) fn amount(bytes: f64) -> String {
    unit(bytes, 1024.0, ["Bytes", "KBytes", "MBytes", "GBytes"])
}

pub(super) fn rate(bits: f64) -> String {
    unit(bits, 1000.0, ["bits/sec", "Kbits/sec", "Mbits/sec", "Gbits/sec"])
}

pub(super) fn only(text: &str) -> Imported {
    let mut all = read("file", text, Known::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

pub(super) fn one_way(imported: &Imported, down: bool) -> &DirectionSummary {
    let (wanted, other) = if down {
        (&imported.run.summary.down, &imported.run.summary.up)
    } else {
        (&imported.run.summary.up, &imported.run.summary.down)
    };
    assert!(other.is_none(), "it went one way");
    wanted.as_ref().expect("it went in that direction")
}

/// A test with the figures that its tool prints.
struct Test {
    server: String,
    down: bool,
    seconds: u64,
    sent: f64,
    received: f64,
    retransmits: u64,
}

impl Test {
    fn random(random: &mut Random) -> Test {
        let seconds = random.magnitude(1.0, 90_000.0) as u64;
        let bits = random.magnitude(2e4, 9e10);
        let received = bits * seconds as f64 / 8.0;
        Test {
            server: random.address(),
            down: random.within(0, 1) == 1,
            seconds,
            sent: received * 1.004,
            received,
            retransmits: random.within(0, (received / 1e6) as u64 + 1),
        }
    }

    fn iperf3(&self) -> String {
        let Test { server, seconds, .. } = self;
        let row = |bytes: f64, rest: &str| {
            let bits = bytes * 8.0 / *seconds as f64;
            format!("[  5]   0.00-{seconds}.00 sec  {}  {}  {rest}\n", amount(bytes), rate(bits))
        };
        let reverse = if self.down {
            format!("Reverse mode, remote host {server} is sending\n")
        } else {
            String::new()
        };
        format!(
            "Connecting to host {server}, port 5201\n{reverse}\
             [  5] local 192.0.2.7 port 41000 connected to {server} port 5201\n\
             [ ID] Interval           Transfer     Bitrate         Retr\n{}\
             - - - - - - - - - - - - - - - - - - - - - - - - -\n\
             [ ID] Interval           Transfer     Bitrate         Retr\n{}{}\niperf Done.\n",
            row(if self.down { self.received } else { self.sent }, ""),
            row(self.sent, &format!("{:4}             sender", self.retransmits)),
            row(self.received, "                receiver"),
        )
    }

    fn json(&self) -> Value {
        let (seconds, sends) = (self.seconds, !self.down);
        let row = |bytes: f64| {
            json!({"socket": 5, "start": 0, "end": seconds, "seconds": seconds, "bytes": bytes.round(),
                   "bits_per_second": bytes * 8.0 / seconds as f64, "sender": sends})
        };
        let mut sender = row(self.sent);
        sender["retransmits"] = json!(self.retransmits);
        json!({
            "start": {
                "connected": [{"socket": 5, "local_host": "192.0.2.7", "local_port": 41000, "remote_host": self.server, "remote_port": 5201}],
                "version": "iperf 3.12", "system_info": "Linux a", "timestamp": {"timesecs": 1_690_000_000},
                "connecting_to": {"host": self.server, "port": 5201}, "tcp_mss_default": 1448,
                "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131_072, "omit": 0, "duration": seconds, "bytes": 0, "blocks": 0,
                               "reverse": u8::from(self.down)}
            },
            "intervals": [],
            "end": {"streams": [{"sender": sender, "receiver": row(self.received)}], "sum_sent": sender, "sum_received": row(self.received)}
        })
    }

    #[track_caller]
    fn check(&self, imported: &Imported, share: f64) {
        let figures = one_way(imported, self.down);
        near(figures.sent.bytes.0 as f64, self.sent, share);
        near(figures.received.bytes.0 as f64, self.received, share);
        near(figures.goodput.0 as f64, self.received * 8.0 / self.seconds as f64, share);
        near(figures.elapsed.as_secs_f64(), self.seconds as f64, share);
        assert_eq!(figures.retransmits, Some(self.retransmits));
        assert_eq!(imported.run.throughput().expect("a plan").target.host, self.server);
        assert_ne!(imported.run.verdict.status, Status::Void, "{}", imported.run.verdict.text);
    }
}

#[test]
fn iperf3_text_and_json_over_tcp() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..300 {
        let test = Test::random(&mut random);
        test.check(&only(&test.iperf3()), 0.006);
        test.check(&only(&shuffled(&test.json(), &mut random)), 1e-4);
    }
}

/// The same document with its keys in another order.
pub(super) fn shuffled(value: &Value, random: &mut Random) -> String {
    match value {
        Value::Object(fields) => {
            let mut parts: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{}:{}", json!(key), shuffled(value, random)))
                .collect();
            for index in (1..parts.len()).rev() {
                parts.swap(index, random.within(0, index as u64) as usize);
            }
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(|value| shuffled(value, random)).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// What may stand around an output and in it.
pub(super) fn dressed(text: &str, random: &mut Random) -> String {
    let heads = [
        "",
        "> ",
        "    ",
        "Nov 25 10:00:SS host iperf3[77]: ",
        "2026-11-25T10:00:SS.000Z ",
        "app-1  | ",
        "[pod/a-b/c] ",
    ];
    let head = heads[random.within(0, heads.len() as u64 - 1) as usize];
    let end = if random.within(0, 1) == 0 { "\n" } else { "\r\n" };
    let mut dressed = String::new();
    for line in text.lines() {
        if head.is_empty() && random.within(0, 9) == 0 {
            dressed.push_str(end);
        }
        dressed += &(head.replace("SS", &format!("{:02}", random.within(0, 59))) + line + end);
    }
    dressed
}

#[test]
fn nothing_around_an_output_changes_it() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..200 {
        let test = Test::random(&mut random);
        let text = dressed(&test.iperf3(), &mut random);
        test.check(&only(&text), 0.006);
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let (_, decoded) = texts(utf16).expect("a text").remove(0);
        assert_eq!(decoded, text);
    }
}

/// Datagrams of a size, sent and lost.
#[test]
fn iperf3_and_iperf2_over_udp() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for round in 0..300 {
        let (server, size) = (random.address(), [1400, 1448, 1472, 1200][random.within(0, 3) as usize]);
        let total = random.within(100, 5_000_000);
        let lost = if round % 5 == 0 { total } else { random.within(0, total / 2) };
        let (sent, arrived) = ((total * size) as f64, ((total - lost) * size) as f64);
        let jitter = random.within(1, 900) as f64 / 1000.0;
        let row = |bytes: f64, rest: &str| {
            format!("[  5]   0.00-10.00  sec  {}  {}  {rest}\n", amount(bytes), rate(bytes * 0.8))
        };
        let losses = format!("{jitter:.3} ms  {lost}/{total} (1%)");
        let text = format!(
            "Connecting to host {server}, port 5201\n[  5] local 192.0.2.7 port 41000 connected to {server} port 5201\n\
             [ ID] Interval           Transfer     Bitrate         Total Datagrams\n{}- - - - - - - - - - -\n\
             [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n{}{}\niperf Done.\n",
            row(sent, &total.to_string()),
            row(sent, &format!("0.000 ms  0/{total} (0%)  sender")),
            row(arrived, &format!("{losses}  receiver")),
        );
        let csv = format!(
            "20230701101500,192.0.2.7,41000,{server},5001,3,0.0-10.0,{sent},{0}\n20230701101500,{server},5001,192.0.2.7,41000,3,0.0-10.0,{arrived},{1},{jitter:.3},{lost},{total},0.0,0\n",
            (sent * 0.8) as u64,
            (arrived * 0.8) as u64
        );
        for text in [text, csv] {
            let imported = only(&text);
            let figures = one_way(&imported, false);
            assert_eq!(figures.sent.datagrams, total, "{text}");
            assert_eq!(
                (figures.received.datagrams, figures.loss.expect("loss").path),
                (total - lost, lost),
                "{text}"
            );
            assert_eq!(imported.run.verdict.status == Status::Void, lost == total, "{text}");
            if lost < total {
                assert!(
                    (figures.jitter.expect("jitter").rfc3550.0 as f64 / 1e6 - jitter).abs() < 1e-9,
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn pings_of_every_form() {
    let mut random = Random(0x0dd0_5eed_0dd0_5eed);
    for _ in 0..300 {
        let (host, sent) = (random.address(), random.within(4, 60));
        let lost: Vec<bool> = (0..sent).map(|_| random.within(0, 3) == 0).collect();
        let times: Vec<f64> =
            (0..sent).map(|_| (random.magnitude(1.0, 99.0) * 100.0).round() / 100.0).collect();
        let replied: Vec<usize> = (0..sent as usize).filter(|index| !lost[*index]).collect();
        let Some(longest) = replied.iter().map(|index| times[*index]).reduce(f64::max) else { continue };
        let shortest = replied.iter().map(|index| times[*index]).fold(f64::MAX, f64::min);
        let key = ["icmp_seq", "icmp_req", "seq"][random.within(0, 2) as usize];
        let base = random.within(0, 1) as usize;
        let rows: String = replied
            .iter()
            .map(|index| {
                format!("64 bytes from {host}: {key}={} ttl=57 time={} ms\n", index + base, times[*index])
            })
            .collect();
        let received = replied.len();
        let text = format!(
            "PING {host} ({host}) 56(84) bytes of data.\n{rows}\n--- {host} ping statistics ---\n\
             {sent} packets transmitted, {received} received, 5% packet loss, time {}ms\n",
            (sent - 1) * 1000
        );
        let windows: String = (0..sent as usize)
            .map(|index| match lost[index] {
                true => "Request timed out.\n".to_owned(),
                false => format!("Reply from {host}: bytes=32 time={}ms TTL=57\n", times[index].ceil()),
            })
            .collect();
        let windows = format!(
            "\nPinging {host} with 32 bytes of data:\n{windows}\nPing statistics for {host}:\n    Packets: Sent = {sent}, Received = {received}, Lost = {} (5% loss),\n",
            sent - received as u64
        );
        for (text, step) in [(text, 0.0001), (windows, 1.0)] {
            let imported = only(&dressed_ping(&text, &mut random));
            let counted = imported.run.summary.egress_paths[0].counted;
            assert_eq!(
                (counted.sent, counted.received, counted.lost),
                (sent, received as u64, sent - received as u64),
                "{text}"
            );
            let rtt = imported.run.summary.rtt.expect("round trips");
            let off = |time: u64, printed: f64| (time as f64 / 1e6 - printed).abs();
            assert!(off(rtt.max.0, longest) <= step && off(rtt.min.0, shortest) <= step, "{text}");
            assert_eq!(imported.run.target(), host, "{text}");
        }
    }
}

/// Quoted, indented, or as it is.
fn dressed_ping(text: &str, random: &mut Random) -> String {
    let head = ["", "> ", "  "][random.within(0, 2) as usize];
    text.lines().map(|line| format!("{head}{line}\n")).collect()
}

#[test]
fn netperf_columns_in_any_order() {
    let names: [(&str, &[&str]); 6] = [
        ("MEAN_LATENCY", &["Mean", "Latency", "Microseconds"]),
        ("P50_LATENCY", &["50th", "Percentile", "Latency", "Microseconds"]),
        ("P90_LATENCY", &["90th", "Percentile", "Latency", "Microseconds"]),
        ("P99_LATENCY", &["99th", "Percentile", "Latency", "Microseconds"]),
        ("MIN_LATENCY", &["Minimum", "Latency", "Microseconds"]),
        ("MAX_LATENCY", &["Maximum", "Latency", "Microseconds"]),
    ];
    let mut random = Random(0x5eed_5eed_5eed_5eed);
    for _ in 0..200 {
        let min = random.within(5, 400);
        let steps: Vec<u64> = (0..4)
            .scan(min, |last, _| {
                *last += random.within(1, 300);
                Some(*last)
            })
            .collect();
        let value = |key: &str| match key {
            "MIN_LATENCY" => min,
            "P50_LATENCY" | "MEAN_LATENCY" => steps[0],
            "P90_LATENCY" => steps[1],
            "P99_LATENCY" => steps[2],
            _ => steps[3],
        };
        let mut sequence: Vec<usize> = (0..names.len()).collect();
        for index in (1..sequence.len()).rev() {
            sequence.swap(index, random.within(0, index as u64) as usize);
        }
        let heading = format!(
            "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to {} () port 0 AF_INET : demo : first burst 0\n",
            random.address()
        );
        let mut columns = heading.clone();
        for line in 0..4 {
            let cells = sequence
                .iter()
                .map(|index| format!("{:<13}", names[*index].1.get(line).copied().unwrap_or_default()));
            columns += &(cells.collect::<String>() + "\n");
        }
        columns +=
            &(sequence.iter().map(|index| format!("{:<13}", value(names[*index].0))).collect::<String>()
                + "\n");
        let keys: String = sequence
            .iter()
            .map(|index| format!("{}={}\n", names[*index].0, value(names[*index].0)))
            .collect();
        let title = |index: &usize| names[*index].1.join(" ");
        let csv = format!(
            "{heading}{}\n{}\n",
            sequence.iter().map(title).collect::<Vec<_>>().join(","),
            sequence.iter().map(|index| value(names[*index].0).to_string()).collect::<Vec<_>>().join(",")
        );
        for text in [columns, heading.clone() + &keys, csv] {
            let rtt = only(&text).run.summary.rtt.unwrap_or_else(|| panic!("{text}"));
            let found = [rtt.min, rtt.mean, rtt.p50, rtt.p90, rtt.p99, rtt.max].map(|time| time.0 / 1000);
            assert_eq!(found, [min, steps[0], steps[0], steps[1], steps[2], steps[3]], "{text}");
        }
    }
}

/// Whatever is done to an output, reading it ends, and ends without a panic.
#[test]
fn damaged_outputs_are_read_or_refused() {
    let folder = format!("{}/tests/import/outputs/cases", env!("CARGO_MANIFEST_DIR"));
    let mut random = Random(0xdead_beef_cafe_f00d);
    for file in std::fs::read_dir(folder).expect("a folder") {
        let bytes = std::fs::read(file.expect("a file").path()).expect("a file");
        for _ in 0..20 {
            let mut damaged = bytes.clone();
            for _ in 0..random.within(1, 12) {
                let at = random.within(0, damaged.len() as u64 - 1) as usize;
                match random.within(0, 3) {
                    0 => damaged[at] = random.next() as u8,
                    1 => damaged.truncate(at.max(1)),
                    2 => damaged[at] = b'0' + (random.next() % 10) as u8,
                    _ => {
                        let line = damaged[at..].iter().take_while(|byte| **byte != b'\n').count();
                        damaged.drain(at..at + line);
                        damaged.push(b'\n');
                    }
                }
            }
            for (_, text) in texts(damaged).unwrap_or_default() {
                let _ = read("damaged", &text, Known::default());
            }
        }
    }
}
