//! Access control: sessions of users who gave the token, and a limit on guesses.

use crate::places::source;
use crate::secret::{hex, is_same, random};
use aws_lc_rs::{hmac, pbkdf2};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tokens that users may give. With none of either kind every client that reaches the server has access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Those of users who may do everything.
    pub full: Vec<String>,
    /// Those of users who may look and take copies, and change nothing.
    pub read: Vec<String>,
}

impl Tokens {
    /// Every one of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        self.full.iter().chain(&self.read)
    }

    /// The rights of a token. All of them are compared, so that the time does not depend on which one is right.
    fn rights(&self, token: &str) -> Option<Rights> {
        let is_one = |tokens: &[String]| tokens.iter().fold(false, |found, one| is_same(one, token) | found);
        match (is_one(&self.full), is_one(&self.read)) {
            (true, _) => Some(Rights::Change),
            (false, true) => Some(Rights::Read),
            (false, false) => None,
        }
    }
}

/// The rights of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// Everything.
    Change,
    /// Look, and take copies.
    Read,
}

/// The sessions of a server.
#[derive(Debug)]
pub(crate) struct Logins {
    tokens: Tokens,
    /// Keys of links to single charts, one of each token for looking.
    links: Vec<hmac::Key>,
    /// The token against cross-site requests of clients without a session.
    anonymous: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: Vec<Session>,
    failures: HashMap<IpAddr, Failures>,
}

#[derive(Clone, Debug)]
struct Session {
    name: String,
    csrf: String,
    rights: Rights,
    ends: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

/// The reason of a denial.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The token is wrong.
    Wrong,
    /// Too many wrong ones came from there: wait so long.
    Wait(Duration),
    /// The kernel gives no entropy.
    NoEntropy,
}

/// A link shows its signature to others, who may guess the token by it: each guess takes them some work.
fn link_key(token: &str) -> hmac::Key {
    let mut key = [0; 32];
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        ROUNDS,
        b"pathmeter: links to charts",
        token.as_bytes(),
        &mut key,
    );
    hmac::Key::new(hmac::HMAC_SHA256, &key)
}

fn signature(key: &hmac::Key, what: &str) -> String {
    hex(hmac::sign(key, what.as_bytes()).as_ref())
}

impl Logins {
    pub(crate) fn new(tokens: Tokens) -> io::Result<Logins> {
        let links = tokens.read.iter().map(|token| link_key(token)).collect();
        Ok(Logins { tokens, links, anonymous: random()?, state: Mutex::default() })
    }

    /// Whether a token is required.
    pub(crate) fn is_needed(&self) -> bool {
        self.tokens.all().next().is_some()
    }

    /// Lets in who knows the token: the name of the new session.
    pub(crate) fn enter(&self, from: IpAddr, token: &str, now: Instant) -> Result<String, Denied> {
        let mut state = self.lock();
        let rights = state.compare(from, self.tokens.rights(token), now)?;
        state.failures.remove(&source(from));
        let (Ok(name), Ok(csrf)) = (random(), random()) else { return Err(Denied::NoEntropy) };
        state.sessions.retain(|session| session.ends > now);
        if state.sessions.len() >= MOST_SESSIONS {
            state.sessions.remove(0);
        }
        state.sessions.push(Session { name: name.clone(), csrf, rights, ends: now + LASTS });
        Ok(name)
    }

    /// The rights of a program that gives this token (`Authorization: Bearer`).
    pub(crate) fn check(&self, from: IpAddr, token: &str, now: Instant) -> Result<Rights, Denied> {
        if !self.is_needed() {
            return Ok(Rights::Change);
        }
        self.lock().compare(from, self.tokens.rights(token), now)
    }

    /// The signature by which all who have it may see this; absent: there is no token for looking.
    pub(crate) fn sign(&self, what: &str) -> Option<String> {
        self.links.first().map(|key| signature(key, what))
    }

    /// True for a signature of this by a token for looking that is still there.
    pub(crate) fn is_signed(&self, what: &str, given: &str) -> bool {
        self.links.iter().fold(false, |found, key| is_same(&signature(key, what), given) | found)
    }

    /// Ends a session.
    pub(crate) fn leave(&self, name: &str) {
        self.lock().sessions.retain(|session| !is_same(&session.name, name));
    }

    /// The token against cross-site requests and the rights: those of a session that lasts, or where none is needed, those that
    /// all clients share. Absent: the client has to log in.
    pub(crate) fn known(&self, session: Option<&str>, now: Instant) -> Option<(String, Rights)> {
        if !self.is_needed() {
            return Some((self.anonymous.clone(), Rights::Change));
        }
        let name = session?;
        let state = self.lock();
        let found = state.sessions.iter().find(|session| is_same(&session.name, name) && session.ends > now);
        found.map(|session| (session.csrf.clone(), session.rights))
    }

