//! A command in a virtual machine, as the host sees it.

use super::control::{Control, Silence, VmOutput};
use super::frame::{Frame, Kind};
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A command that runs in a machine; killed when this value goes.
#[derive(Debug)]
pub struct VmProcess {
    control: Arc<Control>,
    stream: u32,
}

impl VmProcess {
    /// Gives an order that ends as a command does.
    pub(super) fn request(control: &Arc<Control>, kind: Kind, request: &impl Serialize) -> io::Result<Self> {
        let process = Self { control: Arc::clone(control), stream: control.open() };
        control.send(&Frame::json(kind, process.stream, request)?)?;
        Ok(process)
    }

    /// Whether it has ended, or its machine has.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.wait(Duration::ZERO) != Err(Silence::Late)
    }

    /// Its standard output so far.
    #[must_use]
    pub fn stdout(&self) -> Vec<u8> {
        self.control.with(self.stream, |stream| stream.stdout.clone()).unwrap_or_default()
    }

    /// Its standard error since the last call.
    pub(super) fn take_stderr(&self) -> Vec<u8> {
        self.control.with(self.stream, |stream| std::mem::take(&mut stream.stderr)).unwrap_or_default()
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// When the machine has gone.
    pub fn terminate(&self) -> io::Result<()> {
        self.control.send(&Frame::new(Kind::Terminate, self.stream, Vec::new()))
    }

    /// Ends it.
    ///
    /// # Errors
    /// When the machine has gone.
    pub fn kill(&self) -> io::Result<()> {
        self.control.send(&Frame::new(Kind::Kill, self.stream, Vec::new()))
    }

    /// Waits for its end.
    pub(crate) fn wait(&self, limit: Duration) -> Result<(), Silence> {
        self.control.wait(self.stream, limit, |stream| stream.ended.as_ref().map(drop))
    }

    /// Waits until it has written something or ended, and takes that.
    pub(super) fn next(&self, limit: Duration) -> Result<VmOutput, Silence> {
        self.control.wait(self.stream, limit, |stream| {
            let silent = stream.stdout.is_empty() && stream.stderr.is_empty() && stream.ended.is_none();
            (!silent).then(|| std::mem::take(stream))
        })
    }

    /// Its output, and its end if it has ended.
    #[must_use]
    pub fn collect(self) -> VmOutput {
        self.control.with(self.stream, std::mem::take).unwrap_or_default()
    }
}

impl Drop for VmProcess {
    fn drop(&mut self) {
        if !self.has_ended() {
            // A machine that has gone has ended it.
            let _ = self.kill();
        }
        self.control.forget(self.stream);
    }
}
