//! Code that the tests of latency share: servers with foreign protocols, a run's figures, hand-made messages.

use super::support::{Ended, Server, free_port, run};
use serde_json::Value;

/// A loaded machine must not make a reply late: no test here is about how fast anything is.
pub(super) const PATIENT: [&str; 2] = ["--timeout", "8s"];

/// `pathmeter latency` with these words.
#[track_caller]
pub(super) fn latency(host: &str, args: &[&str]) -> Ended {
    run(&[&["latency", host], args].concat())
}

/// The same with a long timeout, successful, and as JSON.
#[track_caller]
pub(super) fn measured(host: &str, args: &[&str]) -> Value {
    latency(host, &[args, &PATIENT, &["--json"]].concat()).code(0).json()
}

/// The figures of its first egress path.
#[track_caller]
pub(super) fn only_egress(run: &Value) -> &Value {
    let egress = &run["summary"]["ways"][0];
    assert!(egress.is_object(), "{run:#}");
    egress
}

/// One of an egress path's counters.
#[track_caller]
pub(super) fn count(egress: &Value, name: &str) -> u64 {
    egress["counted"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {:#}", egress["counted"]))
}

/// Some of an egress path's counters.
#[track_caller]
pub(super) fn counts<const N: usize>(egress: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| count(egress, name))
}

/// The whole number at this place.
#[track_caller]
pub(super) fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no {name}: {value:#}"))
}

/// `pathmeter serve` with SockPerf's and STAMP's protocols on ports of their own.
pub(super) struct Foreign {
    pub(super) server: Server,
    pub(super) sockperf: u16,
    pub(super) stamp: u16,
}

impl Foreign {
    pub(super) fn start(args: &[&str]) -> Foreign {
        let (sockperf, stamp) = (free_port(), free_port());
        let ports = [format!("--sockperf={sockperf}"), format!("--stamp={stamp}")];
        let server = Server::start(&[&[ports[0].as_str(), &ports[1]], args].concat());
        server.process.wait_for("pathmeter's own protocol");
        Foreign { server, sockperf, stamp }
    }

    /// HOST:PORT of the SockPerf server.
    pub(super) fn sockperf_host(&self) -> String {
        format!("127.0.0.1:{}", self.sockperf)
    }

    /// HOST:PORT of the STAMP reflector.
    pub(super) fn stamp_host(&self) -> String {
        format!("127.0.0.1:{}", self.stamp)
    }
}

/// A message of SockPerf with this length field, of this size.
pub(super) fn message(sequence: u64, flags: u16, announced: u32, size: usize) -> Vec<u8> {
    let mut bytes = vec![0xab; size.max(wire::sockperf::HEADER_LEN)];
    wire::sockperf::Header { sequence, flags, len: announced }.write(&mut bytes);
    bytes.truncate(size);
    bytes
}
