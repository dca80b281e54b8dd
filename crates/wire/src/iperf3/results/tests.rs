//! Results: against iPerf3's own, with its quirks, and encoded and decoded again.

use super::*;
use proptest::prelude::*;

fn udp_test() -> TestSpec {
    TestSpec { streams: 2, ..TestSpec::new(Transport::Udp) }
}

fn row(id: i64) -> Value {
    json!({"id": id, "bytes": 10, "retransmits": -1, "jitter": 0.5, "errors": 0, "packets": 1})
}

fn document(streams: &Value) -> Value {
    json!({"cpu_util_total": 12.5, "cpu_util_user": 2, "cpu_util_system": 10.5, "sender_has_retransmits": 1,
        "streams": streams})
}

fn decode(json: &Value) -> Result<Results, ProtocolError> {
    Results::decode(json.to_string().as_bytes())
}

#[test]
fn stream_numbers_leave_two_out() {
    assert_eq!((0..5).map(stream_id).collect::<Vec<_>>(), [1, 3, 4, 5, 6]);
}

#[test]
fn minus_one_of_iperf3_3_12_is_unknown() {
    let text = r#"{"cpu_util_total":9.9,"cpu_util_user":1.1,"cpu_util_system":8.8,"sender_has_retransmits":
        18446744073709551615,"congestion_used":"cubic","streams":[{"id":1,"bytes":1310720,"retransmits":
        18446744073709551615,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1.000086}]}"#;
    let results = Results::decode(text.as_bytes()).unwrap();
    assert_eq!(results.sender_has_retransmits, -1);
    let side = results.to_side(&TestSpec::new(Transport::Tcp), Direction::Down).unwrap();
    assert_eq!(side.streams[0].role, Role::Receiver);
    assert_eq!(side.streams[0].bytes, Bytes(1_310_720));
    assert_eq!(side.streams[0].elapsed, Nanos::from_micros(1_000_086));
    assert_eq!(side.streams[0].tcp, None);
    assert_eq!(side.datapath.congestion.as_deref(), Some("cubic"));
    assert!((side.cpu.process - 0.099).abs() < 1e-12);
}

#[test]
fn omitted_datagrams_are_taken_off() {
    let json = document(&json!([{"id": 3, "bytes": 900, "retransmits": -1, "jitter": 0.000_25, "errors": 30,
        "omitted_errors": 10, "packets": 500, "omitted_packets": 100, "start_time": 0, "end_time": 1}]));
    let side = decode(&json).unwrap().to_side(&udp_test(), Direction::Down).unwrap();
    let udp = side.streams[0].udp.clone().unwrap();
    assert_eq!((side.streams[0].stream, udp.datagrams, udp.lost, udp.last_sequence), (1, 380, 20, 500));
    assert_eq!(udp.jitter, Nanos::from_micros(250));
}

#[test]
fn old_versions_count_the_datagrams_by_their_bytes() {
    let json = document(&json!([{"id": 1, "bytes": 38_000, "retransmits": -1, "jitter": 0, "errors": 2,
        "packets": 77, "start_time": 0, "end_time": 1}]));
    let test = TestSpec { omit: Nanos::from_secs(1), length: Some(1000), ..udp_test() };
    for (sends, expected) in [(Direction::Down, (38, 2, 77)), (Direction::Up, (38, 0, 77))] {
        let side = decode(&json).unwrap().to_side(&test, sends).unwrap();
        let udp = side.streams[0].udp.clone().unwrap();
        assert_eq!((udp.datagrams, udp.lost, udp.last_sequence), expected);
    }
}

#[test]
fn losses_that_are_unknown_or_impossible_do_no_harm() {
    for (errors, omitted, packets) in [(-1, -1, 10), (99, 0, 10), (5, 20, 10), (i64::MIN, i64::MAX, i64::MIN)]
    {
        let json =
            document(&json!([{"id": 1, "bytes": 0, "retransmits": 0, "jitter": -1e300, "errors": errors,
            "omitted_errors": omitted, "packets": packets, "omitted_packets": 0}]));
        let side = decode(&json).unwrap().to_side(&udp_test(), Direction::Down).unwrap();
        let udp = side.streams[0].udp.clone().unwrap();
        assert_eq!(udp.datagrams + udp.lost, udp.last_sequence);
        assert_eq!(udp.jitter, Nanos::ZERO);
    }
}

