//! The bits of a test header: the first word, and the two half words of its extension.

/// The base header is present, and `-d` or `-r` is requested.
pub(super) const VERSION1: u32 = 0x8000_0000;
/// The extension is present.
pub(super) const EXTEND: u32 = 0x4000_0000;
/// UDP: more than a plain test is requested.
pub(super) const UDP_TESTS: u32 = 0x2000_0000;
/// TCP: a permit key follows the header.
pub(super) const KEY: u32 = 0x1000_0000;
/// UDP: sequence numbers have 64 bits.
pub(super) const WIDE: u32 = 0x0800_0000;
/// `--reverse` or `--full-duplex` is requested.
pub(super) const VERSION2: u32 = 0x0400_0000;
/// TCP: an acknowledgement is wanted (`-X`).
pub(super) const PEER_DETECT: u32 = 0x0200_0000;
/// The header is a bounceback record, not a test header.
pub(super) const BOUNCEBACK: u32 = 0x0080_0000;
/// The header's length is in [`LENGTH_MASK`].
pub(super) const LENGTH: u32 = 0x0001_0000;
/// Length in bytes, shifted left by one. A permit key's length field is within it, the key behind.
pub(super) const LENGTH_MASK: u32 = 0xfffe;
/// With [`VERSION1`]: both directions at once (`-d`); otherwise one after the other (`-r`).
pub(super) const RUN_NOW: u32 = 0x0000_0001;

/// Frames at a constant rate (`--isochronous`).
pub(super) const ISOCHRONOUS: u16 = 0x0001;
/// UDP: no FIN and no report (`--no-udp-fin`).
pub(super) const NO_FIN: u16 = 0x0008;
/// One-way delays are wanted (`--trip-times`).
pub(super) const TRIP_TIMES: u16 = 0x0010;
/// UDP: the frames' settings are in the header.
pub(super) const FRAMES: u16 = 0x0040;
/// The rate is in packets.
pub(super) const PACKETS: u16 = 0x0080;
/// SO_MAX_PACING_RATE is in the header.
pub(super) const FQ_RATE: u16 = 0x0200;
/// The server sends (`--reverse`).
pub(super) const REVERSE: u16 = 0x0400;
/// Both send, on one connection (`--full-duplex`).
pub(super) const FULL_DUPLEX: u16 = 0x0800;
/// The test begins at a time of day (`--txstart-time`).
pub(super) const STARTS: u16 = 0x1000;
/// Bursts with a period (`--burst-period`).
pub(super) const BURSTS: u16 = 0x2000;
/// TCP: TCP_NOTSENT_LOWAT of the server's writes is in the header.
pub(super) const PREFETCH: u16 = 0x4000;
/// TCP: the server is to acknowledge at once.
pub(super) const QUICK_ACK: u16 = 0x8000;

/// TCP, from 2.2 on: the congestion control's name is in the header.
pub(super) const CONGESTION: u16 = 0x8000;
