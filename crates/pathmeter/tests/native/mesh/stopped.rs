//! Early ends of a run: Ctrl-C, an agent that sleeps, a coordinator that is killed, a limit; and a second coordinator.

use super::super::support::{Running, Scratch, Server};
use super::{Mesh, mesh, until};
use serde_json::Value;

/// The outcomes of a file of results.
fn outcomes(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get("outcome").cloned()).collect()
}

/// A plan of one path between agents.
fn plan(test: &str) -> String {
    format!(
        "title = \"Stopped\"\nrepetitions = 3\n[paths.ams-fra]\nagent = \"ams\"\nto-agent = \"fra\"\n[[tests]]\n{test}\n"
    )
}

/// Until `ams` has begun one more run than this.
fn begun(mesh: &Mesh, before: usize) {
    until("ams has begun a run", || mesh.spooled("ams", "begun") > before);
}

#[test]
fn ctrl_c_ends_the_runs_of_the_agents_and_the_same_command_measures_them_anew() {
    let scratch = Scratch::new("mesh-stopped");
    let test = "ctrl_c_ends_the_runs_of_the_agents_and_the_same_command_measures_them_anew";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let results = scratch.file("night.jsonl", None);
    let night = |time| ["mesh", "run", "-t", time, "--results", &results, "--json"].map(str::to_owned);
    let args = night("100s");
    let long = mesh.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    begun(&mesh, 0);
    long.signal("INT");
    let report = long.end().code(4).json();
    for cell in report["cells"].as_array().unwrap() {
        assert!(cell["state"] == "missed" && cell["reason"] == "it was stopped", "{cell}");
    }
    let args = night("200ms");
    let report = mesh.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).code(0).json();
    assert!(report["cells"].as_array().unwrap().iter().all(|cell| cell["state"] == "done"), "{report}");
    // The results are those of the request at that time, and stopped runs have none.
    for outcome in outcomes(&results) {
        let body: Value = serde_json::from_str(outcome["body"].as_str().unwrap()).unwrap();
        assert_eq!(body["job"]["time"], 200_000_000, "{}", outcome["title"]);
    }
    assert_eq!(mesh.spooled("ams", "finished"), 2);

    // A plan that is stopped, likewise: its run never ends, and the next plan finds the agents free.
    let file = scratch.file("stopped.toml", Some(&plan("test = \"throughput\"\ntime = \"100s\"")));
    let before = mesh.spooled("ams", "begun");
    let long = mesh.start(&["plan", "run", &file, "--json"]);
    begun(&mesh, before);
    long.signal("INT");
    let report = long.end().json();
    assert!(report["rows"][0]["reason"].as_str().unwrap().contains("it was stopped"), "{report}");
    let file = scratch.file("next.toml", Some(&plan("test = \"latency\"\ncount = 20")));
    mesh.run(&["plan", "run", &file, "--runs", "1"]).code(0);
    assert_eq!(mesh.spooled("ams", "finished"), 3);
}

/// An agent that sleeps longer than its lease stops, and its result is void.
#[test]
fn an_agent_that_sleeps_loses_its_lease_and_reports_it() {
    let scratch = Scratch::new("mesh-sleep");
    let test = "an_agent_that_sleeps_loses_its_lease_and_reports_it";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let sleeper = mesh.agent_with("ams", &token, &["--lease", "3s"]);
    let _other = mesh.agent("fra", &token);
    mesh.wait_for(2);
    let sleep = |before: usize| {
        begun(&mesh, before);
        sleeper.signal("STOP");
        std::thread::sleep(std::time::Duration::from_millis(3_200));
        sleeper.signal("CONT");
    };
    let results = scratch.file("sleep.jsonl", None);
    let night = ["mesh", "run", "--test", "latency", "-t", "30s", "--results", &results, "--json"];
    let coordinator = mesh.start(&night);
    sleep(0);
    let report = coordinator.end().code(4).json();
    let cell = &report["cells"][0];
    assert!(cell["state"] == "void" && cell["reason"] == "lease lost", "{cell}");
    // The same of a run of a plan; the runs after it count.
    let file = scratch.file("sleep.toml", Some(&plan("test = \"latency\"\ntime = \"2s\"")));
    let before = mesh.spooled("ams", "begun");
    let coordinator = mesh.start(&["plan", "run", &file, "--runs", "2", "--json"]);
    sleep(before);
    let report = coordinator.end().json();
    let row = &report["rows"][0];
    let reason = row["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("1 of 2 runs count: void: ") && reason.to_lowercase().contains("lease lost"),
        "{row}"
    );
}

