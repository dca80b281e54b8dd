//! What a text looks like that is no tool's output.

/// In a few words, as the end of "it looks like …".
pub(super) fn like(text: &str) -> String {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    let first = trimmed.lines().next().unwrap_or_default();
    let printable =
        text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\u{1b}')).count();
    let what = match first {
        _ if trimmed.is_empty() => return "an empty file".into(),
        _ if text.contains('\u{fffd}') && printable * 10 < text.chars().count() * 9
            || text.contains('\0') =>
        {
            "binary data, not text; captures of packets are not read here"
        }
        json if json.starts_with(['{', '['])
            && serde_json::from_str::<serde_json::Value>(trimmed).is_ok() =>
        {
            "JSON of another program"
        }
        json if json.starts_with('{') => "JSON that is cut off or broken",
        xml if xml.starts_with("<?xml") || xml.starts_with('<') => "XML or HTML",
        script if script.starts_with("#!") => "a script",
        hops if hops.starts_with("traceroute to") || hops.contains("pmtu ") => {
            "the output of traceroute or tracepath"
        }
        dump if dump.contains(" > ") && dump.contains(": Flags [") => "the output of tcpdump",
        usage if usage.to_ascii_lowercase().starts_with("usage:") => "a tool's usage message",
        csv if csv.matches(',').count() >= 3 => "CSV of another program",
        _ => {
            return format!(
                "text that begins with \"{}\"",
                first.chars().take(LONGEST).collect::<String>().escape_debug()
            );
        }
    };
    what.into()
}

const LONGEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_words() {
        for (text, words) in [
            ("", "an empty file"),
            (" \n\n", "an empty file"),
            ("{\"a\": 1}", "JSON of another program"),
            ("{\"a\": ", "JSON that is cut off or broken"),
            ("<html>", "XML or HTML"),
            ("#!/bin/sh\necho", "a script"),
            ("a\0b", "binary data, not text; captures of packets are not read here"),
            ("a,b,c,d\n1,2,3,4", "CSV of another program"),
            ("Dear Sir,\n", "text that begins with \"Dear Sir,\""),
        ] {
            assert_eq!(like(text), words);
        }
    }
}
