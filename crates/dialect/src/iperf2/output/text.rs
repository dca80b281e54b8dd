//! The output of one test: its connections, its intervals, its end, and the server's report.

use super::columns::{Columns, Figures, single_burst};
use super::connection::Iperf2Connection;
use super::histogram::Iperf2Histogram;
use super::{Cut, Iperf2Options, Iperf2Role, csv};
use engine::work::observer::{Burst, Detail};
use model::event::{Event, Started};
use model::plan::{Direction, Directions, Plan, Transport};
use model::sample::{IntervalSample, Role, Side, SideResult, StreamResult, TcpCounters, UdpCounters};
use model::time::WallTime;
use model::units::Nanos;

/// Writes the text of one test at one end.
#[derive(Default)]
pub struct Iperf2Text {
    options: Iperf2Options,
    /// The `[ID]` of the first stream; a server goes on counting.
    first: u32,
    plan: Option<Plan>,
    connections: Vec<Iperf2Connection>,
    started: WallTime,
    headings: Vec<&'static str>,
    /// Streams whose line is printed: those that come later join.
    named: Vec<u32>,
    /// An interval whose details are to come.
    waiting: Option<IntervalSample>,
    totals: Vec<Detail>,
    reported: Vec<Detail>,
    /// The test serves round trips.
    bounces: bool,
    /// How its data is cut, and whether the delays of whole pieces are known.
    cut: Cut,
    trip_times: bool,
    out: String,
}

/// A row's stream, direction and figures.
struct FigureRow {
    stream: u32,
    direction: Direction,
    sending: bool,
    figures: Figures,
}

impl Iperf2Text {
    /// The writer of one test. `first`: the number of its first stream, from 1.
    #[must_use]
    pub fn new(options: Iperf2Options, first: u32) -> Iperf2Text {
        Iperf2Text { options, first, ..Iperf2Text::default() }
    }

    /// Adds the details of a connection, before [`Event::Started`].
    pub fn connection(&mut self, connection: Iperf2Connection) {
        match self.connections.iter_mut().find(|known| known.stream == connection.stream) {
            Some(known) => *known = connection,
            None => self.connections.push(connection),
        }
    }

    /// How the data is cut. `trip_times`: the delays of whole pieces are known.
    pub fn cut(&mut self, cut: Cut, trip_times: bool) {
        (self.cut, self.trip_times) = (cut, trip_times);
    }

    /// Bursts that have come whole.
    pub fn bursts(&mut self, stream: u32, bursts: &[Burst]) -> String {
        let Cut::Bursts(rate) = self.cut else { return String::new() };
        if self.options.exclude.data || self.options.csv || self.options.sum_only {
            return String::new();
        }
        let id = label(self.number(stream), false);
        self.heading(Columns::SingleBursts.heading());
        for burst in bursts {
            let since = |wall: WallTime| wall.0.saturating_sub(self.started.0) as f64 / 1e9;
            let detail = Detail { calls: burst.calls, reads: burst.reads, ..Detail::default() };
            let (start, end) = (since(burst.began), since(burst.ended));
            let figures =
                Figures { start, end, bytes: burst.bytes, detail: Some(detail), ..Figures::default() };
            self.line(&id, &figures, &single_burst(&figures, rate));
        }
        std::mem::take(&mut self.out)
    }

    /// The line of a connection that carries no test (`--connect-only`).
    #[must_use]
    pub fn connected(&self, connection: &Iperf2Connection, wall: WallTime) -> String {
        let options = Iperf2Options { enhanced: true, ..self.options.clone() };
        connection.line(&options, &label(self.first, false), Some(wall))
    }

    /// The line of a connection of round trips, at the server.
    #[must_use]
    pub fn bouncing(&mut self, connection: Iperf2Connection, wall: WallTime) -> String {
        self.started = wall;
        self.bounces = true;
        let silent = self.options.csv || self.options.exclude.connections || self.options.sum_only;
        let line = connection.line(&self.options, &label(self.number(0), false), Some(wall));
        self.connection(connection);
        if silent { String::new() } else { line }
    }

    /// Prints the bytes of round trips within a time.
    #[must_use]
    pub fn bounced(&mut self, (start, end): (Nanos, Nanos), bytes: u64) -> String {
        let (start, end) = (start.as_secs_f64(), end.as_secs_f64());
        let figures = Figures { start, end, bytes, ..Figures::default() };
        self.rows(&[FigureRow { stream: 0, direction: Direction::Up, sending: false, figures }], false);
        std::mem::take(&mut self.out)
    }

