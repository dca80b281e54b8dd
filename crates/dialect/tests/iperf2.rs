//! iPerf2's text and CSV from fixed events: held to the letter, and read back to the same figures.

use engine::work::observer::{Detail, Spread};
use model::event::{Connected, EndResult, Event, Started};
use model::plan::{Direction, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::sample::{
    IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, StreamSample, TcpCounters, UdpCounters,
};
use model::units::{Bytes, Nanos};
use pathmeter_dialect::iperf2::output::{
    Bounceback, Iperf2Bounceback, Iperf2Options, Iperf2Role, Iperf2Settings, Iperf2Text, Pace,
};
use report::import::{Imported, Known, read};
use std::net::SocketAddr;
use std::ops::Range;

/// Counts of a stream in each second: no total is that of an interval.
const RETRANSMITS: [u64; 2] = [3, 11];
const LOST: [u64; 2] = [7, 16];
/// Both seconds.
const ALL: Range<usize> = 0..2;

/// One test: two TCP streams or a UDP flow of two seconds, an interval each.
#[derive(Clone, Copy)]
struct Case {
    transport: Transport,
    role: Iperf2Role,
    streams: u32,
}

impl Case {
    fn sends(self) -> Role {
        if self.role == Iperf2Role::Client { Role::Sender } else { Role::Receiver }
    }

    /// Counts of the intervals from this second to that one; gauges are those of the last.
    fn tcp(self, seconds: Range<usize>) -> Option<TcpCounters> {
        let last = seconds.end as u64;
        let counters = TcpCounters {
            retransmits: RETRANSMITS[seconds].iter().sum(),
            cwnd: Bytes((1277 + last) * 1024),
            rtt: Nanos::from_micros(87 + last),
            rttvar: Nanos::from_micros(39 + last),
            ..TcpCounters::default()
        };
        (self.transport == Transport::Tcp).then_some(counters)
    }

    fn udp(self, seconds: Range<usize>) -> Option<UdpCounters> {
        let receives = self.role == Iperf2Role::Server;
        let (sent, last) = (893 * seconds.len() as u64, seconds.end as u64);
        let lost = if receives { LOST[seconds].iter().sum() } else { 0 };
        let jitter = Nanos::from_micros(if receives { 11 + last } else { 0 });
        let counters = UdpCounters { datagrams: sent - lost, lost, jitter, ..UdpCounters::default() };
        (self.transport == Transport::Udp).then_some(counters)
    }

    fn bytes(self, stream: u32, seconds: Range<usize>) -> u64 {
        match self.udp(seconds.clone()) {
            Some(udp) => udp.datagrams * 1470,
            None => (1_250_000_000 + 100_000_000 * u64::from(stream)) * seconds.len() as u64,
        }
    }

    fn info(self, stream: u32) -> StreamInfo {
        let (near, far): (SocketAddr, SocketAddr) =
            (([192, 0, 2, 10], 40_000 + stream as u16).into(), ([192, 0, 2, 20], 5001).into());
        let client = self.role == Iperf2Role::Client;
        StreamInfo {
            stream,
            direction: Direction::Up,
            role: self.sends(),
            local: if client { near } else { far },
            remote: if client { far } else { near },
            socket: 3 + stream as i32,
            mss: None,
            path_mtu: None,
            send_buffer: Bytes(0),
            receive_buffer: Bytes(0),
            congestion: None,
        }
    }

    fn connected(self) -> Connected {
        let mut test = TestSpec::new(self.transport);
        (test.streams, test.length) = (self.streams, Some(1470));
        let info = self.info(0);
        let target = Target { host: "192.0.2.20".into(), address: ([192, 0, 2, 20], 5001).into() };
        let local = LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() };
        Connected {
            wall: "2026-11-21T21:39:54Z".parse().expect("a time"),
            plan: Plan { target, protocol: ProtocolName::Iperf2, test, local },
            local: info.local,
            remote: info.remote,
            session: String::new(),
            control_mss: None,
            host: model::host::Host::default(),
            peer: None,
        }
    }

    /// A UDP receiver's delays of each second, and of both at once.
    fn details(self, seconds: u64) -> Vec<Detail> {
        let spread =
            Spread { count: 886 * seconds, min: 9_000, mean: 16e3, max: 237_000, stddev: Some(76e3) };
        let delay = self.udp(ALL).map(|_| spread);
        let detail = |stream| Detail {
            stream,
            calls: 9536 * seconds,
            reads: [1, 2, 3, 4, 5, 6, 7, 9_508].map(|count| count * seconds),
            delay,
            ..Detail::default()
        };
        (0..self.streams).map(detail).collect()
    }

    fn sample(self, second: usize) -> Event {
        let own = second..second + 1;
        let row = |stream| StreamSample {
            stream,
            direction: Direction::Up,
            role: self.sends(),
            bytes: Bytes(self.bytes(stream, own.clone())),
            tcp: self.tcp(own.clone()),
            udp: self.udp(own.clone()),
        };
        let second = second as u64;
        Event::Sample(IntervalSample {
            side: Side::Local,
            start: Nanos::from_secs(second),
            end: Nanos::from_secs(second + 1),
            omitted: false,
            streams: (0..self.streams).map(row).collect(),
        })
    }

    fn result(self) -> Event {
        let row = |stream| StreamResult {
            stream,
            direction: Direction::Up,
            role: self.sends(),
            elapsed: Nanos::from_secs(2),
            bytes: Bytes(self.bytes(stream, ALL)),
            total_bytes: Bytes(self.bytes(stream, ALL)),
            tcp: self.tcp(ALL),
            udp: self.udp(ALL),
        };
        let streams = (0..self.streams).map(row).collect();
        Event::Result(EndResult {
            side: Side::Local,
            result: SideResult { streams, ..SideResult::default() },
            output_text: None,
            output_json: None,
        })
    }

    /// All that is printed.
    fn text(self, options: &Iperf2Options) -> String {
        let mut text = Iperf2Text::new(options.clone(), 1);
        let streams = (0..self.streams).map(|stream| self.info(stream)).collect();
        let started = Started { wall: "2026-11-21T21:39:54Z".parse().expect("a time"), streams };
        let mut out = settings(self).text(options);
        out += &text.event(&Event::Connected(self.connected()));
        out += &text.event(&Event::Started(started));
        for second in 0..2 {
            out += &text.event(&self.sample(second));
            out += &text.interval(&self.details(1));
        }
        text.totals(&self.details(2));
        out + &text.event(&self.result())
    }
}