/// One of two works, the other waits until it is done; a plan that was cut off goes on with what is left.
#[test]
fn two_coordinators_and_a_plan_that_goes_on() {
    let scratch = Scratch::new("mesh-two");
    let test = "two_coordinators_and_a_plan_that_goes_on";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let [_ams, fra] = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let files = ["first", "second", "beside"].map(|name| scratch.file(&format!("{name}.jsonl"), None));
    let night = |time: &str, file: &str| {
        mesh.start(&["mesh", "run", "--test", "throughput", "-t", time, "--results", file, "--json"])
    };
    // Long enough for the runs beside it on a busy host.
    let first = night("6s", &files[0]);
    begun(&mesh, 0);
    let second = night("2s", &files[1]);
    // Named as the agents know it, and by no number.
    second.wait_for("another coordinator is at work, with exclusive runs on lo of ams and fra");
    // Runs that disturb no other do not wait.
    let beside =
        mesh.run(&["mesh", "run", "--test", "mtu", "--test", "hops", "--results", &files[2], "--json"]);
    assert!(outcomes(&files[1]).is_empty(), "it was done before the second one began");
    let report = beside.code(0).json();
    let tests = report["cells"].as_array().unwrap().iter().map(|cell| cell["test"].as_str().unwrap());
    assert_eq!(tests.filter(|test| *test == "hops").count(), 2, "{report}");
    first.end().code(0);
    second.end().code(0);
    let runs = [&files[0], &files[1]].map(|file| outcomes(file));
    assert!(runs.iter().all(|runs| runs.len() == 2), "{runs:?}");
    let times =
        |runs: &[Value], key: &str| runs.iter().map(|run| run[key].as_u64().unwrap()).collect::<Vec<_>>();
    assert!(times(&runs[0], "finished").iter().max() <= times(&runs[1], "started").iter().min(), "{runs:?}");

    // Three runs, of which the coordinator dies in the second.
    let file = scratch.file("three.toml", Some(&plan("test = \"latency\"\ntime = \"1s\"")));
    let out = scratch.file("three.json", None);
    let before = mesh.spooled("ams", "begun");
    let dies = mesh.start(&["plan", "run", &file, "-o", &out, "--json"]);
    begun(&mesh, before + 1);
    dies.signal("KILL");
    dies.end();
    let resumed = mesh.run(&["plan", "run", &file, "-o", &out, "--json", "--resume"]).code(0);
    resumed.prints("1 runs were carried out before");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let runs = report["rows"][0]["runs"].as_array().unwrap();
    assert!(
        runs.len() == 3 && runs.iter().all(|run| run["agent"] == "ams" && run["lease_token"].is_u64()),
        "{report}"
    );

    // A limit leaves what would end after it.
    let limited = plan("test = \"latency\"\ntime = \"1s\"") + "[limits]\ntime = \"3s\"\n";
    let file = scratch.file("limited.toml", Some(&limited));
    let report = mesh.run(&["plan", "run", &file, "--json"]).json();
    let row = &report["rows"][0];
    assert!(row["reason"].as_str().unwrap().contains("limit on time"), "{row}");
    assert!(row["runs"].as_array().unwrap().len() < 3, "{row}");
    // The same of bytes, of which the second run takes more than are left.
    let limited = plan("test = \"throughput\"\nbytes = \"10MB\"") + "[limits]\nbytes = \"15MB\"\n";
    let file = scratch.file("bytes.toml", Some(&limited));
    let report = mesh.run(&["plan", "run", &file, "--json"]).json();
    let row = &report["rows"][0];
    assert!(
        row["reason"].as_str().unwrap().contains("the plan's limit on bytes, 15.0 MB, is reached"),
        "{row}"
    );
    assert_eq!(row["runs"].as_array().unwrap().len(), 2, "{row}");
    one_that_is_gone_is_expected(&mesh, fra, &files[2]);
}

/// Until it is forgotten.
fn one_that_is_gone_is_expected(mesh: &Mesh, fra: Running, results: &str) {
    fra.signal("INT");
    fra.end();
    let run = ["mesh", "run", "--test", "latency", "-t", "1s", "--results", results, "--json"];
    let report = mesh.run(&run).code(4).json();
    let cell = report["cells"].as_array().unwrap().iter().find(|cell| cell["test"] == "latency").unwrap();
    assert_eq!(cell["state"], "missed", "{cell}");
    let reason = cell["reason"].as_str().unwrap();
    assert!(reason.starts_with("the agent fra has not been heard since "), "{reason}");
    let shown = mesh.run(&["mesh", "show"]).code(0).stdout;
    assert!(shown.contains("mesh forget fra"), "{shown}");
    mesh.run(&["mesh", "forget", "fra"]).code(0);
    mesh.run(&run).code(2).prints("two agents");
}

/// A far end with a token: the agent's own configuration has it, or the run names the missing entry.
#[test]
fn a_path_to_a_named_target_proves_who_it_is_by_the_agents_own_token() {
    let scratch = Scratch::new("mesh-target");
    let test = "a_path_to_a_named_target_proves_who_it_is_by_the_agents_own_token";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let secret = scratch.file("far.token", Some("a secret of more than sixteen bytes"));
    let server = Server::start(&["--token-file", &secret]);
    let config = |name: &str, token: &str| {
        let text = format!("[targets.far]\nhost = \"{}\"\ntoken_file = \"{token}\"\n", server.host());
        scratch.file(name, Some(&text))
    };
    let token = format!("{}/mesh.token", mesh.folder);
    let known = config("known.toml", &secret);
    let _agents = [mesh.agent_with("ams", &token, &["--config", &known]), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let text = "title = \"Named\"\nrepetitions = 1\n[paths.knows]\nagent = \"ams\"\nto = \"far\"\n\
                [paths.does-not]\nagent = \"fra\"\nto = \"far\"\n[[tests]]\ntest = \"latency\"\ncount = 20\n";
    let file = scratch.file("named.toml", Some(text));
    let report = mesh.run(&["plan", "run", &file, "--config", &known, "--json"]).code(3).json();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows[0]["reason"].is_null() && rows[0]["runs"][0]["agent"] == "ams", "{report}");
    let reason = rows[1]["reason"].as_str().unwrap();
    assert!(reason.contains("no target `far`") && reason.contains("[targets.far]"), "{reason}");
    let secret = std::fs::read_to_string(&secret).unwrap();
    let spool = std::fs::read_to_string(format!("{}/spool/ams.jsonl", mesh.folder)).unwrap();
    assert!(!spool.contains(secret.trim()), "the token went nowhere");
    server.stop();
}
