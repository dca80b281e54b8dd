//! Typical mistakes of those who come from iPerf3, mtr, ping and netperf: short errors that name what to write, with exit code 2.

use super::run;

/// A command line, and a part of the advice.
type Mistake = (&'static str, &'static str);

const IPERF3: [Mistake; 20] = [
    ("-c 10.0.0.1", "write `pathmeter throughput 10.0.0.1`"),
    ("-c 10.0.0.1 -R -P 4 -t 30", "write `pathmeter throughput 10.0.0.1`"),
    ("-s", "the server is `pathmeter serve`"),
    ("-u -b 1G -c 10.0.0.1", "write `pathmeter throughput 10.0.0.1`"),
    ("client 10.0.0.1", "write `pathmeter throughput 10.0.0.1`"),
    ("server", "write `pathmeter serve`"),
    ("throughput -s", "the server is `pathmeter serve`"),
    ("throughput 10.0.0.1 -V", "write `-v`"),
    ("throughput 10.0.0.1 -f m", "--format json"),
    ("throughput 10.0.0.1 -d", "--bidir"),
    ("throughput 10.0.0.1 --get-server-output", "counters of both ends"),
    ("throughput 10.0.0.1 --logfile x.log", "--output FILE"),
    ("throughput 10.0.0.1 -k 100", "--bytes SIZE"),
    ("throughput 10.0.0.1 -A 2,3", "--affinity LIST"),
    ("throughput 10.0.0.1 5210", "`10.0.0.1:5210`, or `-p 5210`"),
    ("throughput http://10.0.0.1/", "write the host alone: 10.0.0.1"),
    ("throughput 10.0.0.1 -B eth0", "--device eth0"),
    ("measure 10.0.0.1 -P 4", "`pathmeter throughput`"),
    ("serve -D", "systemctl enable"),
    ("throughput 10.0.0.1 --expect bandwidth>=9G", "--expect 'down.goodput>=9G'"),
];

const MTR: [Mistake; 20] = [
    ("mtr 10.0.0.1", "write `pathmeter hops 10.0.0.1`"),
    ("mtr -rwc 10 10.0.0.1", "write `pathmeter hops 10.0.0.1`"),
    ("traceroute -n 10.0.0.1", "write `pathmeter hops 10.0.0.1`"),
    ("tracepath 10.0.0.1", "write `pathmeter hops 10.0.0.1`"),
    ("ping -c 4 10.0.0.1", "write `pathmeter latency 10.0.0.1`"),
    ("hops 10.0.0.1 -w", "--names"),
    ("hops 10.0.0.1 -b", "--names"),
    ("hops 10.0.0.1 -z", "--as-file FILE"),
    ("hops 10.0.0.1 -I eth0", "--device NAME"),
    ("hops 10.0.0.1 -i eth0", "--device eth0"),
    ("hops 10.0.0.1 -f 3", "a trace begins at the first router"),
    ("hops 10.0.0.1 -q 3", "--count N"),
    ("hops 10.0.0.1 -l", "--format ndjson"),
    ("hops 10.0.0.1 -s 10.0.0.2", "--bind 10.0.0.2"),
    ("hops https://far.example/", "write the host alone: far.example"),
    ("hops fe80::1", "write fe80::1%"),
    ("hops 10.0.0.1 --expect loss<=1%", "--expect 'hops.loss<=1%'"),
    ("hops 10.0.0.1 33434", "`10.0.0.1:33434`, or `-p 33434`"),
    ("hops 10.0.0.1 -o LSDNBAW", "all columns are printed"),
    ("10.0.0.1", "write `pathmeter measure 10.0.0.1`"),
];

