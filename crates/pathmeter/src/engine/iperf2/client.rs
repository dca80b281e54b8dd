//! The client's end of a test.

use super::{Extras, Told};
use crate::engine::interrupt::Interrupt;
use model::plan::Plan;

/// See [`super::client`].
pub(super) fn run(
    plan: &Plan,
    _extras: &Extras,
    _interrupt: &Interrupt,
    _sink: &mut dyn FnMut(Told<'_>),
) -> anyhow::Result<()> {
    anyhow::bail!("{}: iPerf2's protocol is not driven yet", plan.target.address)
}
