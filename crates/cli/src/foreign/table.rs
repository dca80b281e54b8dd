//! The table of foreign words: commands, options and figures of iPerf3, iPerf2, netperf, ping, mtr, traceroute and SockPerf,
//! and what to write here. An option is an alias only where it has the same meaning in both programs.

/// The meaning of a foreign option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The same as this option of ours, or as this option with this value.
    Same(&'static str),
    /// The default here.
    Default,
    /// Its value is the host, which stands alone here.
    Host,
    /// The text to write here.
    Write(&'static str),
}

/// Foreign commands, separated by spaces, and the command line here, in which HOST is the host that was typed.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("mtr traceroute traceroute6 tcptraceroute tracert pathping trace trip trippy", "pathmeter hops HOST"),
    ("tracepath tracepath6", "pathmeter hops HOST"),
    ("ping ping6 fping hping hping3 nping rtt jitter ping-pong pp", "pathmeter latency HOST"),
    ("owping twping", "pathmeter latency HOST --protocol twamp"),
    ("under-load ul", "pathmeter latency HOST --mode under-load"),
    ("playback pb", "pathmeter latency HOST --mode playback --playback FILE"),
    ("flent rrul crusader bufferbloat networkquality", "pathmeter latency HOST --loaded"),
    ("speedtest speed-test librespeed fast test check run", "pathmeter measure HOST"),
    ("netperf nuttcp ntttcp ttcp bwctl client bandwidth speed tcp upload", "pathmeter throughput HOST"),
    ("download", "pathmeter throughput HOST --reverse"),
    ("udp", "pathmeter throughput HOST --udp"),
    ("iperf2", "pathmeter iperf -c HOST"),
    ("server listen daemon netserver iperf3d", "pathmeter serve"),
    ("sr", "pathmeter serve --sockperf"),
    ("reflector", "pathmeter serve --stamp"),
    ("pmtu pmtud", "pathmeter mtu HOST"),
    ("curl wget oha ab wrk http", "pathmeter transfer http://HOST/"),
    ("trex t-rex pktgen moongen rfc", "pathmeter rfc2544 --lab forward --quick"),
    ("smokeping", "pathmeter watch HOST"),
    ("perfsonar pscheduler", "pathmeter mesh --help"),
    ("hyperfine diff", "pathmeter compare FILE FILE"),
    ("analyze", "pathmeter analyse FILE"),
    ("results list ls log logs", "pathmeter history"),
    ("delete rm remove", "pathmeter forget --help"),
    ("web gui dashboard", "pathmeter ui"),
    ("topology topologies", "pathmeter lab list"),
    ("version", "pathmeter --version"),
    ("bench benchmark perf measurement", "pathmeter measure HOST"),
    ("qperf ethr nc netcat", "pathmeter throughput HOST"),
    ("monitor", "pathmeter watch HOST"),
    ("tcpdump capture", "pathmeter throughput HOST --pcap FILE"),
];

use Meaning::{Default, Host, Same, Write};

