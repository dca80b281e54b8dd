//! iPerf3's JSON against what the real `iperf3` 3.21+ wrote: each captured document is read into events, and these
//! must give the same keys in the same order with the same values. Times may differ by a millisecond, because
//! iPerf3 takes them per stream and we once per interval.

use model::event::{Connected, EndResult, Event, Finished, Outcome, Started};
use model::host::Host;
use model::plan::{
    Direction, Directions, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport,
};
use model::sample::{
    CpuUse, DataPath, IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, StreamSample,
    TcpCounters, UdpCounters,
};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_dialect::iperf3::output::{Iperf3JsonStream, Iperf3Options, Iperf3Role, cjson, iperf3_json};
use serde_json::Value;
use std::net::SocketAddr;

const CAPTURES: &[&str] = &[
    "tcp.client",
    "tcp.server",
    "tcp_r.client",
    "tcp_r.server",
    "tcp_bidir_p2.client",
    "tcp_bidir_p2.server",
    "tcp_gso.client",
    "tcp_gso.server",
    "udp.client",
    "udp.server",
    "udp_r.client",
    "udp_r.server",
    "udp_bidir.client",
    "udp_bidir.server",
    "udp_gsro.client",
    "udp_gsro.server",
];

#[test]
fn every_capture_has_the_same_keys_and_values() {
    for name in CAPTURES {
        let real = parse(&capture(&format!("{name}.json")));
        let read = Reader { doc: &real, server: name.ends_with(".server") };
        let ours = iperf3_json(&read.events(), &read.options(), None);
        same(&real, &ours, name);
    }
}

#[test]
fn the_layout_is_the_librarys() {
    for name in CAPTURES {
        let text = capture(&format!("{name}.json"));
        assert_eq!(format!("{}\n", cjson::print(&parse(&text))), without_double_key(&text), "{name}");
    }
}

/// A server names its target bitrate twice in `start`, which is no proper JSON; we do not.
fn without_double_key(text: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut kept = String::new();
    for line in text.lines() {
        if line.contains("\"connected\":") {
            names.clear();
        }
        let name = line.split(':').next().unwrap_or_default();
        if name.ends_with("\"target_bitrate\"") && names.contains(&name) {
            continue;
        }
        names.push(name);
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

#[test]
fn the_stream_of_lines_has_the_same_events() {
    let lines: Vec<Value> = capture("stream.client.jsonl").lines().map(parse).collect();
    let data = |event: &str| {
        let mut of_event =
            lines.iter().filter(|line| line["event"] == event).map(|line| line["data"].clone());
        of_event.next().unwrap_or_else(|| panic!("the capture has {event}"))
    };
    let doc = serde_json::json!({
        "start": data("start"), "intervals": [data("interval")], "end": data("end"),
        "server_output_text": data("server_output_text"),
    });
    let read = Reader { doc: &doc, server: false };
    let mut writer = Iperf3JsonStream::new(read.options());
    let ours: String = read.events().iter().map(|event| writer.event(event)).collect();
    let ours: Vec<Value> = ours.lines().map(parse).collect();
    same(&Value::from(lines), &Value::from(ours), "stream");
}

#[test]
fn a_failure_is_in_the_document_and_in_the_stream() {
    let error = "unable to connect to server";
    let document = iperf3_json(&[], &Iperf3Options::default(), Some(error));
    assert_eq!(document["error"], error);
    assert_eq!(document["end"], serde_json::json!({}));
    let lines = Iperf3JsonStream::new(Iperf3Options::default()).failed(error);
    assert_eq!(
        lines,
        format!("{{\"event\":\"error\",\"data\":\"{error}\"}}\n{{\"event\":\"end\",\"data\":{{}}}}\n")
    );
}

fn capture(file: &str) -> String {
    let path = format!("{}/../report/tests/fixtures/iperf3_json/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {path}: {error}"))
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("a capture is JSON")
}

/// Equal trees: the same keys in the same order, the same values.
fn same(real: &Value, ours: &Value, path: &str) {
    match (real, ours) {
        (Value::Object(real), Value::Object(ours)) => {
            let keys = |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
            let (mut of_real, mut of_ours) = (keys(real), keys(ours));
            if path.ends_with(".server.start") {
                // Where a server puts its settings depends on the transport; readers do not depend on their place.
                of_real.sort();
                of_ours.sort();
            }
            assert_eq!(of_real, of_ours, "keys of {path}");
            real.iter().for_each(|(key, value)| same(value, &ours[key], &format!("{path}.{key}")));
        }
        (Value::Array(real), Value::Array(ours)) => {
            assert_eq!(real.len(), ours.len(), "length of {path}");
            let pairs = real.iter().zip(ours).enumerate();
            pairs.for_each(|(at, (real, ours))| same(real, ours, &format!("{path}[{at}]")));
        }
        (Value::Number(real), Value::Number(ours)) => {
            let (real, ours) = (real.as_f64(), ours.as_f64());
            let (real, ours) = (real.expect("a number is a float"), ours.expect("a number is a float"));
            let timed = ["start", "end", "seconds", "bits_per_second"].iter().any(|key| path.ends_with(key));
            // Jitter is kept in whole nanoseconds.
            let allowed = if timed { 1e-3 * real.abs().max(1.0) } else { 1e-6 * real.abs().max(1.0) };
            assert!((real - ours).abs() <= allowed, "{path}: {real} is not {ours}");
        }
        _ => assert_eq!(real, ours, "{path}"),
    }
}

/// A document as the events that made it.
struct Reader<'a> {
    doc: &'a Value,
    server: bool,
}

