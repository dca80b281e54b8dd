//! The REST interface over real sockets: what it answers, and whom it refuses.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod common;
mod embed;
mod many;
mod now;
mod page;
mod rights;
mod tls;

use common::{Answer, NO_TOKEN, Page, plan_of, read, run};
use linux::privilege::drop::Confined;
use model::run::Run;
use model::time::WallTime;
use pathmeter_web::{Backend, Config, Limits, Server, Tokens, WebError};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;
use store::Store;

const TOKEN: &str = "a token that is never guessed";

fn page() -> Page {
    Page::start(NO_TOKEN, Limits::default())
}

fn with_runs() -> Page {
    let page = page();
    for (number, id) in ["01a-one", "01a-two", "01b-three"].into_iter().enumerate() {
        let label = if number < 2 { "before" } else { "after" };
        page.keep(&run(id, number as u64, 20), "far.example", label);
    }
    page
}

fn ids(answer: &Answer) -> Vec<String> {
    let runs = answer.json()["runs"].clone();
    runs.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_are_listed_filtered_and_paged() {
    let page = with_runs();
    assert_eq!(ids(&page.get("/api/runs")), ["01b-three", "01a-two", "01a-one"]);
    assert_eq!(ids(&page.get("/api/runs?label=before&kind=throughput")), ["01a-two", "01a-one"]);
    assert_eq!(ids(&page.get("/api/runs?labels=after,before")), ["01b-three", "01a-two", "01a-one"]);
    assert_eq!(ids(&page.get("/api/runs?labels=none,+after")), ["01b-three"]);
    assert_eq!(page.get("/api/runs?labels=none,before&limit=1").json()["count"], 2);
    assert!(ids(&page.get("/api/runs?status=problem")).is_empty());
    let unknown = page.get("/api/runs?status=fine");
    assert_eq!(unknown.status, 400);
    assert!(unknown.json()["advice"].as_str().unwrap().contains("degraded"), "{unknown:?}");
    let first = page.get("/api/runs?limit=1").json();
    assert_eq!(first["more"], true);
    let before = first["runs"][0]["started"].as_str().unwrap();
    assert_eq!(ids(&page.get(&format!("/api/runs?limit=5&before={before}"))), ["01a-two", "01a-one"]);
    for wrong in ["limit=0", "limit=501", "limit=x", "since=yesterday", "colour=red"] {
        let refused = page.get(&format!("/api/runs?{wrong}"));
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
        assert!(refused.json()["error"].is_string());
    }
}

#[test]
fn a_list_goes_on_behind_a_run_where_many_began_at_one_time() {
    let page = page();
    for number in 0..7 {
        page.keep(&run(&format!("01a-{number}"), 0, 20), "far.example", "");
    }
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let answer = page.get(&format!("/api/runs?limit=3&after={after}"));
        pages.push(ids(&answer));
        if answer.json()["more"] == false {
            break;
        }
        after.clone_from(&pages[pages.len() - 1][2]);
    }
    let all: Vec<String> = (0..7).map(|number| format!("01a-{number}")).collect();
    assert_eq!(pages.concat(), all, "{pages:?}");
}

#[test]
fn a_list_behind_a_lost_run_is_refused() {
    let page = with_runs();
    let last = ids(&page.get("/api/runs?limit=2")).pop().unwrap();
    assert_eq!(page.change("DELETE", &format!("/api/runs/{last}"), "").status, 204);
    let rest = page.get(&format!("/api/runs?limit=2&after={last}"));
    assert!(rest.status == 404 && rest.body.contains(&last) && rest.body.contains("advice"), "{rest:?}");
}

