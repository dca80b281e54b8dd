//! The parameters: the test a client requests, as the JSON it sends after the server's `PARAM_EXCHANGE`.
//!
//! Reading is tolerant: unknown keys are ignored, absent ones have their defaults, numbers may be of any JSON form, flags may
//! be `true` or a number. Values out of range are refused with iPerf3's own code.

use crate::iperf3::number;
use crate::iperf3::state::ErrorCode;
use crate::work::throughput::Extras;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::plan::{Directions, End, TestSpec, Transport};
use model::units::{BitRate, Bytes, Nanos};
use serde_json::{Map, Value, json};
use std::fmt::{Display, Formatter};
use std::ops::RangeInclusive;

/// Largest parameters a server takes, bytes of JSON.
pub const MAX_PARAMS: usize = 64 * 1024;

/// Most streams in one direction.
pub const MAX_STREAMS: u32 = 128;

/// Bytes of one TCP write when the plan leaves it open.
pub const DEFAULT_TCP_LENGTH: u32 = 128 * 1024;

/// UDP payload when neither end sets it, bytes.
pub const DEFAULT_UDP_LENGTH: u32 = 1460;

/// A client's request: the test, and options outside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// The test. A time of [`Nanos::MAX`] is a test without end, until the client stops it.
    pub test: TestSpec,
    /// The options outside of the test.
    pub extras: Extras,
}

/// The refusal of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code sent to the client.
    pub code: ErrorCode,
    /// The reason, for this end's log.
    pub what: String,
}

/// Bytes of one block: a TCP write, or a UDP payload.
#[must_use]
pub fn block_length(test: &TestSpec) -> u32 {
    test.length.unwrap_or(match test.transport {
        Transport::Tcp => DEFAULT_TCP_LENGTH,
        Transport::Udp => DEFAULT_UDP_LENGTH,
    })
}

/// The test with iPerf3's bursts: with GSO and a rate an end of iPerf3 fills a buffer of 64 KiB, sends it at once, and waits for
/// as long as the rate requires. Its receivers rely on that: they read a buffer at a time.
pub(super) fn in_whole_buffers(test: TestSpec) -> TestSpec {
    let paced = test.transport == Transport::Udp && test.offload && test.bitrate.is_some();
    if !paced || test.burst.is_some() {
        return test;
    }
    TestSpec { burst: Some((LARGEST_UDP_PAYLOAD / block_length(&test).max(1)).max(1)), ..test }
}

impl Params {
    /// The JSON a client sends, in iPerf3's order of keys. Times are in whole seconds there: fractions round up.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut json = Map::new();
        write_shape(&self.test, &mut json);
        write_pace(&self.test, &mut json);
        write_options(&self.test, &self.extras, &mut json);
        Value::Object(json).to_string().into_bytes()
    }

    /// Reads the parameters that a client sent.
    pub fn decode(bytes: &[u8]) -> Result<Params, Refusal> {
        let fields = match serde_json::from_slice(bytes) {
            Ok(Value::Object(map)) => Fields(map),
            Ok(_) => return Err(Refusal::with_code(ErrorCode::PARAMS, "they are no JSON object")),
            Err(error) => return Err(Refusal::with_code(ErrorCode::PARAMS, error)),
        };
        let mut test = TestSpec::new(read_transport(&fields)?);
        read_shape(&fields, &mut test)?;
        read_pace(&fields, &mut test)?;
        read_options(&fields, &mut test)?;
        check_length(&test)?;
        // A client without support for GSO receives no bursts.
        let test = if fields.flag("gso")? { in_whole_buffers(test) } else { test };
        Ok(Params { test, extras: read_extras(&fields)? })
    }
}

fn write_shape(test: &TestSpec, json: &mut Map<String, Value>) {
    let (time, bytes, blocks) = match test.end {
        End::Time(time) => (whole_seconds(time), 0, 0),
        End::Bytes(bytes) => (0, bytes.0, 0),
        End::Blocks(blocks) => (0, 0, blocks),
    };
    let time = if time > MAX_TIME as u64 { 0 } else { time };
    json.insert(test.transport.to_string().to_lowercase(), json!(true));
    json.insert("omit".into(), json!(whole_seconds(test.omit)));
    json.insert("time".into(), json!(time));
    json.insert("num".into(), json!(bytes));
    json.insert("blockcount".into(), json!(blocks));
    optional(json, "MSS", test.mss);
    optional(json, "nodelay", test.nodelay.then_some(true));
    json.insert("parallel".into(), json!(test.streams));
    optional(json, "reverse", (test.directions == Directions::Down).then_some(true));
    optional(json, "bidirectional", (test.directions == Directions::Both).then_some(true));
    optional(json, "mptcp", test.mptcp.then_some(true));
    optional(json, "window", test.window);
    json.insert("len".into(), json!(block_length(test)));
}

