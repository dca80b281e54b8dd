//! Every rule: a run in which it must be raised and one, close to it, in which it must not.

use crate::fixture::{DATAGRAMS, Fixture, idle_rtt};
use crate::{crippled, hops, latency, paths, reach};
use model::event::{Event, Probe, Warning, WithoutCopy};
use model::finding::{Finding, Severity, Status};
use model::limit::{FactName, HostFact, LoadProbing, LoadStep, Purpose};
use model::plan::{Direction, ProtocolName};
use model::run::Run;
use model::sample::{IntervalSample, Role, Side, Silence, StreamResult, StreamSample, TcpCounters};
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_insight::finding::{RULES, rule_ids};
use pathmeter_insight::limit::evidence_of;
use pathmeter_insight::{device, run_of_events, run_of_tests};
use std::collections::BTreeSet;

pub(crate) struct Scenario {
    id: &'static str,
    name: &'static str,
    run: fn() -> Run,
    raised: bool,
}

pub(crate) const fn raises(id: &'static str, name: &'static str, run: fn() -> Run) -> Scenario {
    Scenario { id, name, run, raised: true }
}

pub(crate) const fn spares(id: &'static str, name: &'static str, run: fn() -> Run) -> Scenario {
    Scenario { id, name, run, raised: false }
}

