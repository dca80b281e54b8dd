//! The page of kept runs: its server, and every view of it in a real browser.

#[cfg(feature = "postgres")]
#[path = "../../../store/tests/postgres/mod.rs"]
#[expect(dead_code, reason = "some of it is for tests of the store")]
mod postgres_server;

use super::support::{Running, Scratch, Server, pathmeter, run, skip};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The page over a store of this test's own.
struct Page {
    process: Running,
    address: SocketAddr,
}

impl Page {
    fn start(args: &[&str]) -> Page {
        let process = Running::start(pathmeter(None, &[&["ui", "--listen", "127.0.0.1:0"], args].concat()));
        process.wait_for("the page is at http://");
        let said = process.said();
        let address =
            said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
        Page { process, address }
    }

    /// The answer to a request, its head included.
    fn request(&self, method: &str, path: &str, more: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (host, length) = (self.address, body.len());
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}");
        write!(stream, "{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The messages of the running test, up to this one.
    fn reported_until(&self, end: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET /api/live HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        let (mut reported, mut part) = (String::new(), [0; 4096]);
        while !reported.contains(end) {
            let length = stream.read(&mut part).unwrap();
            assert!(length > 0, "it ended early: {reported}");
            reported.push_str(&String::from_utf8_lossy(&part[..length]));
        }
        reported
    }

    fn csrf(&self) -> String {
        let session = self.request("GET", "/api/session", "", "");
        let token = session.split("\"csrf\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        format!("x-csrf-token: {token}\r\n")
    }
}

#[test]
fn a_test_started_from_the_page_is_kept() {
    let (server, scratch) = (Server::start(&[]), Scratch::new("ui-live"));
    let store = scratch.file("runs.db", None);
    let page = Page::start(&["--store", &store]);
    let asked = format!(r#"{{"kind":"throughput","host":"{}","seconds":1,"label":"page"}}"#, server.host());
    let begun = page.request("POST", "/api/live", &page.csrf(), &asked);
    assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
    let reported = page.reported_until("\"type\":\"ended\"");
    assert!(
        reported.contains("\"type\":\"points\"") && reported.contains("\"figure\":\"Goodput\""),
        "{reported}"
    );
    let listed = run(&["history", "--json", "--label", "page", "--store", &store]).code(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!((&listed[0]["kind"], &listed[0]["status"].is_string()), (&"throughput".into(), &true));
    // The target is kept as the command line keeps it: one far end is one path, however its port is written.
    assert_eq!(listed[0]["target"], "127.0.0.1");

    let refused = page.request("POST", "/api/live", &page.csrf(), r#"{"kind":"mtu","host":"-x y"}"#);
    assert!(refused.starts_with("HTTP/1.1 422") && refused.contains("advice"), "{refused}");
    // When it is stopped, it ends a running test, and keeps its measurement.
    let long = format!(r#"{{"kind":"throughput","host":"{}","seconds":600,"label":"cut"}}"#, server.host());
    assert!(page.request("POST", "/api/live", &page.csrf(), &long).starts_with("HTTP/1.1 202"));
    page.reported_until("\"figure\":\"Goodput\"");
    page.process.signal("TERM");
    page.process.end().code(0);
    let cut = run(&["history", "--json", "--label", "cut", "--store", &store]).code(0).json();
    assert!(cut[0]["finished"].is_string(), "{cut}");
}

/// Runs are kept under the host of a far end: who measures such a path again has its token, too.
#[test]
fn a_configured_far_end_is_found_by_its_name_and_by_its_host() {
    let scratch = Scratch::new("ui-configured");
    let secret = scratch.file("far.token", Some("a secret of more than sixteen bytes"));
    let (server, store) = (Server::start(&["--token-file", &secret]), scratch.file("runs.db", None));
    let text = format!("[targets.far]\nhost = \"{}\"\ntoken_file = \"{secret}\"\n", server.host());
    let config = scratch.file("known.toml", Some(&text));
    let page = Page::start(&["--store", &store, "--config", &config]);
    for host in ["far".to_owned(), server.host()] {
        let body = format!(r#"{{"kind":"throughput","host":"{host}","seconds":1}}"#);
        let begun = page.request("POST", "/api/live", &page.csrf(), &body);
        assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
        let reported = page.reported_until("\"type\":\"ended\"");
        assert!(reported.contains("\"figure\":\"Goodput\""), "{host}: {reported}");
    }
    let paths = page.request("GET", "/api/path?target=127.0.0.1", "", "");
    assert!(paths.contains(&format!("\"host\":\"{}\"", server.host())), "its port is known: {paths}");
}

#[test]
fn what_cannot_be_served_is_said_with_the_way_out() {
    let scratch = Scratch::new("ui-refused");
    let store = scratch.file("runs.db", None);
    let refused = |args: &[&str]| run(&[&["ui", "--store", &store], args].concat()).code(2);
    refused(&["--listen", "0.0.0.0:0"]).says("no token is asked for").says("--token-file");
    let short = scratch.file("short", Some("abc\n"));
    refused(&["--listen", "0.0.0.0:0", "--token-file", &short]).says("fewer than 16");
    refused(&["--listen", "192.0.2.1:1", "--token-file", &scratch.file("token", Some("0123456789abcdefgh"))])
        .says("192.0.2.1:1");
    run(&["ui", "--listen", "127.0.0.1:0", "--store", "/proc/none/runs.db"]).code(2).says("/proc/none");
}

#[test]
fn runs_become_one_page() {
    let (server, scratch) = (Server::start(&[]), Scratch::new("report"));
    let store = scratch.file("runs.db", None);
    for label in ["one", "two"] {
        let args = [
            "throughput",
            &server.host(),
            "-t",
            "1",
            "-i",
            "100ms",
            "--save",
            "--label",
            label,
            "--store",
            &store,
        ];
        run(&args).code(0);
    }
    let file = |name: &str| scratch.file(name, None);
    let report = |args: &[&str]| run(&[&["report"], args, &["--store", &store]].concat());
    let text = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    report(&[
        "one",
        "two",
        "one",
        "-o",
        &file("both.html"),
        "--svg",
        &file("both.svg"),
        "--markdown",
        &file("both.md"),
        "--junit",
        &file("both.xml"),
    ])
    .code(0);
    let page = text("both.html");
    assert_eq!(page.matches("<article>").count(), 3, "side by side, and each run once");
    for part in ["2 runs side by side", "Fingerprint", "Method", "Goodput over time", "default-src 'none'"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("src=\"") && !page.contains("href=\""), "it loads nothing");
    assert_eq!(text("both.svg").matches("over time").count(), 2, "the goodput of each");
    assert!(text("both.md").contains("side by side"));
    assert_eq!(text("both.xml").matches("<testsuite ").count(), 2);
    run(&["show", "two", "--json", "--store", &store]).code(2);
    let id = run(&["history", "--json", "--store", &store]).json()[0]["id"].as_str().unwrap().to_owned();
    let json = file("run.json");
    run(&["show", &id, "--json", "-o", &json, "--store", &store]).code(0);
    let of_file = report(&[&json]).code(0).stdout;
    assert_eq!(of_file, report(&[&id[..20]]).code(0).stdout, "from its document as from the store");
    report(&["absent"]).code(2).says("absent").says("history");
    report(&["one", "--svg", &file("x.png")]).code(2).says("x.svg");
    report(&["one", "--markdown", "/nonexistent/x.md"]).code(2).says("/nonexistent/x.md");
    if cfg!(feature = "png") {
        report(&["one", "--png", &file("one.png")]).code(0);
        assert!(std::fs::read(file("one.png")).unwrap().starts_with(b"\x89PNG"));
    }
}

/// Every view in Chromium, wide and on a phone, light and dark: its texts, faults found by axe, a live test, a comparison by
/// its address, hostile names.
#[test]
fn every_view_works_in_a_browser() {
    let scratch = Scratch::new("ui-browser");
    let Some(page) = every_view("every_view_works_in_a_browser", &scratch.file("runs.db", None)) else {
        return;
    };
    drop(page);
}

/// The same where the store is a server. When that is lost, the page names the fault and goes on once it is back.
#[cfg(feature = "postgres")]
#[test]
fn every_view_works_over_postgresql() {
    let Some(mut database) = postgres_server::Server::start() else { return };
    let Some(page) = every_view("every_view_works_over_postgresql", &database.url()) else { return };
    assert!(page.request("GET", "/api/runs", "", "").starts_with("HTTP/1.1 200"));
    database.kill();
    let lost = page.request("GET", "/api/runs", "", "");
    assert!(lost.starts_with("HTTP/1.1 503") && lost.contains("advice"), "{lost}");
    assert!(!lost.contains(postgres_server::PASSWORD), "{lost}");
    database.serve();
    assert!(page.request("GET", "/api/runs", "", "").starts_with("HTTP/1.1 200"));
}

/// Looks at every view of the page over this store; `None`: there is no browser.
fn every_view(test: &str, store: &str) -> Option<Page> {
    let (front, browser) = in_browser(test)?;
    let server = Server::start(&[]);
    let host = server.host();
    for label in ["before", "after", "before", "after"] {
        run(&["throughput", &host, "-t", "1", "-i", "100ms", "--save", "--label", label, "--store", store])
            .code(0);
    }
    let hostile = "<img src=x onerror=window.hacked=1>";
    run(&["latency", &host, "-t", "1", "--save", "--label", hostile, "--store", store]).code(0);
    let page = Page::start(&["--store", store]);
    let mut looked = Command::new("node");
    looked.arg(front.join("test/page.mjs")).arg(format!("http://{}", page.address)).arg(&host);
    looked.env("CHROMIUM", browser);
    let ended = Running::start(looked).end();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    Some(page)
}

/// The page that is kept open: ten tabs, a server that is killed and started anew, a session that ends, the list after Back,
/// hostile names in every view, thousands of runs.
#[test]
fn a_page_outlives_its_server_in_a_browser() {
    lasting("a_page_outlives_its_server_in_a_browser", "lasting");
}

/// The rounds of a mesh, the page of a device, a notification, a note and a link of a run, users who may only look.
#[test]
fn a_page_has_its_details_in_a_browser() {
    lasting("a_page_has_its_details_in_a_browser", "details");
}

fn lasting(test: &str, part: &str) {
    let Some((front, browser)) = in_browser(test) else { return };
    let (server, scratch) = (Server::start(&[]), Scratch::new(&format!("ui-{part}")));
    let (store, host) = (scratch.file("runs.db", None), server.host());
    for label in ["before", "after"] {
        run(&["throughput", &host, "-t", "1", "-i", "100ms", "--save", "--label", label, "--store", &store])
            .code(0);
    }
    let measured = run(&["export", "--store", &store]).code(0).stdout;
    let many = scratch.file("many.ndjson", Some(&evil_and_many(measured.lines().next().unwrap())));
    run(&["import", &many, "--save", "--store", &store]).code(0);
    let mut looked = Command::new("node");
    looked
        .arg(front.join("test/lasting.mjs"))
        .arg(env!("CARGO_BIN_EXE_pathmeter"))
        .args([&store, &host, part]);
    looked.env("CHROMIUM", browser);
    let ended = Running::start(looked).end_within(LASTING);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
}

/// Its forty views take about 70 s of a quiet machine, and three times as long beside other tests.
const LASTING: Duration = Duration::from_secs(300);

/// Documents of another store: the same run many times, and under names that would steer a browser, hide others, or be wider than
/// any window.
fn evil_and_many(measured: &str) -> String {
    let (wide, turned) = ("evil".repeat(750), "\u{202e}moc.elpmaxe evil");
    let names = [
        ("evil.example", "<img src=x onerror=window.hacked=1> evil"),
        (wide.as_str(), "evil</script><script>window.hacked=1</script>"),
        (turned, "\"><svg onload=window.hacked=1> evil"),
        ("javascript:window.hacked=1//evil", "evil `code` {{7*7}}"),
    ];
    let names = names.map(|(target, label)| (target.to_owned(), label.to_owned()));
    let many =
        (0..150).map(|number| (format!("far-{}.example", number % 7), format!("series-{}", number % 3)));
    let stored = |(number, (target, label)): (usize, (String, String))| {
        let mut document: serde_json::Value = serde_json::from_str(measured).unwrap();
        let id = format!("01a00000-0000-7000-8000-{number:012}");
        document["id"] = id.as_str().into();
        let started = format!("2026-03-{:02}T{:02}:00:00Z", 1 + number / 24, number % 24);
        let row = [("id", &id), ("target", &target), ("label", &label), ("started", &started)];
        row.into_iter().for_each(|(key, value)| document["stored"][key] = value.as_str().into());
        format!("{document}\n")
    };
    names.into_iter().chain(many).enumerate().map(stored).collect()
}

/// The front end's folder and a browser, or the reason why there is no such test.
fn in_browser(test: &str) -> Option<(PathBuf, PathBuf)> {
    let front = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let has_node = Command::new("node").arg("--version").output().is_ok();
    if !front.join("node_modules/playwright-core").exists() || !has_node {
        skip(test, "no node with playwright-core: scripts/web prepare");
        return None;
    }
    let found = browser();
    if found.is_none() {
        skip(test, "no Chromium: apt-get install chromium-headless-shell");
    }
    found.map(|browser| (front, browser))
}

fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let usual = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/google-chrome"]
        .map(PathBuf::from);
    named.into_iter().chain(usual).find(|path| path.exists())
}