fn write_pace(test: &TestSpec, json: &mut Map<String, Value>) {
    optional(json, "bandwidth", test.bitrate.map(|rate| rate.0).filter(|rate| *rate > 0));
    optional(json, "fqrate", test.fq_rate.map(|rate| rate.0).filter(|rate| *rate > 0));
    json.insert("pacing_timer".into(), json!(PACING_TIMER));
    // An end sends a buffer at a time by itself.
    let by_itself = in_whole_buffers(TestSpec { burst: None, ..test.clone() }).burst;
    optional(json, "burst", test.burst.filter(|_| test.burst != by_itself));
    if test.transport == Transport::Udp {
        let length = block_length(test).max(1);
        let (on, segment) = if test.offload { (1, length) } else { (0, 0) };
        let whole = (LARGEST_UDP_PAYLOAD / length).max(1) * length;
        let buffer = if test.offload { whole } else { LARGEST_UDP_PAYLOAD };
        json.insert("gso".into(), json!(on));
        json.insert("gso_dg_size".into(), json!(segment));
        json.insert("gso_bf_size".into(), json!(buffer));
        json.insert("gro".into(), json!(on));
        json.insert("gro_bf_size".into(), json!(LARGEST_UDP_PAYLOAD));
    }
}

fn write_options(test: &TestSpec, extras: &Extras, json: &mut Map<String, Value>) {
    optional(json, "TOS", Some(test.tos).filter(|tos| *tos > 0));
    optional(json, "flowlabel", test.flow_label);
    optional(json, "title", extras.title.clone());
    optional(json, "extra_data", extras.extra_data.clone());
    optional(json, "congestion", test.congestion.clone());
    optional(json, "get_server_output", extras.get_server_output.then_some(1));
    let wide = test.wide_counters && test.transport == Transport::Udp;
    optional(json, "udp_counters_64bit", wide.then_some(1));
    optional(json, "repeating_payload", test.repeating_payload.then_some(1));
    optional(json, "zerocopy", test.zero_copy.then_some(1));
    optional(json, "dont_fragment", test.dont_fragment.then_some(1));
    optional(json, "authtoken", extras.auth_token.clone());
    optional(json, "skip_rx_copy", test.receive_discard.then_some(1));
    optional(json, "server_affinity", extras.server_affinity);
    optional(json, "client_version", extras.client_version.clone());
}

fn optional<T: Into<Value>>(json: &mut Map<String, Value>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        json.insert(key.into(), value.into());
    }
}

