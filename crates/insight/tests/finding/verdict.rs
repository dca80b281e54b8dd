//! Verdicts: the status and the sentences of one test and of several.

use crate::fixture::{DATAGRAMS, Fixture, idle_rtt, in_pieces};
use model::event::{Event, Outcome};
use model::finding::{Status, Verdict};
use model::path::{FragmentDelivery, Fragments, PathDirection, PathResult};
use model::run::Run;
use pathmeter_insight::{run_of_events, run_of_tests};

/// The path of both directions alike.
fn path(direction: &PathDirection) -> Event {
    let direction = Some(direction.clone());
    Event::Path(Box::new(PathResult { up: direction.clone(), down: direction, ..PathResult::default() }))
}

fn largest(payload: u32) -> PathDirection {
    PathDirection { max_udp_payload: Some(payload), ..PathDirection::default() }
}

fn measure(probes: Vec<Event>, tests: Vec<Run>) -> Verdict {
    run_of_tests("1", "measure", &probes, tests).verdict
}

fn sentences(text: &str) -> usize {
    text.matches(". ").count() + 1
}

fn failed(fixture: Fixture) -> Fixture {
    fixture.with(|s| s.outcome = Outcome::Failed { reason: "connect to far: refused".into() })
}

#[test]
fn one_test_is_one_sentence() {
    let verdict = Fixture::tcp().run().verdict;
    assert_eq!(verdict, Verdict { status: Status::Ok, text: "TCP up transferred 1.18 Gbit/s.".into() });
    let verdict = Fixture::udp().with(|s| s.deliver(DATAGRAMS - 2000)).run().verdict;
    assert_eq!(verdict.status, Status::Degraded);
    assert_eq!(
        verdict.text,
        "UDP up transferred 1.18 Gbit/s (0.200 % lost): the path lost 2\u{a0}000 datagrams (0.200 % of those sent) up at 1.18 Gbit/s."
    );
}

#[test]
fn lost_fragments_are_a_problem_and_not_void() {
    let verdict = Fixture::udp().large(8192, 0).run().verdict;
    assert_eq!(verdict.status, Status::Problem);
    assert!(
        verdict.text.contains("ragments most likely do not cross the path up: none of 1\u{a0}000\u{a0}000"),
        "{}",
        verdict.text
    );
}

#[test]
fn silence_without_a_reason_is_void() {
    let verdict = Fixture::udp().with(|s| s.deliver(0)).run().verdict;
    assert_eq!(verdict.status, Status::Void);
    assert!(verdict.text.starts_with("Nothing arrived up of 1.47 GB sent"), "{}", verdict.text);
}

#[test]
fn no_path_is_the_cause_of_data_that_was_not_sent() {
    let verdict = Fixture::udp().with(|s| s.sent().datagrams = 0).with(|s| s.deliver(0)).run().verdict;
    assert_eq!(verdict.status, Status::Void);
    assert!(verdict.text.starts_with("Nothing was sent up: the sending host"), "{}", verdict.text);
}

#[test]
fn a_missing_receiver_makes_udp_void_and_not_tcp() {
    let verdict = Fixture::udp().with(|s| s.receiver = None).run().verdict;
    assert_eq!(
        (verdict.status, verdict.text.as_str()),
        (Status::Void, "What arrived up of 1.18 Gbit/s sent is not known: the receiver sent no result.")
    );
    assert_eq!(Fixture::tcp().with(|s| s.receiver = None).run().verdict.status, Status::Ok);
}

#[test]
fn a_run_without_an_end_names_no_peer() {
    let mut run = Fixture::tcp().run();
    (run.summary.outcome, run.finished) = (None, None);
    (run.summary.up, run.summary.down) = (None, None);
    let verdict = pathmeter_insight::judge(run).verdict;
    assert_eq!(verdict.status, Status::Void);
    assert!(verdict.text.contains("its program was killed or still runs"), "{}", verdict.text);
}

#[test]
fn a_failure_is_void_only_when_nothing_was_measured() {
    let nothing = failed(Fixture::udp()).with(|s| s.deliver(0)).run().verdict;
    assert_eq!(
        (nothing.status, nothing.text.as_str()),
        (Status::Void, "Nothing was measured: connect to far: refused.")
    );
    let some = failed(Fixture::udp()).run().verdict;
    assert_eq!(some.status, Status::Degraded);
    assert!(some.text.ends_with("then it broke off: connect to far: refused."), "{}", some.text);
}

#[test]
fn an_interrupted_test_is_not_void() {
    let verdict =
        Fixture::udp().with(|s| (s.outcome, s.receiver) = (Outcome::Interrupted, None)).run().verdict;
    assert_ne!(verdict.status, Status::Void);
    assert!(verdict.text.contains("interrupted"), "{}", verdict.text);
}

#[test]
fn nothing_at_all_is_void() {
    assert_eq!(run_of_events("1", "throughput", &[]).verdict.status, Status::Void);
    assert_eq!(
        measure(vec![], vec![failed(Fixture::tcp()).with(|s| s.receiver = None).run()]).status,
        Status::Degraded
    );
    let void = Fixture::udp().with(|s| s.deliver(0)).run();
    assert_eq!(measure(vec![], vec![void]).status, Status::Void);
}

#[test]
fn measure_states_what_the_path_carries_and_why_no_more() {
    let mut probes = vec![Event::Probe(idle_rtt(10, 2))];
    probes.push(path(&largest(1472)));
    let verdict = measure(probes, vec![Fixture::tcp().run(), Fixture::tcp().down(), Fixture::udp().run()]);
    assert_eq!(verdict.status, Status::Ok);
    assert_eq!(
        verdict.text,
        "The path transferred up 1.18 Gbit/s of TCP and 1.18 Gbit/s of UDP, down 1.18 Gbit/s of TCP. \
         The idle round trip takes 10.0 ms (median; 11.0 ms for the slowest of 98); 2 of 100 probes had no answer. \
         The largest UDP payload that crosses unfragmented is 1472 bytes in each direction. \
         Neither end set the limit: the path between did, or the link, whose speed is not known (`--link 10G`)."
    );
}

#[test]
fn measure_names_the_limit_the_fault_and_the_cure_in_at_most_six_sentences() {
    let mut probes = vec![Event::Probe(idle_rtt(10, 0))];
    let tests = vec![in_pieces(2944, 0)];
    let fragments = Fragments { delivery: FragmentDelivery::AllDropped, tests };
    probes.push(path(&PathDirection { fragments, ..largest(1472) }));
    let verdict = measure(probes, vec![Fixture::tcp().link(1_240_000_000).run(), Fixture::udp().run()]);
    assert_eq!(verdict.status, Status::Problem);
    assert!(verdict.text.contains("runs at line rate"), "{}", verdict.text);
    assert!(
        verdict.text.contains("Fragments do not cross the path up: 0 of 10 datagrams"),
        "{}",
        verdict.text
    );
    let end = "; the same holds down. Send datagrams of at most 1472 bytes, which cross: `-l 1472`.";
    assert!(verdict.text.ends_with(end), "{}", verdict.text);
    assert!((3..=6).contains(&sentences(&verdict.text)), "{}", verdict.text);
}

#[test]
fn a_void_part_of_measure_is_reported() {
    let void = Fixture::udp().with(|s| s.deliver(0)).run();
    let verdict = measure(vec![Event::Probe(idle_rtt(10, 0))], vec![Fixture::tcp().run(), void]);
    assert_eq!(verdict.status, Status::Problem);
    assert!(verdict.text.contains("Nothing arrived up"), "{}", verdict.text);
}
