//! The result of a throughput test: what was sent. How much of it came, sockperf does not ask.

use super::{MAGENTA, PLAIN, RequestedTest, Totals, Version, micros, seconds};

/// The text after the test; empty for a test without time.
#[must_use]
pub fn report(asked: &RequestedTest, totals: &Totals) -> String {
    if totals.sent == 0 {
        return String::from("sockperf: No messages were sent\n");
    }
    if totals.run_time.0 == 0 {
        return String::new();
    }
    let (sent, run_time) = (totals.sent, seconds(totals.run_time));
    let total = format!("sockperf: Total of {sent} messages sent in {run_time:.3} sec\n\n");
    total + &note(asked) + &summary(asked, totals)
}

fn note(asked: &RequestedTest) -> String {
    let RequestedTest { size, range, .. } = asked;
    let sizes = match range {
        0 => format!("using msg-size={size}"),
        _ => format!("using average msg-size={size} (+/-{range})"),
    };
    let advice = match asked.rate {
        Some(rate) => {
            // Sockperf forgets a bracket here.
            let bracket = if *range == 0 { ")" } else { "" };
            format!(
                ", mps={rate}. For getting maximum throughput use --mps=max \
                 (and consider --msg-size=1472 or --msg-size=4096{bracket}"
            )
        }
        None if *size == 1472 => return String::new(),
        None => ". For getting maximum throughput consider using --msg-size=1472".to_owned(),
    };
    format!("sockperf: {MAGENTA}NOTE: test was performed, {sizes}{advice}{PLAIN}\n")
}

fn summary(asked: &RequestedTest, totals: &Totals) -> String {
    let rate = (0.5 + totals.sent as f64 * 1000.0 * 1000.0 / micros(totals.run_time)) as u64;
    let fragments = u64::from(asked.size).div_ceil(IP_PAYLOAD);
    let packets = match fragments {
        0 | 1 => String::new(),
        _ => format!(", Packet Rate is about {} [pkt/sec] ({fragments} ip frags / msg)", rate * fragments),
    };
    // A "mega" is 2^20 here, of bits too; a "giga" is 1000 of them.
    let mega = rate as f64 * f64::from(asked.size) / 1024.0 / 1024.0;
    let width = match asked {
        RequestedTest { giga: true, .. } => {
            format!("{:.3} GBps ({:.3} Gbps)", mega / 1000.0, mega * 8.0 / 1000.0)
        }
        RequestedTest { precise: true, version: Version::V3_7, .. } => {
            format!("{mega:.9} GBps ({:.9} Gbps)", mega * 8.0)
        }
        RequestedTest { precise: true, .. } => format!("{mega:.9} MBps ({:.9} Mbps)", mega * 8.0),
        _ => format!("{mega:.3} MBps ({:.3} Mbps)", mega * 8.0),
    };
    format!(
        "sockperf: Summary: Message Rate is {rate} [msg/sec]{packets}\nsockperf: Summary: BandWidth is {width}\n"
    )
}

/// Payload of a UDP datagram in an Ethernet frame of 1500 bytes.
const IP_PAYLOAD: u64 = 1472;
