//! Receivers of alerts when a path changes.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Receivers of alerts.
#[derive(Clone, Debug, Default, Args)]
pub struct AlertArgs {
    /// Run this command by a shell at every alert
    #[arg(long, value_name = "COMMAND")]
    pub alert: Option<String>,
    /// Post every alert to this address, as JSON. Repeatable
    #[arg(long, value_name = "URL")]
    pub alert_webhook: Vec<String>,
    /// Mail every alert to this address, through --alert-smtp. Repeatable
    #[arg(long, value_name = "ADDRESS", requires = "alert_smtp")]
    pub alert_mail: Vec<String>,
    /// The server that takes mail: smtp://HOST, smtp://HOST?tls=required, smtps://USER:PASSWORD@HOST
    #[arg(long, value_name = "URL", env = "PATHMETER_SMTP", hide_env_values = true, requires = "alert_mail")]
    pub alert_smtp: Option<String>,
    /// The sender of the mail [default: the first receiver]
    #[arg(long, value_name = "ADDRESS", requires = "alert_mail")]
    pub alert_from: Option<String>,
    /// Write what is wrong now into this file, for Prometheus' textfile collector
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub alert_metrics: Option<PathBuf>,
}

impl AlertArgs {
    /// No receiver of alerts is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.alert.is_none()
            && self.alert_webhook.is_empty()
            && self.alert_mail.is_empty()
            && self.alert_metrics.is_none()
    }
}