    /// Prints an event: no, one or several whole lines.
    pub fn event(&mut self, event: &Event) -> String {
        self.flush(&[]);
        match event {
            Event::Connected(connected) => self.plan = Some(connected.plan.clone()),
            Event::Started(started) => self.begin(started),
            Event::Sample(sample) if sample.side == Side::Local => self.waiting = Some(sample.clone()),
            Event::Result(result) if result.side == Side::Local => self.end(&result.result),
            Event::Result(result) => self.server_report(&result.result),
            _ => {}
        }
        if !self.options.enhanced {
            self.flush(&[]);
        }
        std::mem::take(&mut self.out)
    }

    /// Adds details of the interval that was printed just before.
    pub fn interval(&mut self, details: &[Detail]) -> String {
        self.flush(details);
        std::mem::take(&mut self.out)
    }

    /// Details of the whole time, before its result.
    pub fn totals(&mut self, details: &[Detail]) {
        self.totals = details.to_vec();
    }

    /// Details in a server's report, before its result.
    pub fn report(&mut self, detail: Detail) {
        self.reported.push(detail);
    }

    /// The highest number of a stream; the next test's numbers begin after it.
    #[must_use]
    pub fn last_id(&self) -> u32 {
        let streams = self.plan.as_ref().map_or(1, |plan| plan.test.streams);
        let both = self.plan.as_ref().is_some_and(|plan| plan.test.directions == Directions::Both);
        let back = if self.options.dual && both { streams } else { 0 };
        self.first + streams + back - 1
    }

    fn begin(&mut self, started: &Started) {
        if self.named.is_empty() {
            self.started = started.wall;
        }
        let silent = self.options.csv || self.options.exclude.connections || self.options.sum_only;
        for stream in &started.streams {
            let known = self.connections.iter().find(|known| known.stream == stream.stream);
            let mut connection = known.cloned().unwrap_or_default();
            connection.stream = stream.stream;
            connection.ends = Some((stream.local, stream.remote));
            connection.socket = connection.socket.or(Some(stream.socket));
            // Both directions of a full-duplex connection have one line; the mark of the return direction is for rows, except
            // for a connection that the server has opened.
            let second = self.is_full_duplex() && stream.direction == Direction::Down;
            let named = self.named.contains(&stream.stream);
            if !silent && !second && !named {
                let starred = self.options.dual && self.starred(stream.direction);
                let id = label(self.number(stream.stream), starred);
                self.out.push_str(&connection.line(&self.options, &id, Some(started.wall)));
            }
            self.named.push(stream.stream);
            self.connection(connection);
        }
    }

    fn flush(&mut self, details: &[Detail]) {
        let Some(sample) = self.waiting.take() else { return };
        let rows = sample.streams.iter().map(|row| FigureRow {
            stream: row.stream,
            direction: row.direction,
            sending: row.role == Role::Sender,
            figures: Figures {
                start: sample.start.as_secs_f64(),
                end: sample.end.as_secs_f64(),
                bytes: row.bytes.0,
                tcp: row.tcp.clone(),
                udp: row.udp.clone(),
                detail: detail_of(details, row.stream),
            },
        });
        let rows: Vec<FigureRow> = rows.collect();
        let interval = self.plan.as_ref().map_or(Nanos::ZERO, |plan| plan.local.interval);
        // Bursts have rows of their own.
        if matches!(self.cut, Cut::Bursts(_)) && rows.iter().all(|row| !row.sending) {
            return;
        }
        // 2.1.8 prints no row for the remainder at the end: it is in the row of the whole time.
        if sample.end.saturating_sub(sample.start).saturating_mul(4) < interval {
            return;
        }
        self.rows(&rows, false);
    }

    /// The whole time of this end.
    fn end(&mut self, result: &SideResult) {
        let totals = std::mem::take(&mut self.totals);
        let rows: Vec<FigureRow> = result.streams.iter().map(|stream| whole(stream, &totals)).collect();
        self.rows(&rows, true);
    }

    fn rows(&mut self, rows: &[FigureRow], last: bool) {
        if self.options.exclude.data {
            return;
        }
        if self.options.csv {
            rows.iter().for_each(|row| self.csv(row));
            return;
        }
        let pairs = self.is_full_duplex() && self.options.enhanced;
        let each = if self.options.sum_only { &[] } else { rows };
        for row in each {
            let columns = self.columns(row);
            self.heading(columns.heading());
            let id = label(self.number(row.stream), self.starred(row.direction));
            self.line(&id, &row.figures, &columns.row(&row.figures));
            self.histograms(row, last);
            self.disorder(&id, row.sending, &row.figures);
            self.sent(&format!("[{:3}]", self.number(row.stream)), &[row], last);
        }
        if pairs && !self.options.sum_only {
            self.pairs(rows);
        }
        self.sum(rows, last);
    }

