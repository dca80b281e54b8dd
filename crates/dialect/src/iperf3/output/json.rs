//! iPerf3's JSON: the document of `--json` and the lines of `--json-stream`, with the keys of 3.21 in its order.

use super::ends::{Block, Ends, StreamEnd, is_empty_tail, millis, rate};
use super::text::{address, http_date};
use super::{Iperf3Options, cjson, interval_asked};
use crate::units::percent;
use model::event::{Connected, Event, Outcome};
use model::plan::{Direction, Directions, End, Plan, Transport};
use model::sample::{IntervalSample, Side, StreamInfo, StreamSample, UdpCounters};
use serde_json::{Map, Value, json};

/// The document of `--json`, from the events of one test at one end. Print it with [`cjson::print`].
///
/// A server that answers `--get-server-output` puts the document of its events so far, up to and with the local
/// result, into its results. `error`, the sentence after `iperf3: `, goes in when something went wrong.
pub fn iperf3_json(events: &[Event], options: &Iperf3Options, error: Option<&str>) -> Value {
    let mut ends = Ends::new(options.clone());
    events.iter().for_each(|event| ends.take(event));
    let samples = events.iter().filter_map(|event| match event {
        Event::Sample(sample) => Some(sample),
        _ => None,
    });
    let intervals: Vec<Value> = samples.filter_map(|sample| interval(&ends, sample)).collect();
    let mut top = Map::new();
    top.insert("start".into(), start(&ends));
    top.insert("intervals".into(), intervals.into());
    top.insert("end".into(), end(&ends));
    let texts = [
        ("error", error.map(str::to_owned).or_else(|| failure(&ends))),
        ("title", options.title.clone()),
        ("extra_data", options.extra_data.clone()),
    ];
    for (name, text) in texts {
        text.and_then(|text| top.insert(name.into(), text.into()));
    }
    top.extend(server_output(&ends));
    top.into()
}

/// Writes `--json-stream`: one event of iPerf3 per line.
pub struct Iperf3JsonStream {
    ends: Ends,
}

impl Iperf3JsonStream {
    /// The writer of one test.
    pub fn new(options: Iperf3Options) -> Iperf3JsonStream {
        Iperf3JsonStream { ends: Ends::new(options) }
    }

    /// The lines this event gives: none, one or several.
    pub fn event(&mut self, event: &Event) -> String {
        self.ends.take(event);
        match event {
            Event::Started(_) => stream_line("start", start(&self.ends)),
            Event::Sample(sample) => {
                interval(&self.ends, sample).map(|data| stream_line("interval", data)).unwrap_or_default()
            }
            Event::Finished(_) => self.last_lines(failure(&self.ends).as_deref()),
            _ => String::new(),
        }
    }

    /// The lines of a test that could not even start: the error and an empty end.
    pub fn failed(&mut self, error: &str) -> String {
        self.last_lines(Some(error))
    }

    fn last_lines(&self, error: Option<&str>) -> String {
        let error = error.map(|error| stream_line("error", error.into()));
        let output = server_output(&self.ends).into_iter().map(|(name, data)| stream_line(&name, data));
        error.into_iter().chain(output).chain([stream_line("end", end(&self.ends))]).collect()
    }
}

fn stream_line(event: &str, data: Value) -> String {
    let mut line = cjson::print_line(&json!({ "event": event, "data": data }));
    line.push('\n');
    line
}

fn failure(ends: &Ends) -> Option<String> {
    match &ends.finished.as_ref()?.outcome {
        Outcome::Completed => None,
        Outcome::Interrupted if ends.is_client() => Some("interrupt - the client has terminated".into()),
        Outcome::Interrupted => Some("interrupt - the server has terminated".into()),
        Outcome::PeerStopped { reason } | Outcome::Failed { reason } => Some(reason.clone()),
    }
}

fn server_output(ends: &Ends) -> Vec<(String, Value)> {
    let json = ends.output_json.clone().map(|json| ("server_output_json".into(), json));
    let text = ends.output_text.clone().map(|text| ("server_output_text".into(), text.into()));
    json.into_iter().chain(text).collect()
}

