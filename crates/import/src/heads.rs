//! Lines with a head before what a tool printed: a time (`iperf3 --timestamps`, `ts`), the name of a container or a unit (docker
//! compose, kubectl, journald), marks of quotation, indentation. A head is known by its shape, which repeats. Outputs of several
//! sources in one log are separated by what is in their heads beside the time.

use super::block::Line;
use super::{clean, date, iperf2, is_claimed, qperf};
use model::time::WallTime;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;

/// The lines of one source, with those of others empty, so that numbers of lines stay.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) text: Cow<'a, str>,
    /// The name of the source.
    pub(super) source: String,
    /// When each line was printed; empty where no head has a time.
    pub(super) stamps: Vec<Option<WallTime>>,
}

impl Part<'_> {
    /// Makes so many of its first lines empty.
    pub(super) fn empty_lines(&mut self, count: usize) {
        if count > 0 {
            let end = self.text.match_indices('\n').nth(count - 1).map_or(self.text.len(), |(at, _)| at + 1);
            self.text = Cow::Owned("\n".repeat(count) + &self.text[end..]);
        }
    }

    /// The cleaned lines of what is left of the text.
    pub(super) fn lines<'a>(&'a self, rest: &'a str) -> impl Iterator<Item = Line<'a>> + 'a {
        let stamps = self.stamps.iter().copied().chain(std::iter::repeat(None));
        clean::lines(rest).zip(stamps).map(|(text, stamp)| Line { text, stamp })
    }
}

/// The heads of a text, learnt from it as it is read.
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// Every shape that was there, and how often.
    observed: Vec<Shape>,
    /// Heads of words alone, which only their repetition shows to be heads: `alpha ` of GNU parallel's `--tag`.
    names: Vec<Shape>,
    /// A number is the whole head, and each of a few numbers is that of a source.
    are_numbered: bool,
    /// Lines that were looked at.
    looked: usize,
}

/// A line without its head.
#[derive(Clone, Debug, Default)]
struct Beheaded {
    /// The words of the head beside the time.
    source: String,
    /// The number in a head without a time: that of the line, or of its source.
    number: Option<u32>,
    rest: String,
    stamp: Option<WallTime>,
}

impl Heads {
    /// The parts of a text; one, as it is, where no head repeats. `running`: sources of which a single line counts, since the text above
    /// has others.
    pub(super) fn parts<'a>(&mut self, text: &'a str, running: &[&str]) -> Vec<Part<'a>> {
        self.learn(text);
        let shapes = self.shapes();
        if shapes.is_empty() && !text.contains('\u{1b}') {
            return vec![Part { text: Cow::Borrowed(text), source: String::new(), stamps: Vec::new() }];
        }
        let mut lines: Vec<Beheaded> = clean::lines(text).map(|line| behead(&line, &shapes)).collect();
        self.are_numbered |= are_numbered(&lines);
        if self.are_numbered {
            for line in &mut lines {
                line.source.extend(line.number.iter().map(|number| format!(" {number}")));
            }
        }
        let sources = sources(&lines, running);
        let is_of_one =
            |source: &String| running.iter().all(|running| running.is_empty() || running == source);
        if sources.len() < 2 && sources.first().is_none_or(is_of_one) {
            let stamps = lines.iter().map(|line| line.stamp).collect();
            let lines: Vec<&str> = lines.iter().map(|line| line.rest.as_str()).collect();
            let source = sources.into_iter().next().unwrap_or_default();
            return vec![Part { text: Cow::Owned(lines.join("\n")), source, stamps }];
        }
        sources.iter().map(|source| of_source(&lines, source)).collect()
    }

    fn learn(&mut self, text: &str) {
        let lines = LOOKED_AT.saturating_sub(self.looked).max(LOOKED_AT_LATER);
        for line in clean::lines(text).take(lines) {
            self.looked += 1;
            let Some(head) = head(&line) else { continue };
            // One row of CSV can be a whole output, and is like nothing else.
            let weight = if iperf2::is_csv_row(&line[head.len()..]) { FEWEST } else { 1 };
            let blanks = head.len() - head.trim_end().len();
            let text = shape(head);
            let (known, text) = match is_distinct(&text) {
                true => (&mut self.observed, text),
                false => (&mut self.names, head.trim().to_owned()),
            };
            let has_room = known.len() < MOST_SHAPES;
            match known.iter_mut().find(|known| known.text == text) {
                Some(known) => (known.count, known.blanks) = (known.count + weight, known.blanks.min(blanks)),
                None if has_room => {
                    let is_name = !is_distinct(&shape(head));
                    known.push(Shape { text, blanks, count: weight, is_name });
                }
                None => {}
            }
        }
    }

    /// The shapes that several lines have, the most frequent first. Blanks are no part of a shape that was there without them, too.
    fn shapes(&self) -> Vec<Shape> {
        let bare = |shape: &Shape| {
            let text = shape.text.strip_suffix(' ')?;
            let known = self.observed.iter().find(|other| other.text == text)?;
            Some(Shape { text: text.to_owned(), blanks: 0, count: shape.count + known.count, is_name: false })
        };
        let shapes = self.observed.iter().map(|shape| bare(shape).unwrap_or_else(|| shape.clone()));
        let mut shapes: Vec<Shape> = shapes.filter(|shape| shape.count >= FEWEST).collect();
        shapes.extend(self.names.iter().filter(|name| name.count >= FEWEST_OF_NAME).cloned());
        shapes.sort_by_key(|shape| std::cmp::Reverse(shape.count));
        shapes
    }
}