const SCENARIOS: &[Scenario] = &[
    raises("contradictory-figures", "TCP: one byte more arrived than was sent", || {
        Fixture::tcp().with(|s| s.receive_end().streams[0].total_bytes.0 += 1).run()
    }),
    raises("contradictory-figures", "UDP: one datagram more arrived than was sent", || {
        Fixture::udp().with(|s| s.received().datagrams += 1).run()
    }),
    raises("contradictory-figures", "ten seconds of sending arrive in a millisecond", || {
        Fixture::tcp().with(|s| s.receive_end().streams[0].elapsed = Nanos::from_millis(1)).run()
    }),
    raises("contradictory-figures", "ten seconds of sending arrive for months", || {
        Fixture::tcp().with(|s| s.receive_end().streams[0].elapsed = Nanos::from_nanos(1 << 53)).run()
    }),
    raises("contradictory-figures", "somebody sent for months in a test of ten seconds", || {
        Fixture::tcp().with(|s| s.sender.streams[0].elapsed = Nanos::from_nanos(1 << 53)).down()
    }),
    raises("contradictory-figures", "iPerf3: twice as much arrived", || {
        let fixture = Fixture::tcp().with(|s| s.plan.protocol = ProtocolName::Iperf3);
        fixture.with(|s| s.receive_end().streams[0].bytes = Bytes(2 * DATAGRAMS * 1472)).run()
    }),
    spares("contradictory-figures", "datagrams doubled by the path", || {
        Fixture::udp().with(|s| s.received().duplicates = DATAGRAMS).run()
    }),
    spares("contradictory-figures", "a queue of a minute was drained", || {
        Fixture::tcp().with(|s| s.receive_end().streams[0].elapsed = Nanos::from_secs(70)).run()
    }),
    spares("contradictory-figures", "iPerf3: a little more in the receiver's time", || {
        let fixture = Fixture::tcp().with(|s| s.plan.protocol = ProtocolName::Iperf3);
        fixture.with(|s| s.receive_end().streams[0].bytes.0 += 1 << 20).run()
    }),
    spares("contradictory-figures", "a little arrived early, the rest was lost", || {
        Fixture::udp()
            .with(|s| s.deliver(9))
            .with(|s| s.receive_end().streams[0].elapsed = Nanos::from_nanos(5))
            .run()
    }),
    raises("dead-flows", "another local port was answered", || warned("dead-flows")),
    spares("dead-flows", "another warning", || warned("udp-unreachable")),
    raises("udp-unreachable", "the engine tried", || warned("udp-unreachable")),
    spares("udp-unreachable", "another warning", || warned("option-refused")),
    raises("udp-fragmented", "8192 bytes over MTU 1500", || Fixture::udp().large(8192, DATAGRAMS).run()),
    spares("udp-fragmented", "1472 bytes over MTU 1500", || Fixture::udp().large(1472, DATAGRAMS).run()),
    raises("fragments-dropped", "probes: large ones vanish, small ones arrive", || {
        Fixture::udp().large(8192, 0).size(8192, true, 0).size(1472, false, 10).run()
    }),
    raises("fragments-dropped", "no probes, nothing of the test arrived", || {
        Fixture::udp().large(8192, 0).run()
    }),
    spares("fragments-dropped", "probes: fragments arrive, the test was too fast", || {
        Fixture::udp().large(8192, 0).size(8192, true, 9).size(1472, false, 10).run()
    }),
    spares("fragments-dropped", "probes: nothing at all arrives", || {
        Fixture::udp().large(8192, 0).size(8192, true, 0).size(1472, false, 0).run()
    }),
    spares("fragments-dropped", "half of the large ones arrive", || {
        Fixture::udp().large(8192, DATAGRAMS / 2).run()
    }),
    spares("fragments-dropped", "the receiver put fragments together, its program was lost", || {
        let fixture = Fixture::udp().large(8192, 0);
        fixture.with(|s| s.receive_end().kernel.reassembled = DATAGRAMS).run()
    }),
    spares("fragments-dropped", "small ones do not arrive either", || Fixture::udp().large(1472, 0).run()),
    raises("outage", "UDP: nothing for eight seconds", || silent(8000, Some(9000)).run()),
    raises("outage", "TCP: nothing for two seconds", || silent_tcp(2000, true).run()),
    raises("outage", "TCP: nothing came any more", || silent_tcp(5000, false).run()),
    raises("outage", "UDP: nothing for 0.3 s", || silent(300, Some(9000)).run()),
    spares("outage", "UDP: less than a fifth of a second", || silent(150, Some(9000)).run()),
    raises("outage", "TCP: nothing for 0.6 s, as after a gap of 0.3 s", || silent_tcp(600, true).run()),
    spares("outage", "TCP: a retransmission timeout", || silent_tcp(300, true).run()),
    spares("outage", "TCP: the sender had nothing to send meanwhile", || {
        silent_tcp(600, true).unlimited().with(|s| s.tcp_counters().busy = Nanos::from_millis(9300)).run()
    }),
    raises("outage", "TCP: a sender held to a rate is idle most of the time", || {
        let fixture = silent_tcp(2000, true).with(|s| s.tcp_counters().busy = Nanos::from_millis(3000));
        fixture.with(|s| s.plan.test.bitrate = Some(BitRate(1_000_000_000))).run()
    }),
    raises("outage", "TCP: the sender had data to send meanwhile", || {
        silent_tcp(600, true).unlimited().with(|s| s.tcp_counters().busy = Nanos::from_millis(9900)).run()
    }),
    spares("outage", "all came, late", || silent(1500, Some(0)).run()),
    spares("outage", "the rate leaves such pauses", || {
        silent(1500, Some(1)).with(|s| s.plan.test.bitrate = Some(BitRate(11_776))).run()
    }),
    spares("outage", "TCP: the rate leaves such pauses", || {
        silent_tcp(2000, true).with(|s| s.plan.test.bitrate = Some(BitRate(5_000))).run()
    }),
    spares("outage", "no silence", || Fixture::udp().run()),
    raises("receiver-buffer-loss", "0.2 % in the socket", || socket_drops(2000).run()),
    spares("receiver-buffer-loss", "a handful in the socket", || socket_drops(9).run()),
    spares("receiver-buffer-loss", "the same loss on the path", || lossy(2000).run()),
    spares("path-loss", "a rest of what GRO's messages hide", || joined_drops(20_000, 3_000).run()),
    raises("path-loss", "as much on the path as in the socket", || joined_drops(10_000, 10_000).run()),
    raises("path-loss", "a socket that drops datagrams one by one", || {
        joined_drops(20_000, 3_000).with(|s| s.receive_end().kernel.udp_receive_buffer_errors = 20_000).run()
    }),
    raises("policer", "a load of twice the rate is dropped without a queue", || loaded(0, 0.5, false).run()),
    spares("policer", "a queue of 50 ms is full before anything is dropped", || loaded(50, 0.5, false).run()),
    raises("packet-rate", "small frames are capped at the same number", || loaded(0, 0.5, true).run()),
    spares("packet-rate", "small frames pass", || loaded(0, 0.5, false).run()),
    raises("random-loss", "a load loses 1 % at any rate, as TCP did", || loaded(0, 0.01, false).run()),
    spares("random-loss", "a load loses nothing", || loaded(0, 0.0, false).run()),
    raises("host-limited", "the receiver's ring dropped what TCP lost", || ring(20_000).run()),
    spares("host-limited", "the ring dropped a tenth of it", || ring(2_000).run()),
    raises("sender-limited", "a cgroup's quota throttled it", || {
        let quota = HostFact::new(FactName::CpuQuota, "/a", 0.9).of_whole(0.2);
        Fixture::tcp().unlimited().with(|s| s.sender.facts = vec![quota]).run()
    }),
    spares("sender-limited", "the quota seldom throttled it", || {
        let quota = HostFact::new(FactName::CpuQuota, "/a", 0.1).of_whole(0.2);
        Fixture::tcp().unlimited().with(|s| s.sender.facts = vec![quota]).run()
    }),
    spares("path-loss", "a policer explains the loss", || {
        loaded(0, 0.5, false).with(|s| s.tcp_counters().retransmits = 20_000).run()
    }),
    raises("streams-stalled", "one of two delivered nothing", || {
        Fixture::tcp().with(second_stream).with(|s| s.receive_end().streams[1].bytes = Bytes(0)).run()
    }),
    spares("streams-stalled", "both delivered", || Fixture::tcp().with(second_stream).run()),
    spares("streams-stalled", "nothing was sent by the second", || {
        let empty = Fixture::tcp().with(second_stream).with(|s| s.receive_end().streams[1].bytes = Bytes(0));
        empty.with(|s| s.sender.streams[1].bytes = Bytes(0)).run()
    }),
    raises("path-loss", "0.2 % at a chosen rate", || lossy(2000).run()),
    raises("path-loss", "TCP sends 2 % again", || {
        Fixture::tcp().with(|s| s.tcp_counters().retransmits = 20_000).run()
    }),
    raises("path-loss", "TCP: 2 % had not arrived, as many had", || reordered_tcp(40_000, 20_000).run()),
    spares("path-loss", "TCP sends 2 % again that had arrived", || reordered_tcp(20_000, 19_000).run()),
    spares("path-loss", "0.05 %", || lossy(500).run()),
    spares("path-loss", "the same loss in the receiving socket", || socket_drops(2000).run()),
    spares("path-loss", "fragments are dropped, which explains it all", || {
        Fixture::udp().large(8192, 0).run()
    }),
    spares("path-loss", "TCP looks for the limit: 0.5 %", || {
        Fixture::tcp().with(|s| s.tcp_counters().retransmits = 5_000).run()
    }),
    raises("sender-limited", "a full thread, all arrives", || busy_sender(0.99).run()),
    raises("sender-limited", "the kernel at the sender has no room", || {
        lossy(2000).with(|s| s.sent().send_drops = 2000).run()
    }),
    raises("sender-limited", "thread and softirq fill one CPU", || {
        let fixture = busy_sender(0.6);
        fixture.with(|s| (s.sender.cpu.busiest_softirq, s.sender.cpu.busiest_cpu) = (0.4, 1.0)).run()
    }),
    raises("sender-limited", "many streams fill all CPUs", || {
        busy_sender(0.4).with(|s| (s.sender.cpu.process, s.sender.cpu.softirq) = (3.0, 0.9)).run()
    }),
    spares("sender-limited", "a thread with time left", || busy_sender(0.9).run()),
    spares("sender-limited", "a full thread at a chosen rate", || {
        busy_sender(0.99).with(|s| s.plan.test.bitrate = Some(BitRate(1_177_600_000))).run()
    }),
    spares("sender-limited", "a full thread, and the path loses a tenth", || {
        busy_sender(0.99).with(|s| s.deliver(DATAGRAMS / 10 * 9)).run()
    }),
    spares("sender-limited", "a full thread at line rate", || busy_sender(0.99).link(1_240_000_000).run()),
    raises("receiver-limited", "TCP with a full thread", || busy_receiver(0.97).run()),
    raises("receiver-limited", "TCP with a full thread, repeated without the copy", || {
        busy_receiver(0.97).probe(without_copy(Direction::Up, 2_000_000_000)).run()
    }),
    spares("receiver-limited", "a repetition without the copy, and time left", || {
        busy_receiver(0.9).probe(without_copy(Direction::Up, 2_000_000_000)).run()
    }),
    raises("receiver-limited", "UDP with a full softirq CPU and socket drops", || {
        socket_drops(20_000).unlimited().with(|s| s.receive_end().cpu.busiest_softirq = 0.99).run()
    }),
    raises("receiver-limited", "the receiver's backlog overflows", || {
        lossy(20_000).unlimited().with(|s| s.receive_end().kernel.softnet_drops = 20_000).run()
    }),
    raises("receiver-limited", "both ends' threads are full, its window stops TCP", || {
        busy_receiver(0.97).with(|s| s.sender.cpu.threads = vec![0.99]).with(stopped_by_window).run()
    }),
    spares("sender-limited", "both ends' threads are full, the receiver's window stops TCP", || {
        busy_receiver(0.97).with(|s| s.sender.cpu.threads = vec![0.99]).with(stopped_by_window).run()
    }),
    raises("sender-limited", "both ends' threads are full, and no window stops TCP", || {
        busy_receiver(0.97).with(|s| s.sender.cpu.threads = vec![0.99]).run()
    }),
    spares("receiver-limited", "both ends' threads are full, and no window stops TCP", || {
        busy_receiver(0.97).with(|s| s.sender.cpu.threads = vec![0.99]).run()
    }),
    spares("receiver-limited", "TCP with time left", || busy_receiver(0.9).run()),
    spares("receiver-limited", "a receiver that spins and loses nothing", || {
        let fixture = Fixture::udp().unlimited();
        fixture
            .with(|s| {
                (s.receive_end().cpu.threads, s.receive_end().datapath.wait) =
                    (vec![1.0], Some(model::plan::Wait::Spin))
            })
            .run()
    }),
    spares("receiver-limited", "TCP with a full thread at line rate", || {
        busy_receiver(0.97).link(1_250_000_000).run()
    }),
    raises("ramp-up", "each second twice the rate of the one before", || growing(2).run()),
    spares("ramp-up", "the same rate in every second", || growing(1).run()),
    raises("window-limited", "the kernel saw the window shut most of the time", || window(8, 11).run()),
    raises("window-limited", "iPerf3's figures: rate times RTT fills the window", || {
        let fixture = Fixture::tcp();
        fixture
            .with(|s| {
                (s.tcp_counters().busy, s.tcp_counters().max_send_window) = (Nanos::ZERO, Bytes(1_650_000))
            })
            .run()
    }),
    spares("window-limited", "shut a tenth of the time", || window(1, 11).run()),
    spares("window-limited", "a full queue before the bottleneck", || window(8, 40).run()),
    spares("window-limited", "a receiver without CPU shut it", || {
        window(8, 11).with(|s| s.receive_end().cpu.threads = vec![0.99]).run()
    }),
    raises("link-speed-wrong", "a link of 1 Gbit/s cannot", || Fixture::udp().link(1_000_000_000).run()),
    spares("link-speed-wrong", "a link that is full", || Fixture::udp().link(1_240_000_000).run()),
    spares("at-line-rate", "more than a link of 1 Gbit/s can", || Fixture::udp().link(1_000_000_000).run()),
    raises("at-line-rate", "a link of 1.24 Gbit/s is full", || Fixture::udp().link(1_240_000_000).run()),
    spares("at-line-rate", "a link of 2.5 Gbit/s is not", || Fixture::udp().link(2_500_000_000).run()),
    spares("at-line-rate", "the link is unknown", || Fixture::udp().run()),
    raises("reordering", "1 % overtaken", || Fixture::udp().with(|s| s.received().reordered = 10_000).run()),
    raises("reordering", "TCP sends 2 % again that had arrived", || reordered_tcp(20_000, 19_000).run()),
    spares("reordering", "TCP sends 2 % again that had not arrived", || reordered_tcp(20_000, 500).run()),
    spares("reordering", "TCP's timer expired too early, nothing was out of order", || {
        reordered_tcp(20_000, 19_000).with(|s| s.tcp_counters().reordering = 3).run()
    }),
    spares("reordering", "0.01 % overtaken", || Fixture::udp().with(|s| s.received().reordered = 100).run()),
    raises("duplicates", "0.1 % twice", || Fixture::udp().with(|s| s.received().duplicates = 1_000).run()),
    spares("duplicates", "two in a million", || Fixture::udp().with(|s| s.received().duplicates = 2).run()),
    raises("host-noise", "a fifth of a CPU stolen", || {
        Fixture::udp().with(|s| s.sender.cpu.steal = 0.2).run()
    }),
    raises("host-noise", "200 preemptions a second", || {
        Fixture::udp().with(|s| s.receive_end().cpu.preemptions = 2_000).run()
    }),
    spares("host-noise", "100 preemptions in a second of CPU, in a thread that hardly runs", || {
        let fixture = Fixture::udp().with(|s| s.receive_end().cpu.threads = vec![0.001]);
        fixture.with(|s| s.receive_end().cpu.preemptions = 10).run()
    }),
    spares("host-noise", "a hundredth of a CPU stolen", || {
        Fixture::udp().with(|s| s.sender.cpu.steal = 0.01).run()
    }),
];

