//! The results: the figures of one end, as the JSON both ends send after the test.

use crate::iperf3::PROTOCOL;
use crate::iperf3::number;
use crate::iperf3::params::{MAX_STREAMS, block_length};
use crate::{ProtocolError, Report};
use model::plan::{Direction, TestSpec, Transport};
use model::sample::{CpuUse, DataPath, Role, SideResult, StreamResult, TcpCounters, UdpCounters};
use model::units::{Bytes, Nanos};
use serde_json::{Map, Value, json};

/// The results of one end, as sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// CPU of the process: total, user, system, in percent of one CPU.
    pub cpu: [f64; 3],
    /// Whether the retransmissions of this end's senders are known: 1 or 0, -1 when it only receives.
    pub sender_has_retransmits: i64,
    /// Congestion control of its TCP streams.
    pub congestion_used: Option<String>,
    /// The server's own report, where the client asked for it.
    pub report: Option<Report>,
    /// One row for every stream.
    pub streams: Vec<StreamRow>,
}

/// The figures of one stream, as sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamRow {
    /// See [`stream_id`].
    pub id: i64,
    /// Payload bytes sent or received in the counted time.
    pub bytes: u64,
    /// Retransmitted TCP segments; -1: unknown.
    pub retransmits: i64,
    /// Jitter, seconds.
    pub jitter: f64,
    /// Datagrams lost, omitted time included; -1: unknown.
    pub errors: i64,
    /// Datagrams lost in the omitted time; absent before 3.14.
    pub omitted_errors: Option<i64>,
    /// Highest datagram number sent or received.
    pub packets: i64,
    /// The same at the end of the omitted time; absent before 3.14.
    pub omitted_packets: Option<i64>,
    /// Length of the counted time, seconds; absent before 3.2.
    pub seconds: Option<f64>,
}

/// The number of a stream on the wire: 1, 3, 4, 5, … for stream 0, 1, 2, 3, …
#[must_use]
pub fn stream_id(stream: u32) -> i64 {
    i64::from(stream) + if stream == 0 { 1 } else { 2 }
}

impl Results {
    /// The results of this end, as sent.
    #[must_use]
    pub fn of_side(side: &SideResult, report: Option<Report>) -> Results {
        let tcp_sender = side.streams.iter().any(|s| s.role == Role::Sender && s.tcp.is_some());
        let sends = side.streams.iter().any(|s| s.role == Role::Sender);
        Results {
            cpu: [side.cpu.process, side.cpu.user, side.cpu.system].map(|share| share * 100.0),
            sender_has_retransmits: if sends { i64::from(tcp_sender) } else { -1 },
            congestion_used: side.datapath.congestion.clone(),
            report,
            streams: side.streams.iter().map(StreamRow::of_stream).collect(),
        }
    }

    /// The peer's results. The peer sends the streams of direction `sends`.
    ///
    /// The message carries less than [`SideResult`] holds: of TCP the retransmissions of a sender; of UDP neither reordering
    /// nor duplicates; of all bytes those of the counted time. The other fields are zero or absent.
    pub fn to_side(&self, test: &TestSpec, sends: Direction) -> Result<SideResult, ProtocolError> {
        let mut streams: Vec<StreamResult> = Vec::new();
        for row in &self.streams {
            let stream = row.stream(test)?;
            if streams.iter().any(|known| known.stream == stream) {
                return Err(bad(format!("stream {} is in it twice", row.id)));
            }
            streams.push(row.to_stream(stream, test, sends));
        }
        streams.sort_by_key(|row| row.stream);
        let [process, user, system] = self.cpu.map(|percent| percent / 100.0);
        Ok(SideResult {
            streams,
            cpu: CpuUse { process, user, system, ..CpuUse::default() },
            datapath: DataPath { congestion: self.congestion_used.clone(), ..DataPath::default() },
            ..SideResult::default()
        })
    }

