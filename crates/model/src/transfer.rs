//! Transfers of real files over HTTP, HTTPS and S3: the plan of a run, and the result of each transfer.
//!
//! Every repetition opens a connection of its own; repetitions of the files and MTUs compared are interleaved, so that drift
//! affects all of them equally. The sample of a comparison is the transfer, never a part of it.

mod table;

pub use table::{Fit, Gain, RowPackets, Spread, TransferResult, TransferRow, packet_share};

use crate::host::Host;
use crate::plan::Direction;
use crate::time::WallTime;
use crate::units::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::net::{IpAddr, SocketAddr};

/// A transfer run, every default filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferPlan {
    /// The files, in turn.
    pub files: Vec<TransferFile>,
    /// The request.
    pub method: TransferMethod,
    /// The body of the request.
    pub body: Option<TransferBody>,
    /// Transfers of each file at each MTU.
    pub repetitions: u32,
    /// MTUs set in turn; empty: it is left as it is.
    pub mtus: Vec<u32>,
    /// Where they are set.
    pub mtu_of: Option<MtuOf>,
    /// Label of the row that the others are compared with.
    pub baseline: String,
    /// Bytes that each packet costs the link beyond the IP packet: 14 is what Linux's shapers count of Ethernet.
    #[serde(rename = "framing_bytes")]
    pub framing: u32,
    /// A transfer ends when no byte has moved for so long.
    #[serde(rename = "timeout_ns")]
    pub timeout: Nanos,
    /// Time allowed for each connection to open.
    #[serde(rename = "connect_timeout_ns")]
    pub connect_timeout: Nanos,
    /// Redirects followed in one transfer.
    pub redirects: u32,
    /// Certificates that HTTPS trusts.
    pub trust: Trust,
    /// Access to `s3:` URLs.
    pub s3: Option<S3Plan>,
    /// Local address to connect from.
    pub bind: Option<IpAddr>,
    /// Interface to connect through (SO_BINDTODEVICE).
    pub device: Option<String>,
    /// Requested TCP maximum segment size.
    pub mss: Option<u32>,
    /// TCP congestion control of this end.
    pub congestion: Option<String>,
    /// Time for finding the reasons of an unexpected result, in each direction; zero: none.
    #[serde(rename = "explain_ns", default, skip_serializing_if = "Nanos::is_zero")]
    pub explain: Nanos,
}

/// One file to transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferFile {
    /// Its name in tables.
    pub label: String,
    /// `http:`, `https:` or `s3:`, without a password.
    pub url: String,
    /// The address that is connected to, unless a redirect leads elsewhere.
    pub address: SocketAddr,
}

/// The request method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TransferMethod {
    /// Download.
    #[default]
    Get,
    /// Upload to this name.
    Put,
    /// Upload to what answers there.
    Post,
}

/// The body of an upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TransferBody {
    /// A number of bytes that do not compress.
    Size(Bytes),
    /// A file of this host.
    File {
        /// Its path.
        path: String,
        /// Its size when the run was planned.
        size: Bytes,
    },
}

/// The place where the MTU is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "mtu_of", rename_all = "snake_case")]
pub enum MtuOf {
    /// The network interface that leads to the server.
    Interface {
        /// Its name.
        name: String,
        /// Its MTU before and after the run.
        mtu: u32,
    },
    /// Host routes to the far ends, made for the run.
    Route {
        /// The destinations.
        to: Vec<IpAddr>,
    },
}

/// Certificates that HTTPS trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The certificate authorities of this system.
    #[default]
    System,
    /// Those in this PEM file alone.
    File(String),
    /// Any: no certificate is checked.
    Everybody,
}

/// Access to S3. Keys are not part of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct S3Plan {
    /// The service's URL.
    pub endpoint: String,
    /// The region that signatures name.
    pub region: String,
    /// The bucket is the first part of the path; else it is part of the host's name.
    pub path_style: bool,
    /// Name of the key requests are signed with.
    pub access_key: String,
}

/// A transfer run has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferStarted {
    /// When, by the wall clock of this host.
    pub wall: WallTime,
    /// The plan.
    pub plan: TransferPlan,
    /// This host.
    pub host: Host,
}

/// One transfer: its request and its measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Transfer {
    /// Label of the file.
    pub label: String,
    /// The MTU set for it.
    pub mtu: Option<u32>,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Start, since the start of the run.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// HTTP status of the last answer.
    pub status: Option<u16>,
    /// Where redirects led, in order, without what follows a question mark.
    pub redirects: Vec<String>,
    /// This end of the last connection.
    pub local: Option<SocketAddr>,
    /// The other end of it.
    pub remote: Option<SocketAddr>,
    /// Bytes of the body that crossed, HTTP's headers not counted.
    pub bytes: Bytes,
    /// Its parts in time.
    pub times: TransferTimes,
    /// Body bits per second over the whole time.
    #[serde(rename = "rate_bps")]
    pub rate: BitRate,
    /// Counters of TCP.
    pub tcp: Option<TransferTcp>,
    /// Why it failed; what was measured until then stands.
    pub error: Option<String>,
}