fn start(ends: &Ends) -> Value {
    let streams: Vec<Value> = ends.streams.iter().map(connected_stream).collect();
    let mut start = Map::new();
    start.insert("connected".into(), streams.into());
    start.insert("version".into(), ends.options.version.clone().into());
    start.insert("system_info".into(), ends.options.system_info.clone().into());
    let Some(connected) = &ends.connected else { return start.into() };
    let millis = connected.wall.0 / 1_000_000;
    let date = http_date(connected.wall);
    start.insert(
        "timestamp".into(),
        json!({ "time": date, "timesecs": millis / 1000, "timemillisecs": millis }),
    );
    let (name, (host, port)) = match ends.is_client() {
        true => {
            let target = &connected.plan.target;
            ("connecting_to", (target.host.clone(), target.address.port()))
        }
        false => ("accepted_connection", address(connected.remote)),
    };
    start.insert(name.into(), json!({ "host": host, "port": port }));
    start.insert("cookie".into(), connected.session.clone().into());
    start.extend(settings(ends, connected));
    if !ends.streams.is_empty() {
        start.insert("test_start".into(), test_start(ends, &connected.plan));
    }
    start.into()
}

fn connected_stream(stream: &StreamInfo) -> Value {
    let ((local, local_port), (remote, remote_port)) = (address(stream.local), address(stream.remote));
    json!({
        "socket": stream.socket,
        "local_host": local, "local_port": local_port,
        "remote_host": remote, "remote_port": remote_port,
    })
}

fn settings(ends: &Ends, connected: &Connected) -> Map<String, Value> {
    let test = &connected.plan.test;
    let mut settings = Map::new();
    if test.transport == Transport::Tcp {
        let (name, mss) = match test.mss {
            Some(mss) => ("tcp_mss", mss),
            None => ("tcp_mss_default", connected.control_mss.unwrap_or(0)),
        };
        settings.insert(name.into(), mss.into());
    }
    settings.insert("target_bitrate".into(), test.bitrate.unwrap_or_default().0.into());
    settings.insert("fq_rate".into(), test.fq_rate.unwrap_or_default().0.into());
    if let Some(first) = ends.streams.first() {
        settings.insert("sock_bufsize".into(), test.window.unwrap_or(0).into());
        settings.insert("sndbuf_actual".into(), first.send_buffer.0.into());
        settings.insert("rcvbuf_actual".into(), first.receive_buffer.0.into());
    }
    settings
}

fn test_start(ends: &Ends, plan: &Plan) -> Value {
    let test = &plan.test;
    let (duration, bytes, blocks) = match test.end {
        End::Time(time) => (time.0 / SECOND, 0, 0),
        End::Bytes(bytes) => (0, bytes.0, 0),
        End::Blocks(blocks) => (0, 0, blocks),
    };
    let gso = u8::from(test.transport == Transport::Udp && test.offload);
    json!({
        "protocol": test.transport.to_string(),
        "num_streams": test.streams,
        "blksize": ends.block_size(),
        "omit": test.omit.0 / SECOND,
        "duration": duration,
        "bytes": bytes,
        "blocks": blocks,
        "reverse": u8::from(test.directions == Directions::Down),
        "tos": test.tos,
        "target_bitrate": test.bitrate.unwrap_or_default().0,
        "bidir": u8::from(test.directions == Directions::Both),
        "fqrate": test.fq_rate.unwrap_or_default().0,
        "interval": interval_asked(plan.local.interval),
        "gso": gso,
        "gro": gso,
    })
}

/// One element of `intervals`; none for the other end's figures and for an empty tail.
fn interval(ends: &Ends, sample: &IntervalSample) -> Option<Value> {
    let interval = ends.connected.as_ref()?.plan.local.interval;
    if sample.side != Side::Local || is_empty_tail(sample, interval) {
        return None;
    }
    let mut streams = Vec::new();
    let mut sums = Map::new();
    for direction in ends.directions() {
        let sender = ends.sends_in(direction);
        let rows: Vec<&StreamSample> =
            sample.streams.iter().filter(|row| row.direction == direction).collect();
        streams.extend(rows.iter().map(|row| interval_stream(ends, sample, row, sender)));
        sums.insert(sum_name(ends, "sum", direction), interval_sum(ends, sample, &rows, sender));
    }
    let mut value = Map::new();
    value.insert("streams".into(), streams.into());
    value.extend(sums);
    Some(value.into())
}