    /// The token against cross-site requests with which one logs in.
    pub(crate) fn anonymous(&self) -> &str {
        &self.anonymous
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The right token is accepted whatever other clients guess from there: behind a proxy all come from one address. A wrong
    /// one costs a wait.
    fn compare(&mut self, from: IpAddr, found: Option<Rights>, now: Instant) -> Result<Rights, Denied> {
        if let Some(rights) = found {
            return Ok(rights);
        }
        self.may_try(from, now)?;
        self.failed(from, now);
        Err(Denied::Wrong)
    }

    fn may_try(&self, from: IpAddr, now: Instant) -> Result<(), Denied> {
        let Some(failures) = self.failures.get(&source(from)) else { return Ok(()) };
        let wait = (failures.last + PAUSE).saturating_duration_since(now);
        if failures.count < FREE || wait.is_zero() { Ok(()) } else { Err(Denied::Wait(wait)) }
    }

    fn failed(&mut self, from: IpAddr, now: Instant) {
        self.failures.retain(|_, failures| failures.last + FORGOTTEN > now);
        if self.failures.len() >= MOST_SOURCES {
            let oldest =
                self.failures.iter().min_by_key(|(_, failures)| failures.last).map(|(from, _)| *from);
            oldest.map(|oldest| self.failures.remove(&oldest));
        }
        let failures = self.failures.entry(source(from)).or_insert(Failures { count: 0, last: now });
        *failures = Failures { count: failures.count.saturating_add(1), last: now };
    }
}

const LASTS: Duration = Duration::from_secs(12 * 3600);
const MOST_SESSIONS: usize = 64;
/// Wrong tokens that cost no wait.
const FREE: u32 = 5;
const PAUSE: Duration = Duration::from_secs(10);
const FORGOTTEN: Duration = Duration::from_secs(600);
const MOST_SOURCES: usize = 4096;
/// Rounds of the derivation of a key.
const ROUNDS: NonZeroU32 = NonZeroU32::new(100_000).expect("it is not zero");

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn logins() -> Logins {
        Logins::new(Tokens { full: vec!["right".into(), "second".into()], read: vec!["look".into()] })
            .unwrap()
    }

    #[test]
    fn a_session_lasts_until_it_ends() {
        let (logins, now) = (logins(), Instant::now());
        assert_eq!(logins.known(None, now), None);
        assert_eq!(logins.enter(HERE, "wrong", now), Err(Denied::Wrong));
        let name = logins.enter(HERE, "right", now).unwrap();
        assert!(logins.known(Some(&name), now).is_some());
        assert_eq!(logins.known(Some("another"), now), None);
        assert_eq!(logins.known(Some(&name), now + LASTS), None);
        logins.leave(&name);
        assert_eq!(logins.known(Some(&name), now), None);
    }

    #[test]
    fn each_token_has_its_rights() {
        let (logins, now) = (logins(), Instant::now());
        for (token, rights) in [("right", Rights::Change), ("second", Rights::Change), ("look", Rights::Read)]
        {
            assert_eq!(logins.check(HERE, token, now), Ok(rights));
            let name = logins.enter(HERE, token, now).unwrap();
            assert_eq!(logins.known(Some(&name), now).map(|(_, rights)| rights), Some(rights));
        }
        // A token that is in both lists may do more.
        let both = Tokens { full: vec!["one".into()], read: vec!["one".into()] };
        assert_eq!(both.rights("one"), Some(Rights::Change));
        let open = Logins::new(Tokens::default()).unwrap();
        assert!(!open.is_needed() && open.known(None, now).is_some());
        assert_eq!(open.enter(HERE, "", now), Err(Denied::Wrong), "there is nothing to log in to");
    }

    #[test]
    fn who_guesses_waits_and_others_do_not() {
        let (logins, now) = (logins(), Instant::now());
        for _ in 0..FREE {
            assert_eq!(logins.enter(HERE, "wrong", now), Err(Denied::Wrong));
        }
        assert_eq!(logins.enter(HERE, "wrong", now), Err(Denied::Wait(PAUSE)));
        assert_eq!(logins.check(HERE, "wrong", now), Err(Denied::Wait(PAUSE)));
        assert_eq!(
            logins.check(HERE, "right", now),
            Ok(Rights::Change),
            "a client that knows it is not locked out"
        );
        assert!(logins.enter("192.0.2.1".parse().unwrap(), "right", now).is_ok());
        assert_eq!(logins.enter(HERE, "wrong", now + PAUSE), Err(Denied::Wrong));
        assert!(matches!(logins.enter(HERE, "wrong", now + PAUSE), Err(Denied::Wait(_))));
        assert!(logins.enter(HERE, "right", now + PAUSE).is_ok());
        assert_eq!(logins.enter(HERE, "wrong", now + PAUSE), Err(Denied::Wrong), "forgotten");
        let network = |last: &str| source(format!("2001:db8::{last}").parse().unwrap());
        assert_eq!(network("1"), network("2"));
        assert_eq!(source("::ffff:127.0.0.1".parse().unwrap()), HERE);
    }

    #[test]
    fn memory_of_guesses_is_bounded() {
        let (logins, now) = (logins(), Instant::now());
        for number in 0..u32::try_from(MOST_SOURCES).unwrap() + 10 {
            let from = IpAddr::V4(number.into());
            assert_eq!(
                logins.enter(from, "wrong", now + Duration::from_micros(number.into())),
                Err(Denied::Wrong)
            );
        }
        assert_eq!(logins.lock().failures.len(), MOST_SOURCES);
        for _ in 0..MOST_SESSIONS + 5 {
            logins.enter(HERE, "right", now).unwrap();
        }
        assert_eq!(logins.lock().sessions.len(), MOST_SESSIONS);
    }
}
