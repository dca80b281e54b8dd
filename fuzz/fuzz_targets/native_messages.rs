//! The control connection of the native protocol, in two portions, and the first bytes of any connection.
#![no_main]

use wire::native::{Decoder, MAX_FRAME, flow};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = flow::classify(data);
    let half = data.first().map_or(0, |first| usize::from(*first).min(data.len()));
    let mut decoder = Decoder::with_limit(MAX_FRAME);
    for portion in [&data[..half], &data[half..]] {
        decoder.push(portion);
        while let Ok(Some(_)) = decoder.next_message() {}
    }
});