/// Foreign options by commands, which are separated by spaces as the spellings are; no command: before any.
pub(super) const OPTIONS: &[(&str, &[(&str, Meaning)])] = &[
    // iPerf3's and SockPerf's without a command.
    (
        "",
        &[
            (
                "-c --client",
                Write(
                    "write `pathmeter throughput HOST`; `pathmeter iperf3 -c HOST` takes iPerf3's command line",
                ),
            ),
            (
                "-s --server",
                Write("the server is `pathmeter serve`; `pathmeter iperf3 -s` serves iPerf3 clients only"),
            ),
            (
                "-i --ip",
                Write(
                    "write `pathmeter latency HOST`; `pathmeter sockperf pp -i HOST` takes SockPerf's command line",
                ),
            ),
            (
                "-H",
                Write("write `pathmeter throughput HOST` or `pathmeter latency HOST`: the host stands alone"),
            ),
        ],
    ),
    // iPerf3's and iPerf2's.
    ("throughput measure frames mtu", &[("-c --client", Host)]),
    ("throughput measure latency mtu frames hops serve", &[("-J", Same("--json"))]),
    ("throughput", &[("--json-stream", Same("--format ndjson"))]),
    ("throughput measure frames mtu latency serve", &[("-B", Same("--bind"))]),
    (
        "throughput measure frames mtu latency",
        &[("--bind-dev", Same("--device")), ("--version4", Same("--ipv4")), ("--version6", Same("--ipv6"))],
    ),
    (
        "throughput",
        &[
            ("-C --linux-congestion", Same("--congestion")),
            ("-S", Same("--tos")),
            ("-N --no-delay", Same("--nodelay")),
            ("--zerocopy", Same("--zero-copy")),
            ("--skip-rx-copy", Same("--receive-discard")),
            ("--set-mss", Same("--mss")),
            ("--bandwidth", Same("--bitrate")),
            ("--len", Same("--length")),
            ("--num", Same("--bytes")),
            ("--udp-counters-64bit --forceflush", Default),
            (
                "-s --server",
                Write(
                    "the server is `pathmeter serve`, on the far host; `pathmeter iperf3 -s` serves iPerf3 clients only",
                ),
            ),
        ],
    ),
    (
        "throughput measure",
        &[(
            "-V --enhanced -e -m --print_mss",
            Write("write `-v` for details: MSS, CPU, windows and the evidence"),
        )],
    ),
    (
        "throughput",
        &[
            ("-f", Write("rates get the unit that fits; `--format json` writes bits per second")),
            ("-k --blockcount", Write("write `--bytes SIZE`: blocks times their length")),
            ("-A", Write("write `--affinity LIST`: CPUs of this host, used by the streams in turn")),
            ("-F --file", Write("`pathmeter transfer URL --file FILE` times the transfer of a file")),
            ("-T --title --extra-data", Write("write `--label LABEL`: it is kept with the result")),
            (
                "-d --debug --dualtest",
                Write("iPerf2's test of both directions is `--bidir`; iPerf3's debug output is `-vv`"),
            ),
            (
                "-r --tradeoff",
                Write(
                    "`pathmeter measure HOST` tests both directions, one after the other; `--reverse` tests the download only",
                ),
            ),
            (
                "--full-duplex",
                Write("write `--bidir`: both ends send at once, each direction in connections of its own"),
            ),
            (
                "--get-server-output",
                Write("leave it out: the result has the counters of both ends, `-v` shows them"),
            ),
            (
                "--dont-fragment",
                Write(
                    "leave it out: datagrams get the largest size that is not fragmented; `--length` sets another",
                ),
            ),
            ("--logfile --output-file", Write("write `--output FILE`")),
            ("--timestamps", Write("write `--format ndjson`: every row has its time")),
            ("--fq-rate --pacing-timer", Write("write `--bitrate RATE`: streams are paced by it")),
            (
                "--cport --localport -L --flowlabel",
                Write(
                    "there is none: the kernel picks the port and the flow label; `--parallel N` uses several flows",
                ),
            ),
            (
                "--sctp -X --xbind --nstreams --mptcp",
                Write("TCP and UDP are measured, SCTP and MPTCP are not"),
            ),
            (
                "--username --rsa-public-key-path",
                Write("write `--token-file FILE`, with the same file at `pathmeter serve`"),
            ),
            (
                "--rcv-timeout --snd-timeout --idle-timeout",
                Write("leave it out: a far end that is silent is noticed and reported"),
            ),
            (
                "-I --pidfile -D --daemon",
                Write(
                    "a test ends by itself; the server `pathmeter serve` has a unit of systemd in the packages",
                ),
            ),
            (
                "-1",
                Write("a client runs one test; the server ends after one with `pathmeter serve --one-off`"),
            ),
            (
                "--trip-times --histograms",
                Write("leave it out: UDP results have one-way delays, with `-v` their distribution"),
            ),
            (
                "--bounceback",
                Write("write `pathmeter latency HOST`, with `--protocol iperf2` against `iperf -s`"),
            ),
            (
                "--isochronous",
                Write(
                    "write `pathmeter latency HOST --mode playback --playback FILE`: times and sizes from a file",
                ),
            ),
            (
                "--repeating-payload",
                Write("leave it out: payload is pseudo-random, which no link compresses"),
            ),
        ],
    ),
    (
        "measure",
        &[
            (
                "-u --udp -R --reverse --bidir --tcp",
                Write(
                    "leave it out: TCP and UDP are tested in both directions; `pathmeter throughput HOST` tests one of them",
                ),
            ),
            (
                "-t --time",
                Write(
                    "it takes 23 s, `--quick` 8 s; `pathmeter throughput HOST -t 5` tests one direction for 5 s",
                ),
            ),
        ],
    ),
    (
        "throughput measure mtu frames transfer",
        &[("-q --quiet", Write("redirect standard error: only results go to standard output"))],
    ),
    // Servers.
    (
        "serve",
        &[
            ("-s --server -u --udp", Default),
            ("-1", Same("--one-off")),
            ("--server-bitrate-limit", Same("--max-rate")),
            ("--server-max-duration", Same("--max-time")),
            (
                "-D --daemon --background --detach -I --pidfile",
                Write(
                    "packages have a unit of systemd: `systemctl enable --now pathmeter`; without one, `systemd-run pathmeter serve`",
                ),
            ),
            (
                "--logfile",
                Write("the log goes to standard error, and with the unit of systemd to its journal"),
            ),
            (
                "--rsa-private-key-path --authorized-users-path",
                Write("write `--token-file FILE`, with the same file at the clients"),
            ),
            (
                "--idle-timeout --rcv-timeout",
                Write("leave it out: a client that is silent loses its place by itself"),
            ),
            (
                "-c --client",
                Write(
                    "the client is `pathmeter measure HOST` or `pathmeter throughput HOST`, on the other host",
                ),
            ),
            ("-t --time", Write("write `--max-time TIME`; the client chooses how long a test lasts")),
            ("-b --bitrate", Write("write `--max-rate RATE`; the client chooses the rate of a test")),
            (
                "-i --interval -w --window -l --length -P --parallel -R --reverse",
                Write("the client chooses this: give it to `pathmeter throughput HOST`"),
            ),
            ("-4 --ipv4 --version4", Write("write `--bind 0.0.0.0`: by default it listens to IPv4 and IPv6")),
            (
                "-6 --ipv6 --version6",
                Write("leave it out: it listens to IPv4 and IPv6; `--bind ADDR` picks one address"),
            ),
        ],
    ),
    (
        "doctor",
        &[("--fix", Write("run the commands that `pathmeter doctor` prints: it changes nothing itself"))],
    ),
    (
        "ui",
        &[(
            "-p --port -B --bind --host --address",
            Write("write `--listen ADDR:PORT`; the default is `--listen 127.0.0.1:5280`"),
        )],
    ),
    // netperf's.
    (
        "throughput latency",
        &[("-H", Write("leave `-H` out: the host stands alone. netperf's -l 10 is `-t 10` here"))],
    ),
    // ping's and SockPerf's.
    (
        "latency",
        &[
            ("-c", Write("ping's count is `-n N`; `--rate 1` sends one message each second, as ping does")),
            ("-s", Write("ping's size is `-m SIZE`, the bytes of a message")),
            ("-W", Same("--timeout")),
            ("-Q -S", Same("--tos")),
            ("--msg-size", Same("--size")),
            ("--mps", Same("--rate")),
            ("--full-rtt", Default),
            ("-w --deadline", Write("ping's deadline is `-t TIME`")),
            ("-I --interface", Write("write `--device NAME` for an interface, `--bind ADDR` for an address")),
            (
                "-f --flood -A",
                Write("leave it out: messages go as fast as replies come; `--rate N` sets N each second"),
            ),
            ("-D --full-log", Write("write `--raw FILE`: every round trip with its time")),
            ("-M", Write("`pathmeter mtu HOST` finds the largest packet that is not fragmented")),
            ("--ip --addr", Write("leave it out: the host stands alone, as in `pathmeter latency HOST`")),
            ("-q --quiet", Write("redirect standard error: only results go to standard output")),
            (
                "-b",
                Write("write `--rate N`: messages each second; `pathmeter throughput HOST -b 1G` sends bits"),
            ),
            ("-l --length", Write("write `-m SIZE`, the bytes of a message")),
            (
                "-R --reverse --bidir",
                Write("a round trip has both directions; `--loaded` loads each of them"),
            ),
        ],
    ),
    (
        "mtu",
        &[(
            "-M -s --size -D",
            Write("leave it out: `pathmeter mtu HOST` searches the size; `--largest SIZE` limits it"),
        )],
    ),
    // mtr's and traceroute's.
    (
        "hops",
        &[
            ("-r --report -n --no-dns -u --udp -e --mpls", Default),
            ("--report-cycles --queries", Same("--count")),
            ("-s --psize", Same("--size")),
            ("-T --tcp", Same("--protocol tcp")),
            ("--icmp", Same("--protocol icmp")),
            ("-P", Same("--port")),
            ("-m --max-ttl --max-hop", Same("--max-hops")),
            ("-a --address", Same("--bind")),
            ("--interface", Same("--device")),
            ("-G --gracetime", Same("--timeout")),
            ("-j", Same("--json")),
            ("-C --csv", Same("--format csv")),
            ("--curses", Same("--watch")),
            ("-t", Write("mtr's live table is `--watch`; probes carry no mark")),
            (
                "-w --report-wide",
                Write("mtr's wide report is `--names`; traceroute's wait is `--timeout TIME`"),
            ),
            ("-b --show-ips", Write("write `--names`: addresses and names; without it only addresses")),
            (
                "-z --aslookup -y --ipinfo -A --as-path-lookups",
                Write("write `--as-file FILE`: prefixes with their AS, as iptoasn.com has them"),
            ),
            ("-I", Write("mtr's interface is `--device NAME`; traceroute's ICMP is `--protocol icmp`")),
            ("-q", Write("write `--count N`: probes of each hop")),
            ("-f --first-ttl --first", Write("there is none: a trace begins at the first router")),
            ("-Z", Write("write `--timeout TIME`: the longest wait for the last answers")),
            ("-l --raw -x --xml", Write("write `--format json`, `--format ndjson` or `--format csv`")),
            (
                "-M --mtu -F",
                Write("leave it out: the MTU of each hop is measured; `pathmeter mtu HOST` has more of it"),
            ),
            ("-B --bitpattern -Q --tos", Write("there is none: probes have a fixed pattern and no mark")),
            ("-S --sctp", Write("probes are UDP, ICMP or TCP: `--protocol tcp`")),
        ],
    ),
];

