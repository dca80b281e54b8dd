//! The command line of `pathmeter transfer`.

use super::values::one_of;
use super::{CaptureArgs, ExplainArgs, KeepArgs, OriginArgs};
use clap::Args;
use engine::request::BucketPlace;
use model::transfer::TransferMethod;
use model::units::{Bytes, Nanos};
use std::path::PathBuf;

/// Time HTTP, HTTPS and S3 transfers, repeated and compared
///
/// Compared by URL, or at several MTUs; packets are counted.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Every transfer has a connection of its own. Repetitions of what is compared are interleaved.
A rate is the body's bits over the whole time of a transfer, the question for the address included.

EXAMPLES
  pathmeter transfer http://far.example:8080/bytes/10MB        against `pathmeter serve --http`
  pathmeter transfer https://a.example/file https://b.example/file --label old --label new
  pathmeter transfer http://far.example:8080/bytes/10MB --mtu 1280,1430,2000     as root
  pathmeter transfer http://far.example:8080/bytes/10MB --capture                packets by size
  pathmeter transfer http://far.example:8080/ --size 10MB      an upload
  pathmeter transfer s3://bucket/key --endpoint https://s3.example --region eu-1
  pathmeter transfer s3://bucket/test --file big.iso --profile lab
  pathmeter transfer https://far.example/file --expect 'transfer.rate>=20Mbit/s'")]
pub struct TransferArgs {
    /// URLs to transfer: http, https or s3://BUCKET/KEY; several are compared with the first
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    /// Transfers of each URL at each MTU; with fewer than 6, few differences can be distinguished from chance
    #[arg(short = 'n', long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
    /// The request: get, put or post [default: get, or put with --size or --file]
    #[arg(long, value_parser = one_of(&METHODS), value_name = "METHOD", hide_possible_values = true)]
    pub method: Option<TransferMethod>,
    /// Upload so many bytes that do not compress
    #[arg(long, value_name = "BYTES", conflicts_with = "file")]
    pub size: Option<Bytes>,
    /// Upload this file
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Baseline of the comparison: an MTU of --mtu, or else a label [default: the first]
    #[arg(long, value_name = "MTU|NAME")]
    pub baseline: Option<String>,
    /// Requirement on the result, such as 'transfer.rate>=20Mbit/s'; exit code 1 when it is not met. Repeatable
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Print the plan, with every default filled, and stop
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub mtu: MtuArgs,
    #[command(flatten)]
    pub explain: ExplainArgs,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub s3: S3Args,
    #[command(flatten)]
    pub capture: CaptureArgs,
}

/// Repeating it with the MTU changed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "MTU")]
pub struct MtuArgs {
    /// Set the interface on the path to these MTUs in turn, and restore its own at the end, whatever happens; needs root
    #[arg(long, value_name = "MTU,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(68..=65535))]
    pub mtu: Vec<u32>,
    /// Set them on routes to the far ends alone, and leave the interface and all other traffic as they are
    #[arg(long, requires = "mtu")]
    pub mtu_route: bool,
    /// Bytes that a packet costs the link beyond IP, for the expected gain: 14 is what Linux's shapers count of Ethernet
    #[arg(long, value_name = "BYTES", default_value_t = 14, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub framing: u32,
}

/// Options of connections.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    #[command(flatten)]
    pub origin: OriginArgs,
    /// Longest time in which no byte moves
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub timeout: Nanos,
    /// Redirects followed in one transfer
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(..=100))]
    pub redirects: u32,
    /// TCP maximum segment size to ask for
    #[arg(short = 'M', long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(88..=65495))]
    pub mss: Option<u32>,
    /// TCP congestion control of this end
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Trust the certificate authorities in this PEM file, and no other
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub cacert: Option<PathBuf>,
    /// Check no certificate: an attacker on the path may read and change the transfers
    #[arg(long)]
    pub insecure: bool,
}

/// Options of S3.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "S3")]
pub struct S3Args {
    /// The service [default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon's of the region]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// Region that signatures name [default: AWS_REGION, AWS_DEFAULT_REGION, the profile's, or us-east-1]
    #[arg(long, value_name = "NAME")]
    pub region: Option<String>,
    /// Profile in ~/.aws/credentials [default: AWS_ACCESS_KEY_ID and its like, else AWS_PROFILE or default]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Where the bucket's name goes: path or host [default: host for Amazon, path for every other endpoint]
    #[arg(long, value_parser = one_of(&PLACES), value_name = "PLACE", hide_possible_values = true)]
    pub bucket_in: Option<BucketPlace>,
}

const METHODS: [(&str, TransferMethod, &str); 3] = [
    ("get", TransferMethod::Get, "Download"),
    ("put", TransferMethod::Put, "Upload"),
    ("post", TransferMethod::Post, "Upload"),
];
const PLACES: [(&str, BucketPlace, &str); 2] = [
    ("path", BucketPlace::Path, "`https://endpoint/bucket/key`"),
    ("host", BucketPlace::Host, "`https://bucket.endpoint/key`"),
];
