//! Ctrl-C and its like end tests in order.

use engine::error::Result;
use engine::host::interrupt::Interrupt;
use linux::clock::mono_now;
use model::time::MonoTime;
use model::units::Nanos;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An interrupt that SIGINT, SIGTERM and SIGHUP raise. A second signal ends the process at once.
pub(crate) fn interrupt() -> Result<Interrupt> {
    let interrupt = Interrupt::default();
    let raised = interrupt.clone();
    on_first(move || raised.raise())?;
    Ok(interrupt)
}

/// A flag that SIGUSR1 raises: a request for the sums so far.
pub(crate) fn report_requested() -> Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, raised.clone())?;
    Ok(raised)
}

/// Does this at the first SIGINT, SIGTERM or SIGHUP. A second signal ends the process at once, unless it comes with the
/// first one: timeout(1) signals its child and then the group that the child is in, and a process group that is signalled
/// has processes that pass signals on.
pub(crate) fn on_first(act: impl FnOnce() + Send + 'static) -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let mut act = Some(act);
    let mut first = MonoTime::default();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            match act.take() {
                Some(act) => {
                    first = mono_now();
                    act();
                }
                None if mono_now().saturating_since(first) < TOGETHER => {}
                None => std::process::exit(128 + signal),
            }
        }
    })?;
    Ok(())
}

/// A second Ctrl-C within this time is not intended.
const TOGETHER: Nanos = Nanos::from_millis(250);
