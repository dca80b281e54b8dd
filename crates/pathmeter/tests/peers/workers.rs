//! Cases of which most wait for their time to pass, several at once.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Checks each case on one of a few threads; all failures are reported, with their reasons.
pub(crate) fn for_each<C: Debug + Sync, T>(cases: &[C], check: impl Fn(&C) -> T + Sync) {
    let left = Mutex::new(cases.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("nothing panics while it is held").next();
                    let Some(case) = next else { return };
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(case))) {
                        let reported = panic.downcast::<String>().map_or("".into(), |text| *text);
                        failures.lock().expect("as above").push(format!("{case:?}: {reported}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("as above");
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}

const WORKERS: usize = 4;
