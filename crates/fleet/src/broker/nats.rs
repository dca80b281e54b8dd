//! The back end of many hosts: a NATS server with JetStream, 2.11 or later.
//!
//! A bucket and a log are a stream each (`PM_LEASE`, `PM_JOB`, …). Keys are subjects of which the last message counts; their
//! lifetimes are those of messages, kept by the server. A lease or a name is removed by a message that marks it as removed and
//! vanishes after a second: so the right to write a key is the right to remove it, and no key can remove another's. Reads of
//! keys go to the stream's leader. The connection is opened from this end and comes back by itself; meanwhile calls end with
//! [`FleetError::Unreachable`]. Every call ends: an answer that was lost with its connection is waited for no longer than twice
//! [`NatsOptions::timeout`].

mod connect;
mod failure;
mod mailbox;
mod stale;
mod streams;

pub use connect::{Authority, NATS_SERVER, NatsOptions, Reactor};

use super::lifetime::Lifetimes;
use super::{
    Appended, Broker, Bucket, Consumer, Delivery, Entry, Expected, Listing, Log, MOST_LISTED, Mailbox,
};
use crate::clock::{Clock, SystemClock};
use crate::error::{FleetError, Result};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{DeleteMessageErrorKind, LastRawMessageErrorKind, RawMessageErrorKind};
use async_nats::jetstream::{self, AckKind};
use connect::Refusals;
use failure::{Attempt, is_conflict};
use futures_util::TryStreamExt;
use mailbox::{NatsConsumer, NatsMailbox};
use model::time::WallTime;
use model::units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use streams::{key_subject, log_stream, log_subject, stream_of};

/// A connection to a server. Clones are the same one.
#[derive(Clone)]
pub struct Nats {
    reactor: Arc<Reactor>,
    client: async_nats::Client,
    context: jetstream::Context,
    refusals: Refusals,
    server: String,
    /// How long one request may take.
    timeout: Duration,
    lifetimes: Arc<Lifetimes>,
    /// Copies of each stream that were requested or found last: a lost store is made anew with them.
    replicas: Arc<AtomicUsize>,
}

impl Last {
    fn parse(found: &StreamMessage) -> Last {
        Last {
            is_removed: found.headers.get(REMOVED).is_some(),
            lifetime: found.headers.get(LIFETIME).and_then(|text| lifetime_of(text.as_str())),
            written: WallTime(u64::try_from(found.time.unix_timestamp_nanos()).unwrap_or(0)),
            entry: Entry { value: found.payload.to_vec(), revision: found.sequence },
        }
    }
}

/// The last message of a key.
struct Last {
    entry: Entry,
    /// The message marks the key as removed.
    is_removed: bool,
    lifetime: Option<Nanos>,
    /// When it was written, clock of the server.
    written: WallTime,
}

