//! The connections of a server: how many there are, and how many of one address have not yet shown what they want.
//! Whoever opens many and says nothing keeps himself out, and nobody else.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connections that have a thread.
#[derive(Debug, Default)]
pub(crate) struct Guests(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    all: u32,
    strangers: HashMap<IpAddr, u32>,
}

/// One connection; counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Guest {
    guests: Arc<Guests>,
    /// Present until the connection has been admitted.
    stranger: Option<IpAddr>,
}

impl Guests {
    /// One more connection of this address; the error says why it cannot be served now.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Guest, &'static str> {
        let home = home(address);
        let mut counts = self.lock();
        if counts.all >= MOST {
            return Err("as many connections as this server can have, closed");
        }
        let strangers = counts.strangers.entry(home).or_default();
        if *strangers >= MOST_STRANGERS {
            return Err("too many connections of this address that say nothing, closed");
        }
        *strangers += 1;
        counts.all += 1;
        Ok(Guest { guests: self.clone(), stranger: Some(home) })
    }

    /// Connections now.
    pub(crate) fn count(&self) -> u32 {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// The connection has shown that it wants a test.
    pub(crate) fn admit(&mut self) {
        let Some(home) = self.stranger.take() else { return };
        let mut counts = self.guests.lock();
        if let Some(strangers) = counts.strangers.get_mut(&home) {
            *strangers -= 1;
            if *strangers == 0 {
                counts.strangers.remove(&home);
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.admit();
        self.guests.lock().all -= 1;
    }
}

/// The address, or the IPv6 network of which one host may have all addresses (RFC 4291 section 2.5.4).
fn home(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

/// Most connections at the same time, data streams included until they are handed over.
const MOST: u32 = 1024;
/// Far above what honest clients of one address have: theirs say at once what they are.
const MOST_STRANGERS: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_says_nothing_keeps_out_only_itself() {
        let guests = Arc::new(Guests::default());
        let silent = |n: u16| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n));
        let mut held: Vec<Guest> =
            (0..256).map(|n| guests.enter(silent(n)).expect("there is room")).collect();
        assert!(guests.enter(silent(999)).is_err(), "another address of the same network");
        let other = guests.enter([192, 0, 2, 1].into()).expect("another host");
        assert_eq!(guests.count(), 257);
        held[0].admit();
        held[0].admit();
        assert!(guests.enter(silent(999)).is_ok(), "one was admitted");
        drop((held, other));
        assert_eq!(guests.count(), 0);
        assert!(guests.lock().strangers.is_empty());
    }

    #[test]
    fn there_is_a_most() {
        let guests = Arc::new(Guests::default());
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        let held: Vec<Guest> = (0..MOST).map(|n| guests.enter(address(n)).expect("there is room")).collect();
        assert!(guests.enter(address(MOST)).is_err());
        drop(held);
        assert!(guests.enter(address(MOST)).is_ok());
    }
}
