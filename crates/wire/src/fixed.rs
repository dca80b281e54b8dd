//! Fields at fixed places of a message.

/// Writes a field.
pub(crate) fn put<const N: usize>(message: &mut [u8], at: usize, bytes: [u8; N]) {
    message[at..at + N].copy_from_slice(&bytes);
}

/// The field at `at`; missing bytes read as zero.
pub(crate) fn get<const N: usize>(message: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    for (byte, from) in field.iter_mut().zip(message.iter().skip(at)) {
        *byte = *from;
    }
    field
}
