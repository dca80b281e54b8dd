//! The engine of pathmeter: what to measure goes in as a plan, what happens comes out as events. Threads drive the protocols
//! of `wire` over the sockets of `linux`. It prints nothing and knows no command line.
//!
//! A measurement, from what is asked to what it means (`pathmeter serve` listens on the other host; `examples/` has more):
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
//! What another program needs stands here by name; the rest of each kind of measurement (its request, its options) is in the
//! modules. These are floors, and each uses only those below it:
//!
//! | module | what it holds |
//! |---|---|
//! | `request` | what was asked, and the plan it makes: defaults, names, checks, and what this host refuses |
//! | `run` | a plan carried out: one test, or what orders several (`measure`, `pairs`, `frames`, devices) |
//! | `server` | what is served where, and to whom |
//! | `work` | what a session does, a module for each kind: throughput, round trips, packet sizes, hops, files, devices |
//! | `session` | control connections, the listener, who may come and what they may hold, the table of protocols |
//! | `host` | this host: addresses, its fingerprint, what it says of a far one, what is put back, Ctrl-C |
//! | `error` | what went wrong, by kind |

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
