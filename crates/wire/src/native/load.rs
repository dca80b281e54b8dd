//! Sessions of load: steps of UDP at rates that the client chooses, in both directions, to find what limits the path.
//!
//! ```text
//! 0         7      8      12      16      17     18    20        28 …
//! | PMTRPRB | kind | step | index | flags | flow | 0   | sent ns | zeros up to size
//! ```

mod report;

pub use report::{REPORT, report_request, requested_reports};

use model::limit::StepRequest;
use model::time::MonoTime;
use model::units::{BitRate, Nanos};

/// Bytes of a load datagram's header: the smallest payload.
pub const HEADER: usize = 28;
/// The flows of a session of load.
pub const FLOWS: u32 = 4;
/// The extension's name in a hello.
pub(super) const FEATURE: &str = "load";

/// The header of a load datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadHeader {
    /// Number of the step.
    pub step: u32,
    /// Number of the datagram within it.
    pub index: u32,
    /// The datagram was sent after the first part of the step.
    pub late: bool,
    /// The datagram is one of the sparse ones.
    pub sparse: bool,
    /// The sender's monotonic clock.
    pub sent: MonoTime,
}

impl LoadHeader {
    /// Writes the header. `bytes` has at least [`HEADER`] bytes.
    pub fn write(&self, bytes: &mut [u8]) {
        bytes[..7].copy_from_slice(&MAGIC);
        bytes[7] = KIND;
        bytes[8..12].copy_from_slice(&self.step.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.index.to_be_bytes());
        bytes[16] = u8::from(self.late) | u8::from(self.sparse) << 1;
        bytes[17..20].fill(0);
        bytes[20..28].copy_from_slice(&self.sent.0.to_be_bytes());
    }

    /// Reads the header; `None`: the datagram is not one of load.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<LoadHeader> {
        let header = datagram.first_chunk::<HEADER>()?;
        let rest = header.strip_prefix(MAGIC.as_slice())?.strip_prefix(&[KIND])?;
        let word = |at: usize| rest.get(at..at + 4)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        let flags = *rest.get(8)?;
        let sent = rest.get(12..20)?.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))?;
        Some(LoadHeader {
            step: word(0)?,
            index: word(4)?,
            late: flags & 1 > 0,
            sparse: flags & 2 > 0,
            sent: MonoTime(sent),
        })
    }
}

/// The remaining budget of a session of load.
#[derive(Debug)]
pub(super) struct LoadBudget {
    most: Option<BitRate>,
    time: Nanos,
}

impl LoadBudget {
    pub(super) fn new(most: Option<BitRate>) -> LoadBudget {
        LoadBudget { most, time: MOST_TIME }
    }

    /// The steps as they may be sent; `Err` gives the reason why they are refused.
    pub(super) fn take(&mut self, mut steps: Vec<StepRequest>) -> Result<Vec<StepRequest>, String> {
        if steps.len() > MOST_STEPS {
            return Err(format!("{} steps of load at once, where {MOST_STEPS} are the most", steps.len()));
        }
        for step in &mut steps {
            if !(HEADER as u32..=LARGEST).contains(&step.size) || step.time > MOST_STEP || step.step == 0 {
                return Err(format!(
                    "a step of load with datagrams of {} bytes over {}",
                    step.size, step.time
                ));
            }
            step.flows = step.flows.clamp(1, FLOWS as u8);
            if let Some(most) = self.most {
                let gap = u64::from(step.size) * 8 * 1_000_000_000 / most.0.max(1);
                step.gap = step.gap.max(Nanos(gap));
            }
            step.gap = step.gap.max(SHORTEST_GAP);
        }
        let time: Nanos = steps.iter().map(|step| step.time).sum();
        self.time = self
            .time
            .0
            .checked_sub(time.0)
            .map(Nanos)
            .ok_or_else(|| format!("more than {MOST_TIME} of load in one session"))?;
        Ok(steps)
    }
}

const MAGIC: [u8; 7] = *b"PMTRPRB";
const KIND: u8 = 4;
const MOST_STEPS: usize = 64;
const MOST_STEP: Nanos = Nanos::from_secs(3);
/// Total duration of all steps of a session.
const MOST_TIME: Nanos = Nanos::from_secs(60);
const LARGEST: u32 = 9_000;
/// Hosts do not send single datagrams faster than this.
const SHORTEST_GAP: Nanos = Nanos::from_nanos(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header =
            LoadHeader { step: 7, index: 70_000, late: true, sparse: false, sent: MonoTime(1 << 40) };
        let mut bytes = [1; 64];
        header.write(&mut bytes);
        assert_eq!(LoadHeader::read(&bytes), Some(header));
        assert_eq!(LoadHeader::read(&bytes[..HEADER - 1]), None);
        bytes[7] = 1;
        assert_eq!(LoadHeader::read(&bytes), None, "a probe is no load");
    }

    fn step(size: u32, gap: u64, time: Nanos) -> StepRequest {
        StepRequest { step: 1, size, gap: Nanos(gap), time, flows: 9, sparse: 0, ttl: None }
    }

    #[test]
    fn a_server_keeps_load_within_its_limits() {
        let mut budget = LoadBudget::new(Some(BitRate(8_000_000)));
        let taken = budget.take(vec![step(1000, 10, Nanos::from_millis(200))]).expect("in range");
        assert_eq!(
            (taken[0].gap, taken[0].flows),
            (Nanos::from_millis(1), 4),
            "no faster than the server allows"
        );
        assert!(budget.take(vec![step(27, 10, Nanos::from_nanos(1))]).is_err(), "no room for the header");
        assert!(budget.take(vec![step(1000, 10, Nanos::from_secs(4))]).is_err(), "too long");
        let long = || vec![step(1000, 10, Nanos::from_secs(3)); 19];
        assert!(budget.take(long()).is_ok());
        assert!(budget.take(long()).is_err(), "too much in one session");
    }
}
