//! Delivery: a thread for each receiver, a bounded queue, and a bounded number of attempts.

use crate::undelivered::Undelivered;
use crate::{Alert, Command, Mail, Webhook};
use std::sync::mpsc::{Receiver as Queue, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who is told.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// A command of the user's.
    Command(Command),
    /// An address of HTTP.
    Webhook(Webhook),
    /// Mailboxes.
    Mail(Mail),
}

/// How often, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Attempts at one message.
    pub attempts: u32,
    /// Wait before the second attempt; four times as long before each further one.
    pub first_wait: Duration,
    /// How long an attempt may take.
    pub limit: Duration,
}

impl Default for Retry {
    /// Four attempts within two minutes.
    fn default() -> Retry {
        Retry { attempts: 4, first_wait: Duration::from_secs(1), limit: Duration::from_secs(30) }
    }
}

/// Where problems of delivery go, a line each.
pub type Notes = Arc<dyn Fn(&str) + Send + Sync>;

/// Messages on their way. Nothing here waits for a receiver but [`Outbox::finish`].
pub struct Outbox {
    queues: Vec<SyncSender<Alert>>,
    receivers: Vec<Receiver>,
    pending: Arc<Pending>,
    notes: Notes,
}

/// How many messages are not delivered yet, and whether there is still time.
#[derive(Default)]
struct Pending {
    count: Mutex<usize>,
    changed: Condvar,
    hurry: Mutex<bool>,
    hurried: Condvar,
}

impl Outbox {
    /// Starts a thread for each receiver.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(receivers: Vec<Receiver>, retry: Retry, notes: Notes) -> std::io::Result<Outbox> {
        let pending = Arc::new(Pending::default());
        let mut queues = Vec::new();
        for receiver in receivers.clone() {
            let (sender, queue) = sync_channel(MOST);
            let (pending, notes) = (pending.clone(), notes.clone());
            let work = move || deliver_all(&receiver, &queue, retry, &pending, &notes);
            std::thread::Builder::new().name("alerts".into()).spawn(work)?;
            queues.push(sender);
        }
        Ok(Outbox { queues, receivers, pending, notes })
    }

    /// Hands a message to every receiver's thread, and returns at once. One that has too many messages waiting gets no more, and
    /// that is noted.
    pub fn send(&self, alert: &Alert) {
        for (queue, receiver) in self.queues.iter().zip(&self.receivers) {
            *lock(&self.pending.count) += 1;
            if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = queue.try_send(alert.clone())
            {
                self.pending.one_less();
                (self.notes)(&format!(
                    "warning: {}: {MOST} alerts wait already; not delivered: {}",
                    receiver.shown(),
                    alert.text
                ));
            }
        }
    }

    /// Waits until everything is delivered or given up, at most so long; what is left then is noted.
    pub fn finish(self, within: Duration) {
        let end = Instant::now() + within;
        let mut count = lock(&self.pending.count);
        while *count > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                (self.notes)(&format!("warning: alerts that are not delivered: {}", *count));
                break;
            }
            count = self
                .pending
                .changed
                .wait_timeout(count, left)
                .map_or_else(|poisoned| poisoned.into_inner().0, |(count, _)| count);
        }
        drop(count);
        *lock(&self.pending.hurry) = true;
        self.pending.hurried.notify_all();
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").field("receivers", &self.receivers).finish_non_exhaustive()
    }
}

impl Pending {
    fn one_less(&self) {
        let mut count = lock(&self.count);
        *count = count.saturating_sub(1);
        self.changed.notify_all();
    }

    /// Waits between two attempts. False: nobody waits for more.
    fn wait(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut hurry = lock(&self.hurry);
        while !*hurry {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            hurry = self
                .hurried
                .wait_timeout(hurry, left)
                .map_or_else(|poisoned| poisoned.into_inner().0, |(hurry, _)| hurry);
        }
        false
    }
}

fn deliver_all(receiver: &Receiver, queue: &Queue<Alert>, retry: Retry, pending: &Pending, notes: &Notes) {
    while let Ok(alert) = queue.recv() {
        if let Err(why) = deliver(receiver, &alert, retry, pending) {
            notes(&format!("warning: {}: {why}; not delivered: {}", receiver.shown(), alert.text));
        }
        pending.one_less();
    }
}

/// Tries until it is delivered, or another attempt makes no sense.
fn deliver(receiver: &Receiver, alert: &Alert, retry: Retry, pending: &Pending) -> Result<(), String> {
    let mut wait = retry.first_wait;
    for attempt in 1.. {
        let Err(Undelivered { why, is_final }) = receiver.deliver(alert, retry.limit) else { return Ok(()) };
        if is_final {
            return Err(why);
        }
        if attempt >= retry.attempts || !pending.wait(wait) {
            return Err(format!("{why} (attempt {attempt})"));
        }
        wait *= 4;
    }
    Ok(())
}

impl Receiver {
    fn deliver(&self, alert: &Alert, limit: Duration) -> Result<(), Undelivered> {
        match self {
            Receiver::Command(command) => command.deliver(alert, limit),
            Receiver::Webhook(webhook) => webhook.deliver(alert, limit),
            Receiver::Mail(mail) => mail.deliver(alert, limit),
        }
    }

    /// What it is called in messages, without secrets.
    fn shown(&self) -> String {
        match self {
            Receiver::Command(command) => format!("--alert {}", command.0),
            Receiver::Webhook(webhook) => format!("--alert-webhook {}", webhook.shown()),
            Receiver::Mail(mail) => format!("--alert-mail {}", mail.shown()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Messages that wait for one receiver.
const MOST: usize = 1_000;
