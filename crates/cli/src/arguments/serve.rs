//! The command line of `pathmeter serve`.

use clap::Args;
use engine::work::dut::spec::PortSpec;
use model::units::{BitRate, Nanos};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Be the other end, of many clients at once (TCP and UDP port 5210)
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter serve                                   on every address
  pathmeter serve --token-file /etc/pathmeter.token --tls
  pathmeter serve --iperf3                          answer `iperf3 -c` on port 5201 too
  pathmeter serve --iperf2                          answer `iperf -c` on port 5001 too
  pathmeter serve --sockperf --stamp                answer `sockperf pp` and STAMP senders too
  pathmeter serve --frames-port eth1                the far port of a `pathmeter rfc2544`
  pathmeter serve --http                            transfer against http://HOST:8080/bytes/10M
  pathmeter serve --bind 10.0.0.2 --max-rate 1G --max-time 1m
  pathmeter serve --metrics 127.0.0.1:9210          count sessions, tests and bytes for Prometheus
  pathmeter serve --user pathmeter                  give root's rights up for those of this user")]
pub struct ServeArgs {
    /// Local address to listen on [default: all, IPv6 and IPv4]
    #[arg(long, value_name = "ADDR")]
    pub bind: Option<IpAddr>,
    /// Port of pathmeter's own protocol, TCP and UDP
    #[arg(short, long, value_name = "PORT", default_value_t = wire::native::PORT,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Answer iPerf3 clients too, on this port [without a port: 5201]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "5201",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub iperf3: Option<u16>,
    /// Answer iPerf2 clients too, on this port [without a port: 5001]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "5001",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub iperf2: Option<u16>,
    /// Send UDP to iPerf2 clients that request it (-R, --full-duplex, -d, -r) without proof of their address. Anyone who forges an
    /// address can then have data sent to it
    #[arg(long)]
    pub iperf2_udp_reverse: bool,
    /// Answer SockPerf clients too, UDP and TCP, on this port [without a port: 11111]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "11111",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub sockperf: Option<u16>,
    /// Answer STAMP and TWAMP-Light senders too, on this UDP port [without a port: 862]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "862",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub stamp: Option<u16>,
    /// Answer TWAMP clients too (RFC 5357), whose control connection comes on this TCP port [without a port: 862]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "862",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub twamp: Option<u16>,
    /// Answer HTTP too, for `pathmeter transfer` and every browser, on this port [without a port: 8080]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "8080",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub http: Option<u16>,
    /// Answer every foreign protocol on its own port
    #[arg(long)]
    pub all: bool,
    /// Multicast group that SockPerf clients may send to; repeatable
    #[arg(long, value_name = "ADDR")]
    pub group: Vec<IpAddr>,
    /// File with the key that STAMP senders must know: the authenticated mode, and no other
    #[arg(long, value_name = "FILE")]
    pub stamp_key_file: Option<PathBuf>,
    /// Copy STAMP senders' numbers and do not count replies: senders then cannot distinguish the directions of loss
    #[arg(long)]
    pub stamp_stateless: bool,
    /// File with the token that clients must know: 16 bytes or more, readable by its owner alone
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Encrypt control connections (TLS 1.3), with a certificate made at start; prints its fingerprint
    #[arg(long)]
    pub tls: bool,
    /// File with the key and the certificate of --tls, made at the first start: the fingerprint stays the same
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub tls_key: Option<PathBuf>,
    /// Interface that frames may be sent out of and counted on, for `pathmeter rfc2544` of another host; repeatable. Needs
    /// root, and beyond loopback --token-file
    #[arg(long, value_name = "[NETNS/]IFACE")]
    pub frames_port: Vec<PortSpec>,
    /// Frames may go to any address, and out of interfaces that carry other traffic (RFC 6815)
    #[arg(long, requires = "frames_port")]
    pub frames_anywhere: bool,
    /// Network whose addresses frames may have beside those for benchmarks, 198.18.0.0/15 and 2001:2::/48; repeatable
    #[arg(long, value_name = "ADDRESS/LENGTH", requires = "frames_port", value_parser = network)]
    pub frames_network: Vec<(IpAddr, u8)>,
    /// VLAN that frames may be sent into; repeatable
    #[arg(long, value_name = "ID", requires = "frames_port", value_parser = clap::value_parser!(u16).range(0..4095))]
    pub frames_vlan: Vec<u16>,
    /// Most tests at the same time [default: 64]; further clients are refused until one ends. One address may have a quarter of
    /// them, one that knows the token all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tests: Option<u32>,
    /// Highest rate of one test in each direction
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<BitRate>,
    /// Longest test, omitted time included [default: 10m for clients of other hosts that need no token, else a day]
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<Nanos>,
    /// End after one test
    #[arg(long)]
    pub one_off: bool,
    /// Address where Prometheus may read what the server does, as http://ADDR/metrics: sessions, tests, bytes and clients turned
    /// away, by protocol. Anyone who can connect can read it
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
    /// User to run as when the ports are open and secrets are read [default, where root starts it: nobody, or root with
    /// --frames-port]. `root` keeps all privileges
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Keep no capability at all: no packets made by hand, no buffers beyond the host's limit, no priority of threads
    #[arg(long, conflicts_with = "frames_port")]
    pub no_capabilities: bool,
}

/// An address and the length of its prefix.
fn network(text: &str) -> Result<(IpAddr, u8), String> {
    let parsed = text.split_once('/').and_then(|(address, length)| {
        let (address, length) = (address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?);
        (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
    });
    parsed.ok_or_else(|| "write ADDRESS/LENGTH, as in 10.1.2.0/24 or fd00:1::/64".into())
}