impl std::fmt::Debug for Nats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nats").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Nats {
    /// Makes the streams that are missing, with so many replicas each: 1, or 3 in a cluster. The coordinator does this.
    ///
    /// # Errors
    /// The server cannot be reached, does not permit it, or has no JetStream.
    pub fn make_streams(&self, replicas: usize) -> Result<()> {
        for config in streams::configurations(replicas) {
            let name = config.name.clone();
            let attempt = self.attempt(
                "make the stream",
                &name,
                ["CREATE", "INFO"].map(|verb| format!("$JS.API.STREAM.{verb}.{name}")).to_vec(),
            );
            let work = async {
                self.context.get_or_create_stream(config).await.map_err(|error| attempt.server(&error))
            };
            let stream = self.wait(&attempt, work)?;
            self.replicas.store(stream.cached_info().config.num_replicas.max(1), Ordering::SeqCst);
        }
        Ok(())
    }

    /// Has the streams that are there keep so many replicas.
    ///
    /// # Errors
    /// Those of [`Nats::make_streams`]; one server alone keeps no more than one.
    pub fn set_replicas(&self, replicas: usize) -> Result<()> {
        for config in streams::configurations(replicas) {
            let name = config.name.clone();
            let subjects = vec![format!("$JS.API.STREAM.UPDATE.{name}")];
            let attempt = self.attempt("set the replicas of the stream", &name, subjects);
            let work = async {
                let set = self.context.update_stream(config).await;
                set.map(|_| ()).map_err(|error| attempt.server(&error))
            };
            self.wait(&attempt, work)?;
        }
        Ok(())
    }

    /// The server's version, as it reports it.
    #[must_use]
    pub fn server_version(&self) -> String {
        self.client.server_info().version
    }

    /// The address from which the server sees this connection come, unless it keeps that to itself.
    #[must_use]
    pub fn seen_as(&self) -> Option<std::net::IpAddr> {
        self.client.server_info().client_ip.parse().ok()
    }

    /// Whether the connection is up now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    fn attempt(&self, operation: &'static str, object: &str, subjects: Vec<String>) -> Attempt {
        Attempt { operation, object: object.to_owned(), subjects, server: self.server.clone() }
    }

    /// Waits for the outcome, or for the server to report that this key may not do it.
    fn wait<T>(&self, attempt: &Attempt, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.wait_for(Duration::ZERO, attempt, work)
    }

    /// The same for something that may take so long by itself.
    fn wait_for<T>(
        &self,
        expected: Duration,
        attempt: &Attempt,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let mut refused = self.refusals.listen();
        // Two requests are the most that a call makes. The client library gives up by itself only on some.
        let limit = expected + 2 * self.timeout;
        let outcome = self.reactor.wait(async {
            tokio::select! {
                outcome = work => outcome,
                subject = refused.among(&attempt.subjects) => {
                    Err(FleetError::NotPermitted { operation: attempt.operation, subject })
                }
                () = tokio::time::sleep(limit) => Err(attempt.timed_out()),
            }
        });
        match outcome {
            Err(FleetError::TimedOut { .. }) if !self.is_connected() => Err(FleetError::Unreachable {
                server: self.server.clone(),
                why: "the connection is lost".to_owned(),
            }),
            // No request of JetStream has an answer there.
            Err(FleetError::Server { .. } | FleetError::NoStream { .. } | FleetError::TimedOut { .. })
                if !self.client.server_info().jetstream =>
            {
                Err(FleetError::NoJetStream(self.server.clone()))
            }
            outcome => outcome,
        }
    }

    /// The last message of a key; none: the server has not the key.
    fn last(&self, bucket: Bucket, key: &str) -> Result<Option<Last>> {
        let (stream, subject) = (stream_of(bucket), key_subject(bucket, key));
        let attempt = self.attempt("read", key, vec![format!("$JS.API.STREAM.MSG.GET.{stream}")]);
        self.wait(&attempt, async {
            let stream =
                self.context.get_stream_no_info(&stream).await.map_err(|error| attempt.server(&error))?;
            match stream.get_last_raw_message_by_subject(&subject).await {
                Ok(found) => Ok(Some(Last::parse(&found))),
                Err(error) => match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Ok(None),
                    LastRawMessageErrorKind::JetStream(why) => Err(attempt.refused(&why)),
                    _ => Err(attempt.timed_out()),
                },
            }
        })
    }

    /// Whether a key with this last message counts as absent.
    fn is_gone(&self, bucket: Bucket, key: &str, last: &Last) -> bool {
        let now = SystemClock.mono();
        last.is_removed || self.lifetimes.is_over((bucket, key), last.entry.revision, last.lifetime, now)
    }

    /// A stored message: of a key, or of a log.
    fn store(
        &self,
        attempt: &Attempt,
        subject: &str,
        message: PublishMessage,
    ) -> Result<jetstream::publish::PublishAck> {
        self.wait(attempt, async {
            let acknowledged = match self.context.send_publish(subject.to_owned(), message).await {
                Ok(acknowledged) => acknowledged.await,
                Err(error) => Err(error),
            };
            acknowledged.map_err(|error| match error.kind() {
                _ if is_conflict(&error) => FleetError::Conflict(attempt.object.clone()),
                PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => attempt.timed_out(),
                PublishErrorKind::StreamNotFound => attempt.no_stream(),
                _ => attempt.server(&error),
            })
        })
    }
}

impl Broker for Nats {
    fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Entry>> {
        let Some(last) = self.last(bucket, key)? else {
            self.lifetimes.forget(bucket, key);
            return Ok(None);
        };
        Ok((!self.is_gone(bucket, key, &last)).then_some(last.entry))
    }