impl Reader<'_> {
    fn options(&self) -> Iperf3Options {
        let text = |key: &str| self.doc[key].as_str().map(str::to_owned);
        Iperf3Options {
            role: if self.server { Iperf3Role::Server } else { Iperf3Role::Client },
            title: text("title"),
            extra_data: text("extra_data"),
            version: self.doc["start"]["version"].as_str().expect("a version").into(),
            system_info: self.doc["start"]["system_info"].as_str().expect("a system").into(),
            ..Iperf3Options::default()
        }
    }

    fn events(&self) -> Vec<Event> {
        let plan = self.plan();
        let streams = self.streams(&plan.test);
        let mut events = vec![Event::Connected(self.connected(plan.clone()))];
        events.push(Event::Started(Started { wall: WallTime(0), streams: streams.clone() }));
        let intervals = self.doc["intervals"].as_array().expect("intervals");
        events.extend(intervals.iter().map(|interval| Event::Sample(sample(interval, &streams))));
        for side in [Side::Local, Side::Peer] {
            events.extend(self.result(side, &streams, &plan.test).map(Event::Result));
        }
        events.push(Event::Finished(Finished {
            wall: WallTime(0),
            elapsed: Nanos::ZERO,
            outcome: Outcome::Completed,
        }));
        events
    }

    fn plan(&self) -> Plan {
        let start = &self.doc["start"];
        let test_start = &start["test_start"];
        let count = |key: &str| test_start[key].as_u64().expect("a count");
        let transport = if test_start["protocol"] == "UDP" { Transport::Udp } else { Transport::Tcp };
        let mut test = TestSpec::new(transport);
        test.directions = match (count("reverse"), count("bidir")) {
            (0, 0) => Directions::Up,
            (1, _) => Directions::Down,
            _ => Directions::Both,
        };
        test.streams = small(count("num_streams"));
        test.length = Some(small(count("blksize")));
        test.omit = Nanos::from_secs(count("omit"));
        test.end = End::Time(Nanos::from_secs(count("duration")));
        test.bitrate = Some(BitRate(count("target_bitrate")));
        test.offload = count("gso") == 1;
        test.mss = start["tcp_mss"].as_u64().map(small);
        let interval = Nanos::from_secs(count("interval"));
        Plan {
            target: Target { host: self.host(), address: self.remote() },
            protocol: ProtocolName::Iperf3,
            test,
            local: LocalOptions { interval, ..LocalOptions::default() },
        }
    }

    fn other_end(&self) -> &Value {
        &self.doc["start"][if self.server { "accepted_connection" } else { "connecting_to" }]
    }

    fn host(&self) -> String {
        self.other_end()["host"].as_str().expect("a host").into()
    }

    fn remote(&self) -> SocketAddr {
        address(&self.other_end()["host"], &self.other_end()["port"])
    }

    fn connected(&self, plan: Plan) -> Connected {
        let start = &self.doc["start"];
        Connected {
            wall: WallTime(start["timestamp"]["timemillisecs"].as_u64().expect("a time") * 1_000_000),
            plan,
            local: self.remote(),
            remote: self.remote(),
            session: start["cookie"].as_str().expect("a cookie").into(),
            control_mss: start["tcp_mss_default"].as_u64().map(small),
            host: Host::default(),
            peer: None,
        }
    }

    fn streams(&self, test: &TestSpec) -> Vec<StreamInfo> {
        let start = &self.doc["start"];
        let connected = start["connected"].as_array().expect("streams");
        let info = |(number, stream): (usize, &Value)| {
            let number = small(number as u64);
            let direction = test.direction_of(number);
            StreamInfo {
                stream: number,
                direction,
                role: self.role(direction),
                local: address(&stream["local_host"], &stream["local_port"]),
                remote: address(&stream["remote_host"], &stream["remote_port"]),
                socket: socket(stream),
                mss: None,
                path_mtu: None,
                send_buffer: Bytes(start["sndbuf_actual"].as_u64().expect("a size")),
                receive_buffer: Bytes(start["rcvbuf_actual"].as_u64().expect("a size")),
                congestion: None,
            }
        };
        connected.iter().enumerate().map(info).collect()
    }

    fn role(&self, direction: Direction) -> Role {
        if (direction == Direction::Up) == self.server { Role::Receiver } else { Role::Sender }
    }

    /// A server does not have the client's result yet when it writes its own.
    fn result(&self, side: Side, streams: &[StreamInfo], test: &TestSpec) -> Option<EndResult> {
        let local = side == Side::Local;
        if self.server && !local {
            return None;
        }
        let rows = self.doc["end"]["streams"].as_array().expect("streams of the end");
        let stream_result = |info: &StreamInfo| {
            let row = rows.iter().find(|row| row_socket(row) == info.socket).expect("a row of the stream");
            let sends = (info.role == Role::Sender) == local;
            self.stream_result(info, row, if sends { Role::Sender } else { Role::Receiver }, test)
        };
        let cpu = &self.doc["end"]["cpu_utilization_percent"];
        let share = |name: &str| {
            let prefix = if local { "host" } else { "remote" };
            cpu[format!("{prefix}_{name}")].as_f64().expect("a share") / 100.0
        };
        let last = streams.last().expect("a stream");
        let end = if (last.role == Role::Sender) == local { "sender" } else { "receiver" };
        let congestion = self.doc["end"][format!("{end}_tcp_congestion")].as_str().map(str::to_owned);
        Some(EndResult {
            side,
            result: SideResult {
                streams: streams.iter().map(stream_result).collect(),
                cpu: CpuUse {
                    process: share("total"),
                    user: share("user"),
                    system: share("system"),
                    ..CpuUse::default()
                },
                datapath: DataPath { congestion, ..DataPath::default() },
                ..SideResult::default()
            },
            output_text: self.doc["server_output_text"].as_str().filter(|_| !local).map(str::to_owned),
            output_json: self.doc.get("server_output_json").filter(|_| !local).cloned(),
        })
    }

    fn stream_result(&self, info: &StreamInfo, row: &Value, role: Role, test: &TestSpec) -> StreamResult {
        let end = if role == Role::Sender { "sender" } else { "receiver" };
        let sum = if role == Role::Sender { "sum_sent" } else { "sum_received" };
        let (bytes, seconds, tcp, udp) = match row.get("udp") {
            Some(row) => {
                let udp = udp(row, role);
                let bytes = udp.datagrams * u64::from(test.length.expect("a length"));
                (bytes, &self.doc["end"][sum]["end"], None, Some(udp))
            }
            None => {
                // The gauges of a receiving socket stand among the sender's figures.
                let tcp = tcp_end(&row["sender"]);
                let row = &row[end];
                (row["bytes"].as_u64().expect("bytes"), &row["end"], Some(tcp), None)
            }
        };
        StreamResult {
            stream: info.stream,
            direction: info.direction,
            role,
            elapsed: nanos(seconds),
            bytes: Bytes(bytes),
            total_bytes: Bytes(bytes),
            tcp,
            udp,
        }
    }
}

