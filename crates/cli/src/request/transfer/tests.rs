//! Command lines of `pathmeter transfer`, and the plans or refusals they become.

use crate::arguments::{Cli, Command, TransferArgs};
use crate::request;
use clap::Parser;
use engine::error::Result;
use engine::run::{Plan, TransferWork};
use model::transfer::TransferMethod;

fn args(argv: &str) -> TransferArgs {
    let argv = ["pathmeter", "transfer"].into_iter().chain(argv.split_whitespace());
    match Cli::parse_from(argv).command {
        Command::Transfer(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn plan(args: &TransferArgs) -> Result<TransferWork> {
    match request::plan(args)? {
        Plan::Transfer(work) => Ok(*work),
        other => panic!("another plan: {other:?}"),
    }
}

fn refusal(argv: &str) -> String {
    plan(&args(argv)).expect_err("it cannot be").to_string()
}

#[test]
fn defaults_are_filled() {
    let planned = plan(&args("http://127.0.0.1:8080/bytes/1M")).expect("it can be");
    let plan = planned.plan;
    assert_eq!(
        (plan.method, plan.repetitions, plan.baseline.as_str()),
        (TransferMethod::Get, 6, "127.0.0.1")
    );
    assert_eq!(plan.files[0].address, ([127, 0, 0, 1], 8080).into());
    let up = self::plan(&args("http://[::1]/x --size 1MB")).expect("it can be").plan;
    assert_eq!((up.method, up.files[0].address.port()), (TransferMethod::Put, 80));
}

#[test]
fn urls_are_named_by_their_differing_parts() {
    let names = |argv: &str| {
        let files = plan(&args(argv)).expect("it can be").plan.files;
        files.into_iter().map(|file| file.label).collect::<Vec<_>>()
    };
    assert_eq!(names("http://127.0.0.1/a http://127.0.0.2/a"), ["127.0.0.1", "127.0.0.2"]);
    assert_eq!(names("http://127.0.0.1/a http://127.0.0.1/b"), ["a", "b"]);
    assert_eq!(names("http://127.0.0.1/a http://127.0.0.1/a"), ["URL 1", "URL 2"]);
    assert_eq!(names("http://127.0.0.1/a http://127.0.0.1/b --label old"), ["old", "b"]);
}

#[test]
fn impossible_requests_are_refused() {
    for (argv, expected) in [
        ("ftp://127.0.0.1/x", "ftp: is not supported"),
        ("127.0.0.1/x", "not a URL"),
        ("http://u:p@127.0.0.1/x", "password"),
        ("http://127.0.0.1/x --method put", "what shall go up"),
        ("http://127.0.0.1/x --method get --size 1", "takes no --size"),
        ("http://127.0.0.1/x --file /dev/null", "not a plain file"),
        ("http://127.0.0.1/x --baseline far", "no such row"),
        ("http://127.0.0.1/x --timeout 0", "no time at all"),
        ("http://127.0.0.1/x --mtu 1500,1500", "twice"),
        ("http://127.0.0.1/x --label a --label b", "2 names for 1 URLs"),
        ("http://127.0.0.1/x -6", "not an IPv6 address"),
        ("s3://bucket", "a bucket and a key"),
        ("s3://bucket/../x", "a bucket and a key"),
    ] {
        assert!(refusal(argv).contains(expected), "{argv}: {}", refusal(argv));
    }
}

#[test]
fn signatures_are_not_in_the_plan() {
    let planned = plan(&args("http://127.0.0.1/x?X-Amz-Signature=secret")).expect("it can be");
    let text = serde_json::to_string(&planned.plan).expect("it is JSON");
    assert!(!text.contains("secret"), "{text}");
}
