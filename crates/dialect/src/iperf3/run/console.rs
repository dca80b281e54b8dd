//! The output of a server with many clients: the lines of two tests never mix.
//!
//! One session is shown as it goes. The lines of others wait meanwhile, and are shown together once it is over and their turn
//! has come; a session that still runs then goes on being shown as it goes. Where one client comes after the other, the output
//! is that of iPerf3.

use super::out::Out;
use std::collections::BTreeMap;

/// Everything a server prints. `banner`: makes the lines of a server that waits for its n-th test.
pub(super) struct Console {
    pub(super) out: Out,
    banner: Box<dyn Fn(u64) -> String + Send>,
    /// Banners shown.
    banners: u64,
    /// Sessions begun.
    sessions: u64,
    /// The session shown as it goes.
    shown: Option<u64>,
    /// The lines of the others, in order of their beginning.
    waiting: BTreeMap<u64, Backlog>,
}

#[derive(Default)]
struct Backlog {
    text: String,
    over: bool,
}

impl Console {
    /// A server that waits for its first test.
    pub(super) fn new(out: Out, banner: Box<dyn Fn(u64) -> String + Send>) -> Console {
        let waiting = BTreeMap::new();
        let mut console = Console { out, banner, banners: 0, sessions: 0, shown: None, waiting };
        console.show_banner();
        console
    }

    /// A session begins: its number.
    pub(super) fn begin(&mut self) -> u64 {
        self.sessions += 1;
        self.sessions
    }

    /// A session has lines to show.
    pub(super) fn say(&mut self, session: u64, text: &str) {
        if text.is_empty() {
            return;
        }
        if *self.shown.get_or_insert(session) == session {
            self.out.write(text);
        } else {
            self.waiting.entry(session).or_default().text.push_str(text);
        }
    }

    /// Prints an error of a session: at once on standard error, or among its lines in the log file.
    pub(super) fn say_error(&mut self, session: u64, sentence: &str) {
        if self.out.is_log() {
            let line = format!("{}iperf3: {sentence}\n", self.out.stamp());
            self.say(session, &line);
        } else {
            self.out.error(sentence);
        }
    }

    /// A session is over.
    pub(super) fn end(&mut self, session: u64) {
        if self.shown == Some(session) {
            self.shown = None;
            self.show_banner();
            self.show_next();
        } else if let Some(backlog) = self.waiting.get_mut(&session) {
            backlog.over = true;
        }
    }

    /// Those that are over, whole; then the first of those that still run.
    fn show_next(&mut self) {
        let over: Vec<u64> =
            self.waiting.iter().filter(|(_, backlog)| backlog.over).map(|(session, _)| *session).collect();
        for backlog in over.iter().filter_map(|session| self.waiting.remove(session)).collect::<Vec<_>>() {
            self.out.write(&backlog.text);
            self.show_banner();
        }
        if let Some((session, backlog)) = self.waiting.pop_first() {
            self.shown = Some(session);
            self.out.write(&backlog.text);
        }
    }

    fn show_banner(&mut self) {
        self.banners += 1;
        let banner = (self.banner)(self.banners);
        let stamp = self.out.stamp();
        let lines: String = banner.lines().map(|line| format!("{stamp}{line}\n")).collect();
        self.out.write(&lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf3::Both;

    #[test]
    fn lines_of_two_sessions_never_mix() {
        let path = std::env::temp_dir().join(format!("pathmeter-console-{}", std::process::id()));
        let both = Both { logfile: Some(path.clone()), ..Both::default() };
        let out = Out::open(&both).expect("a file in the directory for temporary ones");
        let mut console = Console::new(out, Box::new(|n| format!("#{n}\n")));
        let [a, b, c, d] = std::array::from_fn(|_| console.begin());
        for (session, text) in [(a, "a1\n"), (b, "b1\n"), (c, "c1\n"), (a, "a2\n"), (b, "b2\n")] {
            console.say(session, text);
        }
        console.end(d);
        console.say_error(c, "c2");
        console.end(c);
        console.end(a);
        console.say(b, "b3\n");
        console.end(b);
        let shown = std::fs::read_to_string(&path).expect("written above");
        std::fs::remove_file(&path).expect("written above");
        assert_eq!(shown, "#1\na1\na2\n#2\nc1\niperf3: c2\n#3\nb1\nb2\nb3\n#4\n");
    }
}
