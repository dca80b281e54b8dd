//! STAMP: round trips with both ends' times, by RFC 8762 and the useful parts of RFC 8972; TWAMP-Light at the far end.
//!
//! The client's half is [`Sender`], the server's [`Reflector`]; `docs/stamp.md` lists the supported features. With a [`Key`] both
//! use the authenticated mode, without one the open mode.

mod auth;
mod clock;
mod observed;
mod packet;
mod reflected;
mod reflector;
mod sender;
mod sessions;
mod tlv;

pub use auth::{Key, KeyError};
pub use clock::{Clock, ErrorEstimate, Format, Timestamp};
pub use packet::{Mode, ReflectorPacket, SenderPacket};
pub use reflector::{Reflector, ReflectorCounts, ReflectorOptions};
pub use sender::{Sender, SenderOptions, SizeError};
pub use tlv::{Tlv, Tlvs};

/// UDP port of a reflector (RFC 8762 section 4.1).
pub const PORT: u16 = 862;
