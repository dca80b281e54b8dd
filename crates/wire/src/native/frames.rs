//! Frames out of an interface of the server, and counted on it: one port of a device's tester, on another host.
//!
//! The frames go through the device and never along the control connection: a session has no data flows. The client asks
//! one thing after the other ([`FramesAsk`]) and is told what came of it ([`FramesReply`]).

pub use crate::work::frames::{
    FrameBurst, FramePace, FrameSpec, FramesAddressing, FramesAsk, FramesCounted, FramesPort, FramesReply,
    FramesSent, FramesSilence, FramesVariation, FramesWish,
};
pub(super) use check::check_wish;
pub use check::{MAX_FRAMES, MAX_SIZES};
pub use client::FramesClient;

mod check;
mod client;
pub(super) mod server;

/// The extension as both ends name it in their hello.
pub(super) const FEATURE: &str = "frames";

/// Whether an end that names these extensions knows sessions of frames.
pub(super) fn is_known(features: &[String]) -> bool {
    features.iter().any(|feature| feature == FEATURE)
}