/// The lines of one source.
fn of_source(lines: &[Beheaded], source: &str) -> Part<'static> {
    let own = |line: &Beheaded| line.source == source;
    let texts: Vec<&str> = lines.iter().map(|line| if own(line) { line.rest.as_str() } else { "" }).collect();
    let stamps = lines.iter().map(|line| line.stamp.filter(|_| own(line))).collect();
    Part { text: Cow::Owned(texts.join("\n")), source: source.to_owned(), stamps }
}

/// Numbers of lines are all different; those of sources are few, and each is that of many lines.
fn are_numbered(lines: &[Beheaded]) -> bool {
    let numbers = || lines.iter().filter(|line| !line.rest.is_empty()).filter_map(|line| line.number);
    let different: HashSet<u32> = numbers().collect();
    different.len() > 1 && numbers().count() >= different.len() * LINES_OF_NUMBER
}

/// The names of sources that have several lines each, or are running, in their order.
fn sources(lines: &[Beheaded], running: &[&str]) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for line in lines.iter().filter(|line| !line.rest.is_empty()) {
        let place = *places.entry(&line.source).or_insert_with(|| {
            counts.push((&line.source, 0));
            counts.len() - 1
        });
        counts[place].1 += 1;
    }
    let is_one = |(source, count): &&(&str, usize)| *count >= FEWEST || running.contains(source);
    let several = counts.iter().filter(is_one).take(MOST_SOURCES);
    several.map(|(source, _)| (*source).to_owned()).collect()
}

/// A shape of heads, and the blanks at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    text: String,
    blanks: usize,
    count: usize,
    /// The text is that of the heads themselves.
    is_name: bool,
}

/// A word and a blank stand before anything: only digits and marks make a heading.
fn is_distinct(shape: &str) -> bool {
    shape == " " || shape.contains(|c: char| c != 'w' && c != ' ')
}

