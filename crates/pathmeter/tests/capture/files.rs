//! The files of a capture, as tshark reads them.

use super::hosts::{Hosts, V4, V6, number, packets, tshark};
use super::support::Scratch;

#[test]
fn a_file_has_every_frame_and_states_what_super_packets_are_made_of() {
    let Some(hosts) = Hosts::new("a_file_has_every_frame") else { return };
    let (_server, scratch) = (hosts.serve(), Scratch::new("capture-plain"));
    let file = scratch.file("plain.pcapng", None);
    let run = hosts.run(&["throughput", V4, "-n", "10M", "-b", "400M", "--pcap", &file]);
    let packets = packets(&run);
    let lines = tshark(&file, &["frame.cap_len", "ip.len", "frame.packet_flags_direction", "frame.comment"]);
    assert_eq!(lines.len() as u64, number(&packets["frames"]));
    assert_eq!(lines.len() as u64, number(&packets["pcap"]["packets"]));
    assert_eq!((&packets["pcap"]["split"], &packets["pcap"]["error"]), (&false.into(), &().into()));
    let fields = |line: &String| line.split('|').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<_> = lines.iter().map(fields).collect();
    assert!(rows.iter().all(|row| row[0].parse::<u32>().unwrap() <= 160), "headers alone are kept");
    let outgoing = rows.iter().filter(|row| row[2] == "0x00000002").count() as u64;
    assert!(outgoing > 0 && outgoing < lines.len() as u64, "{outgoing} of {} go out", lines.len());
    let large = rows.iter().filter(|row| row[1].parse::<u32>().unwrap() > 1500);
    assert!(large.clone().count() > 0 && large.clone().all(|row| row[3].starts_with("gso ")));
    let supers = rows.iter().filter(|row| !row[3].is_empty()).count() as u64;
    let counted = number(&packets["up"]["super_packets"]) + number(&packets["down"]["super_packets"]);
    assert_eq!(supers, counted);
}

#[test]
fn a_split_file_has_the_packets_of_the_wire_with_right_checksums() {
    let Some(hosts) = Hosts::new("a_split_file") else { return };
    let (_server, scratch) = (hosts.serve(), Scratch::new("capture-split"));
    let tests: [&[&str]; 3] =
        [&["-n", "5M", "-b", "400M"], &["-u", "-l", "1000", "-n", "2M"], &["-n", "5M", "-R"]];
    for host in [V4, V6] {
        for (number_of, test) in tests.iter().enumerate() {
            let file = scratch.file(&format!("split-{number_of}-{}.pcapng", host.len()), None);
            let args = [&["throughput", host, "--pcap", &file, "--pcap-split"], *test].concat();
            let run = hosts.run(&args);
            let packets = packets(&run);
            let names = [
                "frame.len",
                "frame.cap_len",
                "ip.checksum.status",
                "tcp.checksum.status",
                "udp.checksum.status",
                "icmpv6.checksum.status",
            ];
            let lines = tshark(&file, &names);
            let counted = number(&packets["up"]["packets"]) + number(&packets["down"]["packets"]);
            assert_eq!(lines.len() as u64, counted, "{args:?}");
            assert!(number(&packets["frames"]) < counted, "there were super-packets: {packets:#}");
            for (place, line) in lines.iter().enumerate() {
                let fields: Vec<&str> = line.split('|').collect();
                let [length, kept, ip, tcp, udp, icmp] = fields[..] else { panic!("{line}") };
                assert!(length == kept && length.parse::<u32>().unwrap() <= 1514, "{args:?} {place}: {line}");
                assert_eq!(ip, if host == V4 { "1" } else { "" }, "{args:?} {place}: {line}");
                assert_eq!([tcp, udp, icmp].concat(), "1", "{args:?} {place}: {line}");
            }
        }
    }
}

#[test]
fn a_split_file_of_headers_has_the_packets_of_the_wire() {
    let Some(hosts) = Hosts::new("a_split_file_of_headers") else { return };
    let (_server, scratch) = (hosts.serve(), Scratch::new("capture-headers"));
    let file = scratch.file("headers.pcapng", None);
    let args = ["throughput", V4, "-n", "5M", "--pcap", &file, "--pcap-split", "--snap", "128"];
    let run = hosts.run(&args);
    let packets = packets(&run);
    let lines = tshark(&file, &["frame.len", "tcp.len"]);
    let counted = number(&packets["up"]["packets"]) + number(&packets["down"]["packets"]);
    assert_eq!(lines.len() as u64, counted);
    let payload = |line: &String| line.split_once('|').unwrap().1.parse::<u64>().unwrap_or(0);
    let all: u64 = lines.iter().map(payload).sum();
    assert_eq!(all, number(&packets["up"]["payload"]) + number(&packets["down"]["payload"]));
}
