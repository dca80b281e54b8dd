//! The receivers of alerts that a command line names.

use super::progress::say;
use alert::metrics::{self, PathState};
use alert::{Alert, Command, Mail, Outbox, Receiver, Retry, Webhook};
use cli::{AlertArgs, written};
use engine::error::{Failure, Result};
use std::sync::Arc;
use std::time::Duration;

/// Where alerts go.
pub(crate) struct Alerts<'a> {
    args: &'a AlertArgs,
    outbox: Outbox,
}

impl<'a> Alerts<'a> {
    /// # Errors
    /// A receiver is none.
    pub(crate) fn from_args(args: &'a AlertArgs) -> Result<Alerts<'a>> {
        let outbox = Outbox::start(receivers(args)?, Retry::default(), Arc::new(say))?;
        Ok(Alerts { args, outbox })
    }

    /// Hands an alert to all receivers, and waits for none of them.
    pub(crate) fn send(&self, alert: &Alert) {
        self.outbox.send(alert);
    }

    /// Writes how paths stand into the file that is asked for. One that cannot be written is named, and measuring goes on.
    pub(crate) fn note(&self, states: &[PathState]) {
        let Some(file) = &self.args.alert_metrics else { return };
        // In its place at once: a collector never reads half of it.
        if let Err(error) = written::write(file, metrics::text(states).as_bytes()) {
            say(&format!("warning: --alert-metrics {}: {error}", file.display()));
        }
    }

    /// Waits until alerts are delivered or given up, but not for ever.
    pub(crate) fn finish(self) {
        self.outbox.finish(LONGEST);
    }
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

/// What a program that ends waits for its receivers.
const LONGEST: Duration = Duration::from_secs(60);
