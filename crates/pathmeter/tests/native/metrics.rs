//! Metrics of a server and a page for Prometheus: the samples themselves, the rules, the dashboard, and a real Prometheus that
//! reads all of it.

use super::support::{Running, Scratch, Server, free_port, pathmeter, run, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus");

/// The address behind `http://` in the output of a program.
pub(super) fn address_of(message: &str) -> SocketAddr {
    message.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap()
}

/// A server with its metrics at an address of its own.
fn counted() -> (Server, SocketAddr) {
    let server = Server::start(&["--metrics", "127.0.0.1:0"]);
    let address = address_of(&server.process.output_so_far());
    (server, address)
}

/// The answer to these bytes, until the connection is closed.
fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    // A reset after the answer ends it, too.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: SocketAddr, path: &str) -> String {
    raw(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())
}

/// The samples at an address.
fn scraped(address: SocketAddr) -> String {
    let answer = get(address, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The value of a sample; `None`: there is none.
fn value(text: &str, sample: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn a_server_counts_sessions_tests_and_bytes() {
    let (server, address) = counted();
    let before = scraped(address);
    assert!(value(&before, "pathmeter_server_start_time_seconds").is_some(), "{before}");
    assert!(!before.contains("sessions"), "no client came yet: no sample, and no 0: {before}");
    server.throughput(&["-n", "1M"]).code(0);
    let native = |name: &str| format!("pathmeter_server_{name}{{protocol=\"native\"}}");
    // The session ends at the server a moment after the client has its result.
    let text = loop {
        let text = scraped(address);
        if value(&text, &native("sessions")) == Some(0.0) {
            break text;
        }
    };
    for (name, wanted) in [("sessions_total", 1.0), ("tests_total", 1.0), ("failed_sessions_total", 0.0)] {
        assert_eq!(value(&text, &native(name)), Some(wanted), "{name}: {text}");
    }
    assert_eq!(value(&text, &native("received_bytes_total")), Some(1_048_576.0), "{text}");
    // Another protocol's client is turned away.
    raw(server.host().parse().unwrap(), b"GET / HTTP/1.0\r\n\r\n");
    while value(&scraped(address), "pathmeter_server_turned_away_total") != Some(1.0) {
        std::thread::yield_now();
    }
    server.stop();
}

#[test]
fn who_asks_for_nothing_sensible_holds_nothing_up() {
    let (server, address) = counted();
    // Some that connect and say nothing, and one in the middle of its head.
    let silent: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut half = TcpStream::connect(address).unwrap();
    half.write_all(b"GET /metr").unwrap();
    for (bytes, status) in [
        (&b"GET /elsewhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"[..], "404"),
        (b"POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "405"),
        (b"\x16\x03\x01 not http at all\r\n\r\n", "400"),
        (&[b'A'; 20_000], "431"),
    ] {
        let answer = raw(address, bytes);
        assert!(answer.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {answer}");
    }
    assert!(scraped(address).contains("pathmeter_server_info"));
    drop((silent, half));
    let taken = run(&[
        "serve",
        "--port",
        &free_port().to_string(),
        "--bind",
        "127.0.0.1",
        "--metrics",
        &address.to_string(),
    ]);
    taken.code(2).prints("--metrics");
    server.stop();
}

/// The programs of Debian's package `prometheus`; skipped where they are not installed.
pub(super) fn prometheus(test: &str) -> Option<[PathBuf; 2]> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    let both = found("prometheus").zip(found("promtool")).map(|(server, tool)| [server, tool]);
    if both.is_none() {
        skip(test, "prometheus is not installed (Debian: prometheus)");
    }
    both
}

#[test]
fn the_rules_are_sound_and_fire_when_they_should() {
    let Some([_, promtool]) = prometheus("the_rules_are_sound_and_fire_when_they_should") else { return };
    for argv in [
        ["check", "rules", "rules.yml"],
        ["check", "config", "prometheus.yml"],
        ["test", "rules", "rules-test.yml"],
    ] {
        let ended = Command::new(&promtool).args(argv).current_dir(FOLDER).output().unwrap();
        let text = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{argv:?}: {text}");
    }
}

/// Every name of ours in an expression.
fn names(text: &str) -> BTreeSet<String> {
    let argv = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    argv.filter(|word| word.starts_with("pathmeter_")).map(str::to_owned).collect()
}

/// Every expression of the dashboard.
fn expressions() -> Vec<String> {
    let dashboard = std::fs::read_to_string(format!("{FOLDER}/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// A run of every kind that the dashboard shows, in a store.
fn kept(server: &Server, scratch: &Scratch) -> String {
    let store = scratch.file("runs.db", None);
    let snapshot =
        include_str!("../../../report/tests/formats/snapshots/formats__rfc2544__rfc2544-full.json.snap");
    let report: Value = serde_json::from_str(snapshot.splitn(3, "---\n").nth(2).unwrap()).unwrap();
    let report = scratch.file("device.ndjson", Some(&report.to_string()));
    run(&["import", &report, "--save", "--store", &store]).code(0);
    let host = server.host();
    run(&["measure", &host, "--quick", "--save", "--store", &store]);
    store
}

#[test]
fn a_real_prometheus_reads_servers_and_paths() {
    let Some([prometheus, promtool]) = prometheus("a_real_prometheus_reads_servers_and_paths") else {
        return;
    };
    let ((server, at), scratch) = (counted(), Scratch::new("prometheus"));
    let store = kept(&server, &scratch);
    let page = Running::start(pathmeter(None, &["ui", "--listen", "127.0.0.1:0", "--store", &store]));
    page.wait_for("the page is at http://");
    let paths = address_of(&page.output_so_far());
    let metrics = scraped(at) + &scraped(paths);
    let mut known: BTreeSet<String> = metrics.lines().flat_map(names).collect();
    // The sample is in the file of `--alert-metrics`.
    known.insert("pathmeter_alert_round_timestamp_seconds".into());
    let rules = std::fs::read_to_string(format!("{FOLDER}/rules.yml")).unwrap();
    let queries = rules.lines().filter(|line| line.trim_start().starts_with("expr:")).map(str::to_owned);
    for expression in queries.chain(expressions()) {
        assert!(names(&expression).is_subset(&known), "{expression}: {known:?}");
    }
    lint(&promtool, &metrics);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = std::fs::read_to_string(format!("{FOLDER}/prometheus.yml")).unwrap();
    let config = config
        .replace("far.example:9210", &at.to_string())
        .replace("127.0.0.1:5280", &paths.to_string())
        .replace("scrape_interval: 1m", "scrape_interval: 200ms")
        .replace("rules.yml", &format!("{FOLDER}/rules.yml"));
    let config = scratch.file("prometheus.yml", Some(&config));
    let data = scratch.file("data", None);
    let mut command = Command::new(prometheus);
    command.arg(format!("--config.file={config}")).arg(format!("--storage.tsdb.path={data}"));
    command.arg(format!("--web.listen-address={port}")).stdin(Stdio::null());
    let running = Running::start(command);
    running.wait_for("Server is ready to receive web requests");
    for query in [
        "up{job=\"pathmeter-server\"} == 1",
        "up{job=\"pathmeter-paths\"} == 1",
        "pathmeter_server_tests_total > 0",
        "pathmeter_goodput_bits_per_second{kind=\"measure\",direction=\"up\"} > 0",
        "pathmeter_device_throughput_packets_per_second > 0",
    ] {
        while asked_of(port, query)["data"]["result"].as_array().unwrap().is_empty() {
            std::thread::yield_now();
        }
    }
    for expression in expressions() {
        let expression = expression.replace("$target", ".*").replace("$__rate_interval", "1m");
        let answer = asked_of(port, &expression);
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
    }
    let rules = body(&get(port, "/api/v1/rules"));
    let groups = rules["data"]["groups"].as_array().unwrap();
    let healths: BTreeSet<&str> = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap())
        .map(|rule| rule["health"].as_str().unwrap())
        .collect();
    assert!(!groups.is_empty() && !healths.contains("err"), "{rules}");
    running.signal("TERM");
    running.end();
    page.signal("TERM");
    page.end();
    server.stop();
}

/// promtool finds nothing wrong with what is exported, but for the unit of rates: networks count bits.
fn lint(promtool: &Path, metrics: &str) {
    let mut check = Command::new(promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let ended = check.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    let bits = "use base unit \"bytes\" instead of \"bits\"";
    let faults: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty() && !line.ends_with(bits)).collect();
    assert!(faults.is_empty() && text.contains("pathmeter_goodput_bits_per_second"), "{text}\n{metrics}");
}

/// Prometheus' answer to a query.
pub(super) fn asked_of(port: SocketAddr, query: &str) -> Value {
    let coded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
    body(&get(port, &format!("/api/v1/query?query={coded}")))
}

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    // Chunks have their length before them, in a line of its own.
    let whole: String = match answer.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        true => body.split("\r\n").skip(1).step_by(2).collect(),
        false => body.to_owned(),
    };
    serde_json::from_str(&whole).unwrap_or_else(|error| panic!("{error}: {answer}"))
}