    /// Encodes the results as JSON.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut json = Map::new();
        json.insert("cpu_util_total".into(), finite(self.cpu[0]));
        json.insert("cpu_util_user".into(), finite(self.cpu[1]));
        json.insert("cpu_util_system".into(), finite(self.cpu[2]));
        json.insert("sender_has_retransmits".into(), json!(self.sender_has_retransmits));
        if let Some(name) = &self.congestion_used {
            json.insert("congestion_used".into(), json!(name));
        }
        match &self.report {
            Some(Report::Json(value)) => drop(json.insert("server_output_json".into(), value.clone())),
            Some(Report::Text(text)) => drop(json.insert("server_output_text".into(), json!(text))),
            None => {}
        }
        json.insert("streams".into(), self.streams.iter().map(StreamRow::encode).collect());
        Value::Object(json).to_string().into_bytes()
    }

    /// Reads the JSON of a peer.
    pub fn decode(bytes: &[u8]) -> Result<Results, ProtocolError> {
        let mut json = match serde_json::from_slice(bytes) {
            Ok(Value::Object(json)) => json,
            Ok(_) => return Err(bad("they are no JSON object".into())),
            Err(error) => return Err(bad(error.to_string())),
        };
        let rows = json.get("streams").and_then(Value::as_array).ok_or_else(|| missing("streams"))?;
        if rows.len() > 2 * MAX_STREAMS as usize {
            return Err(bad(format!("{} streams", rows.len())));
        }
        Ok(Results {
            streams: rows.iter().map(StreamRow::decode).collect::<Result<_, _>>()?,
            cpu: [
                float(&json, "cpu_util_total")?,
                float(&json, "cpu_util_user")?,
                float(&json, "cpu_util_system")?,
            ],
            sender_has_retransmits: required(&json, "sender_has_retransmits")?,
            congestion_used: json.get("congestion_used").and_then(Value::as_str).map(str::to_owned),
            report: take_report(&mut json),
        })
    }
}

impl StreamRow {
    /// A receiver's datagrams before the counted time are its highest number less those that it has received or missed since. Its
    /// losses are of the counted time, so none is omitted.
    fn of_stream(stream: &StreamResult) -> StreamRow {
        let udp = stream.udp.clone().unwrap_or_default();
        let lost = if stream.role == Role::Receiver { udp.lost } else { 0 };
        let omitted = udp.last_sequence.saturating_sub(udp.datagrams.saturating_add(lost));
        let retransmits = stream.tcp.as_ref().filter(|_| stream.role == Role::Sender);
        StreamRow {
            id: stream_id(stream.stream),
            bytes: stream.bytes.0,
            retransmits: retransmits.map_or(-1, |tcp| clamp(tcp.retransmits)),
            jitter: udp.jitter.as_secs_f64(),
            errors: clamp(lost),
            omitted_errors: Some(0),
            packets: clamp(udp.last_sequence),
            omitted_packets: Some(clamp(omitted)),
            seconds: Some(stream.elapsed.as_secs_f64()),
        }
    }

    fn to_stream(self, stream: u32, test: &TestSpec, sends: Direction) -> StreamResult {
        let direction = test.direction_of(stream);
        let role = if direction == sends { Role::Sender } else { Role::Receiver };
        let retransmits = u64::try_from(self.retransmits).ok().filter(|_| role == Role::Sender);
        let tcp = retransmits.filter(|_| test.transport == Transport::Tcp);
        StreamResult {
            stream,
            direction,
            role,
            elapsed: span(self.seconds.unwrap_or(0.0)),
            bytes: Bytes(self.bytes),
            total_bytes: Bytes(self.bytes),
            tcp: tcp.map(|retransmits| TcpCounters { retransmits, ..TcpCounters::default() }),
            udp: (test.transport == Transport::Udp).then(|| self.to_udp(test, role)),
        }
    }

