//! Any text as a topology file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = lab::topology::Topology::parse("fuzz.toml", text) {
        assert!(!error.faults.is_empty() && error.faults.iter().all(|fault| fault.line > 0 && fault.column > 0));
    }
});
