//! The figures of `../shared/fixtures/README.md` and of the issue, from command lines.

use crate::arguments::{Cli, Command};
use clap::Parser;
use model::line_rate::LineRate;
use model::units::Bytes;

fn ask(line: &str) -> Result<LineRate, String> {
    let argv = format!("pathmeter linerate {line}");
    let cli = Cli::try_parse_from(argv.split_whitespace()).expect("clap takes it");
    match cli.command {
        Command::Linerate(args) => {
            let question = args.question().map_err(|refused| refused.to_string())?;
            LineRate::from_question(&question).map_err(|wrong| wrong.to_string())
        }
        other => panic!("another command: {other:?}"),
    }
}

#[test]
fn line_rate_of_25_gigabit() {
    let answer = ask("--link 25G --frame 1518,1280,1024,512,256,146,128,64").expect("plain frames");
    let expected = [
        ("2.03", Some(1460), Some(1448), true),
        ("2.40", Some(1222), Some(1210), true),
        ("2.99", Some(966), Some(954), true),
        ("5.87", Some(454), Some(442), true),
        ("11.32", Some(198), Some(186), true),
        ("18.83", Some(88), Some(76), true),
        ("21.11", Some(70), Some(58), false),
        ("37.20", Some(6), None, false),
    ];
    assert_eq!(answer.rows.len(), expected.len());
    for (row, (millions, mss, stamped, tcp)) in answer.rows.iter().zip(expected) {
        assert_eq!(format!("{:.2}", row.packets_per_second.to_f64() / 1e6), millions, "{row:?}");
        assert_eq!((row.mss, row.mss_timestamps), (mss.map(Bytes), stamped.map(Bytes)), "{row:?}");
        assert_eq!((row.goodput_bps.is_some(), row.note.is_none()), (tcp, tcp), "{row:?}");
        assert!(tcp || row.note.as_deref().is_some_and(|note| note.contains("--udp")), "{row:?}");
    }
    assert_eq!(format!("{:.2}", answer.rows[0].goodput_bps.expect("TCP").to_f64() / 1e9), "23.54");
}

#[test]
fn backward_from_goodput() {
    let answer = ask("--link 25G --goodput 22.5G --payload 1448").expect("the issue's example");
    let [row] = answer.measured.as_slice() else { panic!("one row") };
    assert!(row.arithmetic.contains("22.5 Gbit/s / (8 × 1448 B) = 1.94 Mpps"), "{}", row.arithmetic);
    assert!(row.arithmetic.contains("2.03 Mpps") && row.arithmetic.contains("95.6 %"), "{}", row.arithmetic);
    assert_eq!(row.note, None);
}

#[test]
fn backward_from_packets_and_beyond_the_link() {
    let answer = ask("--link 25G --pps 1.9M --frame 1518").expect("packets");
    assert_eq!(format!("{:.1}", answer.measured[0].line_rate_share.percent()), "93.5");
    let answer = ask("--link 10G --goodput 22.5G").expect("more than the link");
    assert!(answer.measured[0].note.as_deref().is_some_and(|note| note.contains("--link")));
}

#[test]
fn udp_and_encapsulation() {
    let answer = ask("--link 10G --frame 64 --udp").expect("64-byte frames");
    assert_eq!(answer.rows[0].payload, Some(Bytes(18)));
    let answer = ask("--link 10G --frame 64 --udp -6").expect("IPv6 has no such datagram");
    assert_eq!(answer.rows[0].payload, None);
    let answer = ask("--link 10G --mtu 1500 --encap vlan,vxlan").expect("a tunnel");
    let row = &answer.rows[0];
    assert_eq!((row.mtu, row.outer_packet, row.outer_frame), (Bytes(1450), Bytes(1500), Bytes(1522)));
}

#[test]
fn what_cannot_be_is_a_usage_error() {
    for (line, named) in [
        ("--link 0", "--link"),
        ("--link 1G --frame 63", "63"),
        ("--link 1G --frame 70000", "69982"),
        ("--link 1G --mtu 20 --encap vxlan", "20"),
        ("--link 1G --encap ipip6 -6", "v6"),
        ("--link 1G --payload 70000", "70"),
        ("--link 1G --goodput 1G --frame 64", "46"),
    ] {
        let failure = ask(line).expect_err(line);
        assert!(failure.to_lowercase().contains(named), "{line}: {failure}");
    }
}