    /// Behind a row: its times in bins.
    fn histograms(&mut self, row: &FigureRow, last: bool) {
        let id = self.number(row.stream);
        let span = (row.figures.start, row.figures.end);
        let percentiles = self.options.percentiles;
        for histogram in row.figures.detail.iter().flat_map(|detail| &detail.histograms) {
            self.out.push_str(&Iperf2Histogram::from(histogram).line(id, span, last, percentiles));
        }
    }

    /// Both directions of each full-duplex stream as one (`-e`).
    fn pairs(&mut self, rows: &[FigureRow]) {
        let udp = rows.iter().any(|row| row.figures.udp.is_some());
        let columns = if udp { Columns::Datagrams } else { Columns::Plain };
        for up in rows.iter().filter(|row| row.direction == Direction::Up) {
            let number = self.number(up.stream);
            let both: Vec<&FigureRow> = rows.iter().filter(|row| self.number(row.stream) == number).collect();
            let figures = together(&both);
            self.heading(columns.heading());
            self.line(&format!("[FD{number}] "), &figures, &columns.row(&figures));
        }
    }

    fn sum(&mut self, rows: &[FigureRow], last: bool) {
        let streams = self.plan.as_ref().map_or(1, |plan| plan.test.streams);
        if rows.len() < 2 || (streams < 2 && !self.options.sum_only) {
            return;
        }
        let all: Vec<&FigureRow> = rows.iter().collect();
        let figures = together(&all);
        let mixed = rows.iter().any(|row| row.sending != rows[0].sending);
        let columns = if mixed { Columns::Plain } else { self.columns(&rows[0]) };
        let alone = self.options.sum_only;
        let id = if alone { format!("[SUM-{streams}] ") } else { "[SUM] ".to_owned() };
        self.heading(if alone { columns.sum_heading() } else { columns.over_sum().heading() });
        self.line(&id, &figures, &columns.sum(&figures, alone));
        self.disorder(&id, rows[0].sending, &figures);
        self.sent(&format!("[SUM-{streams}]"), &all, last);
    }

    /// Behind the last row of a UDP sender.
    fn sent(&mut self, id: &str, rows: &[&FigureRow], last: bool) {
        let datagrams: u64 =
            rows.iter().filter_map(|row| row.figures.udp.as_ref()).map(|udp| udp.datagrams).sum();
        if last && rows.iter().all(|row| row.sending && row.figures.udp.is_some()) {
            self.out.push_str(&format!("{id} Sent {datagrams} datagrams\n"));
        }
    }

    /// The server's count of received data that this end has sent.
    fn server_report(&mut self, result: &SideResult) {
        let udp = self.plan.as_ref().is_some_and(|plan| plan.test.transport == Transport::Udp);
        let options = &self.options;
        if !udp || options.role == Iperf2Role::Server || options.csv || options.exclude.server {
            return;
        }
        let totals = std::mem::take(&mut self.reported);
        for stream in result.streams.iter().filter(|stream| stream.role == Role::Receiver) {
            let row = whole(stream, &totals);
            let id = label(self.number(row.stream), false);
            let columns = if self.options.enhanced { Columns::Delays } else { Columns::Losses };
            self.out.push_str(&format!("{id}Server Report:\n"));
            if !self.options.enhanced {
                self.headings.retain(|heading| *heading != columns.heading());
            }
            self.heading(columns.heading());
            self.line(&id, &row.figures, &columns.row(&row.figures));
            self.disorder(&id, row.sending, &row.figures);
        }
    }

    fn disorder(&mut self, id: &str, sending: bool, figures: &Figures) {
        let Figures { start, end, udp, .. } = figures;
        let count = udp.as_ref().map_or(0, |udp| udp.reordered);
        if !sending && count > 0 {
            let line = format!("{id}{start:4.4}-{end:4.4} sec  {count} datagrams received out-of-order\n");
            self.out.push_str(&line);
        }
    }

    fn csv(&mut self, row: &FigureRow) {
        let known = self.connections.iter().find(|known| known.stream == row.stream);
        let plain =
            self.connections.iter().find(|known| self.number(known.stream) == self.number(row.stream));
        let Some(ends) = known.or(plain).and_then(|connection| connection.ends) else { return };
        let wall = self.started + Nanos((row.figures.end * 1e9) as u64);
        let line = csv::line(&self.options, wall, ends, self.number(row.stream), &row.figures);
        self.out.push_str(&line);
    }

