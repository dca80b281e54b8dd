//! Foreign command lines: a name we are called by, or a first word, that means another tool's options.

mod getopt;
pub(crate) mod iperf2;
pub(crate) mod iperf3;
mod numbers;
pub(crate) mod sockperf;

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The words of a foreign tool's command line, when this is one: called by its name (a link), or with its name as the
/// first word. They are taken apart before our own options are looked for, as both have a `-v` and a `--json`.
pub(crate) fn words_of(tool: &str, words: &[OsString]) -> Option<Vec<OsString>> {
    let named = words.first().map(Path::new).and_then(Path::file_name) == Some(OsStr::new(tool));
    let skipped = if named { 1 } else { 2 };
    (named || words.get(1).is_some_and(|word| word == tool)).then(|| words[skipped..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_and_a_word_mean_the_tool() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, rest) in [
            ("/usr/bin/iperf3 -s", Some("-s")),
            ("pathmeter iperf3 -c host -v", Some("-c host -v")),
            ("pathmeter measure iperf3", None),
            ("/opt/iperf3/pathmeter measure h", None),
        ] {
            assert_eq!(words_of("iperf3", &words(line)), rest.map(words), "{line}");
        }
        assert_eq!(words_of("iperf3", &words("pathmeter iperf3")), Some(Vec::new()));
        assert_eq!(words_of("iperf3", &[]), None);
        assert_eq!(words_of("sockperf", &words("/usr/bin/sockperf pp")), Some(words("pp")));
        assert_eq!(words_of("sockperf", &words("pathmeter sockperf sr -g")), Some(words("sr -g")));
        assert_eq!(words_of("sockperf", &words("pathmeter iperf3 -s")), None);
    }
}