#[test]
fn what_cannot_be_results_is_refused() {
    for json in [
        json!([]),
        json!({}),
        document(&json!({})),
        document(&json!([7])),
        document(&json!([{"id": 1}])),
        json!({"cpu_util_total": "1", "streams": []}),
    ] {
        assert!(matches!(decode(&json), Err(ProtocolError::Violation { .. })), "{json}");
    }
    let many: Vec<_> = (0..257).map(row).collect();
    assert!(decode(&document(&json!(many))).is_err());
    let mut negative = row(1);
    negative["bytes"] = json!(-1);
    assert!(decode(&document(&json!([negative]))).is_err());
}

#[test]
fn streams_that_are_not_of_the_test_are_refused() {
    for ids in [vec![2], vec![4], vec![-1], vec![1, 3, 3]] {
        let rows: Vec<_> = ids.iter().copied().map(row).collect();
        let results = decode(&document(&json!(rows))).unwrap();
        assert!(results.to_side(&udp_test(), Direction::Up).is_err(), "{ids:?}");
    }
}

#[test]
fn the_report_of_a_server_comes_along() {
    let mut json = document(&json!([]));
    json["server_output_text"] = json!("-----\n");
    assert_eq!(decode(&json).unwrap().report, Some(Report::Text("-----\n".into())));
    json["server_output_json"] = json!({"start": {}});
    let results = decode(&json).unwrap();
    assert_eq!(results.report, Some(Report::Json(json!({"start": {}}))));
    assert_eq!(Results::decode(&results.encode()), Ok(results));
}

#[test]
fn a_receiver_reports_its_exact_counters() {
    let udp = UdpCounters {
        datagrams: 90,
        lost: 10,
        last_sequence: 150,
        jitter: Nanos::from_micros(5),
        ..Default::default()
    };
    let stream = StreamResult {
        stream: 1,
        direction: Direction::Up,
        role: Role::Receiver,
        elapsed: Nanos::from_secs(2),
        bytes: Bytes(9000),
        total_bytes: Bytes(14_000),
        tcp: None,
        udp: Some(udp),
    };
    let side = SideResult { streams: vec![stream], ..SideResult::default() };
    let results = Results::of_side(&side, None);
    let expected = StreamRow {
        id: 3,
        bytes: 9000,
        retransmits: -1,
        jitter: 5e-6,
        errors: 10,
        omitted_errors: Some(0),
        packets: 150,
        omitted_packets: Some(50),
        seconds: Some(2.0),
    };
    assert_eq!(results.streams, [expected]);
    assert_eq!(results.sender_has_retransmits, -1);
}

proptest! {
    #[test]
    fn results_survive_the_wire(
        cpu in [0.0..1e4, 0.0..1e4, 0.0..1e4],
        rows in prop::collection::vec((any::<u32>(), 0_u64..1 << 62, -1_i64..1 << 40, 0.0..1e3, any::<[u32; 4]>()), 0..9),
        congestion_used: Option<String>,
    ) {
        let streams = rows.into_iter().map(|(id, bytes, retransmits, jitter, n)| StreamRow {
            id: i64::from(id), bytes, retransmits, jitter, errors: i64::from(n[0]), packets: i64::from(n[1]),
            omitted_errors: Some(i64::from(n[2])), omitted_packets: Some(i64::from(n[3])), seconds: Some(jitter),
        }).collect();
        let results = Results { cpu, sender_has_retransmits: 1, congestion_used, report: None, streams };
        prop_assert_eq!(Results::decode(&results.encode()), Ok(results));
    }

    #[test]
    fn any_bytes_are_an_answer(bytes: Vec<u8>) {
        let _ = Results::decode(&bytes);
    }

    #[test]
    fn any_row_is_an_answer(id in -2_i64..5, numbers: [f64; 5], omitted: [i64; 2]) {
        let json = document(&json!([{"id": id, "bytes": numbers[0], "retransmits": numbers[1], "jitter": numbers[2],
            "errors": numbers[3], "packets": numbers[4], "omitted_errors": omitted[0],
            "omitted_packets": omitted[1], "start_time": numbers[2], "end_time": numbers[0]}]));
        if let Ok(results) = decode(&json) {
            let _ = results.to_side(&udp_test(), Direction::Up);
        }
    }
}
