//! Ten thousand runs behind the interface: listed page by page, searched, counted, labelled, forgotten, named.

use crate::common::{NO_TOKEN, Page, run};
use model::history::{Headline, Measured, Origin};
use model::run::Run;
use model::time::WallTime;
use pathmeter_web::Limits;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use store::Begun;

const MANY: u64 = 10_000;
/// The far end of the oldest run alone.
const RARE: &str = "rare.example";

/// A hundred far ends, ten labels, all put in by one transaction. Every second run has not ended.
fn fill(page: &Page) {
    let measured = run("any", 0, 1);
    let figures = [Headline { name: "tcp.up.goodput".into(), value: 1e9, text: "1.00 Gbit/s".into() }];
    let insert = |number: u64| {
        let begun = Begun {
            id: format!("{number:05}"),
            kind: "throughput".into(),
            target: if number == 0 { RARE.into() } else { format!("host-{}.example", number % 100) },
            label: format!("set-{}", number % 10),
            started: WallTime(1_790_000_000_000_000_000 + number / 4 * 1_000_000),
        };
        let measured = Run { started: Some(begun.started), ..measured.clone() };
        match number % 2 {
            0 => page.store.insert(&begun, Origin::Measured, Measured::Run(&measured), &figures),
            _ => page.store.expect(&begun),
        }
    };
    page.store.at_once(|| (0..MANY).try_for_each(|number| insert(number).map(drop))).unwrap();
}

fn ids(answer: &Value) -> Vec<String> {
    let runs = answer["runs"].as_array().unwrap().iter();
    runs.map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

/// Every page of a list behind one another.
fn paged(page: &Page, query: &str) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let answer = page.get(&format!("/api/runs?limit=500&after={after}&{query}")).json();
        all.extend(ids(&answer));
        if answer["more"] == false {
            assert_eq!(answer["count"], all.len(), "{query}");
            return all;
        }
        after.clone_from(&all[all.len() - 1]);
    }
}

#[test]
fn ten_thousand_runs_are_listed_searched_and_changed() {
    let page = Page::start(NO_TOKEN, Limits::default());
    fill(&page);
    for order in ["latest", "earliest", "target", "label", "verdict"] {
        let all = paged(&page, &format!("order={order}"));
        assert_eq!(all.len() as u64, MANY, "{order}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len() as u64, MANY, "{order}: each once");
    }
    assert_eq!(paged(&page, "find=HOST-7.").len(), 100);
    assert_eq!(paged(&page, "status=unended").len() as u64, MANY / 2);
    assert_eq!(page.get("/api/names").json()["targets"].as_array().unwrap().len(), 101);
    assert!(page.get("/metrics").body.contains(&format!("pathmeter_up{{target=\"{RARE}\"")), "however old");
    let paths = page.get("/api/paths").json();
    assert_eq!((&paths["whole"], &paths["far_ends"]), (&false.into(), &100.into()), "of the latest runs");
    assert_eq!(page.get("/api/path?target=host-7.example").json()["runs"], 100);
    assert_eq!(page.get("/api/export?format=csv&label=set-2").body.lines().count(), 1_001);
    let lines = page.get("/api/export?format=ndjson").body;
    let exported = lines.lines().filter(|line| line.starts_with('{'));
    let exported: Vec<Value> = exported.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(exported.len() as u64, MANY);
    let exported_ids: Vec<&str> = exported.iter().map(|one| one["stored"]["id"].as_str().unwrap()).collect();
    assert_eq!(
        exported_ids,
        paged(&page, ""),
        "in the order of the list, also across the parts that are read at once"
    );
    // A page changes 300 runs by one request.
    let some: Vec<String> = (0..300).map(|number| format!("{number:05}")).collect();
    let body = json!({ "ids": some, "label": "new" }).to_string();
    assert_eq!(page.change("POST", "/api/bulk/label", &body).json()["runs"], 300);
    assert_eq!(page.get("/api/runs?label=new&limit=1").json()["count"], 300);
    let body = json!({ "ids": some }).to_string();
    assert_eq!(page.change("POST", "/api/bulk/forget", &body).json()["runs"], 300);
    assert_eq!(page.get("/api/runs?limit=1").json()["count"], MANY - 300);
}
