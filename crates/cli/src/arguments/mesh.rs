//! The command lines of `pathmeter agent` and `pathmeter mesh`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use model::units::Nanos;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Carry out the tests of a mesh on this host
#[derive(Clone, Debug, Subcommand)]
#[command(after_help = "\
EXAMPLES
  pathmeter agent run --join ams.agent                  the one file of `pathmeter mesh init`
  pathmeter agent run --coordinator nats://hub.example:4222 --name ams
  pathmeter agent run --coordinator tls://hub.example:4222 --name ams --key ams.seed --ca ca.pem
  pathmeter agent run --coordinator nats://hub.example:4222 --name lab1 --no-listen
  pathmeter agent show                                  what jobs may do here ([agent] in the configuration)")]
pub enum AgentCommand {
    Run(Box<AgentRunArgs>),
    Show(AgentShowArgs),
}

/// Print what the configuration allows jobs to do here: kinds of tests, hosts, times, rates and sizes
#[derive(Clone, Debug, Args)]
pub struct AgentShowArgs {
    /// The rules of the configuration.
    #[arg(skip)]
    pub rules: super::AgentRules,
}

/// The server to connect to, and the credentials of this end.
#[derive(Clone, Debug, Args)]
pub struct NatsArgs {
    /// The mesh's NATS server: nats://HOST:4222, tls://HOST:4222, or wss://HOST:PORT for WebSocket; several of one cluster parted by commas
    #[arg(
        long,
        value_name = "URL",
        env = "PATHMETER_COORDINATOR",
        hide_env = true,
        required_unless_present = "join"
    )]
    pub coordinator: Option<String>,
    /// File with all that this end needs, as `pathmeter mesh init` wrote it: agents/NAME.agent has the server, the name, the key, the
    /// token and the authority's certificate. Options beside it count more
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub join: Option<PathBuf>,
    /// File with the key of this end, as `pathmeter mesh init` wrote it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
    /// Certificate of the authority that signed the server's, PEM [default: those of the system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
}

/// Take jobs and carry them out until Ctrl-C; the connection is opened from this host
#[derive(Clone, Debug, Args)]
pub struct AgentRunArgs {
    #[command(flatten)]
    pub nats: NatsArgs,
    /// The agent's name, which no other agent of the mesh has [default: that of --join]
    #[arg(long, value_name = "ID", required_unless_present = "join")]
    pub name: Option<String>,
    /// File with the token by which the agents know each other; without one, everyone who reaches the port may test
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// Folder for results that the coordinator does not have yet
    #[arg(long, value_name = "DIR", default_value = "/var/lib/pathmeter/agent", value_hint = ValueHint::DirPath)]
    pub spool: PathBuf,
    /// Address or name at which other agents reach this host, one for each IP version. Repeatable [default: the one that connects to the coordinator, and the other of its interface]
    #[arg(long, value_name = "HOST")]
    pub address: Vec<String>,
    /// Port on which it serves other agents
    #[arg(long, value_name = "PORT", default_value_t = 5210, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Lifetime of its leases after its last heartbeat, 3s or more: a longer one survives longer gaps of the connection, and keeps
    /// the hosts of a dead agent reserved for longer
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = lease)]
    pub lease: Nanos,
    /// Address where Prometheus may read how the agent stands, as http://ADDR/metrics, without a password
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:9211")]
    pub metrics: Option<SocketAddr>,
    /// Do not listen: behind NAT, this end opens the connections of both directions
    #[arg(long)]
    pub no_listen: bool,
    /// User to run as when the port is open and secrets are read; the spool is given to it [default, where root starts it: nobody].
    /// `root` keeps all privileges
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Keep no capability at all: no packets made by hand, no buffers beyond the host's limit, no priority of threads
    #[arg(long)]
    pub no_capabilities: bool,
    /// The hosts that have names in the configuration.
    #[arg(skip)]
    pub targets: Vec<super::NamedTarget>,
    /// The rules of the configuration for jobs.
    #[arg(skip)]
    pub rules: super::AgentRules,
}

