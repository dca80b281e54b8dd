//! A text that is read in windows, so that a log of any length takes the memory of its longest output and no more.
//!
//! A window ends where an output begins: everything before is whole. What is not whole yet stays for the next window, and a window
//! in which nothing is whole grows. An output of ping, which can be of days, goes on from window to window, and its lines are not kept;
//! of several sources in one log, each may have one.

use super::clean::count_ends;
use super::heads::Heads;
use super::units::{self, Running, Taken, Unit, Window};
use super::{Item, Known, Source, items, looks, page};
use std::collections::HashSet;
use std::io::{ErrorKind, Read};

/// The outputs of a text, a batch at a time.
pub struct Outputs {
    source: Source,
    /// Bytes of the source that are no text yet.
    bytes: Vec<u8>,
    text: String,
    /// Lines above `text`.
    lines: usize,
    /// Bytes of text that are looked at together.
    window: usize,
    usual_window: usize,
    has_ended: bool,
    /// Why the source could not be read to its end.
    damage: Option<String>,
    begun: bool,
    heads: Heads,
    /// The outputs that the windows before end in, each of another source.
    running: Vec<Running>,
    /// Up to which line each of several sources has been read.
    done: Vec<(String, usize)>,
    /// Fingerprints of the documents of iPerf3 that were there.
    documents: HashSet<u64>,
    repeated: usize,
    waiting: Vec<Batch>,
    /// Begin of the text.
    begin: String,
}

/// Outputs that follow each other in a text.
#[derive(Debug)]
pub struct Batch(Vec<Unit>);

impl Batch {
    /// Everything that they hold, in the order of their lines, each made when it is asked for. `name` is what runs are called after:
    /// `NAME:LINE`.
    pub fn read(self, name: &str, known: Known) -> impl Iterator<Item = Item> {
        items(self.0, name, known)
    }
}

impl Outputs {
    /// Those of a source.
    #[must_use]
    pub fn of_source(source: Source) -> Outputs {
        Outputs::with_window(source, WINDOW)
    }

    /// The same, with windows of so many bytes.
    #[must_use]
    pub fn with_window(source: Source, window: usize) -> Outputs {
        Outputs {
            source,
            bytes: Vec::new(),
            text: String::new(),
            lines: 0,
            window,
            usual_window: window,
            has_ended: false,
            damage: None,
            begun: false,
            heads: Heads::default(),
            running: Vec::new(),
            done: Vec::new(),
            documents: HashSet::new(),
            repeated: 0,
            waiting: Vec::new(),
            begin: String::new(),
        }
    }

    /// The kind of text that it looks like, in a few words.
    #[must_use]
    pub fn looks(&self) -> String {
        looks::like(&self.begin)
    }

    /// Documents that were left out because the same stood in an earlier window.
    #[must_use]
    pub fn repeated(&self) -> usize {
        self.repeated
    }

    /// The next window that holds whole outputs, as batches; none at the end of the text.
    fn next_window(&mut self) -> Vec<Batch> {
        loop {
            self.fill();
            if self.has_ended && self.text.is_empty() && self.running.is_empty() {
                return Vec::new();
            }
            let end =
                if self.has_ended { self.text.len() } else { self.text.rfind('\n').map_or(0, |at| at + 1) };
            let shown = page::text_of_window(&self.text[..end], !self.begun);
            let window = Window {
                text: &shown,
                lines: self.lines,
                is_whole: self.has_ended,
                running: &self.running,
                done: &self.done,
            };
            let Taken { units, open, running, done } = units::take_apart(window, &mut self.heads, 0);
            let cut = open.filter(|_| !self.has_ended).map_or(end, |line| offset_of(&self.text, line));
            drop(shown);
            if cut == 0 && !self.has_ended {
                self.window = self.window.saturating_mul(2);
                continue;
            }
            (self.running, self.done) = (running, done);
            self.running.iter_mut().for_each(Running::digest);
            self.begun = true;
            self.window = self.usual_window;
            self.lines += count_ends(&self.text[..cut]);
            self.text.drain(..cut);
            self.text.shrink_to(self.usual_window * 2);
            let units = self.without_repeated(units);
            if !units.is_empty() {
                return batches(units);
            }
        }
    }

    fn without_repeated(&mut self, mut units: Vec<Unit>) -> Vec<Unit> {
        if self.has_ended && self.documents.is_empty() {
            return units;
        }
        let before = units.len();
        units.retain(|unit| match unit {
            Unit::Iperf3(document, _) => self.documents.insert(document.value.fingerprint()),
            _ => true,
        });
        self.repeated += before - units.len();
        units
    }

    /// Reads until the window is full or the source ends. A page is read whole: its lines are not those of its text.
    fn fill(&mut self) {
        while !self.has_ended && self.text.len() < self.window {
            let before = self.bytes.len();
            self.bytes.resize(before + CHUNK, 0);
            let read = self.source.read(&mut self.bytes[before..]);
            self.bytes.truncate(before + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(read) => self.has_ended = read == 0,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => (self.has_ended, self.damage) = (true, Some(error.to_string())),
            }
            self.decode();
            if !self.begun && self.text.len() >= self.window && page::is_page(&self.text) {
                self.window = usize::MAX;
            }
        }
        if self.begin.is_empty() {
            let end = (0..=BEGIN.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at));
            self.begin = self.text[..end.unwrap_or_default()].to_owned();
        }
    }

    /// Makes text of the bytes; of a character that is cut off the rest is still to come.
    fn decode(&mut self) {
        loop {
            match std::str::from_utf8(&self.bytes) {
                Ok(text) => {
                    self.text.push_str(text);
                    self.bytes.clear();
                    return;
                }
                Err(error) => {
                    let valid = error.valid_up_to();
                    self.text.push_str(&String::from_utf8_lossy(&self.bytes[..valid]));
                    let broken = match error.error_len() {
                        Some(length) => length,
                        None if self.has_ended => self.bytes.len() - valid,
                        None => 0,
                    };
                    self.bytes.drain(..valid + broken);
                    if broken == 0 {
                        return;
                    }
                    self.text.push(char::REPLACEMENT_CHARACTER);
                }
            }
        }
    }
}