/// A second stream that moves as much as the first.
fn second_stream(s: &mut Fixture) {
    for end in [Some(&mut s.sender), s.receiver.as_mut()].into_iter().flatten() {
        let first = end.streams[0].clone();
        end.streams.push(StreamResult { stream: 1, ..first });
    }
    s.plan.test.streams = 2;
}

fn lossy(lost: u64) -> Fixture {
    Fixture::udp().with(|s| s.deliver(DATAGRAMS - lost))
}

/// Nothing arrived for so many milliseconds from the third second on.
fn silence(milliseconds: u64, ended: bool, missing: Option<u64>) -> Silence {
    Silence { at: Nanos::from_secs(2), length: Nanos::from_millis(milliseconds), ended, missing }
}

fn silent(milliseconds: u64, missing: Option<u64>) -> Fixture {
    Fixture::udp().with(|s| s.received().silence = Some(silence(milliseconds, true, missing)))
}

/// TCP whose rate grows by this factor each second of eight.
fn growing(factor: u64) -> Fixture {
    let tcp = || Some(TcpCounters::default());
    let sample = |second: u32| {
        let bytes = Bytes(1_000_000 * factor.pow(second));
        let row = |role, acknowledged| StreamSample {
            stream: 0,
            direction: Direction::Up,
            role,
            bytes,
            tcp: tcp().map(|tcp| TcpCounters { acknowledged, ..tcp }),
            udp: None,
        };
        IntervalSample {
            side: Side::Local,
            start: Nanos::from_secs(second.into()),
            end: Nanos::from_secs(u64::from(second) + 1),
            omitted: false,
            streams: vec![row(Role::Sender, bytes)],
        }
    };
    let all = (0..8).map(|second| factor.pow(second)).sum::<u64>() * 1_000_000;
    let fixture = Fixture::tcp().with(|s| {
        for row in s.sender.streams.iter_mut().chain(s.receiver.iter_mut().flat_map(|end| &mut end.streams)) {
            (row.bytes, row.total_bytes, row.elapsed) = (Bytes(all), Bytes(all), Nanos::from_secs(8));
        }
    });
    (0..8).map(sample).fold(fixture, Fixture::interval)
}

