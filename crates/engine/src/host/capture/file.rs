//! The pcapng file of a capture. It is valid at any moment: only whole blocks are written, and a block that the disk
//! has no room for is taken back.

use crate::error::{Context, Result};
use linux::capture::{Captor, Capture as Setup, Frame, LinkLayer, Statistics};
use linux::clock::wall_now;
use linux::privilege::Uname;
use model::packets::{PcapFile, Pieces};
use model::plan::Direction;
use model::time::WallTime;
use packet::pcapng::{self, LinkType, Packet};
use packet::{Captured, Segments, Splitter};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that is being written.
#[derive(Debug)]
pub(super) struct PcapWriter {
    path: PathBuf,
    file: File,
    /// Bytes of whole blocks in the file.
    written: u64,
    /// Whole blocks for it.
    buffer: Vec<u8>,
    /// Packets in the file.
    packets: u64,
    /// Packets in the buffer.
    waiting: u64,
    link: LinkType,
    splitter: Option<Splitter>,
    frame: Vec<u8>,
    begin: WallTime,
    failed: Option<std::io::Error>,
}

impl PcapWriter {
    /// Makes the file and writes its beginning.
    pub(super) fn create(path: &Path, setup: &Setup, captor: &Captor, split: bool) -> Result<PcapWriter> {
        let named = || format!("write the captured packets to {}", path.display());
        let link = match captor.layer() {
            LinkLayer::Ethernet | LinkLayer::Loopback => LinkType::Ethernet,
            LinkLayer::Ip => LinkType::RawIp,
        };
        let uname = Uname::get();
        let mut buffer = Vec::with_capacity(FLUSH + (FLUSH >> 1));
        let application = concat!("pathmeter ", env!("CARGO_PKG_VERSION"));
        pcapng::section(&mut buffer, application, &format!("{} {}", uname.system, uname.release));
        pcapng::interface(&mut buffer, link, &setup.interface, setup.snap);
        let mut writer = PcapWriter {
            path: path.to_owned(),
            file: File::create(path).with_context(named)?,
            written: 0,
            buffer,
            packets: 0,
            waiting: 0,
            link,
            splitter: split.then(Splitter::default),
            frame: Vec::new(),
            begin: wall_now(),
            failed: None,
        };
        writer.flush();
        match writer.failed {
            Some(error) => Err(error).with_context(named),
            None => Ok(writer),
        }
    }

    /// Takes a frame. `captured`: its packet, where it is one of IP.
    pub(super) fn take(
        &mut self,
        frame: &Frame<'_>,
        captured: Option<&Captured<'_>>,
        direction: Option<Direction>,
    ) {
        if self.failed.is_some() {
            return;
        }
        let outgoing = direction.map(|direction| direction == Direction::Up);
        match (self.splitter.take(), captured) {
            (Some(mut splitter), Some(captured)) => {
                splitter.split(captured, frame.offload.checksum, &mut |bytes, length| {
                    self.packet(frame, bytes, length, outgoing, None);
                });
                self.splitter = Some(splitter);
            }
            (splitter, captured) => {
                self.splitter = splitter;
                let bytes = frame.bytes.get(frame.network..).unwrap_or_default();
                let length = frame.length.saturating_sub(frame.network as u32);
                let comment = captured.and_then(|captured| note(captured, captured.pieces()?));
                self.packet(frame, bytes, length, outgoing, comment.as_deref());
            }
        }
        if self.buffer.len() >= FLUSH {
            self.flush();
        }
    }

    /// Appends a packet, `bytes` and `length` of which are counted from its IP header, behind the frame's own header.
    fn packet(
        &mut self,
        frame: &Frame<'_>,
        bytes: &[u8],
        length: u32,
        outgoing: Option<bool>,
        comment: Option<&str>,
    ) {
        self.frame.clear();
        if self.link == LinkType::Ethernet {
            let header = frame.bytes.get(..frame.network).unwrap_or(frame.bytes);
            match (frame.vlan, header.split_at_checked(12)) {
                (Some((protocol, tag)), Some((addresses, rest))) => {
                    let tag = [protocol.to_be_bytes(), tag.to_be_bytes()].concat();
                    [addresses, &tag, rest].iter().for_each(|part| self.frame.extend_from_slice(part));
                }
                _ => self.frame.extend_from_slice(header),
            }
        }
        let length = length.saturating_add(self.frame.len() as u32);
        self.frame.extend_from_slice(bytes);
        let packet = Packet { time: frame.time, bytes: &self.frame, length, outgoing, comment };
        pcapng::packet(&mut self.buffer, &packet);
        self.waiting += 1;
    }

    /// Writes what there is.
    pub(super) fn flush(&mut self) {
        if self.failed.is_none() && !self.buffer.is_empty() {
            match self.file.write_all(&self.buffer) {
                Ok(()) => {
                    self.written += self.buffer.len() as u64;
                    self.packets += self.waiting;
                }
                Err(error) => {
                    self.failed = Some(error);
                    // Half a block is worse than none. When this fails too, so be it: the reader loses the last block.
                    let _ = self.file.set_len(self.written);
                }
            }
        }
        self.buffer.clear();
        self.waiting = 0;
    }

    /// Writes the rest and the counts.
    pub(super) fn finish(mut self, counted: Statistics) -> PcapFile {
        let statistics = pcapng::Statistics {
            begin: self.begin,
            end: wall_now(),
            received: counted.frames,
            dropped: counted.dropped,
        };
        pcapng::statistics(&mut self.buffer, &statistics);
        self.flush();
        PcapFile {
            path: self.path.display().to_string(),
            packets: self.packets,
            split: self.splitter.is_some(),
            error: self.failed.map(|error| error.to_string()),
        }
    }
}

/// A note on the packets of a super-packet, which explains its size.
fn note(captured: &Captured<'_>, pieces: Pieces) -> Option<String> {
    match captured.segments {
        Segments::Of(size) if pieces.packets() > 1 => Some(format!("gso {} × {size}", pieces.packets())),
        _ => None,
    }
}

const FLUSH: usize = 1 << 18;