impl Iterator for Outputs {
    type Item = Result<Batch, String>;

    /// The next batch. An error is the last of all, behind what could be read: what the source is that it has no end.
    fn next(&mut self) -> Option<Result<Batch, String>> {
        if self.waiting.is_empty() {
            self.waiting = self.next_window();
            self.waiting.reverse();
        }
        self.waiting.pop().map(Ok).or_else(|| self.damage.take().map(Err))
    }
}

/// Parts of a window that can be read side by side. Those that begin in one line stay together.
fn batches(units: Vec<Unit>) -> Vec<Batch> {
    let most = units.len().div_ceil(PARTS);
    let mut batches: Vec<Batch> = Vec::new();
    for unit in units {
        match batches.last_mut() {
            Some(Batch(last))
                if last.len() < most || last.last().is_some_and(|before| before.line() == unit.line()) =>
            {
                last.push(unit);
            }
            _ => batches.push(Batch(vec![unit])),
        }
    }
    batches
}

/// The place where a line begins, counted from 1.
fn offset_of(text: &str, line: usize) -> usize {
    match line.checked_sub(2) {
        None => 0,
        Some(above) => text.match_indices('\n').nth(above).map_or(text.len(), |(at, _)| at + 1),
    }
}

/// Bytes of a window: several outputs of many rows, and little memory.
const WINDOW: usize = 512 << 10;
/// Bytes that are read at once.
const CHUNK: usize = 128 << 10;
/// Batches of a window.
const PARTS: usize = 8;
/// Bytes of a text that say what it looks like.
const BEGIN: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A ping of so many replies, each line behind a head.
    fn ping(head: &str, host: u32, replies: u32) -> Vec<String> {
        let heading = format!("{head}PING 192.0.2.{host} (192.0.2.{host}) 56(84) bytes of data.\n");
        let reply = |sequence: u32| {
            let time = 10 * host + sequence % 10;
            format!("{head}64 bytes from 192.0.2.{host}: icmp_seq={sequence} ttl=57 time={time}.0 ms\n")
        };
        std::iter::once(heading).chain((1..=replies).map(reply)).collect()
    }

    /// The runs of a text that is read in small windows, and the most bytes that a window had.
    fn in_windows(text: String) -> (Vec<Item>, usize) {
        let mut outputs = Outputs::with_window(Box::new(Cursor::new(text.into_bytes())), 8 << 10);
        let (mut items, mut largest) = (Vec::new(), 0);
        while let Some(batch) = outputs.next() {
            largest = largest.max(outputs.text.capacity()).max(outputs.window);
            items.extend(batch.expect("a text").read("file", Known::default()));
        }
        (items, largest.max(outputs.text.capacity()).max(outputs.window))
    }

    fn received(item: &Item) -> u64 {
        let super::super::What::Run(one) = &item.what else { panic!("{item:?}") };
        one.run.summary.egress_paths[0].counted.received
    }

    #[test]
    fn a_ping_of_days_takes_no_more_than_windows() {
        for head in ["", "ping-1  | "] {
            let (items, largest) = in_windows(ping(head, 1, 40_000).concat());
            assert_eq!(items.iter().map(received).collect::<Vec<_>>(), [40_000], "{head}");
            assert!(largest <= 2 * CHUNK + (8 << 10), "{largest}");
        }
    }

    /// Another source has one output after another, a second long ping begins and ends between, and another source has a line at times.
    #[test]
    fn pings_of_days_beside_other_sources_take_no_more_than_windows() {
        let mut pings = [ping("a-1  | ", 1, 40_000), ping("b-1  | ", 2, 30_000)].map(Vec::into_iter);
        let short: Vec<String> = (0..300)
            .flat_map(|_| {
                let end = "c-1  | \nc-1  | --- 192.0.2.3 ping statistics ---\nc-1  | 20 packets transmitted, 20 received, 0% packet loss, time 19000ms\n";
                [ping("c-1  | ", 3, 20), vec![end.to_owned()]].concat()
            })
            .collect();
        let mut short = short.into_iter();
        let mut text = String::new();
        for number in 0..40_001 {
            text.extend(pings[0].next());
            if number > 200 {
                text.extend(pings[1].next());
            }
            if number % 7 < 1 {
                text.extend(short.next());
            }
            if number % 500 == 0 {
                text.push_str("d-1  | nothing to do\n");
            }
        }
        let (items, largest) = in_windows(text);
        let mut counts: Vec<u64> = items.iter().map(received).collect();
        counts.sort_unstable();
        let long = counts.split_off(counts.len() - 2);
        assert_eq!(long, [30_000, 40_000]);
        let count = counts.len();
        assert!(count > 200 && counts[1..].iter().all(|count| *count == 20), "{count}: {counts:?}");
        assert!(largest <= 4 * CHUNK, "{largest}");
    }
}