/// TCP over a path that changes the order of packets: so many segments were retransmitted, of which so many had arrived.
fn reordered_tcp(retransmits: u64, spurious: u64) -> Fixture {
    Fixture::tcp().with(|s| {
        *s.tcp_counters() = TcpCounters {
            retransmits,
            spurious_retransmits: Some(spurious),
            reordering: 40,
            ..s.tcp_counters().clone()
        };
    })
}

/// Segments that a receiver reports as duplicates were not lost, also behind slow start.
#[test]
fn late_losses_leave_out_what_had_arrived() {
    let late_lost = |spurious| {
        let row = |segments| StreamSample {
            stream: 0,
            direction: Direction::Up,
            role: Role::Sender,
            bytes: Bytes(10_000_000),
            tcp: Some(TcpCounters {
                data_segments: segments,
                retransmits: 70,
                spurious_retransmits: spurious,
                ..TcpCounters::default()
            }),
            udp: None,
        };
        let sample = |second| IntervalSample {
            side: Side::Local,
            start: Nanos::from_secs(second),
            end: Nanos::from_secs(second + 1),
            omitted: false,
            streams: vec![row(7_000 + second)],
        };
        let run = (0..4).map(sample).fold(reordered_tcp(280, 0), Fixture::interval).run();
        let signs = evidence_of(&run, Direction::Up).and_then(|evidence| evidence.tcp);
        signs.map(|signs| (signs.late_segments, signs.late_lost))
    };
    assert_eq!(late_lost(Some(30)), Some((14_005, 80)));
    assert_eq!(late_lost(Some(70)), Some((14_005, 0)));
    assert_eq!(late_lost(None), Some((14_005, 140)), "a kernel that does not count them");
}

