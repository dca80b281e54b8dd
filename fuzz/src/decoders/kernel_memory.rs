//! Data that the kernel writes into our memory and into procfs: blocks of a capture, the state of a TCP connection, times of
//! CPUs. Whatever the data are, frames are within their block and no more than it has room for.

/// One input.
pub(crate) fn run(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    match which % 4 {
        0 => captured(rest),
        1 => captured(&block(rest)),
        2 => {
            let (whole, cut) = (linux::fuzzing::connection(rest), linux::fuzzing::connection(&rest[..rest.len() / 2]));
            // An older kernel reports less, and nothing else.
            assert!(rest.len() < 2 || whole.state == cut.state);
        }
        _ => linux::fuzzing::processors(&String::from_utf8_lossy(rest)),
    }
}

fn captured(block: &[u8]) {
    let (room, mut count) = (block.as_ptr_range(), 0);
    linux::fuzzing::captured(block, |frame| {
        let kept = frame.bytes.as_ptr_range();
        assert!(kept.start >= room.start && kept.end <= room.end, "a frame outside its block");
        count += 1;
    });
    assert!(count <= block.len(), "{count} frames in {} bytes", block.len());
}

/// A block of honest frames, of which the bytes say how long they are and what is wrong.
fn block(data: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 48];
    block[16..20].copy_from_slice(&48_u32.to_ne_bytes());
    let mut count = 0_u32;
    for words in data.chunks_exact(4).take(64) {
        let (length, wrong) = (usize::from(words[0]), usize::from(words[1]));
        let mut frame = vec![0; 96 + length];
        let next = (frame.len() as u32).next_multiple_of(8);
        for (at, number) in [(0, next), (12, length as u32), (16, length as u32)] {
            frame[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        frame[24..26].copy_from_slice(&96_u16.to_ne_bytes());
        frame[26..28].copy_from_slice(&110_u16.to_ne_bytes());
        if words[2] > 200 {
            frame[wrong % 64] ^= words[3];
        }
        frame.resize(next as usize, 0);
        block.extend(frame);
        count += 1;
    }
    block[12..16].copy_from_slice(&count.to_ne_bytes());
    block
}
