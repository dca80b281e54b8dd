//! The receivers of alerts that a command line names.

use super::progress::say;
use super::store::failed;
use alert::metrics::{self, Heartbeat, PathState};
use alert::{Alert, Command, Ended, Mail, Outbox, Receiver, Retry, Webhook};
use cli::{AlertArgs, written};
use engine::error::{Failure, Result};
use linux::clock::wall_now;
use model::units::Nanos;
use std::sync::Arc;
use std::time::Duration;
use store::{Change, Store};

/// Where alerts go. An alert that was not delivered stays in the store, and the next program that has the same receiver
/// delivers it.
pub(crate) struct Alerts<'a> {
    args: &'a AlertArgs,
    store: Store,
    outbox: Outbox,
}

impl<'a> Alerts<'a> {
    /// Also delivers what was left before.
    ///
    /// # Errors
    /// A receiver is none, or the store cannot be read.
    pub(crate) fn from_args(args: &'a AlertArgs, store: Store) -> Result<Alerts<'a>> {
        let outbox = Outbox::start(receivers(args)?, Retry::default(), Arc::new(say))?;
        let alerts = Alerts { args, store, outbox };
        alerts.deliver_left()?;
        Ok(alerts)
    }

    /// The receivers for which an alert is kept until they have it, as the store knows them.
    pub(crate) fn kept_for(&self) -> Vec<String> {
        let repeating = self.outbox.receivers().iter().filter(|receiver| receiver.may_repeat());
        repeating.map(Receiver::key).collect()
    }

    /// Notes that a change is reported now; false: it was reported before.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(crate) fn notify(&self, alert: &Alert) -> Result<bool> {
        let text = serde_json::to_string(alert).unwrap_or_default();
        let is_new = self.store.alert(change(alert), &text, wall_now(), &self.kept_for()).map_err(failed)?;
        if is_new {
            self.outbox.send(alert);
        }
        Ok(is_new)
    }

    /// Hands an alert that is noted to all receivers, and waits for none of them.
    #[cfg(feature = "fleet")]
    pub(crate) fn send(&self, alert: &Alert) {
        self.outbox.send(alert);
    }

    /// Writes the states of paths into the requested file, and that `of` was measured now. An error is printed, and measuring
    /// goes on.
    pub(crate) fn note(&self, states: &[PathState], of: &str) {
        self.settle();
        let Some(file) = &self.args.alert_metrics else { return };
        let heartbeat = Heartbeat { of: of.to_owned(), at: wall_now() };
        // In its place at once: a collector never reads half of it.
        if let Err(error) = written::write(file, metrics::text(states, &heartbeat).as_bytes()) {
            say(&format!("warning: --alert-metrics {}: {error}", file.display()));
        }
    }

    /// Waits until alerts are delivered or given up, but not for ever.
    pub(crate) fn finish(self) {
        self.outbox.finish(LONGEST);
        self.settle();
        let count = |key: &String| self.store.undelivered(key).map_or(0, |left| left.len());
        let left: usize = self.kept_for().iter().map(count).sum();
        if left > 0 {
            let alerts = if left == 1 { "1 alert is" } else { &format!("{left} alerts are") };
            say(&format!("{alerts} kept, and delivered by the next run with the same receivers."));
        }
    }

    /// Delivers the alerts that an earlier process left, except those older than a week.
    fn deliver_left(&self) -> Result<()> {
        for (number, receiver) in self.outbox.receivers().iter().enumerate() {
            for left in self.store.undelivered(&receiver.key()).map_err(failed)? {
                let Ok(alert) = serde_json::from_str::<Alert>(&left.alert) else { continue };
                if wall_now() - left.since > OLDEST {
                    say(&format!("warning: not delivered within a week: {}", alert.text));
                    self.store.delivered(change(&alert), &receiver.key()).map_err(failed)?;
                } else {
                    self.outbox.send_to(number, &alert);
                }
            }
        }
        Ok(())
    }

    /// Forgets what has ended. An alert that cannot be removed is delivered once more.
    fn settle(&self) {
        for Ended { receiver, alert } in self.outbox.ended() {
            if let Err(error) = self.store.delivered(change(&alert), &receiver) {
                say(&format!("warning: {error}"));
            }
        }
    }
}

fn change(alert: &Alert) -> Change<'_> {
    Change { run: &alert.run, figure: &alert.figure, change: alert.word.name() }
}

fn receivers(args: &AlertArgs) -> Result<Vec<Receiver>> {
    let mut receivers: Vec<Receiver> =
        args.alert.iter().map(|command| Receiver::Command(Command(command.clone()))).collect();
    for url in &args.alert_webhook {
        let webhook = Webhook::at(url).map_err(|why| {
            Failure::usage(
                format!("--alert-webhook {why}"),
                "give an address such as https://hooks.example/path",
            )
        })?;
        receivers.push(Receiver::Webhook(webhook));
    }
    if let (Some(server), Some(first)) = (&args.alert_smtp, args.alert_mail.first()) {
        let from = args.alert_from.as_ref().unwrap_or(first);
        let mail = Mail::through(server, from, &args.alert_mail).map_err(|error| {
            let advice = "--alert-smtp smtp://relay.example --alert-mail noc@example.com";
            Failure::usage(format!("--alert-mail: {error}"), advice)
        })?;
        receivers.push(Receiver::Mail(mail));
    }
    Ok(receivers)
}

/// Longest wait of an ending process for its receivers.
const LONGEST: Duration = Duration::from_secs(60);
/// An alert that is not delivered by then is given up.
const OLDEST: Nanos = Nanos::from_secs(7 * 86_400);
