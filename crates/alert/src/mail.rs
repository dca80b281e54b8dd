//! E-mail through an SMTP server.

use crate::Alert;
use crate::undelivered::Undelivered;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::SmtpTransportBuilder;
use lettre::{Message, SmtpTransport, Transport};
use std::fmt;
use std::time::Duration;

/// Mailboxes that get alerts, and the server that accepts them.
#[derive(Clone)]
pub struct Mail {
    server: Box<SmtpTransportBuilder>,
    from: Mailbox,
    to: Vec<Mailbox>,
}

/// Why mail cannot be configured.
#[derive(Debug, PartialEq, Eq)]
pub enum MailError {
    /// An address is not valid: the address, and the reason.
    Address(String),
    /// The server is not valid: the reason. Its URL is not shown, since it may hold a password.
    Server(String),
}

impl fmt::Display for MailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MailError::Address(why) => write!(f, "not a mail address: {why}"),
            MailError::Server(why) => write!(f, "not the URL of an SMTP server: {why}"),
        }
    }
}

impl std::error::Error for MailError {}

impl Mail {
    /// Mail from this address to these. `server`: `smtp://HOST`, `smtps://USER:PASSWORD@HOST`, or `smtp://HOST?tls=required` for
    /// STARTTLS.
    ///
    /// # Errors
    /// The URL or an address is not valid.
    pub fn through(server: &str, from: &str, to: &[String]) -> Result<Mail, MailError> {
        let server = SmtpTransport::from_url(server).map_err(|error| MailError::Server(error.to_string()))?;
        let mailbox = |text: &str| {
            text.parse::<Mailbox>().map_err(|error| MailError::Address(format!("{text}: {error}")))
        };
        let to = to.iter().map(|text| mailbox(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(Mail { server: Box::new(server), from: mailbox(from)?, to })
    }

    pub(crate) fn shown(&self) -> String {
        self.to.iter().map(|to| to.email.to_string()).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn deliver(&self, alert: &Alert, limit: Duration) -> Result<(), Undelivered> {
        let message = self.message(alert).map_err(Undelivered::for_good)?;
        let sent = (*self.server).clone().timeout(Some(limit)).build().send(&message);
        sent.map(|_| ()).map_err(|error| match error.is_permanent() {
            true => Undelivered::for_good(error.to_string()),
            false => Undelivered::for_now(error.to_string()),
        })
    }

    fn message(&self, alert: &Alert) -> Result<Message, String> {
        let subject = format!("pathmeter: {} {} {}", alert.target, alert.figure, alert.word.name());
        let mut message = Message::builder()
            .from(self.from.clone())
            .subject(subject.split_whitespace().collect::<Vec<_>>().join(" "))
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            message = message.to(to.clone());
        }
        let body = format!(
            "{}\n\nrun {}\nhistory: pathmeter history --target '{}'\n",
            alert.text, alert.run, alert.target
        );
        message.body(body).map_err(|error| error.to_string())
    }
}

/// Prints the mail's settings without the password.
impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mail").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}
