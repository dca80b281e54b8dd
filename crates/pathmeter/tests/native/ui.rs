//! The page of kept runs: its server, and every view of it in a real browser.

#[cfg(feature = "postgres")]
#[path = "../../../store/tests/postgres/mod.rs"]
#[expect(dead_code, reason = "some of it is for tests of the store")]
mod postgres_server;

use super::support::{Running, Scratch, Server, pathmeter, run, skip};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
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
        process.wait_for("the page is at http");
        let text = process.output_so_far();
        let address =
            text.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
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
            assert!(!reported.contains("\"type\":\"failed\""), "{reported}");
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
    let request = format!(
        r#"{{"kind":"throughput","host":"{}","keys":{{"time":"1s"}},"label":"page"}}"#,
        server.host()
    );
    let begun = page.request("POST", "/api/live", &page.csrf(), &request);
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
    for (keys, named) in [
        (r#""time":"0s""#, "`time` is 0"),
        (r#""time":-1"#, "`time`: "),
        (r#""time":"5h""#, "four hours at most"),
        (r#""interval":"9ms","parallel":129"#, "--parallel 129 is out of range"),
        (r#""dscp":"ef","bitrate":true"#, "`bitrate`: "),
        (r#""pcap":"/etc/passwd""#, "throughput has no key `pcap`"),
        (r#""tims":"1s""#, "did you mean `time`?"),
    ] {
        let body = format!(r#"{{"kind":"throughput","host":"{}","keys":{{{keys}}}}}"#, server.host());
        let refused = page.request("POST", "/api/live", &page.csrf(), &body);
        assert!(refused.starts_with("HTTP/1.1 422") && refused.contains(named), "{keys}: {refused}");
    }
    // When it is stopped, it ends a running test, and keeps its measurement.
    let long = format!(
        r#"{{"kind":"throughput","host":"{}","keys":{{"time":"10min"}},"label":"cut"}}"#,
        server.host()
    );
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
        let body = format!(r#"{{"kind":"throughput","host":"{host}","keys":{{"time":"1s"}}}}"#);
        let begun = page.request("POST", "/api/live", &page.csrf(), &body);
        assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
        let reported = page.reported_until("\"type\":\"ended\"");
        assert!(reported.contains("\"figure\":\"Goodput\""), "{host}: {reported}");
    }
    let paths = page.request("GET", "/api/path?target=127.0.0.1", "", "");
    assert!(paths.contains(&format!("\"host\":\"{}\"", server.host())), "its port is known: {paths}");
}

/// A note that the page keeps is in every output of the command line that names its run.
#[test]
fn a_note_of_the_page_is_in_lists_and_exports() {
    let (server, scratch) = (Server::start(&[]), Scratch::new("ui-note"));
    let (store, moved) = (scratch.file("runs.db", None), scratch.file("moved.db", None));
    for label in ["rack", "plain"] {
        run(&["throughput", &server.host(), "-n", "1M", "--save", "--label", label, "--store", &store])
            .code(0);
    }
    let id = |label: &str| {
        let listed = run(&["history", "--label", label, "--json", "--store", &store]).code(0).json();
        listed[0]["id"].as_str().unwrap().to_owned()
    };
    let (noted, plain) = (id("rack"), id("plain"));
    assert!(
        !run(&["history", "--store", &store]).code(0).stdout.contains("note"),
        "no column without a note"
    );
    let page = Page::start(&["--store", &store]);
    let body = r#"{"note":"new cable in rack 7\nbehind the patch panel"}"#;
    let kept = page.request("PUT", &format!("/api/runs/{noted}/note"), &page.csrf(), body);
    assert!(kept.starts_with("HTTP/1.1 204"), "{kept}");

    let note = "new cable in rack 7\nbehind the patch panel";
    let listed = run(&["history", "--json", "--store", &store]).code(0).json();
    let notes: Vec<&str> =
        listed.as_array().unwrap().iter().map(|run| run["note"].as_str().unwrap()).collect();
    assert_eq!(notes, ["", note], "the latest first");
    let text = run(&["history", "--store", &store, "--format", "markdown"]).code(0).stdout;
    assert!(text.contains("| new cable in rack 7… |"), "{text}");
    let rows = run(&["history", "--format", "csv", "--store", &store]).code(0).stdout;
    assert!(
        rows.lines().next().unwrap().contains(",note,") && rows.contains("behind the patch panel"),
        "{rows}"
    );

    let shown = run(&["show", &noted, "--store", &store]).code(0).stdout;
    assert!(
        shown.contains("Note: new cable in rack 7\n") && shown.contains("behind the patch panel"),
        "{shown}"
    );
    assert!(!run(&["show", &plain, "--store", &store]).code(0).stdout.contains("Note:"));
    assert_eq!(run(&["show", &noted, "--json", "--store", &store]).code(0).json()["stored"]["note"], note);
    assert!(run(&["show", &plain, "--json", "--store", &store]).code(0).json().get("stored").is_none());

    let exported = scratch.file("exported.ndjson", None);
    run(&["export", "-o", &exported, "--store", &store]).code(0);
    run(&["import", &exported, "--save", "--store", &moved]).code(0);
    let listed = run(&["history", "--label", "rack", "--json", "--store", &moved]).code(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["note"]), (&noted.into(), &note.into()), "another store has it");
}

/// A store that vanishes below an open page is named, and is no empty one; the page goes on when it is back.
#[test]
fn a_store_that_vanishes_is_missed() {
    let (server, scratch) = (Server::start(&[]), Scratch::new("ui-gone"));
    let (store, aside) = (scratch.file("runs.db", None), scratch.file("aside.db", None));
    run(&["throughput", &server.host(), "-n", "1M", "--save", "--store", &store]).code(0);
    let page = Page::start(&["--store", &store]);
    let listed = || page.request("GET", "/api/runs", "", "");
    let rename = |from: &str, to: &str| {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::rename(format!("{from}{ending}"), format!("{to}{ending}"));
        }
    };
    assert!(listed().contains("\"count\":1"));
    rename(&store, &aside);
    for _ in 0..2 {
        let gone = listed();
        assert!(
            gone.starts_with("HTTP/1.1 503") && gone.contains("is gone") && gone.contains("advice"),
            "{gone}"
        );
    }
    assert!(!Path::new(&store).exists(), "asking makes no empty store");
    rename(&aside, &store);
    assert!(listed().contains("\"count\":1"), "it is found again");
}

#[test]
fn what_cannot_be_served_is_reported_with_a_remedy() {
    let scratch = Scratch::new("ui-refused");
    let store = scratch.file("runs.db", None);
    let refused = |args: &[&str]| run(&[&["ui", "--store", &store], args].concat()).code(2);
    refused(&["--listen", "0.0.0.0:0"]).prints("no token is asked for").prints("--token-file");
    let short = scratch.file("short", Some("abc\n"));
    refused(&["--listen", "0.0.0.0:0", "--token-file", &short]).prints("fewer than 16");
    refused(&["--listen", "192.0.2.1:1", "--token-file", &scratch.file("token", Some("0123456789abcdefgh"))])
        .prints("192.0.2.1:1");
    run(&["ui", "--listen", "127.0.0.1:0", "--store", "/proc/none/runs.db"]).code(2).prints("/proc/none");
    let [certificate, key] = write_certificate(&store);
    let [_, other] = write_certificate(&scratch.file("other", None));
    for (files, why) in [
        ([&certificate, &certificate], "mode 0644"),
        ([&key, &key], "none in PEM form"),
        ([&certificate, &other], "do not belong together"),
        ([&"/nonexistent.pem".to_owned(), &key], "read /nonexistent.pem"),
    ] {
        let ended = refused(&["--tls-cert", files[0], "--tls-key", files[1]]);
        assert!(ended.stderr.contains(why), "{why}: {}", ended.stderr);
    }
    assert!(refused(&["--tls-cert", &certificate]).stderr.contains("--tls-key"));
}

/// With a certificate the page is at an address of TLS, and a client without it learns that one.
#[test]
fn a_page_with_a_certificate_speaks_tls() {
    let scratch = Scratch::new("ui-tls");
    let store = scratch.file("runs.db", None);
    let [certificate, key] = write_certificate(&store);
    let page = Page::start(&["--store", &store, "--tls-cert", &certificate, "--tls-key", &key]);
    let address = page.address;
    let moved = page.request("GET", "/", "", "");
    assert!(moved.starts_with("HTTP/1.1 307") && moved.contains(&format!("https://{address}/")), "{moved}");
    let refused = page.request("GET", "/api/runs", "", "");
    assert!(refused.starts_with("HTTP/1.1 400") && refused.contains("TLS alone"), "{refused}");
    page.process.signal("TERM");
    page.process.end().code(0);
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
    report(&["absent"]).code(2).prints("absent").prints("history");
    report(&["one", "--svg", &file("x.png")]).code(2).prints("x.svg");
    report(&["one", "--markdown", "/nonexistent/x.md"]).code(2).prints("/nonexistent/x.md");
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
    write_certificate(&store);
    let mut looked = Command::new("node");
    looked
        .arg(front.join("test/lasting.mjs"))
        .arg(env!("CARGO_BIN_EXE_pathmeter"))
        .args([&store, &host, part]);
    looked.env("CHROMIUM", browser);
    let ended = Running::start(looked).end_within(LASTING);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
}

/// A certificate for the loopback beside a file: `.crt` and `.key`, which its owner alone may read.
fn write_certificate(beside: &str) -> [String; 2] {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let files = [format!("{beside}.crt"), format!("{beside}.key")];
    std::fs::write(&files[0], made.cert.pem()).unwrap();
    std::fs::write(&files[1], made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&files[1], std::fs::Permissions::from_mode(0o600)).unwrap();
    files
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
