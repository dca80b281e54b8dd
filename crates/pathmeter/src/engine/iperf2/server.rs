//! The server's end of tests.

use super::Config;
use crate::engine::interrupt::Interrupt;

/// See [`super::serve`].
pub(super) fn run(_config: Config, _interrupt: &Interrupt) -> anyhow::Result<()> {
    anyhow::bail!("iPerf2's protocol is not driven yet")
}
