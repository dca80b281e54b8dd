//! `pathmeter rfc2544` without a device: its plan, and what it refuses before anything is sent.

use super::{Scratch, run, succeed};

#[test]
fn the_plan_is_shown_and_nothing_else_done() {
    let text = succeed("rfc2544 no-such0 no-such1 --quick --dry-run");
    for part in ["no-such0 - no-such1", "Frames: IPv4 64, 512, 1518", "throughput", "frame loss", "At most "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = succeed("rfc2544 --lab direct,forward --tests mrr --frame 64 --dry-run --json");
    let plan: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    serde_json::from_str::<model::dut::BenchmarkPlan>(&json).expect("as its schema requires");
    assert_eq!(plan["devices"], serde_json::json!(["direct", "forward"]));
    // Ten trials of a second with eleven of pauses, after one of as much as can be; of each device.
    assert_eq!(plan["most_ns"], 2 * (12 + 10 * 12) * 1_000_000_000_u64);
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let scratch = Scratch::new("rfc2544");
    let other = scratch.0.join("other.json");
    std::fs::write(&other, r#"{"schema":"pathmeter/result/1"}"#).expect("write");
    let against = format!("rfc2544 --lab forward --quick --against {}", other.display());
    for (line, parts) in [
        ("rfc2544", &["nothing to test", "pathmeter rfc2544 eth1 eth2"][..]),
        ("rfc2544 eth1 eth1", &["eth1 twice"]),
        ("rfc2544 no-such0 no-such1 --quick", &["there is no interface no-such0 here", "ip -brief link"]),
        ("rfc2544 a/b/c eth1", &["a/b/c"]),
        ("rfc2544 --lab forwrd", &["no topology is called `forwrd`", "forward"]),
        ("rfc2544 eth1 eth2 --tests speed", &["speed"]),
        ("rfc2544 eth1 eth2 --chart x.gif", &["neither an .svg nor a .png"]),
        ("rfc2544 eth1 eth2 --expect ndrr>=1pps", &["no figure `ndrr`", "throughput"]),
        ("rfc2544 eth1 eth2 --against /no/such.json", &["`/no/such.json` is neither a file nor a kept run"]),
        (&against, &["not pathmeter/rfc2544/1", "pathmeter rfc2544 --json"]),
    ] {
        let ended = run(line);
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
        for part in parts {
            assert!(ended.stderr.contains(part), "{line}: {part}: {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("At most"), "{line}: no plan before it: {}", ended.stderr);
    }
}
