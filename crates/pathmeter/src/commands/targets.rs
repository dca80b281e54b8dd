//! The hosts that have names in the configuration, with their tokens.

use cli::NamedTarget;
use cli::files::token;
use engine::error::Result;
use engine::session::connect::Security;
use experiment::{Known, Target};

/// Those of a command line, and no agent.
///
/// # Errors
/// A file with a token cannot be read.
pub(crate) fn named(targets: &[NamedTarget]) -> Result<Known> {
    let target = |named: &NamedTarget| {
        let token = named.token_file.as_deref().map(token).transpose()?;
        let security = Security { token, fingerprint: named.fingerprint.map(|fingerprint| fingerprint.0) };
        Ok((named.name.clone(), Target { host: named.host.clone(), security, link: named.link }))
    };
    Ok(Known { targets: targets.iter().map(target).collect::<Result<_>>()?, ..Known::default() })
}