fn whole_seconds(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

fn read_transport(fields: &Fields) -> Result<Transport, Refusal> {
    match (fields.flag("tcp")?, fields.flag("udp")?, fields.flag("sctp")?) {
        (_, _, true) => Err(Refusal::with_code(ErrorCode::NO_SCTP, "SCTP")),
        (true, true, _) => Err(Refusal::with_code(ErrorCode::PARAMS, "both TCP and UDP")),
        (_, true, _) => Ok(Transport::Udp),
        _ => Ok(Transport::Tcp),
    }
}

fn read_shape(fields: &Fields, test: &mut TestSpec) -> Result<(), Refusal> {
    test.directions = match (fields.flag("reverse")?, fields.flag("bidirectional")?) {
        (true, true) => {
            return Err(Refusal::with_code(ErrorCode::REVERSE_BIDIR, "reverse and bidirectional"));
        }
        (true, false) => Directions::Down,
        (false, true) => Directions::Both,
        (false, false) => Directions::Up,
    };
    let streams = fields.whole("parallel", 1..=i64::from(MAX_STREAMS), ErrorCode::STREAMS)?;
    test.streams = streams.unwrap_or(1) as u32;
    let omit = fields.whole("omit", 0..=MAX_OMIT, ErrorCode::OMIT)?;
    test.omit = Nanos::from_secs(omit.unwrap_or(0) as u64);
    let time = fields.whole("time", 0..=MAX_TIME, ErrorCode::DURATION)?.unwrap_or(0);
    let bytes = fields.count("num")?;
    let blocks = fields.count("blockcount")?;
    test.end = match (bytes, blocks, time) {
        (1.., ..) => End::Bytes(Bytes(bytes)),
        (_, 1.., _) => End::Blocks(blocks),
        (_, _, 0) => End::Time(Nanos::MAX),
        _ => End::Time(Nanos::from_secs(time as u64)),
    };
    Ok(())
}

fn read_pace(fields: &Fields, test: &mut TestSpec) -> Result<(), Refusal> {
    let rate = |key| Ok(Some(BitRate(fields.count(key)?)).filter(|rate| rate.0 > 0));
    test.bitrate = rate("bandwidth")?;
    test.fq_rate = rate("fqrate")?;
    test.burst = fields.whole("burst", 1..=MAX_BURST, ErrorCode::BURST)?.map(|burst| burst as u32);
    let reported = fields.0.contains_key("gso") || fields.0.contains_key("gro");
    test.offload = !reported || fields.flag("gso")? || fields.flag("gro")?;
    Ok(())
}

fn read_options(fields: &Fields, test: &mut TestSpec) -> Result<(), Refusal> {
    let set = |value: Option<i64>| value.filter(|value| *value > 0).map(|value| value as u32);
    let default = (test.transport == Transport::Udp).then_some(DEFAULT_UDP_LENGTH);
    let length = fields.whole("len", 0..=i64::from(u32::MAX), ErrorCode::BLOCK_SIZE)?;
    test.length = set(length).or(default);
    test.mss = set(fields.whole("MSS", 0..=MAX_MSS, ErrorCode::MSS)?);
    test.window = set(fields.whole("window", 0..=MAX_WINDOW, ErrorCode::BUFFER_SIZE)?);
    test.tos = fields.whole("TOS", 0..=255, ErrorCode::TOS)?.unwrap_or(0) as u8;
    test.flow_label = set(fields.whole("flowlabel", 1..=0xf_ffff, ErrorCode::FLOW_LABEL)?);
    test.congestion = fields.text("congestion")?;
    test.nodelay = fields.flag("nodelay")?;
    test.wide_counters = fields.flag("udp_counters_64bit")?;
    test.repeating_payload = fields.flag("repeating_payload")?;
    test.zero_copy = fields.flag("zerocopy")?;
    test.dont_fragment = fields.flag("dont_fragment")?;
    test.receive_discard = fields.flag("skip_rx_copy")?;
    test.mptcp = fields.flag("mptcp")?;
    Ok(())
}

fn read_extras(fields: &Fields) -> Result<Extras, Refusal> {
    let affinity = fields.whole("server_affinity", 0..=1024, ErrorCode::AFFINITY)?;
    Ok(Extras {
        title: fields.text("title")?,
        extra_data: fields.text("extra_data")?,
        get_server_output: fields.flag("get_server_output")?,
        auth_token: fields.text("authtoken")?,
        client_version: fields.text("client_version")?,
        server_affinity: affinity.map(|cpu| cpu as u32),
    })
}

/// A TCP client must send its block size; over UDP it may be absent.
fn check_length(test: &TestSpec) -> Result<(), Refusal> {
    let (range, code) = match test.transport {
        Transport::Tcp => (1..=MAX_TCP_LENGTH, ErrorCode::BLOCK_SIZE),
        Transport::Udp => (MIN_UDP_LENGTH..=LARGEST_UDP_PAYLOAD, ErrorCode::UDP_BLOCK_SIZE),
    };
    let length = test.length.unwrap_or(0);
    let fits = range.contains(&length);
    if fits { Ok(()) } else { Err(Refusal::with_code(code, format!("blocks of {length} bytes"))) }
}

/// The members of the JSON object, with typed access.
struct Fields(Map<String, Value>);

impl Fields {
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn flag(&self, key: &str) -> Result<bool, Refusal> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(set)) => Ok(*set),
            Some(value) => number::whole(value).map(|n| n != 0).ok_or_else(|| wrong_type(key, "a flag")),
        }
    }

    fn whole(&self, key: &str, range: RangeInclusive<i64>, code: ErrorCode) -> Result<Option<i64>, Refusal> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let value = number::whole(value).ok_or_else(|| wrong_type(key, "a number"))?;
        let fits = range.contains(&value);
        if fits { Ok(Some(value)) } else { Err(Refusal::with_code(code, format!("`{key}` is {value}"))) }
    }

    /// A count; zero when absent.
    fn count(&self, key: &str) -> Result<u64, Refusal> {
        Ok(self.whole(key, 0..=i64::MAX, ErrorCode::PARAMS)?.unwrap_or(0).cast_unsigned())
    }

    fn text(&self, key: &str) -> Result<Option<String>, Refusal> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.get(key).map(|value| text(value).ok_or_else(|| wrong_type(key, "a text"))).transpose()
    }
}

fn wrong_type(key: &str, expected: &str) -> Refusal {
    Refusal::with_code(ErrorCode::PARAMS, format!("`{key}` is not {expected}"))
}

impl Refusal {
    /// A refusal with this code.
    pub(super) fn with_code(code: ErrorCode, what: impl Display) -> Refusal {
        Refusal { code, what: what.to_string() }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "the parameters are refused: {} (error {})", self.what, self.code.0)
    }
}

/// In seconds.
const MAX_TIME: i64 = 86_400;
/// In seconds.
const MAX_OMIT: i64 = 600;
const MAX_BURST: i64 = 1000;
const MAX_MSS: i64 = 32_767;
const MAX_WINDOW: i64 = 512 << 20;
const MAX_TCP_LENGTH: u32 = 1 << 20;
const MIN_UDP_LENGTH: u32 = 16;
/// Microseconds; obsolete as a pacing interval, but clients send it.
const PACING_TIMER: u32 = 1000;

#[cfg(test)]
mod tests;