fn sample(interval: &Value, streams: &[StreamInfo]) -> IntervalSample {
    let rows = interval["streams"].as_array().expect("streams of an interval");
    let stream_sample = |row: &Value| {
        let info = streams.iter().find(|info| info.socket == socket(row)).expect("a stream of the start");
        let udp = row.get("packets").map(|_| udp(row, info.role));
        StreamSample {
            stream: info.stream,
            direction: info.direction,
            role: info.role,
            bytes: Bytes(row["bytes"].as_u64().expect("bytes")),
            tcp: udp.is_none().then(|| tcp_interval(row)),
            udp,
        }
    };
    let (start, end) = (nanos(&rows[0]["start"]), nanos(&rows[0]["end"]));
    IntervalSample {
        side: Side::Local,
        start,
        end,
        omitted: rows[0]["omitted"] == true,
        streams: rows.iter().map(stream_sample).collect(),
    }
}

fn tcp_interval(row: &Value) -> TcpCounters {
    let count = |key: &str| row[key].as_u64().unwrap_or(0);
    TcpCounters {
        retransmits: count("retransmits"),
        cwnd: Bytes(count("snd_cwnd")),
        send_window: Bytes(count("snd_wnd")),
        rtt: Nanos::from_micros(count("rtt")),
        rttvar: Nanos::from_micros(count("rttvar")),
        path_mtu: small(count("pmtu")),
        reordering: small(count("reorder")),
        ..TcpCounters::default()
    }
}