/// Measure every host to every host, tests kept apart
#[derive(Clone, Debug, Subcommand)]
#[command(after_help = "\
EXAMPLES
  pathmeter mesh init mesh --agent ams --agent fra --server coordinator.example
  pathmeter mesh up mesh                                start the server of a folder, for a trial
  pathmeter mesh agent add mesh lon                     one more agent: copy mesh/agents/lon.agent to its host
  pathmeter mesh renew mesh                             a new certificate, before the old one ends
  pathmeter mesh run --join mesh/agents/coordinator.agent --results night.jsonl
  pathmeter mesh doctor --coordinator nats://localhost:4222
  pathmeter mesh show --coordinator nats://localhost:4222       the agents that are there
  pathmeter mesh run --coordinator nats://localhost:4222 --dry-run
  pathmeter mesh run --coordinator nats://localhost:4222 --results night.jsonl
  pathmeter mesh run --coordinator nats://localhost:4222 --test throughput --test latency --test mtu --test hops
  pathmeter mesh run --coordinator nats://localhost:4222 --together --pair ams:fra --pair lon:fra
  pathmeter mesh run --coordinator nats://localhost:4222 --schedule '0 3 * * *' --zone Europe/Berlin
  pathmeter mesh show --results night.jsonl             the matrix of a run
  pathmeter mesh show --results night.jsonl --runs      every run, also those that were missed
  pathmeter mesh run --coordinator nats://localhost:4222 --results tue.jsonl --save
  pathmeter mesh show --saved mesh                      the matrix of the latest kept runs")]
pub enum MeshCommand {
    Init(MeshInitArgs),
    Up(MeshUpArgs),
    #[command(subcommand)]
    Agent(MeshAgentCommand),
    Renew(MeshRenewArgs),
    Doctor(MeshDoctorArgs),
    Run(Box<MeshRunArgs>),
    Show(MeshShowArgs),
    Forget(MeshForgetArgs),
    Free(MeshFreeArgs),
}

/// Give an agent a key on a mesh that is there, or take it away
#[derive(Clone, Debug, Subcommand)]
#[command(after_help = "\
A server that runs from the folder on this host takes the change at once.

EXAMPLES
  pathmeter mesh agent add mesh lon                     then, on lon: pathmeter agent run --join lon.agent
  pathmeter mesh agent renew mesh lon                   a new key; the old one is refused at once
  pathmeter mesh agent remove mesh lon
  pathmeter mesh agent list mesh")]
pub enum MeshAgentCommand {
    /// Give agents keys of their own, and write agents/NAME.agent for their hosts
    Add(MeshAgentNames),
    /// Take the keys of agents away: each is refused from then on
    Remove(MeshAgentNames),
    /// Give agents new keys in place of those that they have
    Renew(MeshAgentNames),
    /// Print the agents that have a key
    List(MeshAgentList),
}

/// Agents of a mesh.
#[derive(Clone, Debug, Args)]
pub struct MeshAgentNames {
    /// The folder that `mesh init` wrote
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The agents
    #[arg(value_name = "ID", required = true)]
    pub agents: Vec<String>,
}

/// The agents of a mesh.
#[derive(Clone, Debug, Args)]
pub struct MeshAgentList {
    /// The folder that `mesh init` wrote
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// Take a lease from all who hold it: their results are void, and others have it at once
#[derive(Clone, Debug, Args)]
pub struct MeshFreeArgs {
    /// The lease, as `mesh show` prints it
    #[arg(value_name = "LEASE")]
    pub lease: String,
    /// Why: it is kept, and stands in the results of those who held the lease
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    #[command(flatten)]
    pub nats: NatsArgs,
}

/// Outcomes of a run that make the mesh repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AgainArg {
    /// Nothing came of it.
    Missed,
    /// The path could not be measured.
    Failed,
    /// Its result must not be trusted.
    Void,
}

/// Write the configuration, keys and certificates of a mesh's NATS server
#[derive(Clone, Debug, Args)]
pub struct MeshInitArgs {
    /// Folder for the files; keys in it are never overwritten
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Name of an agent, which gets a key and rights of its own. Repeatable
    #[arg(long, value_name = "ID", required = true)]
    pub agent: Vec<String>,
    /// Address and port on which the server listens
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:4222")]
    pub listen: String,
    /// Address and port on which it takes WebSocket, too: agents connect by wss://HOST:PORT, ws:// without TLS
    #[arg(long, value_name = "ADDR:PORT")]
    pub websocket: Option<String>,
    /// Name or address by which agents reach the server, for its certificate; without one there is no TLS. Repeatable
    #[arg(long, value_name = "HOST")]
    pub server: Vec<String>,
}

