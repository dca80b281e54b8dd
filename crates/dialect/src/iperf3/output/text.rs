//! iPerf3's text as 3.12 prints it (3.21 differs by a space), made from events one by one.

use super::Iperf3Options;
use super::ends::{Block, Ends, StreamEnd, is_empty_tail, millis, rate};
use super::units::{amount, unit};
use crate::units::{percent, two_digits};
use jiff::Timestamp;
use model::event::{Connected, Event, Finished, Outcome, Started};
use model::plan::{End, Transport};
use model::sample::{IntervalSample, Side, StreamInfo, StreamSample};
use model::time::WallTime;
use std::net::SocketAddr;

/// Writes the text of one test at one end.
///
/// A server's text goes to its own output, and the same text to the client that requested it (`--get-server-output`): take the
/// output of the calls up to and with the local result.
pub struct Iperf3Text {
    ends: Ends,
    stamp: String,
    intervals: u64,
    summed_up: bool,
    out: String,
}

/// The three lines of a server that waits, with the two lines of `-V` before them; `test` counts from 1.
pub fn server_banner(options: &Iperf3Options, port: u16, test: u64) -> String {
    let line = "-".repeat(59);
    let version = match options.verbose {
        true => format!("{}\n{}\n", options.version, options.system_info),
        false => String::new(),
    };
    format!("{version}{line}\nServer listening on {port} (test #{test})\n{line}\n")
}

impl Iperf3Text {
    /// The writer of one test.
    pub fn new(options: Iperf3Options) -> Iperf3Text {
        Iperf3Text {
            ends: Ends::new(options),
            stamp: String::new(),
            intervals: 0,
            summed_up: false,
            out: String::new(),
        }
    }

    /// Sets the text of `--timestamps` before every line from now on.
    pub fn set_timestamp(&mut self, stamp: &str) {
        stamp.clone_into(&mut self.stamp);
    }

    /// The lines that iPerf3 prints on this event: no, one or several whole lines.
    pub fn event(&mut self, event: &Event) -> String {
        self.ends.take(event);
        match event {
            Event::Connected(connected) => self.connected(connected),
            Event::Started(started) => self.started(started),
            Event::Sample(sample) => self.sample(sample),
            // A server prints its end before it has the client's result.
            Event::Result(result) if result.side == Side::Local && !self.ends.is_client() => self.summary(),
            Event::Finished(finished) => self.finished(finished),
            _ => {}
        }
        std::mem::take(&mut self.out)
    }

