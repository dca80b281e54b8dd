//! The engine of pathmeter: what to measure goes in as a plan, what happens comes out as events. Threads drive the protocols
//! of `wire` over the sockets of `linux`. It prints nothing and knows no command line.
//!
//! A measurement, from what is asked to what it means (`pathmeter serve` listens on the other host; `examples/` has more):
//!
//! ```no_run
//! use pathmeter_engine::request::{Host, Request, resolve};
//! use pathmeter_engine::run::{Options, run};
//!
//! let plan = resolve(&Request::measure("far.example"), &Host::here())?;
//! let ended = run(&plan, &Options::default(), &mut |event| println!("{event:?}"))?;
//! if let Some(run) = ended.run() {
//!     println!("{}", run.verdict.text);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `request` | what was asked, and the plan it makes: defaults, names, checks |
//! | `run` | a plan carried out: one test, or what orders several (`measure`, `pairs`, `frames`, devices) |
//! | `client`, `together` | the client's end of a test; several sessions begun at once |
//! | `protocol` | what differs between the protocols of throughput tests: a row each |
//! | `address`, `host_port`, `preflight` | names to addresses, and what this host refuses, found before anything is sent |
//! | `connect`, `tls`, `secret`, `link`, `pump` | a control connection, and the words of a session on it |
//! | `driver`, `work`, `dialogue` | a session at work: by workers of each kind, or by hand |
//! | `server` | what is served where, and to whom |
//! | `listener`, `arrivals` | accepting for every protocol; which flow belongs to which session |
//! | `session` | what a session reports while it runs |
//! | `budget`, `penalty`, `notes` | what clients may hold of a server, how long failed ones wait, what the log says of them |
//! | `flows`, `threads`, `bulk`, `datagram`, `receive`, `pacer`, `shared`, `running`, `sampler`, `usage` | the data path of throughput |
//! | `latency`, `echo` | round trips; the loops that wait for single messages and send them back |
//! | `path`, `probe` | packet sizes; the dialogue and the flow of single datagrams |
//! | `hops` | the routers on the way |
//! | `transfer`, `http_server` | files over HTTP at both ends |
//! | `iperf2` | the protocol without a control connection |
//! | `dut` | a device under test between two ports |
//! | `journal` | what came of each step of long work, so that it goes on after a crash |
//! | `reach`, `capture`, `guard`, `host`, `interrupt`, `error` | this host: what it says of a far one, its packets, what is put back, stop, errors |

pub use {insight, model, wire};

pub mod address;
pub mod arrivals;
mod budget;
mod bulk;
pub mod capture;
pub mod client;
pub mod connect;
mod datagram;
mod dialogue;
mod driver;
#[cfg_attr(not(feature = "device"), expect(dead_code, reason = "a server lends its ports all the same"))]
pub mod dut;
pub mod echo;
pub mod error;
pub mod flows;
pub mod guard;
pub mod hops;
pub mod host;
pub mod host_port;
pub mod http_server;
pub mod interrupt;
pub mod iperf2;
pub mod journal;
pub mod latency;
mod link;
mod listener;
mod notes;
mod pacer;
pub mod path;
mod penalty;
pub mod preflight;
pub mod probe;
mod protocol;
mod pump;
pub mod reach;
mod receive;
pub mod request;
pub mod run;
mod running;
mod sampler;
pub mod secret;
pub mod server;
pub mod session;
mod shared;
mod threads;
pub mod tls;
mod together;
pub mod transfer;
mod usage;
mod work;