fn silent_tcp(milliseconds: u64, ended: bool) -> Fixture {
    let tcp = TcpCounters { silence: Some(silence(milliseconds, ended, None)), ..TcpCounters::default() };
    Fixture::tcp().with(|s| s.receive_end().streams[0].tcp = Some(tcp))
}

#[test]
fn an_outage_reports_begin_length_and_loss() {
    let found = |fixture: Fixture| find(&fixture.run(), "outage").unwrap().clone();
    let udp = found(silent(8000, Some(9000)));
    let title = "Nothing arrived up for 8.00 s, from 2.00 s into the test on, and 9\u{a0}000 datagrams of that time were lost";
    assert_eq!((udp.severity, udp.title.as_str()), (Severity::Problem, title));
    assert_eq!(found(silent_tcp(2000, true)).severity, Severity::Warning);
    let gone = found(silent_tcp(5000, false));
    let title = "Nothing arrived up any more from 2.00 s into the test on, for 5.00 s to its end; 5.89 Gbit/s until then";
    assert_eq!(gone.title, title);
}

fn socket_drops(drops: u64) -> Fixture {
    lossy(drops).with(|s| s.received().socket_drops = drops)
}

/// The socket dropped messages of 20 datagrams, and the path as it seems the rest.
fn joined_drops(drops: u64, rest: u64) -> Fixture {
    let fixture = lossy(drops + rest).with(|s| s.received().socket_drops = drops);
    fixture.with(|s| s.receive_end().kernel.udp_receive_buffer_errors = drops / 20)
}

fn busy_sender(share: f64) -> Fixture {
    Fixture::udp().unlimited().with(|s| s.sender.cpu.threads = vec![share])
}

fn busy_receiver(share: f64) -> Fixture {
    Fixture::tcp().with(|s| s.receive_end().cpu.threads = vec![share])
}

/// The receiver's window is shut for a third of the time.
fn stopped_by_window(fixture: &mut Fixture) {
    let tcp = fixture.tcp_counters();
    (tcp.busy, tcp.receive_window_limited) = (Nanos::from_secs(9), Nanos::from_secs(3));
}

/// The receiver's rate without the copy.
fn without_copy(direction: Direction, goodput: u64) -> Probe {
    let time = Nanos::from_millis(750);
    Probe::WithoutCopy(WithoutCopy { direction, goodput: BitRate(goodput), time })
}

/// The window shut for so many of ten seconds, at this RTT under load; 10 ms idle.
fn window(seconds_shut: u64, rtt: u64) -> Fixture {
    Fixture::tcp().probe(idle_rtt(10, 0)).with(|s| {
        s.tcp_counters().receive_window_limited = Nanos::from_secs(seconds_shut);
        s.tcp_counters().mean_rtt = Nanos::from_millis(rtt);
    })
}

