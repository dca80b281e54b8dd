//! Foreign command lines: a name we are called by, or a first word, that means another tool's options.

pub(crate) mod iperf3;

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The words of an iPerf3 command line, when this is one: called by the name `iperf3` (a link), or with `iperf3` as
/// the first word. They are taken apart before our own options are looked for, as both have a `-v` and a `--json`.
pub(crate) fn iperf3_words(words: &[OsString]) -> Option<Vec<OsString>> {
    let named = words.first().map(Path::new).and_then(Path::file_name) == Some(OsStr::new("iperf3"));
    let skipped = if named { 1 } else { 2 };
    (named || words.get(1).is_some_and(|word| word == "iperf3")).then(|| words[skipped..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_and_a_word_mean_iperf3() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, rest) in [
            ("/usr/bin/iperf3 -s", Some("-s")),
            ("pathmeter iperf3 -c host -v", Some("-c host -v")),
            ("pathmeter measure iperf3", None),
            ("/opt/iperf3/pathmeter measure h", None),
        ] {
            assert_eq!(iperf3_words(&words(line)), rest.map(words), "{line}");
        }
        assert_eq!(iperf3_words(&words("pathmeter iperf3")), Some(Vec::new()));
        assert_eq!(iperf3_words(&[]), None);
    }
}