const OTHERS: [Mistake; 21] = [
    ("latency 10.0.0.1 -c 10", "-n N"),
    ("latency 10.0.0.1 -s 1400", "-m SIZE"),
    ("latency 10.0.0.1 -M do", "`pathmeter mtu HOST`"),
    ("latency -n 10.0.0.1", "leave the option out"),
    ("latency fe80::1", "write fe80::1%"),
    ("latency 10.0.0.1 --expect p99<1ms", "--expect 'rtt.p99<1ms'"),
    ("throughput -H 10.0.0.1 -t TCP_RR", "netperf"),
    ("netperf -H 10.0.0.1", "write `pathmeter throughput 10.0.0.1`"),
    ("netserver", "write `pathmeter serve`"),
    ("speedtest", "write `pathmeter measure HOST`"),
    ("far.example", "write `pathmeter measure far.example`"),
    ("https://far.example/file", "write `pathmeter transfer https://far.example/file`"),
    ("pp -i 10.0.0.1", "write `pathmeter latency 10.0.0.1`"),
    ("ping -c 5 -M do -s 1472 10.0.0.1", "write `pathmeter mtu 10.0.0.1`"),
    ("mesure 10.0.0.1", "did you mean `pathmeter measure`?"),
    ("throughput fe80::1%no-such9", "write fe80::1%"),
    ("throughput 10.0.0.1 -b 10MB", "`10MB/s`"),
    ("throughput 10.0.0.1 -p 99999", "a number from 1 to 65535"),
    ("throughput 10.0.0.1 --expect up.goodput=>9G", "one of >= <= > < =="),
    ("linerate 25G", "`--link 25G`"),
    ("mtu 10.0.0.1 --expect colour==ok", "up.path_mtu>=1500"),
];

#[test]
fn typical_mistakes_end_with_what_to_write() {
    for (line, advice) in IPERF3.iter().chain(&MTR).chain(&OTHERS) {
        let ended = run(line);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{line}: {}", ended.stderr);
        let text = ended.stderr;
        assert!(text.starts_with("error: ") && text.contains(advice), "{line}: {text}");
        assert!(text.lines().count() == 2 && text.len() <= 250, "{line}: {text}");
    }
}

/// Aliases have the same meaning, as the plan shows.
#[test]
fn aliases_make_the_same_plan() {
    for (typed, ours) in [
        (
            "throughput -c 127.0.0.1 -u -b 1G -l 1400 -t 10 -i 1 -J --dry-run",
            "throughput 127.0.0.1 -u -b 1G -l 1400 -t 10 -i 1 --json --dry-run",
        ),
        (
            "throughput -c 127.0.0.1 -R -P 4 -C cubic -B 127.0.0.1 -N --dry-run",
            "throughput 127.0.0.1 -R -P 4 --congestion cubic --bind 127.0.0.1 --nodelay --dry-run",
        ),
        (
            "hops -rn -c 10 -s 100 -m 20 127.0.0.1 --dry-run",
            "hops --count 10 --size 100 --max-hops 20 127.0.0.1 --dry-run",
        ),
        (
            "latency 127.0.0.1 -W 2 -Q 0x10 --wait block --dry-run",
            "latency 127.0.0.1 --timeout 2 --tos 0x10 --wait block --dry-run",
        ),
    ] {
        let (typed, ours) = (super::succeed(typed), super::succeed(ours));
        assert!(typed == ours && typed.contains("127.0.0.1"), "{typed}\n{ours}");
    }
}

#[test]
fn plans_and_topologies_are_kept_apart() {
    let home = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plans");
    for (line, advice) in [
        (format!("plan check {home}/egress.toml"), format!("write `pathmeter lab check {home}/egress.toml`")),
        (
            format!("plan check {home}/five-paths.toml {home}/services.toml"),
            "services.toml is a topology".into(),
        ),
        (format!("plan show {home}/egress.toml"), "is a topology of the lab, not a plan".into()),
        (
            format!("lab check {home}/five-paths.toml"),
            format!("write `pathmeter plan check {home}/five-paths.toml`"),
        ),
        (format!("lab run {home}/five-paths.toml"), "is a plan, not a topology of the lab".into()),
    ] {
        let ended = run(&line);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(&advice), "{line}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 2, "{line}: {}", ended.stderr);
    }
}