#[test]
fn a_run_is_shown_in_every_shape() {
    let page = with_runs();
    let shown = page.get("/api/runs/01b").json();
    assert_eq!(shown["entry"]["id"], "01b-three");
    assert_eq!(shown["status"], "ok");
    let blocks = shown["document"]["blocks"].as_array().unwrap();
    assert!(
        blocks
            .iter()
            .any(|block| block["type"] == "chart" && block["svg"].as_str().unwrap().starts_with("<svg"))
    );
    assert!(blocks.iter().any(|block| block["type"] == "details" && block["title"] == "Method"));
    let document: Run = serde_json::from_str(&page.get("/api/runs/01b/document").body).unwrap();
    assert_eq!(document, run("01b-three", 2, 20));
    let series = page.get("/api/runs/01b/series").json();
    let line = &series[0]["lines"][0];
    assert_eq!(
        (line["at"][19].as_f64(), line["values"][19].as_f64()),
        (Some(20.0), Some(20e6)),
        "125 kB/s is 1 Mbit/s"
    );
    assert!(page.get("/api/runs/01b/report").body.starts_with("<!DOCTYPE html>"));
    let chart = page.get("/api/runs/01b/charts/0.svg");
    assert_eq!((chart.status, chart.header("content-type")), (200, Some("image/svg+xml")));
    for missing in
        ["/api/runs/01b/charts/7.svg", "/api/runs/01b/charts/x", "/api/runs/nothing", "/api/nothing"]
    {
        assert_eq!(page.get(missing).status, 404, "{missing}");
    }
    assert_eq!(page.get("/api/runs/01a").status, 409, "it is the beginning of two");
}

