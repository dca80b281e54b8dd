//! Keys that a server keeps beyond their lifetimes, found and removed.

use super::{Last, Nats, REMOVED_FOR};
use crate::broker::lifetime::MARGIN;
use crate::broker::{Broker, Bucket, Expected};
use crate::clock::{Clock, SystemClock};
use crate::error::{FleetError, Result};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::time::Duration;

impl Nats {
    /// Removes keys of leases that have outlived their lifetimes, as an unclean end of the server leaves them, and returns
    /// their names. A key that seems so by the server's clock is watched by this host's for its lifetime and 5 s, and is
    /// removed only if nothing wrote it in that time: so a clock that jumps costs no lease. Takes no time where nothing looks
    /// so.
    ///
    /// # Errors
    /// The server cannot be reached, or does not permit it.
    pub fn remove_stale(&self) -> Result<Vec<String>> {
        let mut suspects = self.outlived()?;
        let mut removed = Vec::new();
        let longest = suspects.values().filter_map(|last| last.lifetime).max().unwrap_or_default();
        let end = SystemClock.mono() + longest.saturating_add(MARGIN.saturating_mul(2));
        while !suspects.is_empty() && SystemClock.mono() < end {
            let mut left = BTreeMap::new();
            for (key, known) in suspects {
                match self.last(Bucket::Leases, &key)? {
                    Some(last) if last.entry.revision != known.entry.revision => {}
                    Some(last) if self.is_gone(Bucket::Leases, &key, &last) => {
                        match self.remove(Bucket::Leases, &key, last.entry.revision) {
                            Ok(()) => removed.push(key),
                            Err(FleetError::Conflict(_)) => {}
                            Err(error) => return Err(error),
                        }
                    }
                    Some(last) => drop(left.insert(key, last)),
                    None => {}
                }
            }
            suspects = left;
            std::thread::sleep(Duration::from_millis(if suspects.is_empty() { 0 } else { 500 }));
        }
        Ok(removed)
    }

    /// Keys with a lifetime that is over by the server's own clock.
    fn outlived(&self) -> Result<BTreeMap<String, Last>> {
        // Written now, it has the time of the server.
        let own = format!("doctor-{}", SystemClock.wall().0);
        self.put(Bucket::Leases, &own, b"", Expected::Absent, Some(REMOVED_FOR))?;
        let now = self.last(Bucket::Leases, &own)?.map(|last| last.written).unwrap_or_default();
        let mut outlived = BTreeMap::new();
        for key in self.keys(Bucket::Leases)? {
            let Some(last) = self.last(Bucket::Leases, &key)? else { continue };
            let is_over = |lifetime: Nanos| now - last.written > lifetime.saturating_add(MARGIN);
            if !last.is_removed && last.lifetime.is_some_and(is_over) {
                outlived.insert(key, last);
            }
        }
        Ok(outlived)
    }
}
