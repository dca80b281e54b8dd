//! Paths from an agent to the real programs of other tools.

use super::super::support::{Running, Scratch, free_port, skip};
use super::{mesh, until};
use std::process::Command;

/// A server of another tool, and the tests of a plan to it.
struct Tool {
    program: &'static str,
    words: &'static [&'static str],
    is_udp: bool,
    tests: &'static [&'static str],
}

const TOOLS: [Tool; 4] = [
    Tool {
        program: "iperf3",
        words: &["-s", "-p"],
        is_udp: false,
        tests: &[
            "test = \"throughput\"\nprotocol = \"iperf3\"\nparallel = 2",
            "test = \"throughput\"\nprotocol = \"iperf3\"\ndirection = \"down\"",
            "test = \"throughput\"\nprotocol = \"iperf3\"\ntransport = \"udp\"\nbitrate = \"10M\"",
        ],
    },
    Tool {
        program: "iperf",
        words: &["-s", "-p"],
        is_udp: false,
        tests: &["test = \"throughput\"\nprotocol = \"iperf2\""],
    },
    Tool {
        program: "iperf",
        words: &["-s", "-u", "-p"],
        is_udp: true,
        tests: &["test = \"throughput\"\nprotocol = \"iperf2\"\ntransport = \"udp\"\nbitrate = \"10M\""],
    },
    Tool {
        program: "sockperf",
        words: &["sr", "-i", "127.0.0.1", "-p"],
        is_udp: true,
        tests: &["test = \"latency\"\nprotocol = \"sockperf\""],
    },
];

/// Whether a server listens there, of which no connection must be made to find that out.
fn is_bound(is_udp: bool, port: u16) -> bool {
    let kind = if is_udp { "udp" } else { "tcp" };
    let tables = ["", "6"].map(|version| std::fs::read_to_string(format!("/proc/net/{kind}{version}")));
    tables.into_iter().flatten().any(|text| text.contains(&format!(":{port:04X} 00000000")))
}

#[test]
fn an_agent_measures_to_the_programs_of_other_tools() {
    let scratch = Scratch::new("mesh-programs");
    let test = "an_agent_measures_to_the_programs_of_other_tools";
    for tool in &TOOLS {
        if Command::new(tool.program).arg("--version").output().is_err() {
            return skip(test, &format!("no {}", tool.program));
        }
    }
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let rules = scratch.file("rules.toml", Some("[agent]\nhosts = [\"any\"]\n"));
    let _agent = mesh.agent_with("ams", &token, &["--config", &rules]);
    mesh.wait_for(1);
    let mut plan =
        "title = \"Programs\"\nrepetitions = 1\n[paths.far]\nagent = \"ams\"\nto = \"127.0.0.1\"\n"
            .to_owned();
    let (mut servers, mut count) = (Vec::new(), 0);
    for tool in &TOOLS {
        let port = free_port();
        let mut command = Command::new(tool.program);
        command.args(tool.words).arg(port.to_string());
        servers.push(Running::start(command));
        until(tool.program, || is_bound(tool.is_udp, port));
        for text in tool.tests {
            count += 1;
            plan += &format!("[[tests]]\nname = \"{count}\"\n{text}\nport = {port}\ntime = \"1s\"\n");
        }
    }
    let file = scratch.file("programs.toml", Some(&plan));
    let report = mesh.run(&["plan", "run", &file, "--json"]).code(0).json();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), count, "{report}");
    for row in rows {
        let run = &row["runs"][0];
        assert!(row["reason"].is_null() && run["agent"] == "ams" && run["lease_token"].is_u64(), "{row}");
        let figures = run["figures"].as_array().unwrap();
        assert!(figures.iter().any(|figure| figure["value"].as_f64() > Some(0.0)), "{row}");
    }
}