/// Those of streams, of round trips and of packet sizes.
fn scenarios() -> impl Iterator<Item = &'static Scenario> {
    SCENARIOS
        .iter()
        .chain(crippled::SCENARIOS)
        .chain(hops::SCENARIOS)
        .chain(latency::SCENARIOS)
        .chain(paths::SCENARIOS)
        .chain(reach::SCENARIOS)
}

pub(crate) fn find<'a>(run: &'a Run, id: &str) -> Option<&'a Finding> {
    run.findings.iter().find(|finding| finding.id == id)
}

/// A run of which only a warning is known.
fn warned(id: &str) -> Run {
    run_of_events("1", "measure", &[Event::Warning(Warning::new(id, "UDP to 192.0.2.7:5210 gets no answer"))])
}

#[test]
fn each_scenario_raises_what_it_must_and_nothing_it_must_not() {
    for Scenario { id, name, run, raised } in scenarios() {
        let run = run();
        assert_eq!(find(&run, id).is_some(), *raised, "{id}, {name}: {:#?}", run.findings);
    }
}

/// TCP that lost 20,000 segments; the ring of the receiver dropped so many frames.
fn ring(dropped: u32) -> Fixture {
    let fact = HostFact::new(FactName::RingDrops, "eth0", dropped.into());
    Fixture::tcp().unlimited().with(|s| {
        s.tcp_counters().retransmits = 20_000;
        s.receive_end().facts = vec![fact];
    })
}

/// TCP at 1.23 Gbit/s in frames with some losses, then load: twice that rate, of which this share is lost, behind a queue of so many
/// milliseconds; small frames pass, or are capped too. With little loss the load passes.
fn loaded(queue: u64, loss: f64, capped_packets: bool) -> Fixture {
    let passes = loss < 0.1;
    let growth = Nanos::from_millis(queue);
    let step = |purpose, size, mbits: u64, loss: f64| LoadStep {
        purpose,
        size,
        sent: BitRate(mbits * 1_000_000),
        delivered: BitRate((mbits as f64 * (1.0 - loss) * 1e6) as u64),
        datagrams: 20_000,
        loss,
        growth,
        growth_p10: growth,
        growth_first: growth,
        spread: Nanos::ZERO,
        growth_p98: growth,
        growth_max: growth,
        growth_at_loss: None,
        other_growth: None,
        drift: None,
        sparse_loss: None,
        sparse: 0,
        ahead: Bytes(0),
        marked: 0.0,
        reordered: 0.0,
        stalled: 0.0,
        links: None,
    };
    let mut load = LoadProbing::without(Direction::Up, "");
    load.note = None;
    load.saturated = true;
    load.steps.push(step(Purpose::Ladder, 1472, 2_600, loss));
    if !passes {
        let hot = [Purpose::Hot, Purpose::Hot, Purpose::FourFlows];
        load.steps.extend(hot.map(|purpose| step(purpose, 1472, 2_600, loss)));
        let small = if capped_packets { 0.5 } else { 0.0 };
        // The queue drains at a third of its rate.
        let small = LoadStep { growth_p10: Nanos::ZERO, ..step(Purpose::Small, 214, 440, small) };
        load.steps.push(small);
    }
    Fixture::tcp().unlimited().with(|s| {
        s.load = Some(load);
        let tcp = s.tcp_counters();
        tcp.retransmits = 2_000;
        if passes {
            // Reno's 1.22 MSS/(RTT √p) is 1.41 Gbit/s.
            (tcp.retransmits, tcp.min_rtt, tcp.mean_rtt) =
                (10_165, Nanos::from_micros(100), Nanos::from_micros(100));
        }
        s.sender.datapath.congestion = Some("cubic".into());
    })
}

/// The ids in the first column of the tables of findings, one list for each table: of runs, and of devices.
fn documented() -> Vec<BTreeSet<&'static str>> {
    let page = include_str!("../../../../docs/methods/findings.md");
    let first_column = |row: &'static str| row.split('|').nth(1).unwrap_or_default();
    let ids = |table: &'static str| {
        let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
        rows.flat_map(move |row| first_column(row).split('`').skip(1).step_by(2)).collect()
    };
    page.split("\n| id |").skip(1).map(ids).collect()
}

#[test]
fn the_documentation_has_a_row_for_every_rule_and_no_other() {
    let of_runs: BTreeSet<&str> = rule_ids().collect();
    let of_devices: BTreeSet<&str> = device::RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(documented(), [of_runs, of_devices]);
}

#[test]
fn every_rule_has_an_id_and_a_short_form_of_its_own() {
    let ids: BTreeSet<&str> = rule_ids().collect();
    let short: BTreeSet<&str> = RULES.iter().map(|rule| rule.short).collect();
    assert_eq!((ids.len(), short.len()), (RULES.len(), RULES.len()));
    for rule in RULES {
        let starts = rule.short.starts_with(|letter: char| letter.is_ascii_uppercase());
        assert!(starts && !rule.short.ends_with('.') && rule.short.len() < 60, "{}", rule.short);
    }
}

