//! Alerts: each change of a path is reported to every receiver, once.
//!
//! | module | contents |
//! |---|---|
//! | [`Alert`] | one message: a change of state, confirmed |
//! | [`reach`] | whether a path can be measured, and which change of that is reported |
//! | [`Receiver`] | a command, a webhook, a mailbox |
//! | [`Outbox`] | threads that deliver, so that a slow or unreachable receiver never delays the measurement |
//! | [`metrics`] | the state of every path for Prometheus |

mod alert;
mod command;
mod mail;
pub mod metrics;
mod outbox;
pub mod reach;
mod undelivered;
mod webhook;

pub use alert::{Alert, Word};
pub use command::Command;
pub use mail::{Mail, MailError};
pub use outbox::{Ended, Notes, Outbox, Receiver, Retry};
pub use webhook::Webhook;
