//! A program without a store keeps runs in files alone.

use cli::KeepArgs;
use engine::error::{Failure, Result};
use model::event::Event;
use model::history::Measured;
use std::convert::Infallible;

/// A run in the store: there is none.
#[derive(Debug)]
pub(super) struct Recorded(Infallible);

impl Recorded {
    pub(super) fn begin(_args: &KeepArgs, _kind: &str, _target: &str) -> Result<Recorded> {
        let what = "this pathmeter was built without a store (feature `store`)";
        Err(Failure::usage(what, "keep the run as a line of a file: --save FILE").into())
    }

    pub(super) fn id(&self) -> &str {
        match self.0 {}
    }

    pub(super) fn event(&self, _event: &Event) {
        match self.0 {}
    }

    pub(super) fn finish(self, _measured: Measured<'_>) -> Result<String> {
        match self.0 {}
    }
}
