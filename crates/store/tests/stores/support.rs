//! Runs to store, and stores for them.

use model::event::{Event, Warning};
use model::finding::{Status, Verdict};
use model::history::{Headline, Measured, Origin};
use model::run::Run;
use model::time::WallTime;
use pathmeter_store::{Begun, Filter, Location, Store};
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder for one test, and a store in it.
pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) file: PathBuf,
}

pub(crate) fn place() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/runs.db");
    Fixture { folder, file }
}

/// Runs the test with a store in a file, and with one on a server where one can be started.
pub(crate) fn each(test: impl Fn(&Location)) {
    let place = place();
    test(&Location::from(&place.file));
    #[cfg(feature = "postgres")]
    if let Some(server) = crate::server::Server::start() {
        test(&server.location());
    }
}

/// Runs a statement beside the store.
pub(crate) fn sql(location: &Location, statement: &str) {
    match location {
        Location::File(file) => rusqlite::Connection::open(file).unwrap().execute_batch(statement).unwrap(),
        #[cfg(feature = "postgres")]
        Location::Server(url) => {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            client.batch_execute(&format!("SET search_path = pathmeter; {statement}")).unwrap();
        }
        #[cfg(not(feature = "postgres"))]
        Location::Server(_) => panic!("build it with --features postgres"),
    }
}

pub(crate) fn begun(id: &str, started: u64) -> Begun {
    let (kind, target) = ("throughput".into(), "far.example".into());
    Begun { id: id.into(), kind, target, label: String::new(), started: WallTime(started) }
}

pub(crate) fn run(id: &str, status: Status) -> Run {
    let mut run = Run::unjudged(id, "throughput", &[]);
    run.verdict = Verdict { status, text: format!("the verdict of {id}") };
    run
}

pub(crate) fn figures() -> [Headline; 2] {
    let headline = |name: &str, value, text: &str| Headline { name: name.into(), value, text: text.into() };
    [headline("tcp.up.goodput", 1e9, "1.00 Gbit/s"), headline("rtt.p50", 1.5e6, "1.50 ms")]
}

pub(crate) fn insert(store: &Store, begun: &Begun, status: Status) -> bool {
    store.insert(begun, Origin::Imported, Measured::Run(&run(&begun.id, status)), &figures()).unwrap()
}

pub(crate) fn ids(store: &Store, filter: &Filter) -> Vec<String> {
    let listed: Vec<String> = store.list(filter).unwrap().into_iter().map(|entry| entry.id).collect();
    assert_eq!(store.ids(filter).unwrap(), listed);
    listed
}

pub(crate) fn warning(text: &str) -> Event {
    Event::Warning(Warning::new("test", text))
}