    fn put(
        &self,
        bucket: Bucket,
        key: &str,
        value: &[u8],
        expected: Expected,
        lifetime: Option<Nanos>,
    ) -> Result<u64> {
        let subject = key_subject(bucket, key);
        let attempt = self.attempt("write", key, vec![subject.clone()]);
        // The last write of these keys must have this number.
        let write = |last: Option<(&str, u64)>| {
            let message = PublishMessage::build().payload(value.to_vec().into());
            let message = match last {
                Some((pattern, revision)) => {
                    let message = message.expected_last_subject_sequence(revision);
                    if pattern == key {
                        message
                    } else {
                        message.header(LAST_OF, key_subject(bucket, pattern).as_str())
                    }
                }
                None => message,
            };
            // The server counts whole seconds.
            let message = match lifetime {
                Some(lifetime) => message.ttl(Duration::from_secs(lifetime.0.div_ceil(1_000_000_000).max(1))),
                None => message,
            };
            self.store(&attempt, &subject, message).map(|acknowledged| acknowledged.sequence)
        };
        let absent = match &expected {
            Expected::Anything => return write(None),
            Expected::Revision(revision) => return write(Some((key, *revision))),
            Expected::LastOf { pattern, revision } => return write(Some((pattern, *revision))),
            Expected::Absent => key,
            Expected::Without(other) => other,
        };
        match write(Some((absent, 0))) {
            // A key that was removed a moment ago is absent, too, and so is one that has outlived its lifetime.
            Err(FleetError::Conflict(_)) => match self.last(bucket, absent)? {
                None => write(Some((absent, 0))),
                Some(last) if self.is_gone(bucket, absent, &last) => {
                    write(Some((absent, last.entry.revision)))
                }
                Some(_) => Err(FleetError::Conflict(absent.to_owned())),
            },
            written => written,
        }
    }

    fn remove(&self, bucket: Bucket, key: &str, revision: u64) -> Result<()> {
        if bucket == Bucket::Leases {
            let subject = key_subject(bucket, key);
            let attempt = self.attempt("remove", key, vec![subject.clone()]);
            let message =
                PublishMessage::build().header(REMOVED, "1").ttl(Duration::from_nanos(REMOVED_FOR.0));
            let message = message.expected_last_subject_sequence(revision);
            return self.store(&attempt, &subject, message).map(|_| ());
        }
        let stream = stream_of(bucket);
        let attempt = self.attempt("remove", key, vec![format!("$JS.API.STREAM.MSG.DELETE.{stream}")]);
        self.wait(&attempt, async {
            let stream =
                self.context.get_stream_no_info(&stream).await.map_err(|error| attempt.server(&error))?;
            stream.delete_message(revision).await.map(|_| ()).map_err(|error| match error.kind() {
                // The message is not there: written since, or gone.
                DeleteMessageErrorKind::JetStream(why) if why.code() != 503 => {
                    FleetError::Conflict(key.to_owned())
                }
                DeleteMessageErrorKind::JetStream(why) => attempt.refused(&why),
                _ => attempt.timed_out(),
            })
        })
    }

    fn keys(&self, bucket: Bucket) -> Result<Vec<String>> {
        let name = stream_of(bucket);
        let prefix = key_subject(bucket, "");
        let attempt = self.attempt("list", bucket.word(), vec![format!("$JS.API.STREAM.INFO.{name}")]);
        let subjects: Vec<(String, usize)> = self.wait(&attempt, async {
            let stream =
                self.context.get_stream_no_info(&name).await.map_err(|error| attempt.server(&error))?;
            let subjects = stream.info_builder().subjects(format!("{prefix}>")).fetch().await;
            let subjects = subjects.map_err(|error| attempt.server(&error))?;
            subjects.try_collect().await.map_err(|error| attempt.server(&error))
        })?;
        let keys =
            subjects.into_iter().filter_map(|(subject, _)| Some(subject.strip_prefix(&prefix)?.to_owned()));
        let mut keys: Vec<String> = keys.collect();
        keys.sort_unstable();
        if bucket != Bucket::Leases {
            return Ok(keys);
        }
        // A key that was removed a moment ago still has the message that marks it as removed.
        let is_there = |key: String| Ok(self.get(bucket, &key)?.map(|_| key));
        keys.into_iter().filter_map(|key| is_there(key).transpose()).collect()
    }

