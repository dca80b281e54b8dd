//! Help that was written by hand, laid out for the width of a terminal.

/// A text in lines of at most `width` columns: prose is broken anew, an explanation beside a command goes on in its column or
/// stands below, and a long command goes on behind a `\`, as shells read it. What fits is left as it is.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let (mut lines, mut prose): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if prose.last().is_some_and(|last| !is_prose(line) || indent(last) != indent(line)) {
            lines.extend(paragraph(&std::mem::take(&mut prose), width));
        }
        if is_prose(line) {
            prose.push(line);
        } else {
            lines.extend(row(line, width));
        }
    }
    lines.extend(paragraph(&prose, width));
    lines.join("\n")
}

/// Lines of prose, broken anew where one is too long.
fn paragraph(lines: &[&str], width: usize) -> Vec<String> {
    if lines.iter().all(|line| line.chars().count() <= width) {
        return lines.iter().map(|line| (*line).to_owned()).collect();
    }
    broken(&lines.join(" "), indent(lines[0]), width)
}

/// Spaces before a line.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Neither a command nor columns. A heading is a paragraph of its own, as what follows it is indented.
fn is_prose(line: &str) -> bool {
    let text = line.trim();
    let is_command = COMMANDS.iter().any(|command| text.starts_with(command));
    !(text.is_empty() || is_command || text.contains("  "))
}

/// Something, and beside it what it is.
fn row(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.to_owned()];
    }
    let (left, right) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
    let column = line.chars().count() - right.trim().chars().count();
    let beside = !right.is_empty() && column + NARROWEST <= width;
    if !beside {
        let mut lines = command(left, indent(line), width);
        lines.extend(broken(right.trim(), BELOW, width));
        return lines;
    }
    let mut lines = broken(right.trim(), column, width);
    if let Some(first) = lines.first_mut() {
        let (start, end) = (line.len() - right.trim().len(), first.trim_start().to_owned());
        *first = format!("{}{end}", &line[..start]);
    }
    lines
}

/// Words in lines of this width, each after `indent` spaces.
fn broken(text: &str, indent: usize, width: usize) -> Vec<String> {
    let indent = if indent + NARROWEST > width { BELOW } else { indent };
    let tokens: Vec<&str> = text.split_whitespace().collect();
    filled(&tokens, indent, indent, width)
}

/// A command line, whose quoted words stay whole; all lines but the last end with a `\`.
fn command(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut tokens: Vec<&str> = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (at, letter) in text.char_indices() {
        is_quoted ^= letter == '\'';
        if letter == ' ' && !is_quoted {
            tokens.push(&text[start..at]);
            start = at + 1;
        }
    }
    tokens.push(&text[start..]);
    let mut lines = filled(&tokens, indent, BELOW, width - 2);
    let last = lines.len().saturating_sub(1);
    for line in &mut lines[..last] {
        line.push_str(" \\");
    }
    lines
}

/// Fills each line with the tokens that fit; `first` and `then`: spaces before the first line and before the others.
pub(super) fn filled(tokens: &[&str], first: usize, then: usize, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for token in tokens {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + token.chars().count() <= width => {
                line.push(' ');
                line.push_str(token);
            }
            last => {
                let indent = if last.is_none() { first } else { then };
                lines.push(format!("{}{token}", " ".repeat(indent)));
            }
        }
    }
    lines
}

const COMMANDS: [&str; 4] = ["pathmeter ", "sudo ", "ssh ", "iperf3 "];
/// An explanation in fewer columns is hard to read.
const NARROWEST: usize = 30;
/// Spaces before what stands below a command.
pub(super) const BELOW: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
EXAMPLES
  pathmeter frames far.example --link 25G                 64 to 1518 bytes, TCP and UDP, about 35 seconds
  pathmeter mtu far.example                     both directions, with `pathmeter serve` there
  pathmeter watch far.example --every 5m --run 'latency -t 5s' --alert 'logger -t pathmeter \"$PATHMETER_TEXT\"'

SETS
  FILE             the outputs in a file that `pathmeter import` reads, of other tools too

The sample is the run: 6 runs on each side at least, better in turn (before, after), as a
slow drift of the path is taken for a difference otherwise.";

    #[test]
    fn what_fits_is_left_as_it_is() {
        let short = "EXAMPLES\n  pathmeter doctor --json   the same for programs\n\nIt ends,\nand ends.";
        assert_eq!(fitted(short, 80), short);
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_is_wide() {
        assert_eq!(
            fitted(HELP, 80),
            "\
EXAMPLES
  pathmeter frames far.example --link 25G
      64 to 1518 bytes, TCP and UDP, about 35 seconds
  pathmeter mtu far.example                     both directions, with `pathmeter
                                                serve` there
  pathmeter watch far.example --every 5m --run 'latency -t 5s' --alert \\
      'logger -t pathmeter \"$PATHMETER_TEXT\"'

SETS
  FILE             the outputs in a file that `pathmeter import` reads, of other
                   tools too

The sample is the run: 6 runs on each side at least, better in turn (before,
after), as a slow drift of the path is taken for a difference otherwise."
        );
    }
}