    fn line(&mut self, id: &str, figures: &Figures, columns: &str) {
        let letter = self.options.unit.unwrap_or('a');
        self.out.push_str(&format!("{id}{}{columns}\n", figures.front(letter)));
    }

    /// A heading is printed once.
    fn heading(&mut self, heading: &'static str) {
        if !self.headings.contains(&heading) {
            self.headings.push(heading);
            self.out.push_str(heading);
            self.out.push('\n');
        }
    }

    fn columns(&self, row: &FigureRow) -> Columns {
        let udp = row.figures.udp.is_some();
        let frames = self.cut == Cut::Frames;
        let times = row.figures.detail.as_ref().is_some_and(|detail| detail.writes.is_some());
        match (self.options.enhanced, udp, row.sending) {
            _ if self.bounces => Columns::Plain,
            (_, false, false) if matches!(self.cut, Cut::Bursts(_)) => Columns::SingleBursts,
            (true, true, true) if frames => Columns::FramePackets,
            (true, true, false) if frames && self.trip_times => Columns::FrameLosses,
            (true, false, true) if frames => Columns::Frames,
            (true, false, true) if times => Columns::WriteTimes,
            (true, false, false) if frames && self.trip_times => Columns::FrameDelays,
            (false, true, false) => Columns::Losses,
            (false, ..) => Columns::Plain,
            (true, true, true) => Columns::Packets,
            (true, true, false) => Columns::Delays,
            (true, false, true) => Columns::Writes,
            (true, false, false) if self.trip_times => Columns::Bursts,
            (true, false, false) => Columns::Reads,
        }
    }

    fn is_full_duplex(&self) -> bool {
        let both = self.plan.as_ref().is_some_and(|plan| plan.test.directions == Directions::Both);
        both && !self.options.dual
    }

    /// The number in brackets: both directions of a full-duplex connection have one.
    fn number(&self, stream: u32) -> u32 {
        let streams = self.plan.as_ref().map_or(u32::MAX, |plan| plan.test.streams.max(1));
        self.first + if self.is_full_duplex() { stream % streams } else { stream }
    }

    /// `*` marks the return path: at a client what it receives, at a server what it sends beside receiving.
    fn starred(&self, direction: Direction) -> bool {
        let only_down = self.plan.as_ref().is_some_and(|plan| plan.test.directions == Directions::Down);
        let server = self.options.role == Iperf2Role::Server;
        let marked = if self.options.dual { server } else { !only_down || !server };
        direction == Direction::Down && marked
    }
}

/// `[  1] `, `[ *1] `.
fn label(number: u32, starred: bool) -> String {
    format!("[{:>3}] ", format!("{}{number}", if starred { "*" } else { "" }))
}

fn whole(stream: &StreamResult, totals: &[Detail]) -> FigureRow {
    FigureRow {
        stream: stream.stream,
        direction: stream.direction,
        sending: stream.role == Role::Sender,
        figures: Figures {
            start: 0.0,
            end: stream.elapsed.as_secs_f64(),
            bytes: stream.bytes.0,
            tcp: stream.tcp.clone(),
            udp: stream.udp.clone(),
            detail: detail_of(totals, stream.stream),
        },
    }
}

fn detail_of(details: &[Detail], stream: u32) -> Option<Detail> {
    details.iter().find(|detail| detail.stream == stream).cloned()
}

/// The sum of several rows, over the longest of their times.
fn together(rows: &[&FigureRow]) -> Figures {
    let all = || rows.iter().map(|row| &row.figures);
    let tcp = all().filter_map(|figures| figures.tcp.as_ref());
    let mut udp: Option<UdpCounters> = None;
    for one in all().filter_map(|figures| figures.udp.as_ref()) {
        let sum = udp.get_or_insert_default();
        sum.datagrams += one.datagrams;
        sum.lost += one.lost;
        sum.reordered += one.reordered;
        sum.send_drops += one.send_drops;
    }
    let mut detail: Option<Detail> = None;
    for one in all().filter_map(|figures| figures.detail.as_ref()) {
        let sum = detail.get_or_insert_default();
        sum.calls += one.calls;
        sum.reads.iter_mut().zip(one.reads).for_each(|(sum, count)| *sum += count);
    }
    Figures {
        start: all().map(|figures| figures.start).fold(f64::INFINITY, f64::min),
        end: all().map(|figures| figures.end).fold(0.0, f64::max),
        bytes: all().map(|figures| figures.bytes).sum(),
        tcp: Some(TcpCounters {
            retransmits: tcp.map(|tcp| tcp.retransmits).sum(),
            ..TcpCounters::default()
        }),
        udp,
        detail,
    }
}
