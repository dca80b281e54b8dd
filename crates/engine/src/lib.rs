//! The engine of pathmeter: a plan goes in, events come out. Threads drive the protocols of `wire` over the sockets of `linux`.
//! It prints nothing and knows no command line.
//!
//! A measurement, from the request to the verdict (`pathmeter serve` listens on the other host; `examples/` has more):
//!
//! ```no_run
//! use pathmeter_engine::{Host, Options, Request, resolve, run};
//!
//! let plan = resolve(&Request::measure("far.example"), &Host::here())?;
//! let ended = run(&plan, &Options::default(), &mut |event| println!("{event:?}"))?;
//! if let Some(run) = ended.run() {
//!     println!("{}", run.verdict.text);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The items that other programs need are here by name; the rest of each kind of measurement (its request, its options) is in
//! the modules. The modules are layers; each uses only those below it:
//!
//! | module | what it holds |
//! |---|---|
//! | `request` | a request, and the plan it makes: defaults, names, checks, and refusals of this host |
//! | `run` | a plan carried out: one test, or what orders several (`measure`, `pairs`, `frames`, devices) |
//! | `server` | the services, their sockets, and their clients |
//! | `work` | the work of a session, a module for each kind: throughput, round trips, packet sizes, hops, files, devices |
//! | `session` | control connections, the listener, limits of clients, the table of protocols |
//! | `host` | this host: addresses, its fingerprint, its state of a far host, restored settings, Ctrl-C |
//! | `error` | errors, by kind |

pub use {insight, model, wire};

pub mod error;
pub mod host;
pub mod request;
pub mod run;
pub mod server;
pub mod session;
pub mod work;

pub use error::{Error, Kind};
pub use host::interrupt::Interrupt;
pub use request::{Host, Request, resolve};
pub use run::{Options, Plan, run};
pub use server::Server;
pub use work::observer::{Observer, SessionEvent, Watcher};
