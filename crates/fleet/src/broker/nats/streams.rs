//! The streams of a mesh, their subjects and their consumers.

use crate::broker::{Bucket, Log};
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use std::time::Duration;

/// All of them.
pub(super) fn configurations(replicas: usize) -> Vec<Config> {
    let buckets = Bucket::ALL.into_iter().map(|bucket| Config {
        name: stream_of(bucket),
        subjects: vec![key_subject(bucket, ">")],
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        allow_message_ttl: true,
        num_replicas: replicas,
        ..Config::default()
    });
    let logs = Log::ALL.into_iter().map(|log| Config {
        name: log_stream(log),
        subjects: vec![log_subject(log, ">")],
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        duplicate_window: DAY,
        max_age: DAY * 7,
        num_replicas: replicas,
        ..Config::default()
    });
    buckets.chain(logs).collect()
}

pub(super) fn stream_of(bucket: Bucket) -> String {
    stream(bucket.word())
}

pub(super) fn log_stream(log: Log) -> String {
    stream(log.word())
}

/// `PM_LEASE`, `PM_JOB`.
fn stream(word: &str) -> String {
    format!("PM_{}", word.to_ascii_uppercase())
}

pub(super) fn key_subject(bucket: Bucket, key: &str) -> String {
    format!("pm.{}.{key}", bucket.word())
}

/// The part of a subject behind `pm.LOG.`.
pub(super) fn word_of(subject: &str) -> &str {
    subject.splitn(3, '.').nth(2).unwrap_or_default()
}

pub(super) fn log_subject(log: Log, subject: &str) -> String {
    format!("pm.{}.{subject}", log.word())
}

/// One that stays, for those who take part by its name.
pub(super) fn consumer(name: &str, filter: &str, redeliver_after: Duration) -> pull::Config {
    pull::Config {
        durable_name: Some(name.to_owned()),
        name: Some(name.to_owned()),
        filter_subject: filter.to_owned(),
        ack_policy: AckPolicy::Explicit,
        ack_wait: redeliver_after,
        // Messages that this coordinator does not confirm, as they are another's, must not block those behind them.
        max_ack_pending: -1,
        ..pull::Config::default()
    }
}

const DAY: Duration = Duration::from_secs(86_400);
