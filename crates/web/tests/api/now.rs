//! The running measurement, and the next times at which paths are measured.

use crate::common::{NO_TOKEN, Page, plan_of, run};
use model::history::Measured;
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;
use pathmeter_web::Limits;
use serde_json::{Value, json};
use store::{Begun, Schedule, ScheduleKey, Store};

fn page() -> Page {
    Page::start(NO_TOKEN, Limits::default())
}

/// A test of another program is measured until it ends; one that is to come is not.
#[test]
fn a_test_of_another_program_runs() {
    let page = page();
    let begun = |id: &str| Begun { id: id.into(), kind: "throughput".into(), ..Begun::default() };
    page.store.expect(&begun("to come")).unwrap();
    let recorder = Store::open(page.store.location()).unwrap().begin(&begun("other"), None).unwrap();
    let running = |id: &str| {
        let shown = page.get(&format!("/api/runs/{}", id.replace(' ', "%20"))).json()["entry"].clone();
        let listed = page.get("/api/runs").json()["runs"].clone();
        let listed = listed.as_array().unwrap().iter().find(|run| run["id"] == id).unwrap().clone();
        assert_eq!(shown, listed);
        (shown["running"].clone(), shown["status"].clone())
    };
    assert_eq!(running("other"), (true.into(), Value::Null));
    assert_eq!(running("to come"), (false.into(), Value::Null));
    recorder.finish(Measured::Run(&run("other", 0, 3)), &[]).unwrap();
    assert_eq!(running("other"), (false.into(), "ok".into()));
}

fn schedule(label: &str, latest: u64, every: u64) -> Schedule {
    let key = ScheduleKey {
        host: "probe-1".into(),
        target: "far.example".into(),
        kind: "throughput".into(),
        label: label.into(),
    };
    let (every, latest) = (Nanos::from_secs(every), WallTime(latest));
    Schedule { key, every, latest, due: WallTime(latest.0 + every.0) }
}

#[test]
fn a_path_states_when_it_is_measured_next_and_what_is_overdue() {
    let page = page();
    let hour = 3_600_000_000_000_u64;
    let now = linux::clock::wall_now().0;
    // Every quarter of an hour by runs alone, of which `watch` keeps the ones of `night`.
    for number in 0..12_u64 {
        for label in ["night", "cron"] {
            let id = format!("{label}-{number:02}");
            page.measured_as(&id, ("far.example", label), number * 900, 1e9);
        }
    }
    page.store.schedule(&schedule("night", now, 900)).unwrap();
    page.store.schedule(&schedule("gone", now - 2 * hour, 900)).unwrap();
    let path = page.get("/api/path?target=far.example").json();
    let found: Vec<(&Value, &Value, bool, bool)> = path["schedules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["label"], &one["overdue"], one["due"].is_string(), one["runs"].is_u64()))
        .collect();
    let [gone, night, cron] = ["gone", "night", "cron"].map(Value::from);
    let (yes, no) = (Value::from(true), Value::from(false));
    assert_eq!(
        found,
        [(&gone, &yes, true, false), (&night, &no, true, false), (&cron, &yes, false, true)],
        "what `watch` keeps stands in place of what its runs show"
    );
    assert_eq!(path["schedules"][1]["host"], "probe-1");
    let paths = page.get("/api/paths").json();
    assert_eq!(paths["paths"][0]["schedules"].as_array().unwrap().len(), 2, "those of `watch`");
    let kept = page.get("/api/schedules").json();
    assert_eq!(kept["schedules"].as_array().unwrap().len(), 2);
    assert_eq!(page.get("/api/schedules?target=near").json(), json!({ "schedules": [] }));
    // One whose host is gone for good.
    let dropped = "/api/schedules?host=probe-1&target=far.example&kind=throughput&label=gone";
    assert_eq!(page.request("DELETE", dropped, &[], "").status, 403, "of another site");
    assert_eq!(page.change("DELETE", dropped, "").status, 204);
    assert_eq!(page.change("DELETE", dropped, "").status, 404);
    assert_eq!(page.change("DELETE", "/api/schedules?host=probe-1", "").status, 400);
    assert_eq!(page.get("/api/schedules").json()["schedules"].as_array().unwrap().len(), 1);
}

/// The mark of packets is requested again.
#[test]
fn packets_are_marked_as_before() {
    let page = page();
    let again = |id: &str, tos: u8| {
        let mut kept: Run = run(id, 0, 3);
        plan_of(&mut kept).test.tos = tos;
        page.keep(&kept, "far.example", "");
        page.get(&format!("/api/runs/{id}")).json()["again"].clone()
    };
    let dscp = |id: &str, tos: u8| again(id, tos)["keys"]["dscp"].clone();
    assert_eq!((dscp("ef", 184), dscp("odd", 4 * 13)), ("ef".into(), "13".into()));
    assert_eq!(dscp("usual", 0), Value::Null);
    assert_eq!(again("ecn", 185), Value::Null, "the form asks for no bits of ECN");
}
