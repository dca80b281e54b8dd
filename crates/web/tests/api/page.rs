//! Requests of the page to the interface beside lists and single runs.

use crate::common::{Answer, NO_TOKEN, Page, plan_of, read, run};
use model::plan::{Directions, End};
use model::run::Run;
use model::time::WallTime;
use model::units::{BitRate, Nanos};
use pathmeter_web::Limits;
use serde_json::{Value, json};
use std::io::{Read, Write};
use store::{Begun, Change, Mark};

const TOKEN: &str = "a token of many letters";
const HOSTILE: &str = "\u{202e}moc.elpmaxe";

fn page() -> Page {
    Page::start(NO_TOKEN, Limits::default())
}

fn ids(answer: &Answer) -> String {
    let runs = answer.json()["runs"].clone();
    let ids: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    ids.join(" ")
}

#[test]
fn lists_are_searched_by_parts_and_ordered() {
    let page = page();
    page.keep(&run("a", 0, 3), "FRA1.example", "x");
    page.keep(&run("b", 1, 3), "ams.example", "to fra1");
    page.keep(&run("c", 2, 3), "ams.example", "");
    let begun = Begun { id: "d".into(), kind: "latency".into(), started: WallTime(1), ..Begun::default() };
    page.store.expect(&begun).unwrap();
    assert_eq!(ids(&page.get("/api/runs?find=fra1")), "b a");
    assert_eq!(ids(&page.get("/api/runs?order=target")), "d a c b");
    assert_eq!(ids(&page.get("/api/runs?order=target&limit=2&after=a")), "c b");
    assert_eq!(ids(&page.get("/api/runs?status=unended")), "d");
    assert_eq!(page.get("/api/runs?find=fra1&limit=1").json()["count"], 2, "of all pages");
    assert_eq!(page.get(&format!("/api/runs?after={}", "x".repeat(201))).status, 400);
    let refused = page.get("/api/runs?order=colour");
    assert_eq!(refused.status, 400);
    assert!(refused.json()["advice"].as_str().unwrap().contains("earliest"), "{refused:?}");
    let names = page.get("/api/names").json();
    assert_eq!(names["targets"], json!(["ams.example", "FRA1.example"]));
    assert_eq!(
        (&names["configured"], &names["kinds"]),
        (&json!(["fra1"]), &json!(["throughput", "latency"]))
    );
}

