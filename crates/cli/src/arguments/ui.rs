//! The command line of `pathmeter ui`.

use super::{NamedTarget, StoreArgs};
use clap::{Args, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Serve a page: kept runs, comparisons and live tests in a browser
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter ui                                          then open the address it prints
  pathmeter ui --listen 127.0.0.1:8080 --store team.db
  pathmeter ui --listen 0.0.0.0:5280 --token-file ui.token --name far.example
  pathmeter ui --token-file ui.token --read-token-file team.token
  pathmeter ui --token-file ui.token --tls-cert cert.pem --tls-key key.pem
  ssh -L 5280:127.0.0.1:5280 far.example                the page of another host, through ssh

Anyone who can reach the page can start tests and take runs out of the store. On the loopback
these are the users of this host; elsewhere those who have the token. Without --tls-cert the page
speaks plain HTTP: then put a proxy with TLS before it, or come through ssh.")]
pub struct UiArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:5280")]
    pub listen: SocketAddr,
    /// File with tokens, one per line, of which one must be given to log in; needed unless it listens on the loopback
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// File with tokens, one per line, of users who may look at runs and export them, and change nothing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub read_token_file: Option<PathBuf>,
    /// File with a certificate in PEM form, followed by those of its issuers: the page speaks TLS
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// File with the key of --tls-cert in PEM form, without a password
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// A name that browsers may use for this host, beside its addresses and localhost. Repeatable
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// User to run as when the port is open [default, where root starts it: the store's owner, or nobody]. `root` keeps all
    /// privileges
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Keep no capability at all: tests that the page starts then make no packets by hand
    #[arg(long)]
    pub no_capabilities: bool,
    /// Address of a proxy before the page, whose `X-Forwarded-For` names the client; of others it is not believed. Repeatable
    #[arg(long, value_name = "ADDR")]
    pub proxy: Vec<std::net::IpAddr>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Far ends that have names in the configuration, with their tokens.
    #[arg(skip)]
    pub targets: Vec<NamedTarget>,
}
