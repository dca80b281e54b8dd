use super::*;

fn refused(command: &str, text: &str) -> Failure {
    expectations(&[text.to_owned()], command).expect_err(text)
}

#[test]
fn a_figure_by_another_name_is_corrected() {
    for (command, text, advice) in [
        ("latency", "p99<1ms", "write --expect 'rtt.p99<1ms'; "),
        ("latency", "loss==0", "write --expect 'lost==0'; "),
        ("latency", "loss<1%", "write `lost`, whose value is a whole number, such as 12; "),
        ("throughput", "loss<1%", "write --expect 'down.loss<1%'; "),
        ("hops", "loss<1%", "write --expect 'hops.loss<1%'; "),
        ("hops", "avg<10ms", "write --expect 'hops.rtt.p50<10ms'; "),
        ("throughput", "bandwidth>=9G", "write --expect 'down.goodput>=9G'; "),
        ("transfer", "speed>=9M", "write --expect 'transfer.rate>=9M'; "),
        ("mtu", "PMTU>=1500", "write --expect 'up.path_mtu>=1500'; "),
        ("measure", "mdev<1ms", "write --expect 'rtt.stddev<1ms'; "),
    ] {
        let failure = refused(command, text);
        let written = failure.advice.expect("advice");
        assert!(written.starts_with(advice) && written.len() < 120, "{command} {text}: {written}");
        assert!(failure.message.len() < 80, "{}", failure.message);
    }
}

#[test]
fn an_unknown_figure_is_answered_by_an_example_of_the_command() {
    for (command, example) in
        [("latency", "rtt.p99"), ("mtu", "up.path_mtu"), ("hops", "hops.loss"), ("measure", "down.goodput")]
    {
        let failure = refused(command, "colour==ok");
        let written = failure.advice.expect("advice");
        assert!(written.contains(example) && written.contains("docs/figures.md"), "{written}");
        assert!(failure.message.len() + written.len() < 200, "{} {written}", failure.message);
    }
    let misspelled = refused("throughput", "down.goodputt>=1G").message;
    assert!(misspelled.ends_with("did you mean `down.goodput`?"), "{misspelled}");
}

#[test]
fn every_example_is_an_expectation() {
    for (command, text) in EXAMPLES {
        assert!(expectations(&[text.to_owned()], command).is_ok(), "{text}");
    }
}