#[test]
fn every_rule_has_a_scenario_of_both_kinds() {
    for rule in RULES {
        for raised in [true, false] {
            let covered = scenarios().any(|s| s.id == rule.id && s.raised == raised);
            assert!(covered, "{} has no scenario with raised = {raised}", rule.id);
        }
    }
    assert!(scenarios().all(|s| RULES.iter().any(|rule| rule.id == s.id)), "a scenario of no rule");
}

#[test]
fn every_finding_has_words_figures_and_advice() {
    for Scenario { name, run, .. } in scenarios().filter(|s| s.raised) {
        for finding in run().findings {
            let Finding { id, title, evidence, advice, .. } = &finding;
            assert!(RULES.iter().any(|rule| rule.id == id), "{id} is not in RULES");
            assert!(!title.ends_with('.') && title.chars().any(|c| c.is_ascii_digit()), "{name}: {title}");
            assert!(advice.ends_with('.') && !evidence.is_empty(), "{name}: {advice} {evidence:?}");
            let units = [
                "_bytes",
                "_count",
                "_share",
                "_ratio",
                "_bps",
                "_ns",
                "_cpus",
                "_per_second",
                "_per_minute",
                "_per_cpu_second",
                "_source",
                "_address",
                "_hops",
                "_cause",
                "_mode",
                "_fate",
                "_name",
                "_state",
                "_direction",
                "_flow",
                "_flows",
            ];
            assert!(
                evidence.keys().all(|k| units.iter().any(|unit| k.ends_with(unit))),
                "{name}: {evidence:?}"
            );
        }
    }
}

#[test]
fn a_healthy_run_raises_nothing() {
    assert_eq!(Fixture::udp().run().findings, []);
    assert_eq!(Fixture::tcp().run().findings, []);
    assert_eq!(Fixture::tcp().down().findings, []);
}

#[test]
fn the_direction_of_a_finding_is_that_of_the_data() {
    let run = Fixture::udp().large(8192, 0).size(8192, true, 0).size(1472, false, 10).down();
    assert_eq!(find(&run, "fragments-dropped").unwrap().direction, Some(Direction::Down));
    let run = busy_sender(0.99).down();
    let limited = find(&run, "sender-limited").unwrap();
    assert_eq!(limited.direction, Some(Direction::Down));
    assert_eq!(limited.evidence["busiest_thread_cpus"], 0.99);
}

#[test]
fn what_the_copy_costs_is_evidence_of_its_own_direction() {
    let limited = |direction, goodput| {
        let run = busy_receiver(0.97).probe(without_copy(direction, goodput)).run();
        let goodput = run.summary.up.as_ref().unwrap().goodput.0 as f64;
        (find(&run, "receiver-limited").unwrap().clone(), goodput)
    };
    let (faster, goodput) = limited(Direction::Up, 2_000_000_000);
    assert_eq!(faster.evidence["without_copy_goodput_bps"], 2_000_000_000);
    let share = faster.evidence["copy_cost_share"].as_f64().unwrap();
    assert!((share - (1.0 - goodput / 2e9)).abs() < 1e-9, "{share}");
    assert!(faster.title.contains("took 2.00 Gbit/s, so the copy costs 41.1 %"), "{}", faster.title);
    let (same, _) = limited(Direction::Up, goodput as u64 - 1_000_000);
    assert_eq!(same.evidence["copy_cost_share"], 0.0);
    assert!(same.title.ends_with("so the copy is not what limits it"), "{}", same.title);
    let (other, _) = limited(Direction::Down, 2_000_000_000);
    assert!(!other.evidence.contains_key("copy_cost_share"), "{:?}", other.evidence);
}

#[test]
fn dropped_fragments_name_the_payload_that_works() {
    let with_probes = Fixture::udp().large(8192, 0).size(8192, true, 0).size(1472, false, 10).run();
    for run in [with_probes, Fixture::udp().large(8192, 0).run()] {
        let finding = find(&run, "fragments-dropped").unwrap();
        assert_eq!(finding.severity, Severity::Problem);
        assert!(finding.advice.contains("`-l 1472`"), "{}", finding.advice);
        assert_eq!(finding.evidence["working_payload_bytes"], 1472);
    }
    assert_eq!(
        find(&Fixture::udp().large(8192, 0).run(), "udp-fragmented").unwrap().evidence["fragments_per_datagram_count"],
        6
    );
}

#[test]
fn loss_above_capacity_is_no_fault() {
    let fast = find(&lossy(50_000).unlimited().run(), "path-loss").unwrap().clone();
    assert_eq!(fast.severity, Severity::Info);
    let chosen = find(&lossy(50_000).run(), "path-loss").unwrap().clone();
    assert_eq!(chosen.severity, Severity::Warning);
    assert!(
        chosen.title.contains("50\u{a0}000 datagrams (5.00 % of those sent) up at 1.18 Gbit/s"),
        "{}",
        chosen.title
    );
}

