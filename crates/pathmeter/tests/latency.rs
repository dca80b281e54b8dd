//! `pathmeter latency` and the servers it measures: every mode and option, paths and peers in trouble, lies and silence.
//! Nothing here asserts a time; every wait has a limit; every process is killed by its own number.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod latency {
    mod clocks;
    mod common;
    mod directions;
    #[path = "../native/fake.rs"]
    #[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
    mod fake;
    mod lab;
    mod liars;
    mod limits;
    mod modes;
    #[path = "../native/net.rs"]
    #[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
    mod net;
    mod options;
    mod path;
    mod relay;
    mod saved;
    mod servers;
    mod stamp;
    #[path = "../native/support.rs"]
    #[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
    mod support;
    mod troubled;
    mod twamp;
}