#[test]
fn many_runs_are_labelled_and_forgotten_at_once() {
    let page = page();
    for id in ["a", "b", "c"] {
        page.keep(&run(id, 0, 3), "far.example", "");
    }
    let label = |body: &str| page.change("POST", "/api/bulk/label", body);
    assert_eq!(label(r#"{"ids":["a","b"],"label":" new "}"#).json()["runs"], 2);
    assert_eq!(ids(&page.get("/api/runs?label=new")), "a b");
    assert_eq!(label(r#"{"ids":[],"label":"x"}"#).status, 400);
    assert_eq!(label(&json!({ "ids": ["a"], "label": HOSTILE }).to_string()).status, 400);
    let csrf = page.csrf(&[]);
    assert_eq!(
        page.request("POST", "/api/bulk/forget", &[], r#"{"ids":["a"]}"#).status,
        403,
        "of another site"
    );
    let forgotten = page.request("POST", "/api/bulk/forget", &[&csrf], r#"{"ids":["a","gone"]}"#);
    assert_eq!(forgotten.json()["runs"], 1);
    assert_eq!(ids(&page.get("/api/runs")), "b c");
}

/// Marks of writing direction are taken neither as labels nor as far ends.
#[test]
fn names_that_look_like_others_are_refused() {
    let page = page();
    page.keep(&run("a", 0, 3), "far.example", "before");
    for mark in ['\u{202e}', '\u{2066}', '\u{200f}', '\u{7}'] {
        let named = json!({ "label": format!("x{mark}y") }).to_string();
        assert_eq!(page.change("PUT", "/api/runs/a/label", &named).status, 400, "{mark:?}");
        let body = json!({ "kind": "mtu", "host": format!("{mark}far.example") }).to_string();
        assert_eq!(page.change("POST", "/api/live", &body).status, 400, "{mark:?}");
        let body = json!({ "kind": "mtu", "host": "far.example", "label": mark }).to_string();
        assert_eq!(page.change("POST", "/api/live", &body).status, 400, "{mark:?}");
    }
    assert_eq!(page.get("/api/runs/a").json()["entry"]["label"], "before");
}

#[test]
fn lists_are_exported_and_files_are_imported() {
    let page = page();
    page.keep(&run("a", 0, 3), "far.example", "before");
    page.keep(&run("b", 1, 3), "other.example", "=1+2");
    let csv = page.get("/api/export?target=far.example");
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(csv.header("content-disposition").unwrap().starts_with("attachment"), "{csv:?}");
    assert!(csv.body.starts_with("id,started,") && csv.body.lines().count() == 2, "{csv:?}");
    // Documents with their rows, one in a line, in chunks.
    let lines = page.get("/api/export?format=ndjson").body;
    let documents: Vec<Value> = lines
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(documents.len(), 2, "{lines}");
    assert_eq!(
        (&documents[0]["stored"]["id"], &documents[0]["stored"]["label"]),
        (&"b".into(), &"=1+2".into())
    );
    assert_eq!(page.get("/api/export?format=exe").status, 400);
    for (format, begin) in [("csv", "run,"), ("ndjson", "{"), ("markdown", "#"), ("json", "{")] {
        let answer = page.get(&format!("/api/runs/a/document?format={format}"));
        assert_eq!(answer.status, 200, "{format}: {answer:?}");
        assert!(answer.body.starts_with(begin), "{format}: {}", answer.body);
    }
    assert!(page.get("/api/runs/a/charts/0.png").status == 200);
    let csrf = page.csrf(&[]);
    let send = |name: &str, body: &str| {
        let path = format!("/api/import?name={name}");
        page.request("POST", &path, &[&csrf], body)
    };
    assert_eq!(send("iperf3.json", "two").json(), json!({ "new": 1, "all": 2 }));
    let refused = send("x.txt", "nothing");
    assert_eq!(refused.status, 422);
    assert!(refused.json()["error"].as_str().unwrap().starts_with("x.txt holds no"), "{refused:?}");
    assert_eq!(page.request("POST", "/api/import?name=x", &[], "two").status, 403);
}

/// Runs of other options are another trend; sweeps over frame sizes are no part of it.
#[test]
fn a_figure_is_drawn_over_runs_alike() {
    let page = page();
    let keep = |id: &str, seconds: u64, streams: u32, kind: &str, target: &str| {
        let mut kept = run(id, seconds, 3);
        kept.kind = kind.into();
        plan_of(&mut kept).test.streams = streams;
        page.keep(&kept, target, "");
    };
    for (number, streams) in [1, 4, 1, 4, 4].into_iter().enumerate() {
        keep(&format!("run-{number}"), number as u64, streams, "throughput", "far.example");
    }
    keep("sweep", 2, 1, "frames", "far.example");
    keep("lab", 9, 1, "lab", "two-routers");
    let found = page.get("/api/paths").json();
    assert_eq!((&found["far_ends"], &found["whole"]), (&1.into(), &true.into()), "a topology is no far end");
    let figure = &found["paths"][0]["figures"][0];
    let points: Vec<&str> =
        figure["points"].as_array().unwrap().iter().map(|point| point["id"].as_str().unwrap()).collect();
    assert_eq!(points, ["run-1", "run-3", "run-4"], "those like the latest");
    assert!(figure["of"].as_str().unwrap().contains("throughput, 4 streams"), "{figure}");
    let path = page.get("/api/path?target=far.example").json();
    let trend = path["figures"].as_array().unwrap().iter().find(|one| one["kind"] == "throughput").unwrap();
    assert_eq!((trend["points"].as_array().unwrap().len(), &trend["of"]), (5, &json!([0, 1, 0, 1, 1])));
    assert_eq!(trend["options"].as_array().unwrap().len(), 2);
}

#[test]
fn a_path_has_its_marks_alerts_and_schedule() {
    let page = page();
    for number in 0..12_u64 {
        page.measured(&format!("run-{number:02}"), "far.example", number * 900, 1e9);
    }
    let at = WallTime(1_790_000_000_000_000_000);
    page.store.mark(&Mark { target: "far.example".into(), at, note: "new <b>line".into() }).unwrap();
    let change = Change { run: "run-11", figure: "tcp.up.goodput", change: "worse" };
    page.store.alert(change, "{}", at, &["hook".into()]).unwrap();
    let path = page.get("/api/path?target=far.example").json();
    assert_eq!((&path["runs"], &path["marks"][0]["note"]), (&12.into(), &"new <b>line".into()));
    let schedule = &path["schedules"][0];
    assert_eq!((&schedule["kind"], schedule["every_seconds"].as_f64()), (&"throughput".into(), Some(900.0)));
    assert_eq!((&path["alerts"][0]["change"], &path["alerts"][0]["waiting"]), (&"worse".into(), &1.into()));
    assert_eq!(path["host"], "far.example", "at its usual port");
    let mut other = run("run-99", 99 * 900, 3);
    plan_of(&mut other).target.address = "192.0.2.1:5300".parse().unwrap();
    page.keep(&other, "far.example", "");
    assert_eq!(page.get("/api/path?target=far.example").json()["host"], "far.example:5300");
    assert_eq!(page.get("/api/alerts").json()["alerts"], path["alerts"]);
    assert_eq!(page.get("/api/alerts?target=other").json()["alerts"], json!([]));
    let unknown = page.get("/api/path?target=absent");
    assert_eq!(unknown.status, 404);
    assert!(unknown.json()["error"].as_str().unwrap().contains("absent"));
}

#[test]
fn runs_lie_over_one_another() {
    let page = page();
    page.keep(&run("a", 0, 5), "far.example", "");
    page.keep(&run("b", 1, 3), "far.example", "");
    let found = page.get("/api/overlay?runs=a,b").json();
    let lengths: Vec<usize> = found["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["series"][0]["lines"][0]["at"].as_array().unwrap().len())
        .collect();
    assert_eq!(lengths, [5, 3]);
    assert_eq!(page.get("/api/overlay?runs=").status, 400);
    assert_eq!(page.get("/api/overlay?runs=a,b,a,b,a,b,a,b,a").status, 400);
    assert_eq!(page.get("/api/overlay?runs=a,gone").status, 404);
}

/// Sets of runs that are named are called by what they are.
#[test]
fn a_comparison_speaks_of_times_and_not_of_names() {
    let page = page();
    page.keep(&run("01a21362-0001", 0, 3), "far.example", "");
    page.keep(&run("01a21362-0002", 1, 3), "far.example", "");
    let compared = page.get("/api/compare?base=01a21362-0001&other=01a21362-0002").json();
    let names = [&compared["comparison"]["base"]["name"], &compared["comparison"]["other"]["name"]];
    assert_eq!(names[0], "throughput of 2026-09-21 14:13:20 UTC");
    assert_ne!(names[0], names[1], "of one minute");
    let same = page.get("/api/compare?base=01a21362-0001&other=01a21362-0001").json();
    assert_ne!(same["comparison"]["base"]["name"], same["comparison"]["other"]["name"]);
}

/// The form that measures the same, or none where there is no such form.
#[test]
fn measuring_again_is_measuring_the_same() {
    let page = page();
    let keep = |id: &str, change: &dyn Fn(&mut Run)| {
        let mut kept = run(id, 0, 3);
        change(&mut kept);
        page.keep(&kept, "far.example", "mine");
        page.get(&format!("/api/runs/{id}")).json()["again"].clone()
    };
    let again = keep("usual", &|_| {});
    assert_eq!((&again["host"], &again["kind"]), (&"far.example".into(), &"throughput".into()), "{again}");
    assert_eq!(
        (&again["keys"]["time"], &again["label"], &again["keys"]["transport"]),
        (&"10s".into(), &"mine".into(), &"tcp".into())
    );
    let again = keep("asked", &|run| {
        let plan = plan_of(run);
        plan.target.address = "192.0.2.1:5300".parse().unwrap();
        plan.test.directions = Directions::Down;
        plan.test.streams = 4;
        plan.test.bitrate = Some(BitRate(5_000_000));
        plan.test.end = End::Time(Nanos::from_secs(3));
        plan.local.interval = Nanos::from_millis(100);
    });
    assert_eq!(again["host"], "far.example:5300", "its own port");
    let known = ["direction", "parallel", "bitrate", "time", "interval"].map(|key| &again["keys"][key]);
    assert_eq!(known, [&json!("down"), &json!(4), &json!(5_000_000), &json!("3s"), &json!("100ms")]);
    let again = keep("six", &|run| {
        let target = &mut plan_of(run).target;
        (target.host, target.address) = ("2001:db8::1".into(), "[2001:db8::1]:5300".parse().unwrap());
    });
    assert_eq!((&again["host"], again.get("family")), (&"[2001:db8::1]:5300".into(), None));
    let again = keep("named", &|run| {
        plan_of(run).target.address = "[2001:db8::1]:5210".parse().unwrap();
    });
    assert_eq!(
        (&again["host"], &again["family"]),
        (&"far.example".into(), &6.into()),
        "over the same version"
    );
    type Altered<'a> = &'a dyn Fn(&mut Run);
    let other: [(&str, Altered<'_>); 3] = [
        ("bytes", &|run| plan_of(run).test.end = End::Blocks(7)),
        ("bind", &|run| plan_of(run).local.device = Some("eth0".into())),
        ("kind", &|run| run.kind = "frames".into()),
    ];
    for (id, change) in other {
        assert_eq!(keep(id, change), Value::Null, "{id}");
    }
}

/// A page that knows another server or test is given all of the story; one that knows it what is new.
#[test]
fn how_a_test_stands_is_asked_for_in_parts() {
    let first = page();
    let standing = |page: &Page, server: &str, number: u64, next: u64| {
        page.get(&format!("/api/live/standing?server={server}&number={number}&next={next}")).json()
    };
    let idle = standing(&first, "", 0, 0);
    assert_eq!((&idle["running"], &idle["number"], &idle["story"]), (&false.into(), &0.into(), &json!([])));
    let body = r#"{"kind":"throughput","host":"far.example","keys":{"time":"5s"}}"#;
    assert_eq!(first.change("POST", "/api/live", body).status, 202);
    let whole = loop {
        let whole = standing(&first, "", 0, 0);
        if whole["story"].as_array().unwrap().len() > 3 {
            break whole;
        }
    };
    assert_eq!((&whole["running"], &whole["test"]["expected_seconds"]), (&true.into(), &json!(10.0)));
    assert_eq!((&whole["test"]["id"], &whole["story"][0]["type"]), (&"done".into(), &"started".into()));
    let (server, next) = (whole["server"].as_str().unwrap(), whole["next"].as_u64().unwrap());
    assert_eq!(standing(&first, server, 1, next)["story"], json!([]), "nothing is new");
    assert_eq!(standing(&first, server, 1, u64::from(u32::MAX))["story"], json!([]));
    assert_eq!(standing(&first, server, 1, next - 1)["story"].as_array().unwrap().len(), 1);
    assert_eq!(standing(&first, "another", 1, next)["story"], whole["story"]);
    first.change("POST", "/api/live/stop", "");
    let ended = loop {
        let ended = standing(&first, server, 1, next);
        if ended["running"] == false {
            break ended;
        }
    };
    assert_eq!(ended["story"][0]["type"], "ended");
    // A restarted server has another name.
    assert_ne!(page().get("/api/live/standing").json()["server"], server);
}

/// A stream begins with how it stands, and ends with the session.
#[test]
fn a_stream_ends_with_its_session() {
    let page = Page::start(Some(TOKEN), Limits::default());
    let entered = page.change("POST", "/api/login", &format!(r#"{{"token":"{TOKEN}"}}"#));
    let cookie = format!("Cookie: {}", entered.header("set-cookie").unwrap().split(';').next().unwrap());
    let csrf = page.csrf(&[&cookie]);
    let mut stream = page.connect();
    let ask = format!("GET /api/live HTTP/1.1\r\nHost: {}\r\n{cookie}\r\n\r\n", page.address);
    stream.write_all(ask.as_bytes()).unwrap();
    let mut begin = [0; 4096];
    let mut text = String::new();
    while !text.contains("\"type\":\"idle\"") {
        let length = stream.read(&mut begin).unwrap();
        assert!(length > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&begin[..length]));
    }
    assert_eq!(page.request("POST", "/api/logout", &[&cookie, &csrf], "").status, 204);
    let bearer = format!("Authorization: bearer {TOKEN}");
    let body = r#"{"kind":"throughput","host":"far.example","keys":{"time":"5s"}}"#;
    assert_eq!(page.request("POST", "/api/live", &[&bearer], body).status, 202, "the scheme has no case");
    let rest = read(&mut stream);
    assert!(!rest.head.contains("started"), "{rest:?}");
}

#[test]
fn cookies_are_of_one_server_and_secure_where_they_can_be() {
    let login = |page: &Page, headers: &[&str]| {
        let csrf = page.csrf(&[]);
        let body = format!(r#"{{"token":"{TOKEN}"}}"#);
        let entered = page.request("POST", "/api/login", &[&[csrf.as_str()], headers].concat(), &body);
        entered.header("set-cookie").unwrap().to_owned()
    };
    let name = |cookie: &str| cookie.split('=').next().unwrap().to_owned();
    let (one, two) =
        (Page::start(Some(TOKEN), Limits::default()), Page::start(Some(TOKEN), Limits::default()));
    let (first, second) = (login(&one, &[]), login(&two, &[]));
    assert_ne!(name(&first), name(&second), "a browser has one jar for all ports of a host");
    assert!(!first.contains("Secure"), "{first}");
    let proto = "X-Forwarded-Proto: https";
    assert!(!login(&one, &[proto]).contains("Secure"), "it is not believed");
    let behind = Page::behind(vec!["127.0.0.1".parse().unwrap()], Some(TOKEN), Limits::default());
    assert!(login(&behind, &[proto]).contains("; Secure"));
}

#[test]
fn the_front_end_takes_two_methods_and_finds_views() {
    let page = page();
    for method in ["DELETE", "POST", "PUT", "TRACE", "OPTIONS"] {
        assert_eq!(page.request(method, "/", &[], "").status, 405, "{method}");
    }
    assert_eq!(page.request("HEAD", "/", &[], "").status, 200);
    let view = page.get("/run/01a-one");
    assert_eq!((view.status, view.header("location")), (307, Some("/#/run/01a-one")));
    assert_eq!(page.get("/nothing").status, 404);
}

#[test]
fn answers_are_compressed_where_a_client_takes_it() {
    let page = page();
    page.keep(&run("a", 0, 300), "far.example", "");
    let plain = page.get("/app.js");
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, Some("accept-encoding")));
    for path in ["/app.js", "/api/runs/a/document", "/api/runs/a"] {
        let plain = page.get(path);
        let packed = page.request("GET", path, &["Accept-Encoding: gzip, br"], "");
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{path}");
        let length = |answer: &Answer| answer.header("content-length").unwrap().parse::<usize>().unwrap();
        assert!(length(&packed) * 2 < length(&plain), "{path}: {} of {}", length(&packed), length(&plain));
    }
    assert_eq!(
        page.request("GET", "/api/session", &["Accept-Encoding: gzip"], "").header("content-encoding"),
        None
    );
}

/// A note has several lines, belongs to its run, and goes with it to another store.
#[test]
fn a_run_has_a_note() {
    let page = page();
    page.keep(&run("01a-one", 0, 3), "far.example", "");
    let kept = || page.get("/api/runs/01a-one").json()["entry"]["note"].clone();
    assert_eq!(kept(), "");
    let note = |text: &str| page.change("PUT", "/api/runs/01a/note", &json!({ "note": text }).to_string());
    assert_eq!(note(" new cable\n<b>since noon</b> ").status, 204);
    assert_eq!(kept(), "new cable\n<b>since noon</b>");
    let listed = page.get("/api/runs?find=SINCE").json()["runs"][0].clone();
    assert_eq!(
        (&listed["id"], &listed["note"]),
        (&"01a-one".into(), &kept()),
        "lists have it, and it is searched"
    );
    assert!(page.get("/api/export?format=csv").body.contains("new cable"));
    let exported: Value = page
        .get("/api/export?format=ndjson")
        .body
        .lines()
        .find(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .unwrap();
    assert_eq!(exported["stored"]["note"], "new cable\n<b>since noon</b>");
    for refused in ["\u{202e}evil", "a\u{7}", &"x".repeat(2_001)] {
        let answer = note(refused);
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains("advice"), "{answer:?}");
    }
    assert_eq!(kept(), "new cable\n<b>since noon</b>", "it stays");
    assert_eq!(note("").status, 204);
    assert_eq!(kept(), "");
    assert_eq!(page.change("PUT", "/api/runs/none/note", r#"{"note":"x"}"#).status, 404);
}

/// A dashboard gets a row for each figure, in the order of time.
#[test]
fn figures_are_rows_for_dashboards() {
    let page = page();
    for (id, seconds, rate) in [("b", 60, 2e9), ("a", 0, 1e9), ("c", 120, 3e9)] {
        page.measured_as(id, ("far.example", "night"), seconds, rate);
    }
    page.measured("other", "other.example", 0, 9e9);
    let void = Run {
        verdict: model::finding::Verdict { status: model::finding::Status::Void, text: String::new() },
        ..run("void", 180, 0)
    };
    page.keep(&void, "far.example", "night");
    let rows = |query: &str| {
        page.get(&format!("/api/figures?{query}")).json()["figures"].as_array().unwrap().clone()
    };
    let values =
        |query: &str| rows(query).iter().map(|row| row["value"].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(values("target=far.example&figure=tcp.up.goodput"), [1e9, 2e9, 3e9]);
    assert_eq!(values("label=night&figure=rtt.p50"), [0.0; 0]);
    let first = &rows("target=far.example")[0];
    assert_eq!(
        (&first["run"], &first["figure"], &first["label"]),
        (&"a".into(), &"tcp.up.goodput".into(), &"night".into())
    );
    let second = rows("target=far.example")[1]["time"].as_str().unwrap().to_owned();
    assert_eq!(values(&format!("target=far.example&since={second}")), [2e9, 3e9]);
    assert_eq!(page.get("/api/figures?since=yesterday").status, 400);
}