/// Figures by the names of other tools, and the names here; where two commands differ, each with its command.
pub(super) const FIGURES: &[(&str, &str, &str)] = &[
    ("", "p50 median rtt latency ping delay rtt.median rtt.p", "rtt.p50"),
    ("", "p90", "rtt.p90"),
    ("", "p99", "rtt.p99"),
    ("", "p999 p99.9", "rtt.p999"),
    ("", "p9999 p99.99", "rtt.p9999"),
    ("", "min best rtt.best minrtt", "rtt.min"),
    ("", "max worst rtt.worst maxrtt", "rtt.max"),
    ("", "avg mean average rtt.avg rtt.average", "rtt.mean"),
    ("", "stddev mdev stdev rtt.mdev", "rtt.stddev"),
    ("", "rpm responsiveness", "loaded.both.rpm"),
    ("latency", "loss packet_loss packetloss loss_percent", "lost"),
    ("hops", "loss packet_loss packetloss loss_percent", "hops.loss"),
    ("hops", "p50 median rtt avg", "hops.rtt.p50"),
    ("", "loss packet_loss packetloss loss_percent lost_percent", "down.loss"),
    ("", "jitter jitter_ms", "down.jitter"),
    ("", "retransmits retr retransmissions", "up.retransmits"),
    ("", "mtu pmtu path_mtu pathmtu", "up.path_mtu"),
    ("", "mss", "up.mss"),
    ("transfer", "goodput bandwidth throughput bitrate speed rate", "transfer.rate"),
    ("frames", "goodput bandwidth throughput bitrate speed rate", "frames.goodput"),
    ("", "goodput bandwidth throughput bitrate speed rate bits_per_second download", "down.goodput"),
    ("", "upload", "up.goodput"),
    ("", "status result", "verdict"),
    ("", "hops", "hops.count"),
    ("", "ttfb first_byte", "transfer.first_byte"),
];
