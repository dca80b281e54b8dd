//! A store of a million runs: listed, filtered, and compared, 3,600 runs against 3,600.
//!
//! `cargo bench -p pathmeter-store --features postgres --bench million`; `PATHMETER_BENCH_SERVER=postgres://…` names an empty
//! database on a server to fill instead. `PATHMETER_BENCH_RUNS` sets a smaller number. Printed is the median of five.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark fails by panicking, and prints")]

use model::history::Sample;
use model::stats::compare::Rules;
use model::time::WallTime;
use pathmeter_store::{Filter, Location, Store};
use report::format::compared::Compared;
use report::format::trend::Trends;
use std::time::{Duration, Instant};

fn main() {
    let runs: u64 = std::env::var("PATHMETER_BENCH_RUNS").map_or(1_000_000, |runs| runs.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let server = std::env::var("PATHMETER_BENCH_SERVER").ok();
    let location = server.as_deref().map_or(Location::from(folder.path().join("runs.db")), Location::from);
    drop(Store::open(&location).unwrap());
    let begun = Instant::now();
    match &server {
        Some(url) => fill_server(url, runs),
        None => fill_file(&location, runs),
    }
    println!("{location}: {runs} runs in {:.1} s", begun.elapsed().as_secs_f64());
    let store = Store::open_to_read(&location).unwrap();
    let page = |filter: Filter| store.list(&Filter { limit: Some(51), ..filter }).unwrap().len();
    let runs_to = |target: &str| Filter { target: Some(target.into()), ..Filter::default() };
    print_duration("open", || Store::open_to_read(&location).map(drop).unwrap());
    print_duration("the latest 50", || assert_eq!(page(Filter::default()), 51));
    print_duration("the latest 50 of a target", || assert_eq!(page(runs_to("host-7.example")), 51));
    print_duration("the latest 50 of a verdict in a week", || {
        let since = Some(WallTime(FIRST + (runs - 10_080) * MINUTE));
        assert_eq!(page(Filter { status: Some("problem".into()), since, ..Filter::default() }), 51);
    });
    print_duration("counted, all", || assert_eq!(store.count(&Filter::default()).unwrap(), runs));
    print_duration("a run by the beginning of its name", || drop(store.full_id("0000002a-").unwrap()));
    let set = |label: &str| -> Vec<Sample> {
        store.samples(&Filter { label: Some(label.into()), ..Filter::default() }).unwrap()
    };
    print_duration("3,600 runs compared with 3,600", || {
        let (base, other) = (set("set-1"), set("set-2"));
        assert_eq!((base.len(), other.len()), (3_600, 3_600));
        assert_eq!(Compared::of_samples(("a", &base), ("b", &other), Rules::new(true)).figures.len(), 3);
    });
    print_duration("the trend of a target's latest 2,000 runs", || {
        let runs = store.series(&Filter { limit: Some(2_000), ..runs_to("host-7.example") }).unwrap();
        assert_eq!(Trends::from_samples("host-7.example", &runs, &[], Rules::new(true)).series.len(), 3);
    });
}

/// Runs `work` five times and prints the median duration.
fn print_duration(what: &str, work: impl Fn()) {
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .collect();
    times.sort();
    println!("{what:<45} {:>10.2} ms", times[2].as_secs_f64() * 1e3);
}

fn fill_file(location: &Location, runs: u64) {
    let db = rusqlite::Connection::open(location.file().unwrap()).unwrap();
    let all =
        format!("WITH RECURSIVE many(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM many WHERE n < {runs} - 1)");
    let id = "printf('%08x-0000-7000-8000-%012x', n, n)";
    for statement in statements(&all, "many", id, "zeroblob(200)") {
        db.execute_batch(&statement).unwrap();
    }
}

#[cfg(feature = "postgres")]
fn fill_server(url: &str, runs: u64) {
    let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
    client.batch_execute("SET search_path = pathmeter").unwrap();
    let all = format!("WITH many AS (SELECT n FROM generate_series(CAST(0 AS BIGINT), {runs} - 1) AS n)");
    let id = "lpad(to_hex(n), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0')";
    for statement in statements(&all, "many", id, "decode(repeat('00', 200), 'hex')") {
        client.batch_execute(&statement).unwrap();
    }
    client.batch_execute("ANALYZE").unwrap();
}

#[cfg(not(feature = "postgres"))]
fn fill_server(_url: &str, _runs: u64) {
    panic!("build it with --features postgres");
}

/// Runs once per minute to a hundred targets, every eleventh a problem, three figures each.
fn statements(all: &str, many: &str, id: &str, document: &str) -> Vec<String> {
    let figure = |number: u8, name: &str, value: &str| {
        format!(
            "INSERT INTO figures (run, number, name, value, text) {all} SELECT {id}, {number}, '{name}', {value}, '' FROM {many}"
        )
    };
    vec![
        format!(
            "INSERT INTO runs (id, kind, target, label, origin, started, finished, status, verdict) {all} \
             SELECT {id}, 'throughput', 'host-' || (n % 100) || '.example', 'set-' || (n / 3600), 'measured', \
             {FIRST} + CAST(n AS BIGINT) * {MINUTE}, {FIRST} + CAST(n AS BIGINT) * {MINUTE}, \
             CASE WHEN n % 11 = 0 THEN 'problem' ELSE 'ok' END, 'a verdict' FROM {many}"
        ),
        figure(0, "tcp.up.goodput", "9.4e9 + (n * 7919 % 1000) * 1e5"),
        figure(1, "rtt.p50", "1e6 + (n * 104729 % 997) * 1e2"),
        figure(2, "rtt.p99", "2e6 + (n * 1299709 % 991) * 1e3"),
        format!("INSERT INTO documents (run, document) {all} SELECT {id}, {document} FROM {many}"),
    ]
}

/// Start of the first run, in nanoseconds since 1970.
const FIRST: u64 = 1_700_000_000_000_000_000;
const MINUTE: u64 = 60_000_000_000;
