//! Work on several threads whose results come in order.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

/// Hands each job to one of as many threads as there are CPUs, and the results to `take`, in the order of the jobs. At most a few
/// jobs are taken ahead of those that are done. Ends with the first error of `take`.
pub(super) fn in_order<J: Send, T: Send, E>(
    jobs: impl Iterator<Item = J> + Send,
    work: impl Fn(J) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let workers = available_parallelism().map_or(1, usize::from).min(MOST_WORKERS);
    let (give, given) = sync_channel(workers);
    let (put, results) = sync_channel(workers);
    let given = Arc::new(Mutex::new(given));
    scope(|scope| {
        scope.spawn(move || {
            let mut numbered = jobs.enumerate();
            numbered.all(|job| give.send(job).is_ok());
        });
        for _ in 0..workers {
            let (given, put, work) = (Arc::clone(&given), put.clone(), &work);
            scope.spawn(move || {
                while let Some((number, job)) = next(&given) {
                    if put.send((number, work(job))).is_err() {
                        break;
                    }
                }
            });
        }
        // The threads alone have these: with them ends what they wait for.
        drop((given, put));
        let (mut early, mut due) = (BTreeMap::new(), 0);
        for (number, result) in results {
            early.insert(number, result);
            while let Some(result) = early.remove(&due) {
                take(result)?;
                due += 1;
            }
        }
        Ok(())
    })
}

fn next<J>(given: &Mutex<Receiver<J>>) -> Option<J> {
    given.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

const MOST_WORKERS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn results_come_in_order_however_long_each_takes() {
        let mut taken = Vec::new();
        let work = |job: u64| {
            sleep(Duration::from_micros(job % 7 * 300));
            job * 2
        };
        let done: Result<(), Infallible> = in_order(0..200, work, |result| {
            taken.push(result);
            Ok(())
        });
        assert!(done.is_ok());
        assert_eq!(taken, (0..200).map(|job| job * 2).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_all_of_it() {
        let mut count = 0;
        let done = in_order(
            0..,
            |job| job,
            |_| {
                count += 1;
                if count == 5 { Err("enough") } else { Ok(()) }
            },
        );
        assert_eq!((done, count), (Err("enough"), 5));
    }
}