/// The text before the first place where a tool's line begins; `None` where the line itself is one, or has none.
fn head(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    // A key of JSON is no head, a field of CSV is one.
    let is_document = trimmed.starts_with(['}', ']'])
        || trimmed.starts_with('{') && !has_bare_key(trimmed)
        || trimmed.starts_with('"') && !trimmed.contains("\",\"");
    if trimmed.is_empty() || is_document || is_begin(line) {
        return None;
    }
    let mut before = None;
    let mut tried = 0;
    for (at, character) in line.char_indices().take(LONGEST) {
        let separated = before.is_none_or(|last: char| {
            last.is_whitespace()
                || matches!(last, '|' | ':' | '>' | ']' | '=' | '"' | '\'' | '`' | '│' | '┃' | '║')
        }) || at == 1 && before == Some('+');
        before = Some(character);
        if at == 0 || !separated || character.is_whitespace() {
            continue;
        }
        tried += 1;
        if tried > MOST_PLACES {
            return None;
        }
        let indented = line[..at].trim().is_empty();
        if is_begin(&line[at..]) || !indented && is_json(&line[at..]) {
            let end = at - own_blanks(&line[..at], &line[at..]);
            return Some(&line[..end]).filter(|head| !head.is_empty());
        }
    }
    None
}

/// An object of JavaScript, whose keys have no quotation marks: `{time:"…", msg:"…"}`.
fn has_bare_key(object: &str) -> bool {
    let key = object.trim_start_matches(['{', ' ']);
    let end = key.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(key.len());
    end > 0 && key[end..].trim_start().starts_with(':')
}

fn is_begin(rest: &str) -> bool {
    // A log names the program before each of its lines (`logger -t iperf3`), as the program does before an error.
    let is_tag = |name: &&str| rest.strip_prefix(name).is_some_and(|behind| is_claimed(behind.trim_start()));
    is_claimed(rest) && !["iperf3: ", "ping: "].iter().any(is_tag)
}

/// Blanks before a line that its tool prints there: they are of the line, not of its head.
fn own_blanks(head: &str, rest: &str) -> usize {
    let blanks = head.len() - head.trim_end_matches(' ').len();
    if qperf::is_part(rest) { blanks.min(qperf::INDENTATION) } else { 0 }
}

/// A line of JSON as programs print it, its keys in quotes.
fn is_json(rest: &str) -> bool {
    let rest = rest.trim_end();
    let key = || {
        rest.strip_prefix('"')
            .and_then(|rest| rest.split_once('"'))
            .is_some_and(|(_, rest)| rest.starts_with(':'))
    };
    rest == "{" || rest.starts_with("{\"") || key()
}

/// A head with its words and numbers left out: `Tue Mar 03 09:15:02 2026 ` is `w w d d:d:d d `.
fn shape(head: &str) -> String {
    // pytest puts an `E` before each line of a failure: a single capital letter is a mark, no word.
    if let [letter @ b'A'..=b'Z'] = head.trim_end().as_bytes() {
        return format!("{} ", char::from(*letter));
    }
    let mut shape = String::new();
    let mut characters = head.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_whitespace() {
            while characters.next_if(|next| next.is_whitespace()).is_some() {}
            shape.push(' ');
        } else if character.is_alphanumeric() {
            let mut digits = character.is_ascii_digit();
            while let Some(next) = characters.next_if(|next| next.is_alphanumeric()) {
                digits &= next.is_ascii_digit();
            }
            shape.push(if digits { 'd' } else { 'w' });
        } else {
            shape.push(character);
        }
    }
    shape
}

/// A line without its head.
fn behead(line: &str, shapes: &[Shape]) -> Beheaded {
    let goes_on = |rest: &str| is_begin(rest) || is_json(rest.trim_start());
    let whole = || Beheaded { rest: line.to_owned(), ..Beheaded::default() };
    if is_begin(line) && head_of(line, shapes).is_none_or(|(_, rest)| !goes_on(rest)) {
        return whole();
    }
    let Some((head, rest)) = head_of(line, shapes) else { return whole() };
    let stamp = date::stamp(head);
    Beheaded {
        source: source(head),
        number: number(head).filter(|_| stamp.is_none()),
        rest: unclosed(head, rest).to_owned(),
        stamp,
    }
}

