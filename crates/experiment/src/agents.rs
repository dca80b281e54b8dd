//! Paths that agents measure: a cell of a plan goes to an agent as a plan of one cell, in the words of the file.

use crate::estimate;
use crate::file::Known;
use crate::plan::{Cell, PathPlace, Plan};
use engine::host::address::Family;
use engine::host::interrupt::Interrupt;
use engine::request::Request;
use engine::session::connect::Security;
use model::run::Run;
use model::toml_file::quoted;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// Has agents carry runs out.
pub trait Agents {
    /// Has the agent of the cell's path measure it, and waits for the result. `note` receives the reasons for waiting.
    ///
    /// # Errors
    /// The reason why there is no result.
    fn carry_out(
        &mut self,
        cell: &Cell<'_>,
        stop: &Interrupt,
        note: &mut dyn FnMut(String),
    ) -> Result<Carried, String>;
}

/// The result of an agent's measurement.
#[derive(Debug)]
pub struct Carried {
    /// The result; void where the lease lapsed.
    pub run: Box<Run>,
    /// Under which lease.
    pub lease: Lease,
}

/// The agent that measured a run, and its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The agent.
    pub agent: String,
    /// The fencing token.
    pub token: u64,
}

impl Cell<'_> {
    /// This cell alone as the text of a plan, for the agent at which its path begins.
    #[must_use]
    pub fn as_plan(&self) -> String {
        let (path, name) = (self.path, quoted(&self.path.name));
        let mut text = format!("title = {name}\nrepetitions = 1\n[paths.{name}]\n");
        text += &format!("to = {}\n", quoted(&path.named.as_ref().unwrap_or(&path.to).typed()));
        match path.origin.family {
            Family::Any => {}
            Family::V4(_) => text += "family = 4\n",
            Family::V6(_) => text += "family = 6\n",
        }
        let bind = path.origin.bind.map(|bind| bind.to_string());
        let timeout = Some(path.origin.connect_timeout.to_string());
        let link = path.link.map(|link| link.to_string());
        let keys = [
            ("bind", bind),
            ("device", path.origin.device.clone()),
            ("connect-timeout", timeout),
            ("link", link),
        ];
        for (key, value) in keys {
            text.extend(value.map(|value| format!("{key} = {}\n", quoted(&value))));
        }
        text + &format!("[[tests]]\ntest = {}\n{}", quoted(self.test.kind), self.variant.text)
    }

    /// About how long it takes; absent: as long as the path needs.
    #[must_use]
    pub fn time(&self) -> Option<Nanos> {
        estimate::time(&self.request())
    }
}

/// The request in a plan of one cell for the host that reads it, and the ends' authentication. `time`: the length of a test that
/// ends by time, in place of the plan's. `known`: the hosts that have names here.
///
/// # Errors
/// The text is not such a plan, or requests something that no other host may request: labs, further agents, an interface's MTU.
pub fn request_of_plan(
    text: &str,
    time: Option<Nanos>,
    known: &Known,
) -> Result<(Request, Security), String> {
    let known = Known { is_job: true, ..known.clone() };
    let plan = Plan::parse("job", text, &known).map_err(|error| error.to_string())?;
    let plan = plan.with(time, Some(1));
    let cells = plan.cells();
    let [cell] = cells.as_slice() else {
        return Err(format!("a job is one run, and this plan has {}", cells.len()));
    };
    let request = cell.request();
    match (&cell.path.place, &request) {
        (PathPlace::Here, Request::Transfer(asked)) if !asked.mtus.is_empty() => {
            Err("`mtu` of a transfer sets an interface's MTU, which no agent does for another host".into())
        }
        (PathPlace::Here, _) => Ok((request, cell.path.security.clone())),
        _ => Err("a job begins at the host of the agent that carries it out".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, test: &str) -> String {
        let text = format!("title = \"t\"\nrepetitions = 1\n[paths.a]\n{path}\n[[tests]]\n{test}\n");
        request_of_plan(&text, None, &Known::default()).expect_err("it is no job")
    }

    /// A job names files and objects in vain: none is opened or described.
    #[test]
    fn a_job_opens_no_file_and_spends_no_keys() {
        let latency = "test = \"latency\"";
        for file in ["/etc/shadow", "/etc/hostname", "/none/there.toml", "direct"] {
            let refusal = refused(&format!("lab = \"{file}\""), latency);
            assert!(
                refusal.contains("carries out no labs")
                    && !refusal.contains("hostname")
                    && !refusal.contains("shadow"),
                "{refusal}"
            );
        }
        assert!(
            refused("agent = \"ams\"\nto = \"far.example\"", latency)
                .contains("begins at the host of the agent")
        );
        for url in ["s3://payroll/ledger.xlsx", "S3://payroll/ledger.xlsx", " s3://payroll/ledger.xlsx"] {
            let refusal = refused(
                "to = \"far.example\"",
                &format!("test = \"transfer\"\nurl = \"{url}\"\nsize = \"1kB\""),
            );
            assert!(refusal.contains("keys of an agent's account") && !refusal.contains("AWS"), "{refusal}");
        }
    }
}