fn tcp_end(row: &Value) -> TcpCounters {
    let count = |key: &str| row[key].as_u64().unwrap_or(0);
    TcpCounters {
        retransmits: count("retransmits"),
        reordering: small(count("reorder")),
        max_cwnd: Bytes(count("max_snd_cwnd")),
        max_send_window: Bytes(count("max_snd_wnd")),
        max_rtt: Nanos::from_micros(count("max_rtt")),
        min_rtt: Nanos::from_micros(count("min_rtt")),
        mean_rtt: Nanos::from_micros(count("mean_rtt")),
        ..TcpCounters::default()
    }
}

/// iPerf3 counts lost datagrams among the packets of a receiver.
fn udp(row: &Value, role: Role) -> UdpCounters {
    let count = |key: &str| row[key].as_u64().unwrap_or(0);
    let jitter = Nanos((row["jitter_ms"].as_f64().unwrap_or(0.0) * 1e6).round() as u64);
    match role {
        Role::Sender => UdpCounters { datagrams: count("packets"), ..UdpCounters::default() },
        Role::Receiver => UdpCounters {
            datagrams: count("packets") - count("lost_packets"),
            lost: count("lost_packets"),
            reordered: count("out_of_order"),
            jitter,
            ..UdpCounters::default()
        },
    }
}

fn row_socket(row: &Value) -> i32 {
    socket(row.get("udp").or_else(|| row.get("sender")).expect("a row has figures"))
}

fn socket(value: &Value) -> i32 {
    value["socket"].as_i64().and_then(|socket| socket.try_into().ok()).expect("a socket")
}

fn nanos(value: &Value) -> Nanos {
    Nanos((value.as_f64().expect("seconds") * 1e9).round() as u64)
}

fn address(host: &Value, port: &Value) -> SocketAddr {
    format!("{}:{port}", host.as_str().expect("a host")).parse().expect("an IPv4 address and a port")
}

fn small(count: u64) -> u32 {
    count.try_into().expect("a small number")
}