/// The number that a head begins with, beside marks: `3 ` and `[3] `.
fn number(head: &str) -> Option<u32> {
    let first = head.split_whitespace().next()?.trim_matches(|c: char| !c.is_alphanumeric());
    first.parse().ok().filter(|_| first.len() <= LONGEST_NUMBER)
}

/// The rest of a line without the mark that the head has opened before it: `msg="…"`, `| 1 | `…` |`, `│ … │`, `<line>…</line>`,
/// `[1.5, "o", "…\r\n"]`.
fn unclosed<'a>(head: &str, rest: &'a str) -> &'a str {
    let end = match head.trim_end().chars().next_back() {
        Some('>') => rest.rfind("</").filter(|_| rest.trim_end().ends_with('>')),
        Some(mark) if ENCLOSING.contains(&mark) => {
            let mut marks = rest.match_indices(mark);
            marks.find(|(at, _)| closes(mark, &rest[at + mark.len_utf8()..])).map(|(at, _)| at)
        }
        _ => None,
    };
    let Some(end) = end else { return rest };
    rest[..end].trim_end_matches("\\n").trim_end_matches("\\r").trim_end()
}

/// Whether a mark before these words closes a line: nothing follows, or another field of CSV or of logfmt.
fn closes(mark: char, behind: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "|])},;".contains(c);
    let is_field = || {
        let key = behind.strip_prefix(' ').and_then(|behind| behind.split_once('='));
        behind.starts_with(',') || key.is_some_and(|(key, _)| key.chars().all(char::is_alphanumeric))
    };
    behind.chars().all(is_end) || mark == '"' && is_field()
}

/// Quotes stand in quotes: a head may stand before another one.
fn head_of<'a>(line: &'a str, shapes: &[Shape]) -> Option<(&'a str, &'a str)> {
    shapes.iter().find_map(|shape| shape.split(line))
}

impl Shape {
    /// The head of this shape and the rest of the line.
    fn split<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
        if self.is_name {
            let blanks = line.len() - line.trim_start().len();
            let rest = line[blanks..].strip_prefix(&self.text)?;
            return self.split_blanks(line, line.len() - rest.len());
        }
        let mut at = 0;
        let wanted: Vec<char> = self.text.chars().collect();
        for (index, want) in wanted.iter().enumerate() {
            let rest = &line[at..];
            let run = |is: fn(char) -> bool| rest.find(|c: char| !is(c)).unwrap_or(rest.len());
            at += match want {
                ' ' if index + 1 == wanted.len() => return self.split_blanks(line, at),
                ' ' => Some(run(char::is_whitespace)).filter(|length| *length > 0)?,
                'd' => Some(run(char::is_alphanumeric)).filter(|length| {
                    *length > 0 && rest[..*length].bytes().all(|byte| byte.is_ascii_digit())
                })?,
                'w' => Some(run(char::is_alphanumeric)).filter(|length| *length > 0)?,
                mark => rest.strip_prefix(*mark).map(|_| mark.len_utf8())?,
            };
        }
        Some(line.split_at(at))
    }

    /// The blanks behind the head; those beyond are of the line. An empty line has lost them.
    fn split_blanks<'a>(&self, line: &'a str, at: usize) -> Option<(&'a str, &'a str)> {
        let rest = &line[at..];
        let blanks = rest
            .chars()
            .take(self.blanks)
            .take_while(|c| c.is_whitespace())
            .map(char::len_utf8)
            .sum::<usize>();
        (blanks > 0 || rest.is_empty()).then(|| line.split_at(at + blanks))
    }
}

