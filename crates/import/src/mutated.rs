//! Lines of outputs with other bytes, for tests that hold two readers of a line against each other.

/// Many lines made of these: each has a few of its characters replaced, left out, doubled or exchanged with a part of another line.
pub(super) fn mutated(lines: &[&str]) -> impl Iterator<Item = String> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = move |most: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % most as u64) as usize
    };
    (0..ROUNDS).map(move |round| {
        let mut line: Vec<char> = lines[round % lines.len()].chars().collect();
        for _ in 0..below(4) {
            let at = below(line.len().max(1)).min(line.len());
            match below(4) {
                0 if at < line.len() => line[at] = OTHERS[below(OTHERS.len())],
                1 if at < line.len() => drop(line.remove(at)),
                2 => line.insert(at, OTHERS[below(OTHERS.len())]),
                _ => {
                    let other: Vec<char> = lines[below(lines.len())].chars().collect();
                    let from = below(other.len());
                    line.splice(at.., other[from..].iter().copied());
                }
            }
        }
        line.into_iter().collect()
    })
}

const ROUNDS: usize = 60_000;
/// Characters that have a meaning in lines, and some that look like them.
const OTHERS: [char; 24] = [
    ' ', ' ', '\u{a0}', '\t', '0', '5', '9', '.', ',', '-', '+', '*', '/', '[', ']', '(', ')', ':', '=', '<',
    '%', 'e', 'M', '_',
];
