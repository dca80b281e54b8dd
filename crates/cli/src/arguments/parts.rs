//! Groups of options that several commands share, of whichever command was typed.

#[cfg(feature = "fleet")]
use super::AgentCommand;
#[cfg(feature = "lab")]
use super::LabCommand;
#[cfg(all(feature = "fleet", feature = "store"))]
use super::MeshCommand;
#[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
use super::NamedTarget;
#[cfg(feature = "plan")]
use super::PlanCommand;
use super::{Cli, Command, HostPort, IdentityArgs, KeepArgs, StoreArgs};
use model::units::BitRate;

impl Cli {
    /// Where the result is kept.
    pub fn keep_mut(&mut self) -> Option<&mut KeepArgs> {
        match &mut self.command {
            Command::Measure(args) => Some(&mut args.keep),
            Command::Throughput(args) => Some(&mut args.keep),
            Command::Latency(args) => Some(&mut args.keep),
            Command::Mtu(args) => Some(&mut args.keep),
            Command::Hops(args) => Some(&mut args.keep),
            Command::Transfer(args) => Some(&mut args.keep),
            Command::Frames(args) => Some(&mut args.keep),
            #[cfg(feature = "device")]
            Command::Rfc2544(args) => Some(&mut args.keep),
            #[cfg(feature = "lab")]
            Command::Lab(LabCommand::Run(args)) => Some(&mut args.keep),
            #[cfg(feature = "plan")]
            Command::Plan(PlanCommand::Run(args)) => Some(&mut args.keep),
            _ => None,
        }
    }

    /// The hosts with names that a plan may use, or a job that an agent is given.
    #[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
    pub fn named_targets_mut(&mut self) -> Option<&mut Vec<NamedTarget>> {
        match &mut self.command {
            #[cfg(feature = "plan")]
            Command::Plan(command) => Some(match command {
                PlanCommand::Check(args) => &mut args.known.targets,
                PlanCommand::Show(args) => &mut args.plan.known.targets,
                PlanCommand::Run(args) => &mut args.plan.known.targets,
            }),
            #[cfg(feature = "fleet")]
            Command::Agent(AgentCommand::Run(args)) => Some(&mut args.targets),
            #[cfg(feature = "web")]
            Command::Ui(args) => Some(&mut args.targets),
            _ => None,
        }
    }

    /// The rules for jobs of an agent.
    #[cfg(feature = "fleet")]
    pub fn agent_rules_mut(&mut self) -> Option<&mut super::AgentRules> {
        match &mut self.command {
            Command::Agent(AgentCommand::Run(args)) => Some(&mut args.rules),
            Command::Agent(AgentCommand::Show(args)) => Some(&mut args.rules),
            _ => None,
        }
    }

    /// The store that is written or read.
    pub fn store_mut(&mut self) -> Option<&mut StoreArgs> {
        if self.keep_mut().is_some() {
            return self.keep_mut().map(|keep| &mut keep.store);
        }
        match &mut self.command {
            Command::Analyse(args) => Some(&mut args.store),
            Command::Compare(args) => Some(&mut args.store),
            #[cfg(feature = "store")]
            Command::Import(args) => Some(&mut args.store),
            #[cfg(feature = "store")]
            Command::Trend(args) => Some(&mut args.store),
            #[cfg(feature = "store")]
            Command::Watch(args) => Some(&mut args.store),
            #[cfg(feature = "store")]
            Command::History(args) => Some(&mut args.filter.store),
            #[cfg(feature = "store")]
            Command::Show(args) => Some(&mut args.store),
            #[cfg(feature = "store")]
            Command::Label(args) => Some(&mut args.store),
            #[cfg(feature = "store")]
            Command::Forget(args) => Some(&mut args.store),
            #[cfg(feature = "store")]
            Command::Export(args) => Some(&mut args.filter.store),
            #[cfg(feature = "store")]
            Command::Report(args) => Some(&mut args.store),
            #[cfg(feature = "web")]
            Command::Ui(args) => Some(&mut args.store),
            #[cfg(all(feature = "fleet", feature = "store"))]
            Command::Mesh(MeshCommand::Run(args)) => Some(&mut args.store),
            #[cfg(all(feature = "fleet", feature = "store"))]
            Command::Mesh(MeshCommand::Show(args)) => Some(&mut args.store),
            _ => None,
        }
    }

    /// The identity options of a command and, where the command takes one, the speed of the link.
    pub fn identity_mut(&mut self) -> Option<(&mut IdentityArgs, Option<&mut Option<BitRate>>)> {
        let session = match &mut self.command {
            Command::Measure(args) => &mut args.session,
            Command::Throughput(args) => &mut args.session,
            Command::Latency(args) => &mut args.session,
            Command::Mtu(args) => &mut args.session,
            Command::Frames(args) => &mut args.session,
            #[cfg(feature = "device")]
            Command::Rfc2544(args) => &mut args.session,
            Command::Hops(args) => return Some((&mut args.identity, None)),
            _ => return None,
        };
        Some((&mut session.identity, Some(&mut session.link)))
    }

    /// The command line names an interface or a local address to send through.
    pub(crate) fn names_interface(&self) -> bool {
        let origin = match &self.command {
            Command::Measure(args) => &args.target.origin,
            Command::Throughput(args) => &args.target.origin,
            Command::Latency(args) if !args.egress_paths.via.is_empty() => return true,
            Command::Latency(args) => &args.egress_paths.origin,
            Command::Mtu(args) => &args.target.origin,
            Command::Hops(args) => &args.origin,
            Command::Frames(args) => &args.target.origin,
            _ => return false,
        };
        origin.device.is_some()
    }

    /// The far ends.
    pub fn hosts_mut(&mut self) -> Vec<&mut HostPort> {
        match &mut self.command {
            Command::Measure(args) => vec![&mut args.target.host],
            Command::Throughput(args) => {
                std::iter::once(&mut args.target.host).chain(&mut args.more).collect()
            }
            Command::Latency(args) => args.hosts.iter_mut().collect(),
            Command::Mtu(args) => vec![&mut args.target.host],
            Command::Hops(args) => vec![&mut args.host],
            Command::Frames(args) => vec![&mut args.target.host],
            #[cfg(feature = "device")]
            Command::Rfc2544(args) => args.ports.iter_mut().filter_map(|port| port.host.as_mut()).collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(feature = "store")]
impl Cli {
    /// Far ends by the names that runs are kept under.
    pub fn kept_targets_mut(&mut self) -> Vec<&mut String> {
        match &mut self.command {
            Command::Trend(args) => vec![&mut args.target],
            Command::Watch(args) => {
                args.kept.clone_from(&args.target);
                vec![&mut args.kept]
            }
            Command::History(args) => args.filter.target.iter_mut().collect(),
            Command::Export(args) => args.filter.target.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
}
