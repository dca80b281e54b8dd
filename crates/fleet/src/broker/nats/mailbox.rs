//! Incoming messages of subjects, and of logs.

use super::Nats;
use super::connect::Refused;
use super::failure::{Attempt, chain};
use super::streams;
use crate::broker::{Consumer, Delivery, Mailbox, Message};
use crate::error::{FleetError, Result};
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt;
use model::units::Nanos;
use std::time::Duration;

/// Messages of a subject.
pub(super) struct NatsMailbox {
    nats: Nats,
    subscription: async_nats::Subscriber,
    refused: Refused,
    /// The subject, and what is tried with it.
    attempt: Attempt,
}

impl NatsMailbox {
    pub(super) fn listen(nats: &Nats, subject: &str) -> Result<NatsMailbox> {
        let attempt = nats.attempt("listen on", subject, vec![subject.to_owned()]);
        NatsMailbox::open(nats, subject.to_owned(), attempt)
    }

    pub(super) fn request(nats: &Nats, subject: &str, data: &[u8]) -> Result<NatsMailbox> {
        let reply_to = nats.client.new_inbox();
        let attempt = nats.attempt("publish to", subject, vec![subject.to_owned(), reply_to.clone()]);
        let mailbox = NatsMailbox::open(nats, reply_to.clone(), attempt)?;
        nats.wait(&mailbox.attempt, async {
            let sent =
                nats.client.publish_with_reply(subject.to_owned(), reply_to, data.to_vec().into()).await;
            sent.map_err(|error| mailbox.attempt.server(&error))?;
            nats.client.flush().await.map_err(|_| mailbox.attempt.timed_out())
        })?;
        Ok(mailbox)
    }

    fn open(nats: &Nats, subject: String, attempt: Attempt) -> Result<NatsMailbox> {
        let refused = nats.refusals.listen();
        let subscription = nats.wait(&attempt, async {
            let subscription =
                nats.client.subscribe(subject).await.map_err(|error| attempt.server(&error))?;
            nats.client.flush().await.map_err(|_| attempt.timed_out())?;
            Ok(subscription)
        })?;
        Ok(NatsMailbox { nats: nats.clone(), subscription, refused, attempt })
    }
}

impl Mailbox for NatsMailbox {
    fn next(&mut self, wait: Nanos) -> Result<Option<Message>> {
        let (subscription, refused, attempt) = (&mut self.subscription, &mut self.refused, &self.attempt);
        let message = self.nats.reactor.wait(async {
            tokio::time::timeout(Duration::from_nanos(wait.0), async {
                tokio::select! {
                    biased;
                    message = subscription.next() => Ok(message),
                    subject = refused.among(&attempt.subjects) => {
                        Err(FleetError::NotPermitted { operation: attempt.operation, subject })
                    }
                }
            })
            .await
        });
        let Ok(message) = message else { return Ok(None) };
        let message = message?.ok_or_else(|| attempt.timed_out())?;
        if message.status == Some(async_nats::StatusCode::NO_RESPONDERS) {
            return Err(FleetError::NoResponder(attempt.object.clone()));
        }
        Ok(Some(Message {
            subject: message.subject.to_string(),
            data: message.payload.to_vec(),
            reply: message.reply.map(|reply| reply.to_string()),
        }))
    }
}

/// Messages of a log.
pub(super) struct NatsConsumer {
    pub(super) nats: Nats,
    pub(super) consumer: PullConsumer,
    pub(super) attempt: Attempt,
}

impl Consumer for NatsConsumer {
    fn next(&mut self, wait: Nanos) -> Result<Option<Delivery>> {
        let attempt = &self.attempt;
        let expires = Duration::from_nanos(wait.0);
        let message = self.nats.wait_for(expires, attempt, async {
            let batch = if wait == Nanos::ZERO {
                self.consumer.fetch().max_messages(1).messages().await
            } else {
                self.consumer.batch().max_messages(1).expires(expires).messages().await
            };
            let mut batch = batch.map_err(|error| attempt.server(&error))?;
            batch.next().await.transpose().map_err(|error| attempt.server(error.as_ref()))
        })?;
        let Some(message) = message else { return Ok(None) };
        let attempts = message
            .info()
            .map_err(|error| FleetError::malformed("a message of a log", chain(error.as_ref())))?;
        let attempt = u64::try_from(attempts.delivered).unwrap_or(1);
        let token = message.reply.as_ref().map(ToString::to_string).unwrap_or_default();
        let subject = streams::word_of(&message.subject).to_owned();
        Ok(Some(Delivery { subject, data: message.payload.to_vec(), attempt, token }))
    }
}