fn interval_stream(ends: &Ends, sample: &IntervalSample, row: &StreamSample, sender: bool) -> Value {
    let socket = ends.streams.iter().find(|info| info.stream == row.stream).map_or(-1, |info| info.socket);
    let mut value = Map::new();
    value.insert("socket".into(), socket.into());
    value.extend(span(sample, row.bytes.0));
    match (ends.is_udp(), sender) {
        (false, true) => {
            let tcp = row.tcp.clone().unwrap_or_default();
            value.extend(members(json!({
                "retransmits": tcp.retransmits,
                "snd_cwnd": tcp.cwnd.0,
                "snd_wnd": tcp.send_window.0,
                "rtt": tcp.rtt.0 / 1000,
                "rttvar": tcp.rttvar.0 / 1000,
                "pmtu": tcp.path_mtu,
                "reorder": tcp.reordering,
            })));
        }
        (false, false) => {}
        (true, _) => value.extend(udp_interval(&[row], sender)),
    }
    value.extend(members(json!({ "omitted": sample.omitted, "sender": sender })));
    value.into()
}

fn interval_sum(ends: &Ends, sample: &IntervalSample, rows: &[&StreamSample], sender: bool) -> Value {
    let mut value = span(sample, rows.iter().map(|row| row.bytes.0).sum());
    match (ends.is_udp(), sender) {
        (false, true) => {
            let retransmits: u64 =
                rows.iter().filter_map(|row| row.tcp.as_ref()).map(|tcp| tcp.retransmits).sum();
            value.insert("retransmits".into(), retransmits.into());
        }
        (false, false) => {}
        (true, _) => value.extend(udp_interval(rows, sender)),
    }
    value.extend(members(json!({ "omitted": sample.omitted, "sender": sender })));
    value.into()
}

fn udp_interval(rows: &[&StreamSample], sender: bool) -> Map<String, Value> {
    let udp = || rows.iter().filter_map(|row| row.udp.as_ref());
    let sum = |field: fn(&UdpCounters) -> u64| udp().map(field).sum::<u64>();
    if sender {
        return members(json!({ "packets": sum(|udp| udp.datagrams) }));
    }
    let jitter: f64 = udp().map(|udp| millis(udp.jitter)).sum();
    let (lost, packets) = (sum(|udp| udp.lost), sum(|udp| udp.datagrams + udp.lost));
    members(json!({
        "jitter_ms": jitter / rows.len().max(1) as f64,
        "lost_packets": lost,
        "packets": packets,
        "lost_percent": percent(lost, packets),
    }))
}

fn span(sample: &IntervalSample, bytes: u64) -> Map<String, Value> {
    let (start, end) = (sample.start.as_secs_f64(), sample.end.as_secs_f64());
    let seconds = sample.end.saturating_sub(sample.start).as_secs_f64();
    let mut value = Map::new();
    value.insert("start".into(), start.into());
    value.extend(amount(end, seconds, bytes, rate(bytes, seconds)));
    value
}

/// `end`, `seconds`, `bytes` and `bits_per_second`.
fn amount(end: f64, seconds: f64, bytes: u64, bytes_per_second: f64) -> Map<String, Value> {
    members(json!({
        "end": end,
        "seconds": seconds,
        "bytes": bytes,
        "bits_per_second": bytes_per_second * 8.0,
    }))
}

fn sum_name(ends: &Ends, name: &str, direction: Direction) -> String {
    match ends.is_bidirectional() && direction == Direction::Down {
        true => format!("{name}_bidir_reverse"),
        false => name.into(),
    }
}

fn end(ends: &Ends) -> Value {
    if ends.local.is_none() {
        return json!({});
    }
    let blocks: Vec<Block> = ends.directions().map(|direction| ends.block(direction)).collect();
    let streams: Vec<Value> = blocks
        .iter()
        .flat_map(|block| block.rows.iter().map(move |row| end_stream(ends, block, row)))
        .collect();
    let mut end = Map::new();
    end.insert("streams".into(), streams.into());
    for block in &blocks {
        end.extend(end_sums(ends, block));
    }
    let [local, remote] = ends.cpu();
    end.insert(
        "cpu_utilization_percent".into(),
        json!({
            "host_total": local[0], "host_user": local[1], "host_system": local[2],
            "remote_total": remote[0], "remote_user": remote[1], "remote_system": remote[2],
        }),
    );
    if !ends.is_udp() {
        let (sender, receiver) = ends.congestion(blocks.last().is_some_and(|block| block.sending));
        for (name, congestion) in [("sender_tcp_congestion", sender), ("receiver_tcp_congestion", receiver)] {
            congestion.and_then(|congestion| end.insert(name.into(), congestion.into()));
        }
    }
    end.into()
}

