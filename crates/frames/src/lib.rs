//! Frames below the sockets: their form, their sending on one interface, and their counting on another.
//!
//! A [`Source`] sends the frames of a [`FrameSpec`] at a pace, a [`Sink`] counts those that arrive. There are several of each; a
//! burst determines which ones work with a driver, and how fast they are: neither is assumed.

#![expect(unsafe_code, reason = "rings and programs are memory shared with the kernel")]

mod af_packet;
pub mod bpf;
mod fit;
pub mod napi;
mod numbers;
mod open;
mod pace;
mod reader;
mod sink;
mod source;
mod stop;
mod tally;
mod xsk;

pub use model::dut::{Burst, Pace, Sent};
pub(crate) use numbers::{absent, words_for};
pub use open::{open_sink, open_source};
pub use packet::frame::FrameSpec;
pub use sink::{Arrived, Silence, Sink, Watch};
pub use source::Source;
pub use stop::Stop;