#[test]
fn a_busy_host_is_a_remark_and_a_stolen_cpu_more_than_that() {
    let busy = |share| {
        let fixture = Fixture::tcp().with(|s| s.receive_end().cpu.preemptions = 2_000);
        fixture.with(|s| s.receive_end().cpu.busiest_cpu = share).run()
    };
    for run in [busy(0.6), busy(1.0)] {
        assert_eq!(find(&run, "host-noise").unwrap().severity, Severity::Info);
        assert_eq!(run.verdict.status, Status::Ok, "noise is not the verdict");
    }
    // Only where a CPU set the rate: behind a shaper what the hypervisor took is missing nowhere.
    let stolen = |share, thread| {
        let fixture = Fixture::tcp().with(|s| s.receive_end().cpu.threads = vec![thread]);
        let run = fixture.with(|s| s.receive_end().cpu.steal = share).run();
        find(&run, "host-noise").unwrap().severity
    };
    assert_eq!((stolen(0.1, 0.97), stolen(0.3, 0.97)), (Severity::Info, Severity::Warning));
    assert_eq!(stolen(0.3, 0.4), Severity::Info);
}

#[test]
fn a_run_of_tests_has_each_finding_once_and_the_worst_first() {
    let tests = vec![lossy(2000).run(), lossy(3000).run(), Fixture::udp().large(8192, 0).run()];
    let run = run_of_tests("2", "measure", &[], tests);
    let ids: Vec<&str> = run.findings.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids, ["fragments-dropped", "udp-fragmented", "path-loss"]);
}

/// The advice of the one finding with this id.
#[track_caller]
fn advice(run: &Run, id: &str) -> String {
    let found = run.findings.iter().find(|finding| finding.id == id);
    found.unwrap_or_else(|| panic!("no {id}: {:?}", run.findings)).advice.clone()
}

#[test]
fn a_small_buffer_that_was_asked_for_is_named_and_no_limit_is_lowered() {
    let with = |window: Option<u32>, buffer| {
        let fixture = socket_drops(2000).with(|s| s.plan.test.window = window);
        fixture.with(|s| s.receive_end().datapath.receive_buffer = Bytes(buffer)).run()
    };
    let own = advice(&with(Some(65_536), 65_536), "receiver-buffer-loss");
    assert!(own.contains("what -w asked for") && !own.contains("rmem_max"), "{own}");
    for capped in [with(Some(64 << 20), 212_992), with(None, 212_992)] {
        let capped = advice(&capped, "receiver-buffer-loss");
        assert!(capped.contains("At the receiver: `sudo sysctl -w net.core.rmem_max=268435456`"), "{capped}");
    }
    let enough = advice(&with(Some(64 << 20), 64 << 20), "receiver-buffer-loss");
    assert!(enough.contains("the receiver too slow"), "{enough}");
}

#[test]
fn a_receiver_that_takes_less_than_the_rate_that_was_tried_degrades_no_path() {
    let verdict = |own_rate: bool| {
        let run = socket_drops(20_000).with(|s| s.plan.local.own_rate = own_rate).run();
        assert!(find(&run, "receiver-buffer-loss").is_some());
        run.verdict.status
    };
    assert_eq!((verdict(true), verdict(false)), (Status::Ok, Status::Degraded));
}

#[test]
fn bbr_is_not_reported_to_slow_down_for_each_loss() {
    let with = |congestion: &str| {
        let fixture = Fixture::tcp().with(|s| s.tcp_counters().retransmits = 20_000);
        fixture.with(|s| s.sender.datapath.congestion = Some(congestion.into())).run()
    };
    for (congestion, slows) in [("cubic", true), ("bbr", false)] {
        let run = with(congestion);
        let found = run.findings.iter().find(|finding| finding.id == "path-loss").expect("raised");
        assert_eq!(found.title.contains("slows down"), slows, "{}", found.title);
        assert_eq!(found.advice.contains("--congestion bbr"), slows, "{}", found.advice);
    }
}

#[test]
fn noise_is_a_remark_where_the_asked_rate_was_reached() {
    let stolen = |fixture: Fixture| {
        let full = fixture.with(|s| s.sender.cpu.threads = vec![0.97]);
        let run = full.with(|s| s.sender.cpu.steal = 0.2).run();
        let found = run.findings.iter().find(|finding| finding.id == "host-noise").expect("raised");
        (found.severity, run.verdict.status)
    };
    assert_eq!(stolen(Fixture::udp()), (Severity::Info, Status::Ok));
    assert_eq!(stolen(Fixture::udp().unlimited()).0, Severity::Warning);
    assert_eq!(stolen(Fixture::udp().with(|s| s.deliver(DATAGRAMS - 100))).0, Severity::Warning);
    assert_eq!(
        stolen(Fixture::udp().with(|s| s.plan.test.bitrate = Some(BitRate(2_000_000_000)))).0,
        Severity::Warning
    );
}