fn end_stream(ends: &Ends, block: &Block, row: &StreamEnd) -> Value {
    let times = ends.times();
    let front = |end: f64, seconds: f64, bytes: u64| {
        let mut value = members(json!({ "socket": row.socket, "start": 0 }));
        value.extend(amount(end, seconds, bytes, rate(bytes, end)));
        value
    };
    let mut sender = front(times.sender, times.sender, row.sent);
    if ends.is_udp() {
        sender.extend(members(json!({
            "jitter_ms": row.jitter_ms,
            "lost_packets": row.lost,
            "packets": row.packets(),
            "lost_percent": percent(row.lost, row.sent_packets),
            "out_of_order": row.out_of_order,
            "sender": block.sending,
        })));
        return json!({ "udp": sender });
    }
    if block.has_retransmits {
        let tcp = &row.tcp;
        sender.extend(members(json!({
            "retransmits": row.retransmits,
            "reorder": tcp.reordering,
            "max_snd_cwnd": tcp.max_cwnd.0,
            "max_snd_wnd": tcp.max_send_window.0,
            "max_rtt": tcp.max_rtt.0 / 1000,
            "min_rtt": tcp.min_rtt.0 / 1000,
            "mean_rtt": tcp.mean_rtt.0 / 1000,
        })));
    }
    sender.insert("sender".into(), block.sending.into());
    // The receiver's seconds are this end's, whichever end received: iPerf3 prints them so.
    let mut receiver = front(times.receiver, times.local, row.received);
    receiver.insert("sender".into(), block.sending.into());
    let mut both = members(json!({ "sender": sender, "receiver": receiver }));
    if let Some(file) = &ends.options.file {
        let share = |bytes| file.share(block.sending, row, bytes);
        let ((size, sent), (_, received)) = (share(row.sent), share(row.received));
        let reported = json!({
            "sent": row.sent, "received": row.received, "size": size,
            "percent_sent": sent, "percent_received": received, "filename": file.name,
        });
        both.insert("diskfile".into(), reported);
    }
    both.into()
}

fn end_sums(ends: &Ends, block: &Block) -> Map<String, Value> {
    let times = ends.times();
    let total = block.total();
    let StreamEnd { sent, received, .. } = total;
    let front = |seconds: f64, bytes: u64, speed: f64| {
        let mut value = members(json!({ "start": 0 }));
        value.extend(amount(seconds, seconds, bytes, speed));
        value
    };
    let mut sum_sent = front(times.sender, sent, rate(sent, times.sender));
    let mut sum_received = front(times.receiver, received, rate(received, times.receiver));
    let mut sums = Map::new();
    if ends.is_udp() {
        let mut sum = front(times.receiver, sent, rate(sent, times.sender));
        sum.extend(udp_sum(block, &total, block.packets(), block.sending));
        sum_sent.extend(members(json!({
            "jitter_ms": 0, "lost_packets": 0, "packets": total.sent_packets,
            "lost_percent": 0, "sender": true,
        })));
        sum_received.extend(udp_sum(block, &total, total.received_packets, false));
        sums.insert(block_name(block, "sum"), sum.into());
    } else {
        if block.has_retransmits {
            sum_sent.insert("retransmits".into(), total.retransmits.into());
        }
        sum_sent.insert("sender".into(), block.sending.into());
        sum_received.insert("sender".into(), block.sending.into());
    }
    sums.insert(block_name(block, "sum_sent"), sum_sent.into());
    sums.insert(block_name(block, "sum_received"), sum_received.into());
    sums
}

fn udp_sum(block: &Block, total: &StreamEnd, packets: u64, sender: bool) -> Map<String, Value> {
    members(json!({
        "jitter_ms": total.jitter_ms,
        "lost_packets": total.lost,
        "packets": packets,
        "lost_percent": percent(total.lost, block.packets()),
        "sender": sender,
    }))
}

fn block_name(block: &Block, name: &str) -> String {
    if block.reverse_names { format!("{name}_bidir_reverse") } else { name.into() }
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

const SECOND: u64 = 1_000_000_000;
