//! Coordination of many hosts: it decides which host measures at which time, so that no test disturbs another. A measurement is
//! an opaque job; this crate knows no engine.
//!
//! Agents hold leases on the resources of a job while they carry it out; everything they share lies with a broker, a NATS server
//! ([`broker::nats`]) or, in tests, this process.
//!
//! ```
//! use model::time::MonoTime;
//! use model::units::Nanos;
//! use pathmeter_fleet::lease::{About, Acquired, COORDINATOR, Claim, Class, Lease, Resource, holder};
//! use world::broker::Local;
//!
//! let broker = Local::default();
//! let clock = || MonoTime::ZERO;
//! let claim = |name: &str| Claim {
//!     holder: holder(COORDINATOR, name),
//!     run: String::new(),
//!     grant: String::new(),
//!     group: name.into(),
//!     class: Class::Exclusive,
//!     resources: vec![Resource::sole("nic.ams.eth0"), Resource::sole("nic.fra.eth0")],
//!     lifetime: Nanos::from_secs(6),
//!     about: About::default(),
//! };
//! let Acquired::Held(lease) = Lease::acquire(&broker, claim("run-1"), &clock)? else { panic!("it was free") };
//! assert!(matches!(Lease::acquire(&broker, claim("run-2"), &clock)?, Acquired::Blocked { .. }));
//! assert!(lease.release(&broker)?);
//! assert!(matches!(Lease::acquire(&broker, claim("run-3"), &clock)?, Acquired::Held(_)));
//! # Ok::<(), pathmeter_fleet::FleetError>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`rounds`] | which pairs run at the same time: tournament, edge colouring, how long it takes |
//! | [`lease`] | leases: the holders of each resource |
//! | [`schedule`] | when a job repeats |
//! | [`ledger`] | the runs that are expected, and the outcome of each |
//! | [`mesh`], [`job`] | the plan of a mesh: rounds of runs, each a job for an agent, and its outcome |
//! | [`coordinator`], [`results`] | the loop that hands rounds out and takes outcomes, and a file for them |
//! | [`agent`], [`spool`] | the loop that carries jobs out, and what it keeps on its disk |
//! | [`group`] | pairs that start at the same time |
//! | [`clock`] | the clocks of a host, which a test can replace |
//! | [`broker`] | the basis of all: keys, messages, logs of a NATS server |
//! | `setup` | the files of a mesh's server: configuration, keys, certificates |
//! | [`FleetError`] | errors, with advice |

pub mod agent;
pub mod broker;
pub mod clock;
pub mod coordinator;
mod error;
pub mod group;
pub mod job;
pub mod lease;
pub mod ledger;
mod line_file;
pub mod mesh;
pub mod name;
pub mod results;
pub mod rounds;
pub mod schedule;
#[cfg(feature = "nats")]
pub mod setup;
pub mod spool;

pub use error::{FleetError, Result, check_name};
