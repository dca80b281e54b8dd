//! Reports over the flows themselves: each end answers the other's requests, and keeps the answers to its own.

use super::Flows;
use linux::message;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, PoisonError};
use wire::native::load::{report_request, requested_reports};
use wire::work::load::StepReport;

/// Requests to answer, and answers to this end's own.
#[derive(Debug, Default)]
pub(super) struct Reports {
    requests: Mutex<Requests>,
    bell: Condvar,
    answers: Mutex<BTreeMap<u32, StepReport>>,
}

#[derive(Debug, Default)]
struct Requests {
    /// A step that is requested again before it is answered is answered once.
    steps: BTreeSet<u32>,
    stop: bool,
}

impl Reports {
    /// Takes a datagram that is no load.
    pub(super) fn take(&self, datagram: &[u8]) {
        if let Some(report) = StepReport::from_datagram(datagram) {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.insert(report.step, report);
            while answers.len() > MOST_KEPT {
                answers.pop_first();
            }
            return;
        }
        let requested = requested_reports(datagram);
        if !requested.is_empty() {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.steps.extend(requested);
            while requests.steps.len() > MOST_KEPT {
                requests.steps.pop_first();
            }
            self.bell.notify_all();
        }
    }

    /// The far end's reports that have arrived since the last call.
    pub(super) fn answers(&self) -> BTreeMap<u32, StepReport> {
        std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers requests until it is to stop.
    pub(super) fn run(&self, flows: &Flows, report: impl Fn(u32) -> StepReport) {
        loop {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            while requests.steps.is_empty() && !requests.stop {
                requests = self.bell.wait(requests).unwrap_or_else(PoisonError::into_inner);
            }
            if requests.stop {
                return;
            }
            let steps = std::mem::take(&mut requests.steps);
            drop(requests);
            for step in steps {
                send(flows, &report(step).to_datagram());
            }
        }
    }

    pub(super) fn stop(&self) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.bell.notify_all();
    }
}

/// Requests the far end's reports of these steps.
pub(super) fn request(flows: &Flows, steps: &[u32]) {
    send(flows, &report_request(steps));
}

/// Sends over the last flow: most of the load is on the first, which may have a limit of its own. A datagram that cannot be sent counts
/// as lost.
fn send(flows: &Flows, bytes: &[u8]) {
    if let Some(flow) = flows.last() {
        message::send_whole(flow, bytes, USUAL_TTL).ok();
    }
}

const MOST_KEPT: usize = 64;
pub(super) const USUAL_TTL: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::sync::Arc;
    use wire::native::load::REPORT;

    #[test]
    fn a_step_is_answered_once_however_often_it_is_requested() {
        let near = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let far = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        near.connect(far.local_addr().expect("an address")).expect("a flow");
        let flows: Flows = vec![Arc::new(near)].into();
        let reports = Reports::default();
        for _ in 0..3 {
            reports.take(&report_request(&[4, 9]));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| reports.run(&flows, |step| StepReport { step, ..StepReport::default() }));
            let mut bytes = [0; 2 * REPORT];
            let mut came = || {
                let length = far.recv(&mut bytes).expect("an answer");
                StepReport::from_datagram(&bytes[..length]).expect("a report").step
            };
            assert_eq!((came(), came()), (4, 9));
            reports.stop();
        });
        far.set_nonblocking(true).expect("an option");
        assert!(far.recv(&mut [0; 8]).is_err(), "no third answer");
    }

    #[test]
    fn answers_that_are_not_taken_do_not_fill_the_memory() {
        let reports = Reports::default();
        for step in 0..10_000 {
            reports.take(&StepReport { step, ..StepReport::default() }.to_datagram());
        }
        let kept = reports.answers();
        assert_eq!((kept.len(), kept.keys().next_back()), (MOST_KEPT, Some(&9_999)));
        assert!(reports.answers().is_empty());
    }
}
