//! Texts that agree but for the last digit of their numbers.

/// Same words, and numbers that differ by at most 0.0011.
pub(crate) fn agree(ours: &str, theirs: &str, what: &str) {
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{what}:\n{ours}\n{theirs}");
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        let (one, other) = (fields(ours), fields(theirs));
        let same = one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| close(one, other));
        assert!(same, "{what}:\n  ours   {ours}\n  theirs {theirs}");
    }
}

/// All lines but those with these words.
pub(crate) fn without_line(text: &str, remarks: &str) -> String {
    text.lines().filter(|line| !line.contains(remarks)).map(|line| format!("{line}\n")).collect()
}

/// Words and numbers; spaces do not count, as a number's padding may differ.
fn fields(line: &str) -> Vec<&str> {
    let is_of_number = |byte: char| byte.is_ascii_digit() || byte == '.';
    let mut fields = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let number = is_of_number(first);
        let end = rest.find(|byte| is_of_number(byte) != number).unwrap_or(rest.len());
        fields.push(rest[..end].trim());
        rest = &rest[end..];
    }
    fields
}

fn close(one: &str, other: &str) -> bool {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 0.0011,
        _ => one == other,
    }
}
