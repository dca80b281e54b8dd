//! Ten thousand runs, queried as by a page: searched, ordered, page by page, counted, labelled and removed at once.

use crate::support::{begun, each, insert, run, sql};
use model::finding::Status;
use model::history::{Measured, Origin};
use pathmeter_store::{Begun, Filter, ListOrder, Location, Names, Store};
use std::collections::BTreeSet;

const MANY: u64 = 10_000;

fn id(number: u64) -> String {
    (MANY + number).to_string()
}

/// A hundred far ends, ten labels, four runs of each millisecond: copies of one run.
fn fill(location: &Location) {
    insert(&Store::open(location).unwrap(), &begun("any", 1), Status::Ok);
    let many = format!(
        "WITH RECURSIVE many(n) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT n + 1 FROM many WHERE n < {MANY} - 1)"
    );
    let id = format!("CAST({MANY} + n AS TEXT)");
    let copied = |table: &str, columns: &str| {
        format!(
            "INSERT INTO {table} (run, {columns}) {many} SELECT {id}, {columns} FROM many, {table} WHERE run = 'any'"
        )
    };
    let statements = [
        format!(
            "INSERT INTO runs (id, kind, target, label, origin, started, finished, status, verdict, schema) {many} \
             SELECT {id}, CASE n % 2 WHEN 0 THEN 'throughput' ELSE 'latency' END, 'host-' || (n % 100) || '.example', \
             'set-' || (n % 10), 'measured', 1000000 * (n / 4 + 1), 1000000 * (n / 4 + 2), status, verdict, schema \
             FROM many, runs WHERE id = 'any'"
        ),
        copied("figures", "number, name, value, text"),
        copied("documents", "document"),
        "DELETE FROM runs WHERE id = 'any'".into(),
    ];
    sql(location, &statements.join(";\n"));
}

/// Every page of a list, concatenated, five hundred runs each.
fn paged(store: &Store, filter: &Filter) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.list(&Filter { after, limit: Some(500), ..filter.clone() }).unwrap();
        let Some(last) = page.last() else { return all };
        after = Some(last.id.clone());
        all.extend(page.into_iter().map(|entry| entry.id));
    }
}

#[test]
fn ten_thousand_runs_are_listed_searched_and_changed() {
    each(|location| {
        fill(location);
        let store = Store::open(location).unwrap();
        let finding = |find: &str| Filter { find: Some(find.into()), ..Filter::default() };
        assert_eq!(store.count(&Filter::default()).unwrap(), MANY);
        for order in
            [ListOrder::Latest, ListOrder::Earliest, ListOrder::Target, ListOrder::Label, ListOrder::Verdict]
        {
            let filter = Filter { order, ..Filter::default() };
            let all = paged(&store, &filter);
            assert_eq!(all, store.ids(&filter).unwrap(), "{order:?}");
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len() as u64, MANY, "{order:?}: each once");
        }
        let latest = store.ids(&Filter { limit: Some(5), ..Filter::default() }).unwrap();
        assert_eq!(latest, ["19996", "19997", "19998", "19999", "19992"], "four of one time by their names");
        assert_eq!(store.count(&finding("HOST-7.")).unwrap(), 100);
        assert_eq!(store.count(&finding("set-3")).unwrap(), 1_000);
        assert_eq!(paged(&store, &finding("host-7")).len(), 1_100, "7 and 70 to 79");
        let kind = Filter { kind: Some("latency".into()), label: Some("set-1".into()), ..Filter::default() };
        assert_eq!(store.count(&kind).unwrap(), 1_000);
        assert_eq!(store.names(Names::Targets, 1_000).unwrap().len(), 100);
        let half: Vec<String> = (0..MANY).step_by(2).map(id).collect();
        assert_eq!(store.label_all(&half, "even").unwrap(), MANY / 2);
        assert_eq!(store.count(&finding("even")).unwrap(), MANY / 2);
        assert_eq!(store.forget_all(&half).unwrap(), MANY / 2);
        assert_eq!(store.count(&Filter::default()).unwrap(), MANY / 2);
        assert!(store.ids(&finding("even")).unwrap().is_empty());
    });
}

#[test]
fn what_is_put_in_at_once_is_all_there_or_nothing() {
    each(|location| {
        let store = Store::open(location).unwrap();
        let begun = |id: &str| Begun { id: id.into(), kind: "throughput".into(), ..Begun::default() };
        let insert = |id: &str| {
            let measured = run(id, Status::Ok);
            store.insert(&begun(id), Origin::Measured, Measured::Run(&measured), &[])
        };
        let failed = store.at_once(|| {
            insert("a")?;
            store.get("absent")
        });
        assert!(failed.is_err());
        assert!(store.ids(&Filter::default()).unwrap().is_empty());
        // The store can be used afterwards.
        store.at_once(|| insert("a").and(insert("b"))).unwrap();
        assert_eq!(store.count(&Filter::default()).unwrap(), 2);
    });
}