fn settings(case: Case) -> Iperf2Settings {
    let udp = case.transport == Transport::Udp;
    Iperf2Settings {
        test: TestSpec { streams: case.streams, ..TestSpec::new(case.transport) },
        last_port: None,
        host: "192.0.2.20".into(),
        port: 5001,
        pid: 4711,
        length: if udp { 1470 } else { 131_072 },
        window: Bytes(if udp { 212_992 } else { 16_384 }),
        bind: None,
        pace: if udp { Pace::Gap(1120.0) } else { Pace::None },
        timed: Default::default(),
    }
}

/// The only output of a text.
fn only(text: &str) -> Imported {
    let mut all = read("file", text, Known::default()).expect("our own text is read");
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

/// Printed with three places, exact in CSV.
fn near(found: u64, expected: u64, exact: bool, text: &str) {
    let share = (found as f64 / expected as f64 - 1.0).abs();
    assert!(share <= if exact { 0.0 } else { 0.006 }, "{found} is not {expected}: {text}");
}

#[test]
fn every_output_to_the_letter_and_back() {
    for (transport, streams) in [(Transport::Tcp, 2), (Transport::Udp, 1)] {
        for role in [Iperf2Role::Client, Iperf2Role::Server] {
            for (name, enhanced, csv) in
                [("plain", false, false), ("enhanced", true, false), ("csv", false, true)]
            {
                let case = Case { transport, role, streams };
                let text = case.text(&Iperf2Options { role, enhanced, csv, ..Iperf2Options::default() });
                insta::assert_snapshot!(format!("iperf2_{transport}_{role:?}_{name}").to_lowercase(), text);
                let imported = only(&text);
                let summary = &imported.run.summary;
                let up = summary.up.as_ref().unwrap_or_else(|| panic!("{text}"));
                let bytes: u64 = (0..streams).map(|stream| case.bytes(stream, ALL)).sum();
                // A client knows what it has sent; over UDP a report gives the arrived count, which is not here.
                if case.sends() == Role::Sender {
                    near(up.sent.bytes.0, bytes, csv, &text);
                }
                if transport == Transport::Tcp || role == Iperf2Role::Server {
                    near(up.received.bytes.0, bytes, csv, &text);
                    near(up.goodput.0, bytes * 4, false, &text);
                }
                assert_eq!((up.transport, up.streams.len()), (transport, streams as usize), "{text}");
                assert_eq!(imported.run.intervals.len(), 2, "{text}");
                if let (Some(udp), Iperf2Role::Server) = (case.udp(ALL), role) {
                    let loss = up.loss.as_ref().map(|loss| loss.path);
                    assert_eq!((up.received.datagrams, loss), (udp.datagrams, Some(udp.lost)), "{text}");
                    assert_eq!(up.jitter.as_ref().map(|jitter| jitter.rfc3550), Some(udp.jitter), "{text}");
                }
            }
        }
    }
}

#[test]
fn round_trips_to_the_letter_and_back() {
    let case = Case { transport: Transport::Tcp, role: Iperf2Role::Client, streams: 1 };
    let options = Iperf2Options { enhanced: true, ..Iperf2Options::default() };
    let bounce = Iperf2Settings { length: 100, pace: Pace::Bounce(Bounceback::default()), ..settings(case) };
    let mut text = bounce.text(&options);
    let mut connection = Iperf2Text::new(options.clone(), 1);
    connection.event(&Event::Connected(case.connected()));
    let wall = "2026-11-21T21:39:54Z".parse().unwrap();
    text += &connection.event(&Event::Started(Started { wall, streams: vec![case.info(0)] }));
    let trips = model::stats::distribution::Distribution {
        count: 10,
        min: Nanos::from_micros(8),
        mean: Nanos::from_micros(32),
        max: Nanos::from_micros(240),
        stddev: Nanos::from_micros(73),
        ..Default::default()
    };
    let mut rows = Iperf2Bounceback::new(options, 200);
    text += &rows.row("[  1]", (Nanos::ZERO, Nanos::from_secs(1)), Some(&trips));
    insta::assert_snapshot!("iperf2_bounceback", text);
    let rtt = only(&text).run.summary.rtt.unwrap_or_else(|| panic!("{text}"));
    assert_eq!((rtt.count, rtt.min, rtt.mean), (10, trips.min, trips.mean));
    assert_eq!((rtt.max, rtt.stddev), (trips.max, trips.stddev));
}
