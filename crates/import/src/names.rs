//! Short names for imported runs, and the group that a file's name puts them in.

use std::path::Path;

/// The name of each run in tables: its file without folder and ending, without the words that all begin with, and with
/// its line where the file holds several. `runs`: file and line of each.
#[must_use]
pub fn names(runs: &[(&str, usize)]) -> Vec<String> {
    let stems: Vec<&str> = runs.iter().map(|(file, _)| stem(file)).collect();
    let shared = shared(&stems);
    let alone = |file: &str| runs.iter().filter(|(other, _)| *other == file).count() == 1;
    let name = |((file, line), stem): (&(&str, usize), &&str)| {
        let short = &stem[shared..];
        if alone(file) { short.to_owned() } else { format!("{short}:{line}") }
    };
    let short: Vec<String> = runs.iter().zip(&stems).map(name).collect();
    // A short name is no use where two files have it.
    let whole = |(place, name): (usize, &String)| {
        let (file, _) = runs[place];
        let is_shared =
            |of: fn(&str) -> &str| runs.iter().any(|(other, _)| *other != file && of(other) == of(file));
        let is_taken = short.iter().zip(runs).any(|(other, (of, _))| other == name && *of != file);
        match is_taken {
            false => name.clone(),
            true if is_shared(file_name) => file.to_owned(),
            true => file_name(file).to_owned(),
        }
    };
    short.iter().enumerate().map(whole).collect()
}

/// The group of a file: its name without a number behind a dash, underscore, dot or blank at its end: `mtu1430-2.txt` is
/// of `mtu1430`.
#[must_use]
pub fn group(file: &str) -> &str {
    let stem = stem(file);
    let bare = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let cut = bare.trim_end_matches(SEPARATORS);
    if bare.len() == stem.len() || cut.len() == bare.len() || cut.is_empty() { stem } else { cut }
}

fn file_name(file: &str) -> &str {
    Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file)
}

fn stem(file: &str) -> &str {
    let name = file_name(file);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.len() <= LONGEST_ENDING => stem,
        _ => name,
    }
}

/// Bytes that all begin with, up to a separator; none of one name.
fn shared(stems: &[&str]) -> usize {
    let Some((first, others)) =
        stems.split_first().filter(|(first, others)| others.iter().any(|one| one != *first))
    else {
        return 0;
    };
    let common = |other: &&str| first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let common = others.iter().map(common).min().unwrap_or(0);
    // Separators are of one byte, so what follows one begins a character.
    let ends = first.bytes().take(common).rposition(|byte| SEPARATORS.contains(&char::from(byte)));
    ends.map(|place| place + 1).filter(|end| stems.iter().all(|stem| stem.len() > *end)).unwrap_or(0)
}

const SEPARATORS: [char; 4] = ['-', '_', '.', ' '];
const LONGEST_ENDING: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_differ() {
        let names_of = |files: &[(&str, usize)]| names(files);
        assert_eq!(
            names_of(&[("a/sockperf-tcp-default-snat.txt", 1), ("a/sockperf-tcp-public-ip.txt", 1)]),
            ["default-snat", "public-ip"]
        );
        assert_eq!(names_of(&[("x.log", 3), ("x.log", 40)]), ["x:3", "x:40"]);
        assert_eq!(names_of(&[("standard input", 1)]), ["standard input"]);
        assert_eq!(names_of(&[("run-.txt", 1), ("run-2", 1)]), ["run-", "run-2"]);
        assert_eq!(names_of(&[("run", 1), ("run-2", 1)]), ["run", "run-2"]);
        assert_eq!(names_of(&[("d/i3.txt", 1), ("i3.json", 1)]), ["i3.txt", "i3.json"], "two of one stem");
        assert_eq!(names_of(&[("a/i3.txt", 1), ("b/i3.txt", 1)]), ["a/i3.txt", "b/i3.txt"]);
        assert_eq!(names_of(&[("äé-1.txt", 1), ("äè-1.txt", 1)]), ["äé-1", "äè-1"]);
    }

    #[test]
    fn numbers_at_the_end_make_groups() {
        let groups = ["d/mtu1430-2.txt", "mtu1430-12.txt", "mtu1430.txt", "7.txt", "-7", "a.b"].map(group);
        assert_eq!(groups, ["mtu1430", "mtu1430", "mtu1430", "7", "-7", "a"]);
    }
}