/// Start the NATS server of a folder that `mesh init` wrote, until Ctrl-C
#[derive(Clone, Debug, Args)]
pub struct MeshUpArgs {
    /// The folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The server's program
    #[arg(
        long,
        value_name = "FILE",
        default_value = "nats-server",
        env = "PATHMETER_NATS_SERVER",
        hide_env = true
    )]
    pub nats_server: PathBuf,
}

/// Write a new certificate of the NATS server, which holds for a year; agents keep their `ca.pem`
#[derive(Clone, Debug, Args)]
pub struct MeshRenewArgs {
    /// The folder that `mesh init` wrote
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Name or address by which agents reach the server. Repeatable [default: those of the certificate that is there]
    #[arg(long, value_name = "HOST")]
    pub server: Vec<String>,
}

/// Check the server of a mesh by using it: version, streams, leases, rights
#[derive(Clone, Debug, Args)]
pub struct MeshDoctorArgs {
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Copies of leases, jobs and results that a cluster of servers keeps: 1 or 3 [default: as they are, at first 1]
    #[arg(long, value_name = "N", value_parser = copies)]
    pub replicas: Option<usize>,
}

/// Tests between each two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MeshTestArg {
    /// TCP goodput in each direction.
    #[default]
    Throughput,
    /// Round trips, beside all but throughput.
    Latency,
    /// Path MTU in both directions, beside other tests.
    Mtu,
    /// The routers of the path from each end, beside other tests.
    Hops,
}

/// By which IP versions a mesh is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeshIpArg {
    /// IPv4.
    #[value(name = "4")]
    V4,
    /// IPv6.
    #[value(name = "6")]
    V6,
    /// Each by runs of its own.
    Both,
}

/// Measure all pairs of agents, in rounds of pairs that share no host
#[derive(Clone, Debug, Args)]
pub struct MeshRunArgs {
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Test of each pair; path MTU and hops run in the background, beside the rounds. Repeatable
    #[arg(long, value_enum, value_name = "TEST", default_values_t = [MeshTestArg::Throughput])]
    pub test: Vec<MeshTestArg>,
    /// Duration of each test
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    pub time: Nanos,
    /// By this IP version, or both, each by runs of its own [default: that of each agent's address]
    #[arg(long, value_enum, value_name = "VERSION")]
    pub ip: Option<MeshIpArg>,
    /// Only these agents. Repeatable [default: those that are there, and those that were before: one that is gone is `missed`]
    #[arg(long, value_name = "ID")]
    pub agent: Vec<String>,
    /// Only these two: A:B, both directions. Repeatable
    #[arg(long, value_name = "A:B", conflicts_with = "agent")]
    pub pair: Vec<String>,
    /// All pairs at the same time, each from A to B, as one measurement: their sum while all ran, and how far apart they began
    #[arg(long, requires = "pair", conflicts_with_all = ["results", "name"])]
    pub together: bool,
    /// Again and again: '@every 6h', '@daily', or five cron fields such as '0 3 * * *'. Every time is expected: one at which
    /// nothing was measured is a missed run with its reason
    #[arg(long, value_name = "WHEN", conflicts_with = "together")]
    pub schedule: Option<String>,
    /// The time zone of cron fields, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "schedule")]
    pub zone: Option<String>,
    /// At most so much later than scheduled, always the same for one name, so that meshes do not begin together
    /// [default: a tenth of the time between two runs, and at most 5 minutes]
    #[arg(long, value_name = "TIME", requires = "schedule")]
    pub splay: Option<Nanos>,
    /// Requirement on each run, such as 'up.goodput>=1Gbit/s': up is from its first host to its second. Repeatable
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// A link that pairs share, and how many of them it takes at once: NAME[=CAPACITY],A:B,C:D. Repeatable
    #[arg(long, value_name = "LINK")]
    pub link: Vec<String>,
    /// The link by which the agents of a site reach all others, likewise: NAME[=CAPACITY],A,B. Repeatable
    #[arg(long, value_name = "UPLINK")]
    pub uplink: Vec<String>,
    /// Copies of leases, jobs and results that a cluster of servers keeps: 1 or 3 [default: as they are, at first 1]
    #[arg(long, value_name = "N", value_parser = copies)]
    pub replicas: Option<usize>,
    /// File for the results, as JSON lines; the same command after a crash goes on with what is left
    #[arg(long, value_name = "FILE", default_value = "mesh.jsonl", value_hint = ValueHint::FilePath)]
    pub results: PathBuf,
    /// Name of this run of the mesh, which no other run ever has [default: made of the results' file, and unique to it]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Measure again what ended so, as another attempt: missed, failed, void, parted by commas [default: missed, and what failed for
    /// reasons of the fleet; with no value: all three, also where another file has a mesh of this --name]
    #[arg(long, value_name = "STATES", value_enum, value_delimiter = ',', num_args = 0.., conflicts_with = "together")]
    pub again: Option<Vec<AgainArg>>,
    /// Address where Prometheus may read how the mesh stands, as http://ADDR/metrics, without a password
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:9212")]
    pub metrics: Option<SocketAddr>,
    /// Keep each result in the store, too, so that `history`, `trend` and `ui` show it
    #[cfg(feature = "store")]
    #[arg(long)]
    pub save: bool,
    /// Label of the kept runs: what holds the runs of this mesh together, night after night
    #[cfg(feature = "store")]
    #[arg(long, value_name = "WORD", default_value = "mesh")]
    pub label: String,
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub alerts: super::AlertArgs,
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub store: super::StoreArgs,
    /// Print the rounds and how long they take, and stop
    #[arg(long)]
    pub dry_run: bool,
}