/// Where the time of a transfer went. Of redirects, the first four are those of the last connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TransferTimes {
    /// Asking for the host's address.
    #[serde(rename = "dns_ns")]
    pub dns: Option<Nanos>,
    /// TCP's handshake.
    #[serde(rename = "connect_ns")]
    pub connect: Option<Nanos>,
    /// TLS's handshake.
    #[serde(rename = "tls_ns")]
    pub tls: Option<Nanos>,
    /// From the first byte of the request to the first byte of the answer; uploads answer after their last byte.
    #[serde(rename = "first_byte_ns")]
    pub first_byte: Option<Nanos>,
    /// From the start, the question for the address included, to the last byte.
    #[serde(rename = "total_ns")]
    pub total: Nanos,
}

/// `TCP_INFO` at the end of a transfer's last connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TransferTcp {
    /// Segments sent, empty ones included.
    pub segments_out: Option<u32>,
    /// Segments received, empty ones included.
    pub segments_in: Option<u32>,
    /// Segments with payload in the direction of the body, repeated ones included.
    pub data_segments: Option<u32>,
    /// Mean payload of these.
    #[serde(rename = "mean_payload_bytes")]
    pub mean_payload: Option<f64>,
    /// Largest payload of a segment in that direction; as estimated by the kernel where it was received.
    pub mss: Option<u32>,
    /// Segments that this end retransmitted.
    pub retransmits: u32,
    /// Smoothed RTT.
    #[serde(rename = "rtt_ns")]
    pub rtt: Nanos,
    /// Path MTU this end believes in.
    pub path_mtu: u32,
    /// Segments carry timestamps: 12 bytes each.
    pub timestamps: bool,
}

impl TransferMethod {
    /// Direction of the body.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            TransferMethod::Get => Direction::Down,
            TransferMethod::Put | TransferMethod::Post => Direction::Up,
        }
    }
}

impl Display for TransferMethod {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TransferMethod::Get => "GET",
            TransferMethod::Put => "PUT",
            TransferMethod::Post => "POST",
        })
    }
}

impl TransferBody {
    /// Bytes that go up.
    #[must_use]
    pub fn size(&self) -> Bytes {
        match self {
            TransferBody::Size(size) | TransferBody::File { size, .. } => *size,
        }
    }
}

impl TransferPlan {
    /// The combinations that are compared, in the order of their rows: the MTU and the file.
    pub fn series(&self) -> impl Iterator<Item = (Option<u32>, &TransferFile)> {
        let mtus: Vec<Option<u32>> = match self.mtus.as_slice() {
            [] => vec![None],
            mtus => mtus.iter().copied().map(Some).collect(),
        };
        self.files.iter().flat_map(move |file| mtus.clone().into_iter().map(move |mtu| (mtu, file)))
    }

    /// The name of a row: the property in which it differs from the others.
    #[must_use]
    pub fn row_label(&self, mtu: Option<u32>, file: &str) -> String {
        match (mtu, self.files.len()) {
            (Some(mtu), 1) => format!("MTU {mtu}"),
            (Some(mtu), _) => format!("{file}, MTU {mtu}"),
            (None, _) => file.to_owned(),
        }
    }

    /// The MTU and the file that a row of this file is compared with.
    pub(crate) fn baseline_of<'a>(&'a self, file: &'a str) -> (Option<u32>, &'a str) {
        match self.mtus.is_empty() {
            true => (None, &self.baseline),
            false => (self.baseline.parse().ok(), file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of one file at these MTUs.
    pub(super) fn plan(mtus: &[u32], baseline: &str) -> TransferPlan {
        let file = |label: &str| TransferFile {
            label: label.into(),
            url: format!("http://{label}/bytes/1M"),
            address: ([192, 0, 2, 1], 80).into(),
        };
        TransferPlan {
            files: vec![file("far")],
            method: TransferMethod::Get,
            body: None,
            repetitions: 2,
            mtus: mtus.to_vec(),
            mtu_of: None,
            baseline: baseline.into(),
            framing: 14,
            timeout: Nanos::from_secs(30),
            connect_timeout: Nanos::from_secs(5),
            redirects: 10,
            trust: Trust::System,
            s3: None,
            bind: None,
            device: None,
            mss: None,
            congestion: None,
            explain: Nanos::ZERO,
        }
    }

    /// A transfer of `far` at this MTU and rate.
    pub(super) fn transfer(mtu: u32, rate: u64) -> Transfer {
        let remote = Some(([192, 0, 2, 1], 80).into());
        let tcp = Some(TransferTcp { timestamps: true, ..TransferTcp::default() });
        Transfer {
            label: "far".into(),
            mtu: Some(mtu),
            rate: BitRate(rate),
            remote,
            tcp,
            ..Transfer::default()
        }
    }

    #[test]
    fn rows_are_named_by_their_differences() {
        let mut plan = plan(&[], "far");
        assert_eq!(plan.row_label(None, "far"), "far");
        assert_eq!(plan.row_label(Some(1280), "far"), "MTU 1280");
        plan.files.push(TransferFile { label: "near".into(), ..plan.files[0].clone() });
        assert_eq!(plan.row_label(Some(1280), "near"), "near, MTU 1280");
        plan.mtus = vec![1280, 1430];
        let series: Vec<_> = plan.series().map(|(mtu, file)| plan.row_label(mtu, &file.label)).collect();
        assert_eq!(series, ["far, MTU 1280", "far, MTU 1430", "near, MTU 1280", "near, MTU 1430"]);
    }
}