    /// One line, behind the time stamp and, at the client, the title.
    fn print(&mut self, line: &str) {
        self.out.push_str(&self.stamp);
        if let (true, Some(title)) = (self.ends.is_client(), &self.ends.options.title) {
            self.out.push_str(title);
            self.out.push_str(":  ");
        }
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// A line of `-V`.
    fn print_verbose(&mut self, line: &str) {
        if self.ends.options.verbose {
            self.print(line);
        }
    }

    fn connected(&mut self, connected: &Connected) {
        let plan = &connected.plan;
        if self.ends.is_client() {
            self.client_preamble(connected);
        }
        self.print_verbose(&format!("Time: {}", http_date(connected.wall)));
        if self.ends.is_client() {
            let host = &plan.target.host;
            self.print(&format!("Connecting to host {host}, port {}", plan.target.address.port()));
            if plan.test.directions == model::plan::Directions::Down {
                self.print(&format!("Reverse mode, remote host {host} is sending"));
            }
        } else {
            let (ip, port) = address(connected.remote);
            self.print(&format!("Accepted connection from {ip}, port {port}"));
        }
        self.print_verbose(&format!("      Cookie: {}", connected.session));
        if plan.test.transport == Transport::Tcp {
            let line = match plan.test.mss {
                Some(mss) => format!("      TCP MSS: {mss}"),
                None => format!("      TCP MSS: {} (default)", connected.control_mss.unwrap_or(0)),
            };
            self.print_verbose(&line);
        }
        if let Some(rate) = plan.test.bitrate {
            self.print_verbose(&format!("      Target Bitrate: {}", rate.0));
        }
    }

    fn client_preamble(&mut self, connected: &Connected) {
        if !self.ends.options.verbose {
            return;
        }
        let Iperf3Options { version, system_info, .. } = self.ends.options.clone();
        self.print(&version);
        self.print(&system_info);
        // These two lines never carry the title or the time.
        self.out.push_str(&format!("Control connection MSS {}\n", connected.control_mss.unwrap_or(0)));
        if self.ends.is_udp() && self.ends.options.default_length {
            self.out.push_str(&format!("Setting UDP block size to {}\n", self.ends.block_size()));
        }
    }

    fn started(&mut self, started: &Started) {
        for stream in &started.streams {
            let ((local, local_port), (remote, remote_port)) =
                (address(stream.local), address(stream.remote));
            self.print(&format!(
                "[{:3}] local {local} port {local_port} connected to {remote} port {remote_port}",
                stream.socket
            ));
        }
        if let Some(test) = self.ends.test() {
            let omit = test.omit.0 / SECOND;
            let end = match test.end {
                End::Time(time) => format!("{} second test", time.0 / SECOND),
                End::Bytes(bytes) => format!("{} bytes to send", bytes.0),
                End::Blocks(blocks) => format!("{blocks} blocks to send"),
            };
            let line = format!(
                "Starting Test: protocol: {}, {} streams, {} byte blocks, omitting {omit} seconds, {end}, tos {}",
                test.transport,
                test.streams,
                self.ends.block_size(),
                test.tos
            );
            self.print_verbose(&line);
        }
    }

    fn sample(&mut self, sample: &IntervalSample) {
        let interval = self.ends.connected.as_ref().map(|c| c.plan.local.interval).unwrap_or_default();
        if sample.side != Side::Local || is_empty_tail(sample, interval) {
            return;
        }
        if self.intervals == 0 {
            self.interval_header();
        } else if self.ends.is_parallel() {
            self.print(SEPARATOR);
        }
        self.intervals += 1;
        for direction in self.ends.directions() {
            let sending = self.ends.sends_in(direction);
            let rows: Vec<&StreamSample> =
                sample.streams.iter().filter(|row| row.direction == direction).collect();
            for row in &rows {
                let socket = self.socket(row.stream);
                let socket = format!("[{socket:3}]");
                self.interval_row(sample, &[row], &socket, sending);
            }
            if self.ends.is_parallel() && !rows.is_empty() {
                self.interval_row(sample, &rows, "[SUM]", sending);
            }
        }
    }

    /// iPerf3 names the sender's columns once it knows that there is a sender that counts retransmits: a client that
    /// receives and prints its first interval after the server's result does so too, as it does where there is only one.
    fn interval_header(&mut self) {
        let is_printed = self.ends.peer.is_some() || self.ends.has_one_interval();
        let named = self.ends.sends() || (!self.ends.is_udp() && is_printed);
        let columns = match (self.ends.is_udp(), named) {
            (false, true) => "         Retr  Cwnd",
            (false, false) => "",
            (true, _) if self.ends.is_bidirectional() => JITTER_COLUMNS,
            (true, true) => "         Total Datagrams",
            (true, false) => JITTER_COLUMNS,
        };
        self.header(columns);
    }

    fn header(&mut self, columns: &str) {
        let role = if self.ends.is_bidirectional() { "[Role]" } else { "" };
        self.print(&format!("[ ID]{role} Interval           Transfer     Bitrate{columns}"));
    }

    /// The row of one stream, or of the sum of several.
    fn interval_row(&mut self, sample: &IntervalSample, rows: &[&StreamSample], id: &str, sending: bool) {
        let (start, end) = (sample.start.as_secs_f64(), sample.end.as_secs_f64());
        let bytes = rows.iter().map(|row| row.bytes.0).sum();
        let front = self.front(id, sending, (start, end), bytes);
        let udp = |field: fn(&model::sample::UdpCounters) -> u64| -> u64 {
            rows.iter().filter_map(|row| row.udp.as_ref()).map(field).sum()
        };
        let is_sum = id == "[SUM]";
        let columns = match (self.ends.is_udp(), sending) {
            (false, true) => {
                let tcp = || rows.iter().filter_map(|row| row.tcp.as_ref());
                let retransmits: u64 = tcp().map(|tcp| tcp.retransmits).sum();
                let cwnd = tcp().map(|tcp| tcp.cwnd.0).max().unwrap_or(0);
                match is_sum {
                    true => format!("  {retransmits:3}             "),
                    false => format!("  {retransmits:3}   {}s       ", amount(cwnd as f64)),
                }
            }
            (false, false) => " ".repeat(18),
            (true, true) => {
                let blank = if self.ends.is_bidirectional() { "          " } else { "" };
                format!(" {blank} {}  ", udp(|udp| udp.datagrams))
            }
            (true, false) => {
                let jitter: f64 = rows.iter().filter_map(|r| r.udp.as_ref()).map(|u| millis(u.jitter)).sum();
                let (lost, packets) = (udp(|udp| udp.lost), udp(|udp| udp.datagrams + udp.lost));
                jitter_columns(jitter / rows.len() as f64, lost, packets, percent(lost, packets))
            }
        };
        let omitted = if sample.omitted { "(omitted)" } else { "" };
        self.print(&format!("{front}{columns}{omitted}"));
    }

    /// The part that every row has: who, when, how much, how fast.
    fn front(&self, id: &str, sending: bool, (start, end): (f64, f64), bytes: u64) -> String {
        let role = self.ends.role_mark(sending);
        let bitrate = unit(rate(bytes, end - start), self.ends.options.unit);
        format!("{id}{role} {start:6.2}-{end:<6.2} sec  {}s  {bitrate}s/sec", amount(bytes as f64))
    }

    fn socket(&self, stream: u32) -> i32 {
        let is_it = |info: &&StreamInfo| info.stream == stream;
        self.ends.streams.iter().find(is_it).map_or(-1, |info| info.socket)
    }

    fn finished(&mut self, finished: &Finished) {
        if self.ends.local.is_some() {
            self.summary();
        }
        if self.ends.is_client() && finished.outcome == Outcome::Completed {
            self.print("");
            self.print("iperf Done.");
        }
    }

    fn summary(&mut self) {
        if std::mem::replace(&mut self.summed_up, true) {
            return;
        }
        self.print(SEPARATOR);
        self.print_verbose("Test Complete. Summary Results:");
        let blocks: Vec<Block> = self.ends.directions().map(|direction| self.ends.block(direction)).collect();
        let columns = match self.ends.is_udp() {
            true => JITTER_COLUMNS,
            false if blocks.iter().any(|block| block.has_retransmits) => "         Retr",
            false => "",
        };
        self.header(columns);
        for block in &blocks {
            for row in &block.rows {
                self.stream_end(block, row);
            }
            if self.ends.is_parallel() {
                self.sum_end(block);
            }
            self.block_end(block);
        }
    }

    fn stream_end(&mut self, block: &Block, row: &StreamEnd) {
        let id = format!("[{:3}]", row.socket);
        self.sent_row(block, &id, row);
        if self.ends.is_udp() && row.out_of_order > 0 {
            let (role, count) = (&block.role, row.out_of_order);
            let seconds = self.ends.times().sender;
            self.print(&format!(
                "[SUM]{role} {:4.1}-{seconds:4.1} sec  {count} datagrams received out-of-order",
                0.0
            ));
        }
        if let Some(file) = &self.ends.options.file {
            let bytes = if block.sending { row.sent } else { row.received };
            let (size, share) = file.share(block.sending, row, bytes);
            let line = format!(
                "        Sent {} / {} ({share}%) of {}",
                amount(bytes as f64),
                amount(size as f64),
                file.name
            );
            self.print(&line);
        }
        self.received_row(block, &id, row, row.received_packets);
    }

    fn sum_end(&mut self, block: &Block) {
        let total = block.total();
        self.sent_row(block, "[SUM]", &total);
        self.received_row(block, "[SUM]", &total, block.packets());
    }

    fn sent_row(&mut self, block: &Block, id: &str, row: &StreamEnd) {
        let columns = match (self.ends.is_udp(), block.has_retransmits) {
            (true, _) => jitter_columns(0.0, 0, row.sent_packets, 0.0),
            (false, true) => format!("  {:3}             ", row.retransmits),
            (false, false) => " ".repeat(18),
        };
        self.end_row(block, id, true, (row.sent, self.ends.times().sender), &columns);
    }

    /// `whole`: the packets that loss is a share of.
    fn received_row(&mut self, block: &Block, id: &str, row: &StreamEnd, whole: u64) {
        let columns = match self.ends.is_udp() {
            true => jitter_columns(row.jitter_ms, row.lost, row.received_packets, percent(row.lost, whole)),
            false => " ".repeat(18),
        };
        self.end_row(block, id, false, (row.received, self.ends.times().receiver), &columns);
    }

    fn end_row(
        &mut self,
        block: &Block,
        id: &str,
        sender: bool,
        (bytes, seconds): (u64, f64),
        columns: &str,
    ) {
        let name = if sender { "sender" } else { "receiver" };
        // A client has both ends' figures, a server those of its own part.
        if self.ends.is_client() || block.sending == sender {
            let front = self.front(id, block.sending, (0.0, seconds), bytes);
            self.print(&format!("{front}{columns}{name}"));
        } else if !(self.ends.is_udp() && id == "[SUM]") {
            self.print_verbose(&format!("{id} ({name} statistics not available)"));
        }
    }

    /// Prints the lines after the rows of one direction: CPU and congestion control with `-V`, and the server's own output.
    fn block_end(&mut self, block: &Block) {
        if block.sending {
            self.cpu_line("sender", "receiver");
            if self.ends.is_bidirectional() {
                self.cpu_line("receiver", "sender");
            }
        }
        if !self.ends.is_udp() {
            let (sender, receiver) = self.ends.congestion(block.sending);
            for (end, name) in [("snd", sender), ("rcv", receiver)] {
                if let Some(name) = name {
                    self.print_verbose(&format!("{end}_tcp_congestion {name}"));
                }
            }
        }
        if let Some(json) = self.ends.output_json.take() {
            self.print(&format!("\nServer JSON output:\n{}", super::cjson::print(&json)));
        }
        if let Some(text) = self.ends.output_text.take() {
            self.print(&format!("\nServer output:\n{text}"));
        }
    }

    fn cpu_line(&mut self, own: &str, other: &str) {
        let [local, remote] =
            self.ends.cpu().map(|[total, user, system]| format!("{total:.1}% ({user:.1}%u/{system:.1}%s)"));
        self.print_verbose(&format!("CPU Utilization: local/{own} {local}, remote/{other} {remote}"));
    }
}

fn jitter_columns(jitter_ms: f64, lost: u64, packets: u64, share: f64) -> String {
    format!("  {jitter_ms:5.3} ms  {lost}/{packets} ({}%)  ", two_digits(share))
}

/// Address and port as iPerf3 prints them: an IPv4 address in its IPv6 form reads as IPv4.
pub(super) fn address(address: SocketAddr) -> (String, u16) {
    (address.ip().to_canonical().to_string(), address.port())
}

/// `Sat, 21 Nov 2026 00:22:21 GMT`.
pub(super) fn http_date(wall: WallTime) -> String {
    let time =
        Timestamp::from_nanosecond(wall.0.into()).expect("nanoseconds in 64 bits end in the year 2554");
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

const SEPARATOR: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -";
const JITTER_COLUMNS: &str = "         Jitter    Lost/Total Datagrams";
const SECOND: u64 = 1_000_000_000;
