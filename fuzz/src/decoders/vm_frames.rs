//! Input from a virtual machine over its serial port.

/// One input.
pub(crate) fn run(data: &[u8]) {
    lab::vm::fuzzing::frames(data);
    // Framed, so that lengths need not be guessed: a kind and its payload in each line.
    let frame = |line: &[u8]| {
        let (kind, payload) = line.split_first().map_or((0, line), |(kind, payload)| (*kind, payload));
        let length = (payload.len() as u32).to_le_bytes();
        [&length[..], &[1, 0, 0, 0, kind % 10], payload].concat()
    };
    lab::vm::fuzzing::frames(&data.split(|byte| *byte == b'\n').flat_map(frame).collect::<Vec<u8>>());
}
