//! Ctrl-C and its like end tests in order.

use engine::error::Result;
use engine::interrupt::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// An interrupt that SIGINT, SIGTERM and SIGHUP raise. A second signal ends the process at once.
pub(crate) fn interrupt() -> Result<Interrupt> {
    let interrupt = Interrupt::default();
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let raised = interrupt.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if raised.is_raised() {
                std::process::exit(128 + signal);
            }
            raised.raise();
        }
    })?;
    Ok(interrupt)
}