    /// Each request asks for the next message after the last one: an answer that is old lacks the newest messages alone, so that the
    /// number of the last one shows it.
    fn list(&self, bucket: Bucket, pattern: &str, after: u64) -> Result<Listing> {
        let (stream, subject, prefix) =
            (stream_of(bucket), key_subject(bucket, pattern), key_subject(bucket, ""));
        let attempt = self.attempt("list", pattern, vec![format!("$JS.API.STREAM.MSG.GET.{stream}")]);
        let mut listing = Listing { entries: Vec::new(), last: after, is_whole: true };
        loop {
            let after = listing.last + 1;
            let found = self.wait(&attempt, async {
                let stream =
                    self.context.get_stream_no_info(&stream).await.map_err(|error| attempt.server(&error))?;
                match stream.get_first_raw_message_by_subject(&subject, after).await {
                    Ok(found) => Ok(Some(found)),
                    Err(error) => match error.kind() {
                        RawMessageErrorKind::NoMessageFound => Ok(None),
                        RawMessageErrorKind::JetStream(why) => Err(attempt.refused(&why)),
                        _ => Err(attempt.timed_out()),
                    },
                }
            })?;
            let Some(found) = found else { return Ok(listing) };
            if listing.entries.len() == MOST_LISTED {
                return Ok(Listing { is_whole: false, ..listing });
            }
            listing.last = found.sequence;
            let key = found.subject.strip_prefix(&prefix).unwrap_or_default().to_owned();
            let last = Last::parse(&found);
            if !self.is_gone(bucket, &key, &last) {
                listing.entries.push((key, last.entry));
            }
        }
    }

    fn publish(&self, subject: &str, data: &[u8]) -> Result<()> {
        let attempt = self.attempt("publish to", subject, vec![subject.to_owned()]);
        self.wait(&attempt, async {
            let sent = self.client.publish(subject.to_owned(), data.to_vec().into()).await;
            sent.map_err(|error| attempt.server(&error))?;
            self.client.flush().await.map_err(|_| attempt.timed_out())
        })
    }

    fn subscribe(&self, subject: &str) -> Result<Box<dyn Mailbox>> {
        Ok(Box::new(NatsMailbox::listen(self, subject)?))
    }

    fn request(&self, subject: &str, data: &[u8]) -> Result<Box<dyn Mailbox>> {
        Ok(Box::new(NatsMailbox::request(self, subject, data)?))
    }

    fn append(&self, log: Log, subject: &str, id: &str, data: &[u8]) -> Result<Appended> {
        let full = log_subject(log, subject);
        let attempt = self.attempt("append to", &full, vec![full.clone()]);
        let message = PublishMessage::build().payload(data.to_vec().into()).message_id(id);
        let acknowledged = self.store(&attempt, &full, message)?;
        Ok(if acknowledged.duplicate { Appended::Duplicate } else { Appended::New })
    }

    fn consume(
        &self,
        log: Log,
        name: &str,
        subject: Option<&str>,
        redeliver_after: Nanos,
    ) -> Result<Box<dyn Consumer>> {
        let filter = log_subject(log, subject.unwrap_or(">"));
        let stream = log_stream(log);
        let create = format!("$JS.API.CONSUMER.CREATE.{stream}.{name}.{filter}");
        let attempt = self.attempt("consume", &filter, vec![create]);
        let config = streams::consumer(name, &filter, Duration::from_nanos(redeliver_after.0));
        let consumer = self.wait(&attempt, async {
            let made = self.context.create_consumer_on_stream(config, &*stream).await;
            made.map_err(|error| attempt.consumer(&error))
        })?;
        let next = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}");
        let attempt = self.attempt("consume", &filter, vec![next]);
        Ok(Box::new(NatsConsumer { nats: self.clone(), consumer, attempt }))
    }

    fn restore(&self) -> Result<()> {
        self.make_streams(self.replicas.load(Ordering::SeqCst))
    }

    fn done(&self, delivery: &Delivery) -> Result<()> {
        let attempt = self.attempt("confirm", "a message", vec![delivery.token.clone()]);
        self.wait(&attempt, async {
            let confirmed = self.client.request(delivery.token.clone(), AckKind::Ack.into()).await;
            confirmed.map(|_| ()).map_err(|_| attempt.timed_out())
        })
    }

    fn extend(&self, delivery: &Delivery) -> Result<()> {
        let attempt = self.attempt("extend", "a message", vec![delivery.token.clone()]);
        self.wait(&attempt, async {
            let sent = self.client.publish(delivery.token.clone(), AckKind::Progress.into()).await;
            sent.map_err(|error| attempt.server(&error))?;
            self.client.flush().await.map_err(|_| attempt.timed_out())
        })
    }
}

/// A lifetime as the server writes it: `15s`, or whole seconds.
fn lifetime_of(text: &str) -> Option<Nanos> {
    text.parse().ok().map(Nanos::from_secs).or_else(|| text.parse().ok())
}

/// The header that names the subjects whose last message must have a number (nats-server 2.11 and later).
const LAST_OF: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
/// The header of a message with a lifetime.
const LIFETIME: &str = "Nats-TTL";
/// The header of a message that removes its key.
const REMOVED: &str = "Pathmeter-Removed";
/// How long such a message stays.
const REMOVED_FOR: Nanos = Nanos::from_secs(1);