/// The words of a head beside the time.
fn source(head: &str) -> String {
    let is_time = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_word_with_number = bare.starts_with(|c: char| c.is_alphabetic()) && !is_dated_level(bare);
        let numeric = !is_word_with_number
            && bare.chars().filter(|c| c.is_alphabetic()).count() <= 2
            && bare.contains(|c: char| c.is_ascii_digit())
            && !bare.contains('-')
            || bare.chars().all(|c| c.is_ascii_digit() || ".,:+-TZ/".contains(c));
        let zone = (2..=4).contains(&bare.len()) && bare.chars().all(|c| c.is_ascii_uppercase());
        numeric && bare.parse::<Ipv4Addr>().is_err()
            || zone
            || date::is_name(bare)
            || LEVELS.iter().any(|level| bare.eq_ignore_ascii_case(level))
            || ["stdout", "stderr", "F", "P", ""].contains(&bare)
    };
    let tokens = head.split(|c: char| c.is_whitespace() || c == '"' || c == ',');
    // A mail program that breaks a line puts fewer marks of quotation before its rest.
    let is_quotation = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte == b'>');
    tokens.filter(|word| !is_time(word) && !is_quotation(word)).collect::<Vec<_>>().join(" ")
}

/// `I1125`: how grave a line is, and month and day (glog).
fn is_dated_level(word: &str) -> bool {
    word.strip_prefix(['I', 'W', 'E', 'F']).is_some_and(|date| date.len() == 4 && date.parse::<u32>().is_ok())
}

/// How grave a line is.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warn", "warning", "error", "trace", "fatal"];
/// Marks that stand on both sides of a line.
const ENCLOSING: [char; 7] = ['"', '\'', '`', '│', '┃', '║', '|'];
/// Lines that must have a head of one shape, or be of one source.
const FEWEST: usize = 2;
/// The same of a head that is a word alone.
const FEWEST_OF_NAME: usize = 3;
/// Lines that each number of a source has, on average.
const LINES_OF_NUMBER: usize = 4;
/// Digits of the number of a source.
const LONGEST_NUMBER: usize = 4;
/// Heads are looked for in so many lines of a text.
const LOOKED_AT: usize = 5000;
/// The same of each window behind these.
const LOOKED_AT_LATER: usize = 200;
const MOST_SHAPES: usize = 256;
const MOST_SOURCES: usize = 64;
/// Characters of a line in which its head ends, and places in them where it may.
const LONGEST: usize = 200;
const MOST_PLACES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_heads() {
        assert_eq!(shape("Tue Mar 03 09:15:02 2026 "), "w w d d:d:d d ");
        assert_eq!(shape("client-1  | "), "w-d | ");
        assert_eq!(shape("> "), "> ");
        assert_eq!((shape("E       "), shape("Ex "), shape("e ")), ("E ".into(), "w ".into(), "w ".into()));
        let found = Shape { text: "w-d | ".into(), blanks: 1, count: 2, is_name: false };
        assert_eq!(found.split("web-12   |   x"), Some(("web-12   | ", "  x")));
        assert_eq!(found.split("web-12   |"), Some(("web-12   |", "")));
        assert_eq!(found.split("web 12"), None);
        let named = Shape { text: "alpha".into(), blanks: 1, count: 3, is_name: true };
        assert_eq!(named.split("alpha   x"), Some(("alpha ", "  x")));
        assert_eq!(
            (named.split("alpha"), named.split("alphabet"), named.split("beta x")),
            (Some(("alpha", "")), None, None)
        );
        assert_eq!(source("2026-11-25T10:00:00.123Z stdout F "), "");
        assert_eq!(source("Nov 25 10:00:00 host iperf3[123]: "), "host iperf3[123]:");
        assert_eq!(source("I1125 10:00:00.123456 4711 runner.go:42] "), "runner.go:42]");
        assert_eq!(
            (source("10.0.0.1 "), source("h2 | "), source("10:00:00 INFO ")),
            ("10.0.0.1".into(), "h2".into(), String::new())
        );
        assert_eq!(
            (number("12 "), number("[3] "), number("node-1: "), number("12345 ")),
            (Some(12), Some(3), None, None)
        );
    }
}
