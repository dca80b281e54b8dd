//! Ctrl-C and its like end tests in order.

use engine::error::Result;
use engine::host::interrupt::Interrupt;
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

/// What SIGUSR1 raises: somebody asks for the sums so far.
pub(crate) fn asked() -> Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, asked.clone())?;
    Ok(asked)
}

/// Does this at the first SIGINT, SIGTERM or SIGHUP. A second signal ends the process at once.
pub(crate) fn on_first(act: impl FnOnce() + Send + 'static) -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let mut act = Some(act);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            match act.take() {
                Some(act) => act(),
                None => std::process::exit(128 + signal),
            }
        }
    })?;
    Ok(())
}
