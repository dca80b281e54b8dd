//! A path to a host without a pathmeter: what its answers to ICMP echo, to datagrams for a closed port and to TCP show.

mod back;
pub(super) mod bisect;
mod closed;
mod directions;
mod echo;
pub(super) mod facts;
mod forward;
mod messages;
mod tcp;

use crate::error::{Error, Result};
use crate::host::interrupt::Interrupt;
use closed::ClosedPort;
use echo::Echo;
use facts::Facts;
use linux::clock::mono_now;
use linux::errno::{EACCES, EPERM};
use linux::options::MtuDiscovery;
use model::event::Event;
use model::path::{PathMethod, PathPlan, PathResult};
use model::time::MonoTime;
use model::units::Nanos;
use tcp::Tcp;

/// Asks the far end by each method that the plan allows, and puts together what they show.
///
/// # Errors
/// A socket that this host refuses; a host that gives no answer of any kind.
pub(crate) fn run(
    plan: &PathPlan,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&Event),
) -> Result<PathResult> {
    let began = mono_now();
    let facts = Facts::from_plan(plan)?;
    let host = &plan.target.host;
    let wants =
        |method| plan.method == method || matches!(plan.method, PathMethod::Auto | PathMethod::Native);
    std::thread::scope(|scope| {
        // A filtered port takes seconds to be given up.
        let tcp = wants(PathMethod::Tcp).then(|| scope.spawn(|| tcp::look(plan)));
        sink(&Event::progress(format!("asking {host}")));
        // One without a value does the same.
        let echo = wants(PathMethod::Icmp).then(|| scope.spawn(|| open_echo(plan, interrupt)));
        let mut methods =
            Methods { plan, facts, interrupt, began, port: None, echo: EchoState::NotPlanned, tcp: None };
        if wants(PathMethod::Udp) {
            methods.port = Some(ClosedPort::find(plan.target.address, &plan.local, interrupt)?);
        }
        if let Some(Ok(state)) = echo.map(std::thread::ScopedJoinHandle::join) {
            methods.echo = state?;
        }
        methods.ask_again()?;
        let join = || tcp.and_then(|thread| thread.join().ok());
        if !methods.answers() {
            methods.tcp = join();
            methods.check()?;
            return methods.conclude(sink);
        }
        let mut result = methods.conclude(sink)?;
        methods.tcp = join();
        methods.add_tcp(&mut result);
        Ok(result)
    })
}

/// The methods of probing, and which of them is answered.
struct Methods<'a> {
    plan: &'a PathPlan,
    facts: Facts,
    interrupt: &'a Interrupt,
    began: MonoTime,
    port: Option<ClosedPort<'a>>,
    echo: EchoState,
    tcp: Option<Tcp>,
}

/// The outcome of ICMP echo.
enum EchoState {
    /// The plan does not want it.
    NotPlanned,
    /// This user may not.
    Forbidden,
    /// No reply came.
    Silent(Echo),
    /// Replies come.
    Answers(Echo),
}

impl<'a> Methods<'a> {
    /// Where echo was not answered, its request may have been lost.
    fn ask_again(&mut self) -> Result<()> {
        let round_trip = self.port.as_ref().and_then(|port| port.round_trip);
        self.echo = match std::mem::replace(&mut self.echo, EchoState::NotPlanned) {
            EchoState::Silent(mut echo) => {
                // A host that far away answers within the same time.
                echo.round_trip = round_trip;
                let answered = is_answered(&mut echo, self.interrupt)?;
                if answered { EchoState::Answers(echo) } else { EchoState::Silent(echo) }
            }
            other => other,
        };
        Ok(())
    }

    /// To the far end and back, as far as anything answered.
    fn round_trip(&self) -> Option<Nanos> {
        let port = self.port.as_ref().and_then(|port| port.round_trip);
        match &self.echo {
            EchoState::Answers(echo) => port.max(echo.round_trip),
            _ => port,
        }
    }

    /// Whether packets of any size can be asked about.
    fn answers(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.answers) || matches!(self.echo, EchoState::Answers(_))
    }

    /// The echo socket that is answered.
    fn echo(&mut self) -> Option<&mut Echo> {
        match &mut self.echo {
            EchoState::Answers(echo) => Some(echo),
            _ => None,
        }
    }

    /// The closed port that is answered.
    fn port(&mut self) -> Option<&mut ClosedPort<'a>> {
        self.port.as_mut().filter(|port| port.answers)
    }

    fn packets(&self) -> u64 {
        let port = self.port.as_ref().map_or(0, |port| port.packets);
        let echo = match &self.echo {
            EchoState::Silent(echo) | EchoState::Answers(echo) => echo.packets,
            EchoState::NotPlanned | EchoState::Forbidden => 0,
        };
        port + echo
    }
}

fn open_echo(plan: &PathPlan, interrupt: &Interrupt) -> Result<EchoState> {
    let mut echo = match Echo::open(plan.target.address, &plan.local) {
        Err(error) if is_forbidden(&error) => return Ok(EchoState::Forbidden),
        other => other?,
    };
    let answered = is_answered(&mut echo, interrupt)?;
    Ok(if answered { EchoState::Answers(echo) } else { EchoState::Silent(echo) })
}

fn is_answered(echo: &mut Echo, interrupt: &Interrupt) -> Result<bool> {
    let rows = echo.probe_train(&[closed::CONTROL], 1, MtuDiscovery::Probe, interrupt)?;
    Ok(rows.iter().any(|row| row.received > 0))
}

fn is_forbidden(error: &Error) -> bool {
    let errno = error.system().and_then(linux::OsError::errno);
    matches!(errno, Some(EPERM | EACCES))
}
