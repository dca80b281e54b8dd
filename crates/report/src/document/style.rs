//! How text is shown: colour or none, and how wide.

/// The capabilities of the reader's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Write ANSI colours (only to a terminal, and only without `NO_COLOR`).
    pub colour: bool,
    /// Columns of the screen; text is broken at words to fit.
    pub width: usize,
    /// Evidence, hosts, distributions and method too.
    pub detail: bool,
    /// Draw bars of block characters: a screen reader reads each of them, and without UTF-8 they are other characters.
    pub bars: bool,
}

/// A role that colour plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// The same as all other text.
    #[default]
    Plain,
    /// A heading.
    Bold,
    /// Less important text.
    Dim,
    /// Good.
    Good,
    /// To be looked at.
    Warning,
    /// Broken.
    Problem,
}

impl Default for Style {
    /// Plain text of 80 columns.
    fn default() -> Style {
        Style { colour: false, width: 80, detail: false, bars: true }
    }
}

impl Style {
    /// The same for prose, which is hard to read on wider lines than 100 columns.
    #[must_use]
    pub fn prose(&self) -> Style {
        Style { width: self.width.min(WIDEST_PROSE), ..*self }
    }

    /// The text in its colour, or as it is.
    pub fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.colour || text.is_empty() || paint == Paint::Plain {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Plain => "0",
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Good => "32",
            Paint::Warning => "33",
            Paint::Problem => "1;31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// The text broken at spaces into lines that fit after an indent of `indent` columns, at least 20 wide where the screen is.
    pub fn wrap(&self, text: &str, indent: usize) -> Vec<String> {
        let room = self.width.saturating_sub(indent).max(self.width.min(20));
        if is_one_line(text, room) {
            return vec![text.to_owned()];
        }
        let mut lines: Vec<String> = Vec::new();
        for word in with_units(text) {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                    line.push(' ');
                    line.push_str(&word);
                }
                _ => lines.push(word),
            }
        }
        lines
    }

    /// Each text as lines that fit, the first after a mark and the others below its text; none of an empty one.
    pub fn list(&self, texts: &[String], mark: &str) -> String {
        let mut list = String::new();
        for text in texts.iter().filter(|text| !text.is_empty()) {
            for (index, line) in self.wrap(text, mark.len()).iter().enumerate() {
                let lead = if index == 0 { mark.into() } else { " ".repeat(mark.len()) };
                list.push_str(&format!("{lead}{line}\n"));
            }
        }
        list
    }
}

/// Whether a text is a line as it is: it fits, and one space stands between two words.
fn is_one_line(text: &str, room: usize) -> bool {
    let (mut length, mut is_behind_space) = (0, true);
    for letter in text.chars() {
        let is_space = letter == ' ';
        let is_other = breaks(letter) && !is_space;
        if length == room || is_other || is_space && is_behind_space {
            return false;
        }
        (length, is_behind_space) = (length + 1, is_space);
    }
    !is_behind_space
}

/// The thousands of a number are set apart by spaces that break no line.
fn breaks(letter: char) -> bool {
    letter.is_whitespace() && letter != '\u{a0}'
}

/// The words of a text; a number and what it counts are one.
fn with_units(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let is_number = |word: &str| word.trim_start_matches('(').replace('\u{a0}', "").parse::<f64>().is_ok();
    for word in text.split(breaks).filter(|word| !word.is_empty()) {
        match tokens.last_mut() {
            Some(number) if is_number(number) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => tokens.push(word.to_owned()),
        }
    }
    tokens
}

const WIDEST_PROSE: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let style = Style { width: 24, ..Style::default() };
        assert_eq!(
            style.wrap("the softirqs took (5.88 % of it)", 0),
            ["the softirqs took", "(5.88 % of it)"]
        );
        assert_eq!(
            style.wrap("none of 12\u{a0}000\u{a0}000 datagrams", 0),
            ["none of", "12\u{a0}000\u{a0}000 datagrams"]
        );
    }

    #[test]
    fn a_text_that_fits_is_a_line_with_single_spaces() {
        let style = Style { width: 30, ..Style::default() };
        for text in
            ["one two", "12 of 13", " one two", "one  two", "one\ntwo", "one two\u{2003}", "é\u{a0}é 5 x"]
        {
            let tokens: Vec<String> = with_units(text);
            assert_eq!(style.wrap(text, 0), [tokens.join(" ")], "{text:?}");
        }
        assert!(is_one_line("one two", 7) && !is_one_line("one two", 6) && !is_one_line(" ", 7));
    }

    #[test]
    fn plain_style_adds_no_control_codes() {
        assert_eq!(Style::default().paint(Paint::Problem, "lost"), "lost");
        assert_eq!(Style { colour: true, ..Style::default() }.paint(Paint::Good, "ok"), "\x1b[32mok\x1b[0m");
    }

    #[test]
    fn lines_break_at_spaces_and_a_long_word_stays_whole() {
        let style = Style { width: 30, ..Style::default() };
        assert_eq!(style.wrap("one two three four five six", 10), ["one two three four", "five six"]);
        assert_eq!(style.wrap("abcdefghijklmnopqrstuvwxyz a", 10), ["abcdefghijklmnopqrstuvwxyz", "a"]);
        assert!(style.wrap("", 0).is_empty());
    }
}
