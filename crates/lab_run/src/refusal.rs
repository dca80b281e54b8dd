//! Refusals of the lab as exit codes, with advice.

use engine::error::{Error, Failure, Kind};
use lab::error::LabError;
use lab::privilege::Unprivileged;

/// The error of a lab.
pub fn failed(error: LabError) -> Error {
    let message = error.to_string();
    let (kind, advice) = match &error {
        LabError::NotOnThisKernel { .. } => (
            Kind::Void,
            "`pathmeter lab list` shows what can be built here; `lab run --in-vm` brings a kernel that has it"
                .into(),
        ),
        LabError::ProgramMissing { package, .. } => (Kind::Void, format!("apt-get install {package}")),
        LabError::NameInUse { name, .. } => (
            Kind::Usage,
            format!("give this one another with --name, or take that one away: pathmeter lab down {name}"),
        ),
        LabError::NoNode { .. } | LabError::NotHere { .. } => {
            (Kind::Usage, "`pathmeter lab show NAME` draws the nodes of a topology".into())
        }
        LabError::NotUp(_) => (Kind::Usage, "`pathmeter lab list` has the labs that are up".into()),
        LabError::Interface { .. } => {
            (Kind::Usage, "name another interface under `real` in the topology's file".into())
        }
        _ => return Error::from(error),
    };
    Failure { kind, message, advice: Some(advice) }.into()
}

/// The user may not build labs here.
pub fn unprivileged(error: Unprivileged) -> Error {
    Failure::usage(error.to_string(), Unprivileged::ADVICE).into()
}