/// Expect an agent no more that is gone for good, until it is started again
#[derive(Clone, Debug, Args)]
pub struct MeshForgetArgs {
    /// The agents
    #[arg(value_name = "ID", required = true)]
    pub agents: Vec<String>,
    #[command(flatten)]
    pub nats: NatsArgs,
}

/// The server counts whole seconds, and a holder sends three heartbeats.
fn lease(text: &str) -> Result<Nanos, String> {
    let lease = text.parse::<Nanos>().map_err(|error| error.to_string())?;
    if lease >= Nanos::from_secs(3) { Ok(lease) } else { Err("3s at least".to_owned()) }
}

/// A cluster of servers agrees by majority, of three or of one.
fn copies(text: &str) -> Result<usize, String> {
    match text {
        "1" => Ok(1),
        "3" => Ok(3),
        _ => Err("1, or 3 in a cluster of three servers".to_owned()),
    }
}

/// Show the agents that are there, or the matrix of a run
#[derive(Clone, Debug, Args)]
pub struct MeshShowArgs {
    /// Every run with its state, also those that were missed, and not the matrix
    #[arg(long, requires = "results")]
    pub runs: bool,
    /// The mesh of this name, where the file has several [default: the last]
    #[arg(long, value_name = "NAME", requires = "results")]
    pub name: Option<String>,
    /// File with the results of `mesh run`
    #[cfg_attr(feature = "store", arg(required_unless_present_any = ["coordinator", "join", "saved"]))]
    #[cfg_attr(not(feature = "store"), arg(required_unless_present_any = ["coordinator", "join"]))]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub results: Option<PathBuf>,
    /// The latest kept run of each path, by the label of `mesh run --save`
    #[cfg(feature = "store")]
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["results", "coordinator", "join"])]
    pub saved: Option<String>,
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub store: super::StoreArgs,
    /// The mesh's NATS server, to list its agents
    #[arg(long, value_name = "URL", conflicts_with = "results")]
    pub coordinator: Option<String>,
    /// File with all that the coordinator needs: agents/coordinator.agent of `pathmeter mesh init`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "results")]
    pub join: Option<PathBuf>,
    /// File with the coordinator's key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
    /// Certificate of the authority that signed the server's, PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
}
