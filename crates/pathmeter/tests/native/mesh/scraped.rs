//! A real Prometheus reads how agents and a coordinator stand.

use super::super::metrics::{address_of, asked_of, prometheus};
use super::super::support::{Running, Scratch};
use super::{mesh, until};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};

/// Where a program that was started with `--metrics` shows them.
fn address(running: &Running) -> SocketAddr {
    running.wait_for("metrics at http://");
    address_of(&running.output_so_far())
}

#[test]
fn a_real_prometheus_reads_agents_and_coordinators() {
    let test = "a_real_prometheus_reads_agents_and_coordinators";
    let Some([prometheus, _]) = prometheus(test) else { return };
    let scratch = Scratch::new("mesh-scraped");
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let [ams, fra] = ["ams", "fra"].map(|name| mesh.agent_with(name, &token, &["--metrics", "127.0.0.1:0"]));
    mesh.wait_for(2);
    let results = scratch.file("night.jsonl", None);
    let long = ["mesh", "run", "--test", "latency", "-t", "100s", "--results", &results, "--json"];
    let coordinator = mesh.start(&[&long[..], &["--metrics", "127.0.0.1:0"]].concat());
    let targets = [&ams, &fra, &coordinator].map(|running| format!("'{}'", address(running))).join(", ");
    let config = format!(
        "global:\n  scrape_interval: 200ms\nscrape_configs:\n  - job_name: mesh\n    static_configs:\n      \
         - targets: [{targets}]\n"
    );
    let config = scratch.file("prometheus.yml", Some(&config));
    let (data, port) =
        (scratch.file("data", None), TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let mut command = Command::new(prometheus);
    command.arg(format!("--config.file={config}")).arg(format!("--storage.tsdb.path={data}"));
    command.arg(format!("--web.listen-address={port}")).stdin(Stdio::null());
    let running = Running::start(command);
    running.wait_for("Server is ready to receive web requests");
    let found = |query: &str| {
        until(query, || !asked_of(port, query)["data"]["result"].as_array().unwrap().is_empty());
    };
    for query in [
        "sum(up{job=\"mesh\"}) == 3",
        "pathmeter_agent_connected{agent=\"fra\"} == 1",
        "pathmeter_agent_has_name{agent=\"ams\"} == 1",
        "sum(pathmeter_agent_runs) == 1",
        "pathmeter_agent_spool_room_bytes{agent=\"ams\"} > 0",
        "pathmeter_mesh_leading == 1",
        "sum(pathmeter_mesh_runs{state=~\"expected|running\"}) == 1",
        "pathmeter_mesh_lag_seconds > 0",
    ] {
        found(query);
    }
    // An agent that is down answers nothing.
    fra.signal("KILL");
    fra.end();
    found("count(up{job=\"mesh\"} == 0) == 1");
    coordinator.signal("INT");
    coordinator.end();
    running.signal("TERM");
    running.end();
}
