//! `pathmeter transfer` and `serve --http`: real files over HTTP, HTTPS and S3, servers in trouble, and MTU sweeps.
//! Nothing here asserts a time but the rate of a shaper; every wait has a limit; every process is killed by its own number.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod transfer {
    mod common;
    mod endpoint;
    mod limits;
    #[path = "../native/net.rs"]
    #[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
    mod net;
    mod s3;
    #[path = "../native/support.rs"]
    #[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
    mod support;
    mod sweep;
    mod tls;
    mod troubled;
    mod web;
}