#[test]
fn a_run_is_labelled_and_forgotten() {
    let page = with_runs();
    assert_eq!(page.change("PUT", "/api/runs/01b/label", r#"{"label":" new "}"#).status, 204);
    assert_eq!(ids(&page.get("/api/runs?label=new")), ["01b-three"]);
    let long = format!(r#"{{"label":"{}"}}"#, "x".repeat(101));
    assert_eq!(page.change("PUT", "/api/runs/01b/label", &long).status, 400);
    assert_eq!(page.change("DELETE", "/api/runs/01b", "").status, 204);
    assert_eq!(page.change("DELETE", "/api/runs/01b", "").status, 404);
    assert_eq!(ids(&page.get("/api/runs")).len(), 2);
}

#[test]
fn sets_are_labels_or_names_of_runs() {
    let page = with_runs();
    let compared = page.get("/api/compare?base=before&other=01b").json();
    assert_eq!(compared["comparison"]["base"]["runs"], 2);
    assert_eq!(compared["comparison"]["other"]["runs"], 1);
    let named = page.get("/api/compare?base=01a-one,01a-two&other=after").json();
    assert_eq!(named["comparison"]["base"]["runs"], 2);
    let unknown = page.get("/api/compare?base=absent&other=after");
    assert_eq!(unknown.status, 404);
    assert!(unknown.json()["error"].as_str().unwrap().contains("absent"));
    assert_eq!(page.get("/api/compare?base=&other=after").status, 400);
    assert_eq!(page.get("/api/compare?base=before").status, 400);
}

#[test]
fn a_path_has_its_runs_over_time() {
    let page = with_runs();
    let paths = page.get("/api/paths").json();
    let path = &paths["paths"][0];
    assert_eq!((&path["target"], &path["runs"]), (&"far.example".into(), &3.into()));
    assert_eq!(path["latest"]["id"], "01b-three");
    let points = path["figures"][0]["points"].as_array().unwrap();
    assert_eq!(
        points.iter().map(|point| point["id"].as_str().unwrap()).collect::<Vec<_>>(),
        ["01a-one", "01a-two", "01b-three"]
    );
    assert_eq!(page.get("/api/lab").json()["topologies"][0]["name"], "direct");
}

#[test]
fn a_path_that_got_worse_reports_it_as_trend_does() {
    let page = page();
    for number in 0..16_u64 {
        // A level of 1 Gbit/s, and from the thirteenth run on half of it.
        let mbits = if number < 12 { 1000 + number } else { 500 };
        page.measured(&format!("run-{number:02}"), "far.example", number, mbits as f64 * 1e6);
    }
    let row = page.get("/api/paths").json()["paths"][0].clone();
    assert_eq!(row["is_worse"], true, "{row}");
    assert!(
        row["conclusion"]
            .as_str()
            .unwrap()
            .starts_with("far.example is worse: tcp.up.goodput 500 Mbit/s since")
    );
    let figure =
        row["figures"].as_array().unwrap().iter().find(|one| one["name"] == "tcp.up.goodput").unwrap();
    let change = &figure["change"];
    assert_eq!((&change["word"], &change["run"]), (&"worse".into(), &"run-12".into()), "{change}");
    assert_eq!((&change["after"], &change["is_worse"]), (&"500 Mbit/s".into(), &true.into()));
    let metrics = page.get("/metrics");
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let sample = "pathmeter_goodput_bits_per_second{target=\"far.example\",kind=\"throughput\",transport=\"tcp\",direction=\"up\"} 500000000";
    assert!(metrics.body.lines().any(|line| line == sample), "{}", metrics.body);
    page.store
        .mark(&store::Mark {
            target: "far.example".into(),
            at: WallTime(1_790_000_012_000_000_000),
            note: "new line".into(),
        })
        .unwrap();
    let row = page.get("/api/paths").json()["paths"][0].clone();
    assert_eq!(
        (&row["is_worse"], &row["figures"][0]["change"]),
        (&false.into(), &Value::Null),
        "a known change"
    );
}

/// The latest run of each path by label, test and IP version; paths to far ends are of no mesh.
#[test]
fn a_mesh_is_a_matrix_of_the_latest_runs() {
    let page = with_runs();
    let paths = [
        ("ams -> fra", 9e9),
        ("fra -> ams", 9e9),
        ("ams -> par", 9e9),
        ("par -> ams", 1e9),
        ("ams -> fra IPv6", 8e9),
    ];
    for (number, (target, rate)) in paths.into_iter().enumerate() {
        page.measured_as(&format!("m{number}"), (target, "night"), number as u64, rate);
    }
    page.measured_as("m9", ("ams -> fra", "night"), 9, 5e9);
    let found = page.get("/api/meshes").json();
    let mesh = &found["meshes"][0];
    assert_eq!((found["meshes"].as_array().unwrap().len(), &mesh["label"]), (1, &"night".into()));
    let [plain, six] = mesh["matrices"].as_array().unwrap().as_slice() else { panic!("{mesh}") };
    assert_eq!((&plain["family"], &six["family"]), (&Value::Null, &6.into()));
    assert_eq!(plain["agents"], serde_json::json!(["ams", "fra", "par"]));
    let cells: Vec<[&str; 3]> = plain["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| ["target", "run", "tone"].map(|key| cell[key].as_str().unwrap()))
        .collect();
    let expected = [
        ["ams -> fra", "m9", "ok"],
        ["ams -> par", "m2", "ok"],
        ["fra -> ams", "m1", "ok"],
        ["par -> ams", "m3", "degraded"],
    ];
    assert_eq!(cells, expected);
    assert_eq!(six["cells"][0]["target"], "ams -> fra IPv6");
}

/// Each round of a mesh has its own address; without one there is the latest run of each path.
#[test]
fn a_mesh_is_shown_round_by_round() {
    let page = page();
    for (round, rates) in [[1e9, 2e9], [3e9, 4e9], [5e9, 6e9]].into_iter().enumerate() {
        for (number, target) in ["ams -> fra", "fra -> ams"].into_iter().enumerate() {
            let seconds = (round * 3_600 + number * 60) as u64;
            page.measured_as(&format!("r{round}{number}"), (target, "night"), seconds, rates[number]);
        }
    }
    page.measured_as("a1", ("ams -> fra", "another"), 0, 1e9);
    let mesh = |query: &str| {
        let found = page.get(&format!("/api/meshes{query}")).json();
        let meshes = found["meshes"].as_array().unwrap().clone();
        meshes.into_iter().find(|mesh| mesh["label"] == "night").unwrap()
    };
    let runs = |mesh: &Value| {
        let cells = mesh["matrices"][0]["cells"].as_array().unwrap().clone();
        cells.iter().map(|cell| cell["run"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let latest = mesh("");
    assert_eq!((runs(&latest), &latest["round"]), (vec!["r20".into(), "r21".into()], &Value::Null));
    let rounds = latest["rounds"].as_array().unwrap();
    assert_eq!(rounds.iter().map(|round| round["runs"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 2, 2]);
    let begin = rounds[1]["started"].as_str().unwrap();
    let second = mesh(&format!("?label=night&round={begin}"));
    assert_eq!((runs(&second), second["round"].as_str()), (vec!["r10".into(), "r11".into()], Some(begin)));
    // A round belongs to its label, and one that is not there is no empty matrix.
    for query in [format!("?label=another&round={begin}"), "?label=night&round=yesterday".into()] {
        let refused = page.get(&format!("/api/meshes{query}"));
        assert_eq!(refused.status, 404, "{query}: {refused:?}");
    }
}

#[test]
fn hostile_names_stay_text() {
    let page = page();
    let mut run = run("01c-<script>", 0, 3);
    let hostile = "</script><img src=x onerror=alert(1)>";
    plan_of(&mut run).target.host = hostile.into();
    run.verdict.text = hostile.into();
    page.keep(&run, hostile, "\"><svg onload=alert(1)>");
    let html = page.get("/api/runs/01c/report");
    assert!(html.body.contains("&lt;img src=x") && !html.body.contains("<img"), "{}", html.body);
    assert!(html.header("content-security-policy").unwrap().contains("sandbox"));
    assert_eq!(html.header("content-disposition"), Some("inline; filename=\"pathmeter-01c-script.html\""));
    assert!(!page.get("/api/runs/01c/charts/0.svg").body.contains("<img"));
    for path in ["/api/runs", "/api/runs/01c", "/api/paths", "/api/runs/01c/document"] {
        let answer = page.get(path);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(answer.body.contains("onerror=alert"), "{path}: it is shown as it is, as text");
    }
}

#[test]
fn every_answer_has_its_policy() {
    let page = page();
    let front = page.get("/");
    let policy = front.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(front.header("cache-control"), Some("no-cache"));
    let tag = format!("If-None-Match: {}", front.header("etag").unwrap());
    assert_eq!(page.request("GET", "/", &[&tag], "").status, 304);
    for path in ["/", "/app.js", "/api/session", "/api/nothing", "/nothing"] {
        let answer = page.get(path);
        for name in
            ["content-security-policy", "x-frame-options", "referrer-policy", "cross-origin-resource-policy"]
        {
            assert!(answer.header(name).is_some(), "{path} without {name}: {answer:?}");
        }
    }
    assert!(!page.get("/").head.to_ascii_lowercase().contains("access-control"));
}

#[test]
fn no_path_leads_out_of_the_front_end() {
    let page = page();
    for path in [
        "/../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/app.js/../../Cargo.toml",
        "/.git/config",
        "/api/../etc/passwd",
        "/api/runs/..%2f..%2fetc%2fpasswd",
        "/api/runs/%00",
        "/api/runs/%ff",
    ] {
        let answer = page.get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
        assert!(!answer.body.contains("root:"), "{path}");
    }
}

#[test]
fn a_name_that_was_made_to_point_here_is_refused() {
    let page = with_runs();
    let port = page.address.port();
    for own in [
        format!("localhost:{port}"),
        "LOCALHOST".into(),
        format!("[::1]:{port}"),
        "127.0.0.1".into(),
        "page.example".into(),
    ] {
        assert_eq!(page.request("GET", "/api/runs", &[&format!("Host: {own}")], "").status, 200, "{own}");
    }
    for other in [
        "evil.example",
        "127.0.0.1.evil.example",
        "192.0.2.1",
        "localhost.evil.example:80",
        "",
        "page.example.evil",
    ] {
        for path in ["/api/runs", "/"] {
            let refused = page.request("GET", path, &[&format!("Host: {other}")], "");
            assert!(matches!(refused.status, 400 | 421), "{other}: {refused:?}");
        }
    }
    let two = format!("Host: {}\r\nHost: evil.example", page.address);
    assert_ne!(page.request("GET", "/api/runs", &[&two], "").status, 200);
    let none = page.raw("GET /api/runs HTTP/1.0\r\n\r\n");
    assert_eq!(none.status, 421, "{none:?}");
}

#[test]
fn other_sites_can_neither_read_nor_change() {
    let page = with_runs();
    let csrf = page.csrf(&[]);
    for foreign in [
        "Origin: http://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        assert_eq!(page.request("GET", "/api/runs", &[foreign], "").status, 403, "{foreign}");
        assert_eq!(page.request("DELETE", "/api/runs/01b", &[foreign, &csrf], "").status, 403, "{foreign}");
    }
    let other_port = format!("Origin: http://127.0.0.1:{}", page.address.port() ^ 1);
    assert_eq!(page.request("DELETE", "/api/runs/01b", &[&other_port, &csrf], "").status, 403);
    for missing in ["", "X-CSRF-Token: 0", "X-CSRF-Token:"] {
        let refused = page.request("DELETE", "/api/runs/01b", &[missing], "");
        assert_eq!(refused.status, 403, "{missing}");
        assert!(refused.json()["error"].as_str().unwrap().contains("x-csrf-token"));
    }
    let own = format!("Origin: http://{}", page.address);
    assert_eq!(
        page.request("DELETE", "/api/runs/01b", &[&own, "Sec-Fetch-Site: same-origin", &csrf], "").status,
        204
    );
}

#[test]
fn with_a_token_one_logs_in() {
    let page = Page::start(Some(TOKEN), Limits::default());
    page.keep(&run("01a-one", 0, 3), "far.example", "");
    for path in [
        "/api/runs",
        "/api/runs/01a",
        "/api/paths",
        "/api/meshes",
        "/metrics",
        "/api/live",
        "/api/lab",
        "/api/compare?base=a&other=b",
    ] {
        assert_eq!(page.get(path).status, 401, "{path}");
    }
    assert_eq!(page.get("/").status, 200, "the page asks for the token");
    let session = page.get("/api/session").json();
    assert_eq!((&session["login_needed"], &session["logged_in"]), (&true.into(), &false.into()));
    let login = |token: &str| page.change("POST", "/api/login", &format!(r#"{{"token":"{token}"}}"#));
    assert_eq!(login("wrong").status, 401);
    let entered = login(TOKEN);
    assert_eq!(entered.status, 204, "{entered:?}");
    let cookie = entered.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = format!("Cookie: other=1; {}", cookie.split(';').next().unwrap());
    assert_eq!(ids(&page.request("GET", "/api/runs", &[&cookie], "")), ["01a-one"]);
    let anonymous = page.csrf(&[]);
    assert_eq!(
        page.request("DELETE", "/api/runs/01a", &[&cookie, &anonymous], "").status,
        403,
        "of no session"
    );
    let own = page.csrf(&[&cookie]);
    assert_eq!(page.request("DELETE", "/api/runs/01a", &[&own], "").status, 401, "without the session");
    assert_eq!(page.request("DELETE", "/api/runs/01a", &[&cookie, &own], "").status, 204);
    assert_eq!(page.request("POST", "/api/logout", &[&cookie, &own], "").status, 204);
    assert_eq!(page.request("GET", "/api/runs", &[&cookie], "").status, 401);
}

#[test]
fn programs_give_the_token_and_who_guesses_waits() {
    let page = Page::start(Some(TOKEN), Limits::default());
    let bearer = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(page.request("GET", "/api/runs", &[&bearer], "").status, 200);
    let small = format!("authorization: bearer {TOKEN}");
    assert_eq!(page.request("GET", "/api/runs", &[&small], "").status, 200, "the scheme has no case");
    assert_eq!(
        page.request("POST", "/api/live/stop", &[&bearer], "").status,
        200,
        "no page of another site can send it"
    );
    for _ in 0..5 {
        assert_eq!(page.request("GET", "/api/runs", &["Authorization: Bearer wrong"], "").status, 401);
    }
    let waits = page.request("GET", "/api/runs", &["Authorization: Bearer wrong"], "");
    assert_eq!(waits.status, 429);
    assert!(waits.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(page.change("POST", "/api/login", r#"{"token":"a wrong one of many letters"}"#).status, 429);
    // Behind a proxy all come from one address: a client that knows the token is not locked out by others' guesses.
    assert_eq!(page.request("GET", "/api/runs", &[&bearer], "").status, 200);
    assert_eq!(page.change("POST", "/api/login", &format!(r#"{{"token":"{TOKEN}"}}"#)).status, 204);
}

/// Behind a named proxy, clients that guess wait, each by its own address; no other client may name its address.
#[test]
fn a_named_proxy_states_who_guesses() {
    let guess = |page: &Page, from: &str| {
        let header = format!("X-Forwarded-For: {from}");
        page.request("GET", "/api/runs", &["Authorization: Bearer wrong", &header], "").status
    };
    let here = "127.0.0.1".parse().unwrap();
    let behind = Page::behind(vec![here], Some(TOKEN), Limits::default());
    assert!((0..5).all(|_| guess(&behind, "192.0.2.1") == 401));
    assert_eq!(guess(&behind, "192.0.2.1"), 429);
    assert_eq!(
        guess(&behind, "192.0.2.7, 192.0.2.1, 127.0.0.1"),
        429,
        "what stands before is the client's word"
    );
    assert_eq!(guess(&behind, "192.0.2.1, 192.0.2.2"), 401, "another one");
    let alone = Page::start(Some(TOKEN), Limits::default());
    assert!((0..5).all(|n| guess(&alone, &format!("192.0.2.{n}")) == 401));
    assert_eq!(guess(&alone, "192.0.2.9"), 429, "it is not believed");
}

/// Connections that are kept open, with a request now and then, keep no client out, with a token or without.
#[test]
fn many_idle_connections_keep_no_client_out() {
    let limits = Limits { connections: 8, ..Limits::default() };
    let page = Page::start(Some(TOKEN), limits);
    let ask = format!("GET /api/session HTTP/1.1\r\nHost: {}\r\n\r\n", page.address);
    let mut held: Vec<_> = (0..20).map(|_| page.connect()).collect();
    held.iter_mut().for_each(|one| one.write_all(ask.as_bytes()).unwrap());
    let bearer = format!("Authorization: Bearer {TOKEN}");
    for _ in 0..3 {
        assert_eq!(page.get("/api/session").status, 200);
        assert_eq!(page.request("GET", "/api/runs", &[&bearer], "").status, 200);
    }
    drop(held);
}

#[test]
fn without_a_token_it_stays_on_the_loopback() {
    let bind = |listen: &str, token: Option<&str>| {
        let backend = Backend {
            version: String::new(),
            open: Box::new(|| Store::open(std::path::Path::new("/nonexistent/runs.db"))),
            start: Box::new(|_, _| Err(pathmeter_web::Refused::default())),
            import: Box::new(|_| Err(pathmeter_web::Refused::default())),
            targets: Vec::new(),
            topologies: Box::new(Vec::new),
            unended: |entry, events| insight::run_of_events(&entry.id, &entry.kind, events),
        };
        let listen = listen.parse().unwrap();
        Server::bind(
            Config {
                listen,
                tokens: Tokens { full: token.map(Into::into).into_iter().collect(), read: Vec::new() },
                names: Vec::new(),
                proxies: Vec::new(),
                tls: None,
                limits: Limits::default(),
            },
            backend,
        )
    };
    for open in ["0.0.0.0:0", "[::]:0"] {
        assert!(matches!(bind(open, None), Err(WebError::Open(_))), "{open}");
    }
    assert!(matches!(bind("0.0.0.0:0", Some("short")), Err(WebError::ShortToken)));
    assert!(bind("0.0.0.0:0", Some(TOKEN)).is_ok());
    assert!(bind("127.0.0.1:0", None).is_ok());
    let refused = bind("192.0.2.1:1", Some(TOKEN)).err().unwrap();
    assert!(refused.to_string().contains("192.0.2.1:1"), "{refused}");
}

#[test]
fn bodies_are_bounded_and_read_with_care() {
    let page = page();
    let csrf = page.csrf(&[]);
    let post = |headers: &[&str], body: &str| {
        page.request("POST", "/api/live", &[&[csrf.as_str()], headers].concat(), body)
    };
    let large = format!(r#"{{"kind":"measure","host":"{}"}}"#, "x".repeat(20_000));
    assert_eq!(post(&[], &large).status, 413);
    for (wrong, named) in [
        ("{", "EOF"),
        ("[]", "struct"),
        (r#"{"kind":"measure"}"#, "host"),
        (r#"{"kind":"reboot","host":"a"}"#, "reboot"),
        (r#"{"kind":"measure","host":"a","shell":"x"}"#, "shell"),
        (r#"{"kind":"throughput","host":"a","seconds":1}"#, "seconds"),
        (r#"{"kind":"throughput","host":"a","keys":[]}"#, "map"),
        (r#"{"kind":"throughput","host":"a","keys":{"time":["1s"]}}"#, "time must be a text, a number"),
        (r#"{"kind":"throughput","host":"a","family":5}"#, "family"),
        (r#"{"kind":"measure","host":"  "}"#, "far end"),
        (r#"{"kind":"measure","host":"a\u0000b"}"#, "far end"),
    ] {
        let refused = post(&[], wrong);
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
        assert!(refused.json()["error"].as_str().unwrap().contains(named), "{wrong}: {refused:?}");
    }
    let text = page.raw(&format!(
        "POST /api/live HTTP/1.1\r\nHost: {}\r\n{csrf}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
        page.address
    ));
    assert_eq!(text.status, 415);
    let head = page.request("GET", "/", &[&format!("X-Long: {}", "x".repeat(40_000))], "");
    assert!(matches!(head.status, 400 | 431), "{head:?}");
    assert_eq!(page.request("PATCH", "/api/runs", &[&csrf], "").status, 405);
    assert_eq!(page.raw("nonsense\r\n\r\n").status, 400);
}

/// A client that sends half a head, half a body, or nothing at all is disconnected, and its place is free again.
#[test]
fn slow_clients_lose_their_place() {
    let short = Duration::from_millis(300);
    let limits = Limits { connections: 2, head: short, body: short, ..Limits::default() };
    let page = Page::start(NO_TOKEN, limits);
    let csrf = page.csrf(&[]);
    let mut half_head = page.connect();
    half_head.write_all(b"GET /api/runs HTTP/1.1\r\nHost: ").unwrap();
    let mut half_body = page.connect();
    let head = format!(
        "POST /api/live HTTP/1.1\r\nHost: {}\r\n{csrf}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{",
        page.address
    );
    half_body.write_all(head.as_bytes()).unwrap();
    // Both places are taken: this one is answered when one is free again.
    assert_eq!(page.get("/api/session").status, 200);
    assert_eq!(read(&mut half_body).status, 408);
    let ended = std::io::Read::read(&mut half_head, &mut [0; 1024]);
    assert!(ended.is_ok(), "{ended:?}: the server closed");
    let mut idle = page.connect();
    let ended = std::io::Read::read(&mut idle, &mut [0; 1024]);
    assert!(matches!(ended, Ok(0)), "{ended:?}: nothing was asked for");
    let mut kept = page.connect();
    kept.write_all(format!("GET /api/session HTTP/1.1\r\nHost: {}\r\n\r\n", page.address).as_bytes())
        .unwrap();
    assert_eq!(read(&mut kept).status, 200, "and the connection is closed when nothing follows");
}

/// A client that requests much and reads none of it loses its place, too.
#[test]
fn who_does_not_read_is_cut_off() {
    let limits = Limits { connections: 1, stalled: Duration::from_millis(500), ..Limits::default() };
    let page = Page::start(NO_TOKEN, limits);
    page.keep(&run("01a-large", 0, 60_000), "far.example", "");
    let mut deaf = page.connect();
    let request = format!("GET /api/runs/01a-large/document HTTP/1.1\r\nHost: {}\r\n\r\n", page.address);
    deaf.write_all(request.as_bytes()).unwrap();
    assert_eq!(page.get("/api/session").status, 200, "its place is free again");
}

/// Lines of server-sent events.
fn events_until(page: &Page, until: &str) -> Vec<serde_json::Value> {
    let mut stream = page.connect();
    stream.write_all(format!("GET /api/live HTTP/1.1\r\nHost: {}\r\n\r\n", page.address).as_bytes()).unwrap();
    let mut all = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let value: serde_json::Value = serde_json::from_str(data).unwrap();
        let last = value["type"] == until;
        all.push(value);
        if last {
            break;
        }
    }
    all
}

fn kinds(reported: &[serde_json::Value]) -> Vec<&str> {
    reported.iter().map(|one| one["type"].as_str().unwrap()).collect()
}

#[test]
fn a_test_is_begun_followed_and_stopped() {
    let page = page();
    let request = r#"{"kind":"throughput","host":"far.example","label":"new","keys":{"time":"5s"}}"#;
    assert_eq!(page.change("POST", "/api/live/stop", "").json()["running"], false);
    assert_eq!(page.change("POST", "/api/live", request).status, 202);
    let begin = events_until(&page, "points");
    assert_eq!(kinds(&begin), ["started", "progress", "warning", "points"]);
    assert_eq!((&begin[0]["host"], &begin[0]["kind"]), (&"far.example".into(), &"throughput".into()));
    let point = &begin[3]["points"][0];
    assert_eq!((&point["line"], point["value"].as_f64()), (&"up".into(), Some(8e6)));
    let second = page.change("POST", "/api/live", request);
    assert_eq!(second.status, 409);
    assert!(second.json()["advice"].is_string());
    assert_eq!(page.change("POST", "/api/live/stop", "").json()["running"], true);
    let whole = events_until(&page, "ended");
    assert_eq!(
        kinds(&whole),
        ["started", "progress", "warning", "points", "ended"],
        "who comes later hears all of it"
    );
    assert_eq!(whole[4]["id"], "done");
    assert_eq!(page.change("POST", "/api/live", request).status, 202, "and another one may run");
}

#[test]
fn a_test_that_cannot_be_or_dies_is_reported() {
    let page = page();
    let refused = page.change("POST", "/api/live", r#"{"kind":"mtu","host":"nowhere"}"#);
    assert_eq!(refused.status, 422);
    assert_eq!(
        (&refused.json()["error"], &refused.json()["advice"]),
        (&"nowhere has no address".into(), &"give another".into())
    );
    assert_eq!(events_until(&page, "failed")[1]["why"]["error"], "nowhere has no address");
    assert_eq!(page.change("POST", "/api/live", r#"{"kind":"mtu","host":"panics"}"#).status, 202);
    let died = events_until(&page, "failed");
    assert!(died[1]["why"]["error"].as_str().unwrap().contains("internal error"), "{died:?}");
    assert_eq!(page.change("POST", "/api/live", r#"{"kind":"mtu","host":"fine"}"#).status, 202);
}

#[test]
fn a_store_that_is_gone_is_named() {
    let backend = Backend {
        version: String::new(),
        open: Box::new(|| Store::open(std::path::Path::new("/proc/none/runs.db"))),
        start: Box::new(|_, _| Err(pathmeter_web::Refused::default())),
        import: Box::new(|_| Err(pathmeter_web::Refused::default())),
        targets: Vec::new(),
        topologies: Box::new(Vec::new),
        unended: |entry, events| insight::run_of_events(&entry.id, &entry.kind, events),
    };
    let listen = "127.0.0.1:0".parse().unwrap();
    let server = Server::bind(
        Config {
            listen,
            tokens: Tokens::default(),
            names: Vec::new(),
            proxies: Vec::new(),
            tls: None,
            limits: Limits::default(),
        },
        backend,
    )
    .unwrap();
    let (address, stopper) = (server.address().unwrap(), server.stopper());
    let thread = std::thread::spawn(move || server.serve(Confined::with_all_rights()));
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream
        .write_all(
            format!("GET /api/runs HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
        )
        .unwrap();
    let answer = read(&mut stream);
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.json()["error"].as_str().unwrap().contains("/proc/none"), "{answer:?}");
    stopper.stop();
    thread.join().unwrap().unwrap();
}
