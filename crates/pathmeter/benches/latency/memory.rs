//! Peak memory of our client and server for tests of different lengths.

use super::cases::{self, Case, SPIN, Transport, Way};
use super::common::lab::Lab;
use super::common::options::Options;
use super::common::table::{markdown, mebibytes, row, value};
use super::run;
use super::tools::Toolbox;

/// Its name, for the filter.
pub(crate) const NAME: &str = "memory";

/// Measures it once for each length: what is kept for the statistics has a limit that takes some seconds to reach, and
/// beyond which nothing may be added.
pub(crate) fn table(toolbox: &Toolbox, lab: &Lab, options: &Options) -> anyhow::Result<String> {
    let wanted = |case: &Case| case.way == Way::Veth && case.transport == Transport::Udp && case.size == 64;
    let case = cases::all().into_iter().find(wanted).expect("this case is one of all");
    let mut rows = vec![row(["length of the test", "client, MiB", "server, MiB"])];
    for time in LENGTHS.map(|factor| options.time * factor) {
        let (client, server) = run::memory(&case, &SPIN, toolbox, lab, time)?;
        rows.push(row([
            &format!("{} s", time.as_secs_f64()),
            &value(mebibytes(client)),
            &value(mebibytes(server)),
        ]));
    }
    Ok(format!("### {NAME}: {}, {}\n\n{}", SPIN.label, case.name(), markdown(rows)))
}

/// Over the time of the other runs.
const LENGTHS: [u32; 3] = [1, 10, 30];
