//! Messages between host and virtual machine over a virtio serial port.
//!
//! A frame is the length of its payload and a stream number (four bytes each, little-endian), one byte for its kind, and the
//! payload. A stream is one request to the machine and its responses.

use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// The machine listens.
    Ready = 1,
    /// To the machine: be this node ([`super::guest::Role`]). Ends as a command does, having written notes.
    Configure = 2,
    /// To the machine: count (names of interfaces). Ends as a command does, having written [`super::counted::Counted`].
    Count = 3,
    /// To the machine: start a command ([`Start`]).
    Start = 4,
    /// Standard output of a command.
    Stdout = 5,
    /// Standard error of a command.
    Stderr = 6,
    /// A command ended ([`Ended`]).
    Ended = 7,
    /// To the machine: ask a command to end (`SIGTERM`).
    Terminate = 8,
    /// To the machine: end a command (`SIGKILL`).
    Kill = 9,
}

/// A command to start.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// CPUs of the machine it may run on; empty: any.
    pub(super) cpus: Vec<u32>,
}

/// The end of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it could not be started at all.
    pub error: Option<String>,
}

impl Ended {
    pub(super) fn failed(error: impl ToString) -> Self {
        Self { error: Some(error.to_string()), ..Self::default() }
    }
}

impl Frame {
    pub(super) fn new(kind: Kind, stream: u32, payload: Vec<u8>) -> Self {
        Self { kind, stream, payload }
    }

    pub(super) fn json(kind: Kind, stream: u32, value: &impl Serialize) -> io::Result<Self> {
        Ok(Self::new(kind, stream, serde_json::to_vec(value)?))
    }

    /// Reads one; `None` at the end of the stream.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER];
        if let Err(error) = from.read_exact(&mut header) {
            return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
        }
        let [a, b, c, d, e, f, g, h, kind] = header;
        let length = u32::from_le_bytes([a, b, c, d]);
        let (Some(kind), true) = (Kind::from(kind), length <= LONGEST) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no frame of a virtual machine"));
        };
        let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        from.read_exact(&mut payload)?;
        Ok(Some(Self { kind, stream: u32::from_le_bytes([e, f, g, h]), payload }))
    }

    /// Writes it in one call, so that frames of several threads do not mix.
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let length = u32::try_from(self.payload.len()).ok().filter(|length| *length <= LONGEST);
        let length = length.ok_or(io::ErrorKind::FileTooLarge)?;
        let mut bytes = Vec::with_capacity(HEADER + self.payload.len());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.stream.to_le_bytes());
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(&self.payload);
        to.write_all(&bytes)
    }
}

impl Kind {
    fn from(number: u8) -> Option<Self> {
        const ALL: [Kind; 9] = [
            Kind::Ready,
            Kind::Configure,
            Kind::Count,
            Kind::Start,
            Kind::Stdout,
            Kind::Stderr,
            Kind::Ended,
            Kind::Terminate,
            Kind::Kill,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The name of the port, as both ends know it.
pub(super) const PORT: &str = "org.pathmeter.control";
const HEADER: usize = 9;
/// No payload is longer.
const LONGEST: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_as_it_was_sent() {
        let start = Start { command: vec!["true".into()], cpus: vec![1] };
        let frame = Frame::json(Kind::Start, 7, &start).unwrap();
        let mut bytes = Vec::new();
        frame.write(&mut bytes).unwrap();
        let mut rest = &bytes[..];
        assert_eq!(Frame::read(&mut rest).unwrap(), Some(frame));
        assert_eq!(Frame::read(&mut rest).unwrap(), None);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert!(Frame::read(&mut &[0, 0, 0, 0, 0, 0, 0, 0, 99][..]).is_err());
        assert!(Frame::read(&mut &[255, 255, 255, 255, 0, 0, 0, 0, 5][..]).is_err());
        assert!(Frame::read(&mut &[5, 0, 0, 0, 0, 0, 0, 0, 5, 1][..]).is_err());
        let long = Frame::new(Kind::Stdout, 1, vec![0; (1 << 20) + 1]);
        assert!(long.write(&mut Vec::new()).is_err());
    }
}
