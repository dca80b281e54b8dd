//! Frames sent and counted on an interface of the server: one port of a device's tester, on another host.
//!
//! The frames go through the device and never along the control connection: a session has no data flows. The client sends one
//! request after the other ([`FramesAsk`]) and receives a reply to each ([`FramesReply`]).

pub use crate::work::frames::{
    Addressing, Burst, FrameSpec, FramesAsk, FramesCounted, FramesPort, FramesReply, FramesSilence,
    FramesVariation, FramesWish, Pace, Sent,
};
pub(super) use check::check_wish;
pub use check::{MAX_FRAMES, MAX_SIZES};
pub use client::FramesClient;

mod check;
mod client;
pub(super) mod server;

/// The extension as both ends name it in their hello.
pub(super) const FEATURE: &str = "frames";
