//! Delivery: a thread for each receiver, a bounded queue, and a bounded number of attempts.

use crate::undelivered::Undelivered;
use crate::{Alert, Command, Mail, Webhook};
use std::sync::mpsc::{Receiver as Queue, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use uuid::Uuid;

/// A receiver of alerts.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// A command of the user.
    Command(Command),
    /// An HTTP address.
    Webhook(Webhook),
    /// Mailboxes.
    Mail(Mail),
}

/// The number of attempts, and their times.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Attempts at one message.
    pub attempts: u32,
    /// Wait before the second attempt; each further wait is four times as long.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// Time limit of an attempt.
    pub limit: Duration,
}

impl Default for Retry {
    /// Retries for about a day: at first after a second, then every ten minutes.
    fn default() -> Retry {
        let (first_wait, longest_wait) = (Duration::from_secs(1), Duration::from_secs(600));
        Retry { attempts: 150, first_wait, longest_wait, limit: Duration::from_secs(30) }
    }
}

/// A message whose delivery has ended: it was delivered, or its receiver never accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// [`Receiver::key`].
    pub receiver: String,
    /// The message.
    pub alert: Alert,
}

/// Callback for problems of delivery, a line each.
pub type Notes = Arc<dyn Fn(&str) + Send + Sync>;

/// Messages in delivery. Only [`Outbox::finish`] waits for a receiver.
pub struct Outbox {
    queues: Vec<SyncSender<Alert>>,
    receivers: Vec<Receiver>,
    ended: Queue<Ended>,
    pending: Arc<Pending>,
    notes: Notes,
}

/// The number of undelivered messages, and whether there is still time.
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
    /// The system cannot start a thread.
    pub fn start(receivers: Vec<Receiver>, retry: Retry, notes: Notes) -> std::io::Result<Outbox> {
        let pending = Arc::new(Pending::default());
        let mut queues = Vec::new();
        let (end, ended) = channel();
        for receiver in receivers.clone() {
            let (sender, queue) = sync_channel(MOST);
            let delivery = Delivery { receiver, retry, pending: pending.clone(), notes: notes.clone() };
            let end = end.clone();
            let work = move || delivery.deliver_all(&queue, &end);
            std::thread::Builder::new().name("alerts".into()).spawn(work)?;
            queues.push(sender);
        }
        Ok(Outbox { queues, receivers, ended, pending, notes })
    }

    /// The receivers.
    #[must_use]
    pub fn receivers(&self) -> &[Receiver] {
        &self.receivers
    }

    /// The messages that ended since the last call.
    pub fn ended(&self) -> impl Iterator<Item = Ended> {
        self.ended.try_iter()
    }

    /// Hands a message to every receiver's thread, and returns at once. A receiver with too many waiting messages gets no more,
    /// and that is noted.
    pub fn send(&self, alert: &Alert) {
        (0..self.receivers.len()).for_each(|receiver| self.send_to(receiver, alert));
    }

    /// The same for one of [`Outbox::receivers`], by its number.
    pub fn send_to(&self, receiver: usize, alert: &Alert) {
        let (Some(queue), Some(receiver)) = (self.queues.get(receiver), self.receivers.get(receiver)) else {
            return;
        };
        *lock(&self.pending.count) += 1;
        if queue.try_send(alert.clone()).is_err() {
            self.pending.one_less();
            let name = receiver.shown();
            (self.notes)(&format!(
                "warning: {name}: {MOST} alerts wait already; not delivered: {}",
                alert.text
            ));
        }
    }

    /// Waits until everything is delivered or given up, at most for `within`; messages left then are noted, and not retried.
    pub fn finish(&self, within: Duration) {
        let Pending { count, changed, .. } = &*self.pending;
        let waited = changed.wait_timeout_while(lock(count), within, |count| *count > 0);
        let (count, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *count > 0 {
            (self.notes)(&format!("warning: alerts that are not delivered: {}", *count));
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

    /// Waits between two attempts. False: the time of all attempts is over.
    fn wait(&self, time: Duration) -> bool {
        let waited = self.hurried.wait_timeout_while(lock(&self.hurry), time, |hurry| !*hurry);
        let (hurry, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*hurry
    }
}

/// The work of one receiver's thread: one message at a time, so that none overtakes another.
struct Delivery {
    receiver: Receiver,
    retry: Retry,
    pending: Arc<Pending>,
    notes: Notes,
}

impl Delivery {
    fn deliver_all(&self, queue: &Queue<Alert>, end: &Sender<Ended>) {
        while let Ok(alert) = queue.recv() {
            let is_over = match self.deliver(&alert) {
                Ok(()) => true,
                Err(Undelivered { why, is_final }) => {
                    let name = self.receiver.shown();
                    (self.notes)(&format!("warning: {name}: {why}; not delivered: {}", alert.text));
                    is_final
                }
            };
            if is_over {
                // The receiving side is gone when the outbox is.
                let _ = end.send(Ended { receiver: self.receiver.key(), alert });
            }
            self.pending.one_less();
        }
    }

    /// Tries until the message is delivered, or another attempt is useless.
    fn deliver(&self, alert: &Alert) -> Result<(), Undelivered> {
        let mut wait = self.retry.first_wait;
        for attempt in 1.. {
            let Err(undelivered) = self.receiver.deliver(alert, self.retry.limit) else { return Ok(()) };
            if undelivered.is_final {
                return Err(undelivered);
            }
            let why = format!("{} (attempt {attempt})", undelivered.why);
            if attempt >= self.retry.attempts {
                return Err(Undelivered::for_good(why));
            }
            if attempt == NOTED_ATTEMPT {
                let name = self.receiver.shown();
                (self.notes)(&format!("warning: {name}: {why}; it is tried again: {}", alert.text));
            }
            if !self.pending.wait(wait) {
                return Err(Undelivered::for_now(why));
            }
            wait = (wait * 4).min(self.retry.longest_wait);
        }
        Ok(())
    }
}

impl Receiver {
    fn deliver(&self, alert: &Alert, limit: Duration) -> Result<(), Undelivered> {
        match self {
            Receiver::Command(command) => command.deliver(alert, limit),
            Receiver::Webhook(webhook) => webhook.deliver(alert, limit),
            Receiver::Mail(mail) => mail.deliver(alert, limit),
        }
    }

    /// Identifies the receiver without its secrets: a digest.
    #[must_use]
    pub fn key(&self) -> String {
        let (kind, address) = match self {
            Receiver::Command(command) => ("command", command.0.clone()),
            Receiver::Webhook(webhook) => ("webhook", webhook.url().to_owned()),
            Receiver::Mail(mail) => ("mail", mail.shown()),
        };
        Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{kind} {address}").as_bytes()).to_string()
    }

    /// Whether a message may be repeated when its outcome is not known. A command must not act twice.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        !matches!(self, Receiver::Command(_))
    }

    /// Its name in messages, without secrets.
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

/// The failed attempt that is noted: earlier failures are not.
const NOTED_ATTEMPT: u32 = 4;
/// Most messages that wait for one receiver.
const MOST: usize = 1_000;
