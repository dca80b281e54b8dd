//! Commands in the machines of a lab that another process holds up: the side of the process that wants them.

use super::frame::{Ended, Frame, Kind};
use super::server::CommandRequest;
use crate::error::LabError;
use crate::state::{Directory, HeldLab};
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A command in a machine of such a lab, without input; killed when this value and its [`Asker`]s go.
#[derive(Debug)]
pub struct RemoteCommand {
    socket: UnixStream,
}

/// Asks a [`RemoteCommand`] to end while another thread follows it.
#[derive(Debug)]
pub struct Asker(UnixStream);

/// Where a command's output or end got lost.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The lab went, and the command with it.
    #[error("the lab has gone, and the command with it")]
    Lab,
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl RemoteCommand {
    /// Requests the process that holds the lab to start it. A missing program is reported by the end of the command.
    ///
    /// # Errors
    /// When the lab has gone, or takes no requests.
    pub fn start(
        directory: &Directory,
        lab: &HeldLab,
        node: &str,
        command: Vec<String>,
    ) -> Result<Self, LabError> {
        let socket = directory.at_socket(&lab.name, |path| UnixStream::connect(path))?;
        let request = CommandRequest { node: node.to_owned(), command };
        Self::request(socket, request).map_err(LabError::start(node, "the command"))
    }

    pub(super) fn request(mut socket: UnixStream, request: CommandRequest) -> io::Result<Self> {
        // A holder that was stopped reads nothing.
        socket.set_write_timeout(Some(WRITE_LIMIT))?;
        Frame::json(Kind::Start, 0, &request)?.write(&mut socket)?;
        Ok(Self { socket })
    }

    /// A handle by which another thread requests its end.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn asker(&self) -> io::Result<Asker> {
        self.socket.try_clone().map(Asker)
    }

    /// Writes its output until it ends; returns its end.
    ///
    /// # Errors
    /// When the lab goes, or the output cannot be written: the command is killed then.
    pub fn follow(mut self, out: &mut impl Write, err: &mut impl Write) -> Result<Ended, Lost> {
        loop {
            // Data that is not a frame does not come from a lab.
            let Ok(Some(frame)) = Frame::read(&mut self.socket) else { return Err(Lost::Lab) };
            match frame.kind {
                Kind::Stdout => out.write_all(&frame.payload).and_then(|()| out.flush())?,
                Kind::Stderr => err.write_all(&frame.payload)?,
                Kind::Ended => return serde_json::from_slice(&frame.payload).map_err(|_| Lost::Lab),
                _ => return Err(Lost::Lab),
            }
        }
    }
}

impl Asker {
    /// Asks it to end (`SIGTERM`).
    ///
    /// # Errors
    /// When it has ended, or the lab takes no orders.
    pub fn terminate(&mut self) -> io::Result<()> {
        Frame::new(Kind::Terminate, 0, Vec::new()).write(&mut self.0)
    }

    /// Leaves it: it is killed, and [`RemoteCommand::follow`] returns.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn leave(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Both)
    }
}

const WRITE_LIMIT: Duration = Duration::from_secs(5);