    /// Versions before 3.14 do not report how many datagrams were omitted: there the number of counted ones follows from the
    /// bytes, which are of the counted time. The number of omitted losses is unknown; none is subtracted.
    fn to_udp(self, test: &TestSpec, role: Role) -> UdpCounters {
        let positive = |value: i64| u64::try_from(value).unwrap_or(0);
        let packets = positive(self.packets);
        let missed = positive(self.errors.saturating_sub(self.omitted_errors.unwrap_or(0).max(0)));
        let missed = if role == Role::Receiver { missed } else { 0 };
        let omitted = match self.omitted_packets {
            Some(omitted) => positive(omitted),
            None if test.omit == Nanos::ZERO => 0,
            None => {
                let counted = self.bytes.div_ceil(u64::from(block_length(test)));
                packets.saturating_sub(counted.saturating_add(missed))
            }
        };
        let counted = packets.saturating_sub(omitted);
        let lost = missed.min(counted);
        UdpCounters {
            datagrams: counted - lost,
            lost,
            jitter: span(self.jitter),
            last_sequence: packets,
            ..UdpCounters::default()
        }
    }

    /// The stream of the test that this row describes.
    fn stream(&self, test: &TestSpec) -> Result<u32, ProtocolError> {
        let both = if test.directions.up() && test.directions.down() { 2 } else { 1 };
        let stream = (0..test.streams.saturating_mul(both)).find(|stream| stream_id(*stream) == self.id);
        stream.ok_or_else(|| bad(format!("stream {} is not one of this test", self.id)))
    }

    fn encode(&self) -> Value {
        json!({
            "id": self.id,
            "bytes": self.bytes,
            "retransmits": self.retransmits,
            "jitter": finite(self.jitter),
            "errors": self.errors,
            "omitted_errors": self.omitted_errors.unwrap_or(0),
            "packets": self.packets,
            "omitted_packets": self.omitted_packets.unwrap_or(0),
            "start_time": 0,
            "end_time": finite(self.seconds.unwrap_or(0.0)),
        })
    }

    fn decode(value: &Value) -> Result<StreamRow, ProtocolError> {
        let row = value.as_object().ok_or_else(|| bad("a stream is not a JSON object".into()))?;
        let time = |key| row.get(key).and_then(number::real);
        let bytes = required(row, "bytes")?;
        Ok(StreamRow {
            id: required(row, "id")?,
            bytes: u64::try_from(bytes).map_err(|_| bad(format!("a stream carried {bytes} bytes")))?,
            retransmits: required(row, "retransmits")?,
            jitter: float(row, "jitter")?,
            errors: required(row, "errors")?,
            omitted_errors: row.get("omitted_errors").and_then(number::whole),
            packets: required(row, "packets")?,
            omitted_packets: row.get("omitted_packets").and_then(number::whole),
            seconds: time("start_time").zip(time("end_time")).map(|(start, end)| end - start),
        })
    }
}

/// Bytes of JSON: 256 streams take 64 KiB.
pub(super) const MAX_RESULTS: usize = 1 << 20;

fn take_report(json: &mut Map<String, Value>) -> Option<Report> {
    if let Some(value) = json.remove("server_output_json") {
        return Some(Report::Json(value));
    }
    match json.remove("server_output_text") {
        Some(Value::String(text)) => Some(Report::Text(text)),
        _ => None,
    }
}

fn required(json: &Map<String, Value>, key: &str) -> Result<i64, ProtocolError> {
    json.get(key).and_then(number::whole).ok_or_else(|| missing(key))
}

fn float(json: &Map<String, Value>, key: &str) -> Result<f64, ProtocolError> {
    json.get(key).and_then(number::real).ok_or_else(|| missing(key))
}

fn missing(key: &str) -> ProtocolError {
    bad(format!("`{key}` is missing or of the wrong type"))
}

fn bad(what: String) -> ProtocolError {
    ProtocolError::Violation { protocol: PROTOCOL, what: format!("its results cannot be used: {what}") }
}

/// Seconds as a span; zero when negative, the longest when too large.
fn span(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

fn clamp(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A finite JSON number; null for others, which JSON lacks.
fn finite(value: f64) -> Value {
    json!(if value.is_finite() { value } else { 0.0 })
}

#[cfg(test)]
mod tests;
