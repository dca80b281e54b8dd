//! The command line above an output, as a terminal shows it: `user@host:~$ iperf3 -c 10.0.0.2 -M 1460`.

use super::Tool;
use model::units::BitRate;

/// The command line of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) tool: Tool,
    args: Vec<String>,
}

impl Command {
    /// The command of a line that has one of a tool with options.
    pub(super) fn from_line(line: &str) -> Option<Command> {
        if line.len() > LONGEST || !line.contains("iperf") {
            return None;
        }
        let tokens: Vec<&str> = line.split_whitespace().collect();
        let at = tokens.iter().position(|word| tool(word).is_some())?;
        let args: Vec<String> = tokens[at + 1..].iter().map(|word| (*word).to_owned()).collect();
        let is_command = args.first().is_some_and(|first| first.starts_with('-'));
        is_command.then_some(Command { tool: tool(tokens[at])?, args })
    }

    /// The size of segments that was asked for.
    pub(super) fn mss(&self) -> Option<u32> {
        self.value("-M", &["--set-mss", "--mss"])?.parse().ok().filter(|mss| *mss > 0)
    }

    /// The rate that was asked for: 0 is as fast as possible, and 1 Mbit/s of UDP where no other was.
    pub(super) fn rate(&self) -> Option<BitRate> {
        let text = self.value("-b", &["--bitrate", "--bandwidth"]);
        match text {
            Some(text) => rate(text.split('/').next()?),
            None => self.args.iter().any(|arg| arg == "-u" || arg == "--udp").then_some(DEFAULT_RATE),
        }
    }

    /// The value behind an option, or joined to it.
    fn value(&self, short: &str, long: &[&str]) -> Option<&str> {
        let mut args = self.args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            if arg == short || long.contains(&arg) {
                return args.next();
            }
            let joined = arg.split_once('=').filter(|(name, _)| long.contains(name)).map(|(_, value)| value);
            if let Some(value) = joined.or_else(|| arg.strip_prefix(short)) {
                return Some(value);
            }
        }
        None
    }
}

/// `iperf3`, `/usr/bin/iperf3`, `iperf3.exe`; a prompt may be joined to it.
fn tool(word: &str) -> Option<Tool> {
    let name = word.rsplit(['/', '\\', '$', '#', '>', '%', '`', '"']).next()?;
    match name.strip_suffix(".exe").unwrap_or(name) {
        "iperf3" | "iperf3-darwin" => Some(Tool::Iperf3),
        "iperf" | "iperf2" => Some(Tool::Iperf2),
        _ => None,
    }
}

/// `10M`, by powers of 1000.
fn rate(text: &str) -> Option<BitRate> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return None,
    };
    let rate = digits.parse::<f64>().ok()? * factor;
    (0.0..1e15).contains(&rate).then_some(BitRate(rate as u64))
}

/// `-b` of UDP where none is given.
const DEFAULT_RATE: BitRate = BitRate(1_000_000);
/// Longer lines are no prompt's.
const LONGEST: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_behind_prompts() {
        let options_of = |line: &str| {
            Command::from_line(line).map(|command| (command.mss(), command.rate().map(|rate| rate.0)))
        };
        assert_eq!(options_of("user@host:~$ iperf3 -c 10.0.0.2 -M 1460"), Some((Some(1460), None)));
        assert_eq!(options_of("# /usr/bin/iperf -c h --mss=1400 -u"), Some((Some(1400), Some(1_000_000))));
        assert_eq!(
            options_of("PS C:\\> .\\iperf3.exe -c h -u -b 2.5G -M1200"),
            Some((Some(1200), Some(2_500_000_000)))
        );
        assert_eq!(options_of("iperf3 -c h -u -b 0"), Some((None, Some(0))));
        for line in ["iperf3: error - unable to connect", "iperf Done.", "see iperf3 for more", ""] {
            assert_eq!(options_of(line), None, "{line}");
        }
    }
}
