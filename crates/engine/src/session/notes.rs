//! A server's log of refused clients and of requests: a few lines of each source at once and some in a minute, so that no
//! client can fill a disk.

use linux::clock::mono_now;
use linux::sockaddr::plain;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts the lines of each source.
#[derive(Debug, Default)]
struct NoteLimit(Mutex<Quotas>);

#[derive(Debug, Default)]
struct Quotas {
    all: Quota,
    sources: HashMap<IpAddr, Quota>,
}

#[derive(Debug, Default)]
struct Quota {
    /// Lines that were written lately, in thousandths: they are forgotten one after the other.
    level: u64,
    last: Option<MonoTime>,
    left_out: u64,
}

impl NoteLimit {
    /// May a line of this source be written now? Then this many of it, or of sources that are no longer known, were left
    /// out before.
    fn pass(&self, source: IpAddr, now: MonoTime) -> Option<u64> {
        let mut quotas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let quotas = &mut *quotas;
        if quotas.sources.len() >= MOST_SOURCES {
            quotas.sources.retain(|_, quota| quota.drain(now, SOURCE_STEP) > 0 || quota.left_out > 0);
        }
        if quotas.sources.len() >= MOST_SOURCES {
            quotas.sources.clear();
        }
        let own = quotas.sources.entry(source.to_canonical()).or_default();
        let has_room = own.drain(now, SOURCE_STEP) + LINE <= SOURCE_LINES * LINE;
        if !has_room || quotas.all.drain(now, ALL_STEP) + LINE > ALL_LINES * LINE {
            own.left_out += 1;
            return None;
        }
        own.level += LINE;
        quotas.all.level += LINE;
        Some(std::mem::take(&mut own.left_out))
    }
}

impl Quota {
    /// Forgets what is long ago: one line in each `step`.
    fn drain(&mut self, now: MonoTime, step: Nanos) -> u64 {
        let since = now.saturating_since(self.last.replace(now).unwrap_or(now));
        let forgotten = u128::from(since.0) * u128::from(LINE) / u128::from(step.0);
        self.level = self.level.saturating_sub(u64::try_from(forgotten).unwrap_or(u64::MAX));
        self.level
    }
}

/// Receives lines for the log: refused clients, ended tests.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// The log of a server.
pub(crate) struct Notes {
    limit: NoteLimit,
    note: Note,
    /// Called for each client that was turned away, with a line or without.
    turned_away: Box<dyn Fn() + Send + Sync>,
}

impl Notes {
    /// Lines go there.
    pub(crate) fn new(note: Note) -> Notes {
        Notes::counted(note, Box::new(|| {}))
    }

    /// The same, and each client that was turned away is counted there, with a line or without.
    pub(crate) fn counted(note: Note, turned_away: Box<dyn Fn() + Send + Sync>) -> Notes {
        Notes { limit: NoteLimit::default(), note, turned_away }
    }

    /// A line on the server itself.
    pub(crate) fn note(&self, text: &str) {
        (self.note)(text);
    }

    /// A line on the server itself that may come again and again: as many of all such lines as of one source.
    pub(crate) fn note_again(&self, text: &str) {
        self.pass(IpAddr::V4(Ipv4Addr::UNSPECIFIED), text, "such lines");
    }

    /// A line on a client that was turned away, unless there have been many.
    pub(crate) fn note_from(&self, peer: SocketAddr, text: &str) {
        (self.turned_away)();
        self.note_limited(peer, text);
    }

    /// A line on what a client has done, unless there have been many.
    pub(crate) fn note_limited(&self, peer: SocketAddr, text: &str) {
        self.pass(peer.ip(), &format!("{}: {text}", plain(peer)), "more lines of this address");
    }

    /// A line of a source, unless there have been many, with how many lines like it were left out before.
    fn pass(&self, source: IpAddr, text: &str, like_it: &str) {
        match self.limit.pass(source, mono_now()) {
            None => {}
            Some(0) => self.note(text),
            Some(left_out) => self.note(&format!("{text} ({left_out} {like_it} were left out)")),
        }
    }
}

const LINE: u64 = 1_000_000;
/// Lines of one source at once, and the time after which there may be one more.
const SOURCE_LINES: u64 = 10;
const SOURCE_STEP: Nanos = Nanos::from_secs(5);
/// Lines of all sources together: the source of a datagram can be forged.
const ALL_LINES: u64 = 200;
const ALL_STEP: Nanos = Nanos::from_millis(200);
const MOST_SOURCES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn at(seconds: u64) -> MonoTime {
        MonoTime(1) + Nanos::from_secs(seconds)
    }

    #[test]
    fn a_source_has_ten_lines_and_then_one_in_five_seconds() {
        let limit = NoteLimit::default();
        let source = IpAddr::from([192, 0, 2, 1]);
        let written = (0..1000).filter(|_| limit.pass(source, at(0)).is_some()).count();
        assert_eq!(written, 10);
        assert_eq!(limit.pass([192, 0, 2, 2].into(), at(0)), Some(0), "another source");
        assert_eq!(limit.pass(source, at(5)), Some(990), "what was left out is counted");
        assert_eq!(limit.pass(source, at(5)), None);
    }

    #[test]
    fn what_clients_have_done_is_limited_and_turns_no_client_away() {
        let (lines, away) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (written, counted) = (lines.clone(), away.clone());
        let note: Note = Arc::new(move |_| {
            written.fetch_add(1, Ordering::Relaxed);
        });
        let notes = Notes::counted(
            note,
            Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
            }),
        );
        (0..1000).for_each(|_| notes.note_limited(([192, 0, 2, 1], 80).into(), "(http) get 1 B"));
        assert!((10..20).contains(&lines.load(Ordering::Relaxed)), "{lines:?}");
        assert_eq!(away.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_goes_wrong_again_and_again_fills_no_disk() {
        let lines = Arc::new(AtomicU64::new(0));
        let written = lines.clone();
        let note: Note = Arc::new(move |_| {
            written.fetch_add(1, Ordering::Relaxed);
        });
        let notes = Notes::new(note);
        (0..1000).for_each(|_| notes.note_again("accept: Too many open files"));
        assert!((10..20).contains(&lines.load(Ordering::Relaxed)), "{lines:?}");
    }

    #[test]
    fn many_sources_together_have_a_limit_and_take_no_memory() {
        let limit = NoteLimit::default();
        let written =
            (0..100_000_u32).filter(|n| limit.pass(n.to_be_bytes().into(), at(0)).is_some()).count();
        assert_eq!(written, 200);
        assert!(limit.0.lock().unwrap().sources.len() <= MOST_SOURCES);
        assert!(limit.pass([192, 0, 2, 1].into(), at(60)).is_some());
    }
}
