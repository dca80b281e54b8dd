//! Capturing the packets of a test: a thread that counts them, and writes them to a file where one is wanted.

mod file;
mod thread;

use crate::error::{Failure, Result};
use file::PcapWriter;
use insight::fix;
use linux::capture::{Captor, Capture as Setup};
use linux::errno::{EACCES, ENODEV, EPERM};
use model::event::{Event, Warning};
use model::packets::PacketResult;
use model::units::Bytes;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The capture that the user requests.
#[derive(Clone, Debug, Default)]
pub struct CaptureOptions {
    /// Packets are to be counted.
    pub count: bool,
    /// They are to be written to this file; then they are counted too.
    pub pcap: Option<PathBuf>,
    /// The file is to have the packets of the wire, and not the super-packets of this host's offloads.
    pub split: bool,
    /// The interface; absent: the one toward the far host.
    pub interface: Option<String>,
    /// Bytes of each frame for the file; absent: the headers alone, or all where they are split.
    pub snap: Option<u32>,
}

impl CaptureOptions {
    /// Is anything to be captured?
    pub fn is_wanted(&self) -> bool {
        self.count || self.pcap.is_some()
    }
}

/// A capture that runs, or the reason why none does. Dropped, it ends and its file is whole.
#[derive(Debug)]
pub struct Capture(State);

#[derive(Debug)]
enum State {
    Running { stop: Arc<AtomicBool>, thread: Option<JoinHandle<PacketResult>> },
    Refused(Warning),
}

/// Begins to capture the packets from and to a host; nothing when no capture is requested.
///
/// Where this process may not capture, a test whose packets were to be counted goes on without: [`Capture::finish`] reports it.
///
/// # Errors
/// There is no such interface, or the file cannot be made, or would have nothing in it.
pub fn start(options: &CaptureOptions, peer: IpAddr) -> Result<Option<Capture>> {
    if !options.is_wanted() {
        return Ok(None);
    }
    let peer = peer.to_canonical();
    let (setup, captor) = match open(options, peer) {
        Ok(opened) => opened,
        Err(error) => match error.errno() {
            Some(ENODEV) if options.interface.is_some() => {
                let advice = "`ip link` shows the names of the interfaces";
                return Err(Failure::usage(error.to_string(), advice).into());
            }
            _ if options.pcap.is_some() => return Err(no_file(&error).into()),
            _ => return Ok(Some(Capture(State::Refused(refused(&error))))),
        },
    };
    let file = options.pcap.as_deref().map(|path| PcapWriter::create(path, &setup, &captor, options.split));
    let file = file.transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    let work = thread::Counting::new(setup, captor, file, stop.clone());
    let thread = std::thread::Builder::new().name("capture".into()).spawn(move || work.run())?;
    Ok(Some(Capture(State::Running { stop, thread: Some(thread) })))
}

impl Capture {
    /// Why there is none.
    pub fn refusal(&self) -> Option<&str> {
        match &self.0 {
            State::Refused(warning) => Some(&warning.text),
            State::Running { .. } => None,
        }
    }

    /// Ends the capture, and reports its counts or why there was none.
    pub fn finish(mut self) -> Event {
        match &mut self.0 {
            State::Refused(warning) => Event::Warning(warning.clone()),
            State::Running { .. } => match self.end() {
                Some(result) => Event::Packets(Box::new(result)),
                None => Event::Warning(Warning::new("capture-failed", "The capture of packets broke down.")),
            },
        }
    }

    fn end(&mut self) -> Option<PacketResult> {
        let State::Running { stop, thread } = &mut self.0 else { return None };
        stop.store(true, Ordering::Relaxed);
        thread.take()?.join().ok()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.end();
    }
}

fn open(options: &CaptureOptions, peer: IpAddr) -> linux::Result<(Setup, Captor)> {
    let interface = match &options.interface {
        Some(name) => name.clone(),
        None => Setup::interface_toward(peer)?,
    };
    let snap = options.snap.unwrap_or(if options.split { WHOLE } else { HEADERS });
    let memory = if snap > 16_384 { LARGE } else { SMALL };
    let setup = Setup { interface, peer, snap, memory };
    let captor = setup.start()?;
    Ok((setup, captor))
}

fn no_file(error: &linux::OsError) -> Failure {
    let advice = allowing(error).map(|rights| format!("to allow it: {rights}"));
    let advice = advice.unwrap_or_else(|| "leave out --pcap to measure without".into());
    Failure::usage(format!("--pcap: packets cannot be captured: {error}"), advice)
}

/// The command that would permit it, where the error is missing privilege.
fn allowing(error: &linux::OsError) -> Option<String> {
    matches!(error.errno(), Some(EPERM | EACCES)).then(|| fix::rights(None))
}

fn refused(error: &linux::OsError) -> Warning {
    let text = match allowing(error) {
        Some(rights) => {
            format!("Packets were not captured, for this process may not ({error}). To allow it: {rights}")
        }
        None => format!("Packets were not captured: {error}."),
    };
    Warning::new("capture-refused", text)
}

/// Enough for the headers of Ethernet, IPv6 with a few extensions, and TCP with all its options.
const HEADERS: u32 = 160;
/// More than any super-packet.
pub const WHOLE: u32 = 1 << 19;
const SMALL: Bytes = Bytes(32 << 20);
const LARGE: Bytes = Bytes(64 << 20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_captured_unasked() {
        let options = CaptureOptions { split: true, snap: Some(200), ..CaptureOptions::default() };
        assert!(start(&options, IpAddr::from([127, 0, 0, 1])).unwrap().is_none());
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error_of_usage() {
        let options =
            CaptureOptions { count: true, interface: Some("nosuch0".into()), ..CaptureOptions::default() };
        match start(&options, IpAddr::from([127, 0, 0, 1])) {
            Err(error) => assert_eq!(error.kind(), crate::error::Kind::Usage),
            Ok(capture) => {
                let Some(Event::Warning(warning)) = capture.map(Capture::finish) else { panic!("a warning") };
                assert!(warning.text.contains(&fix::rights(None)), "{warning:?}");
            }
        }
    }
}
