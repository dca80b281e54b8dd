//! Parameters: against iPerf3's own, at every limit, and encoded and decoded again.

use super::*;
use proptest::option;
use proptest::prelude::*;

fn decode(json: &str) -> Result<Params, Refusal> {
    Params::decode(json.as_bytes())
}

fn refused(json: &str) -> ErrorCode {
    decode(json).expect_err(json).code
}

#[test]
fn a_client_of_master_is_read() {
    let json = r#"{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":131072,
        "bandwidth":20000000,"pacing_timer":1000,"client_version":"3.21+"}"#;
    let mut test = TestSpec::new(Transport::Tcp);
    test.end = End::Time(Nanos::from_secs(1));
    test.length = Some(131_072);
    test.bitrate = Some(BitRate(20_000_000));
    test.wide_counters = false;
    let extras = Extras { client_version: Some("3.21+".into()), ..Extras::default() };
    assert_eq!(decode(json), Ok(Params { test, extras }));
}

#[test]
fn our_own_have_the_keys_of_iperf3_in_its_order() {
    let mut test = TestSpec::new(Transport::Udp);
    test.directions = Directions::Both;
    test.end = End::Time(Nanos::from_millis(1500));
    test.length = Some(1472);
    test.bitrate = Some(BitRate(1_000_000));
    let params = Params { test, extras: Extras { client_version: Some("x".into()), ..Extras::default() } };
    assert_eq!(
        String::from_utf8(params.encode()).unwrap(),
        r#"{"udp":true,"omit":0,"time":2,"num":0,"blockcount":0,"parallel":1,"bidirectional":true,"len":1472,"#
            .to_owned()
            + r#""bandwidth":1000000,"pacing_timer":1000,"gso":1,"gso_dg_size":1472,"gso_bf_size":64768,"gro":1,"#
            + r#""gro_bf_size":65507,"udp_counters_64bit":1,"client_version":"x"}"#
    );
}

#[test]
fn what_is_out_of_range_has_its_code() {
    for (field, code) in [
        (r#""time":86401"#, 5),
        (r#""time":-1"#, 5),
        (r#""time":18446744073709551615"#, 5),
        (r#""parallel":0"#, 6),
        (r#""parallel":129"#, 6),
        (r#""parallel":1e30"#, 6),
        (r#""len":0"#, 7),
        (r#""len":-1"#, 7),
        (r#""len":1048577"#, 7),
        (r#""window":536870913"#, 8),
        (r#""MSS":32768"#, 10),
        (r#""omit":601"#, 12),
        (r#""burst":0"#, 15),
        (r#""burst":1001"#, 15),
        (r#""sctp":true"#, 18),
        (r#""udp":true,"len":15"#, 20),
        (r#""udp":true,"len":65508"#, 20),
        (r#""TOS":256"#, 21),
        (r#""reverse":true,"bidirectional":true"#, 25),
        (r#""num":-1"#, 114),
        (r#""bandwidth":-1"#, 114),
        (r#""flowlabel":0"#, 127),
        (r#""server_affinity":1025"#, 132),
        (r#""tcp":true,"udp":true"#, 114),
        (r#""time":"10""#, 114),
        (r#""title":7"#, 114),
        (r#""reverse":"yes""#, 114),
    ] {
        assert_eq!(refused(&format!(r#"{{"len":1460,{field}}}"#)), ErrorCode(code), "{field}");
    }
    assert_eq!(refused("{}"), ErrorCode::BLOCK_SIZE, "TCP without a length");
    for text in ["", "[]", "7", "{\"len\":1", "\u{0}", &"[".repeat(10_000)] {
        assert_eq!(refused(text), ErrorCode::PARAMS);
    }
}

#[test]
fn odd_but_clear_values_are_taken() {
    let json =
        r#"{"udp":1,"tcp":false,"len":null,"time":10.0,"reverse":true,"new_key":{"a":[]},"num":2.5e3}"#;
    let params = decode(json).unwrap();
    assert_eq!(params.test.transport, Transport::Udp);
    assert_eq!(params.test.length.unwrap(), DEFAULT_UDP_LENGTH);
    assert_eq!(params.test.end, End::Bytes(Bytes(2500)));
    assert_eq!(params.test.directions, Directions::Down);
    assert!(params.test.offload, "a client that does not know of it leaves it to us");
}

#[test]
fn a_test_without_end_is_time_zero() {
    let params = decode(r#"{"tcp":true,"len":1,"time":0}"#).unwrap();
    assert_eq!(params.test.end, End::Time(Nanos::MAX));
    assert_eq!(Params::decode(&params.encode()), Ok(params));
}

#[test]
fn a_client_that_wants_no_offload_gets_none() {
    let json = r#"{"udp":true,"len":1448,"gso":0,"gso_dg_size":0,"gso_bf_size":65507,"gro":0}"#;
    assert!(!decode(json).unwrap().test.offload);
}

#[test]
fn a_client_that_wants_offload_and_a_rate_gets_whole_buffers() {
    let burst = |more: &str| {
        let json = format!(r#"{{"udp":true,"len":1400{more}}}"#);
        decode(&json).unwrap().test.burst
    };
    assert_eq!(burst(r#","bandwidth":100000000,"gso":1,"gso_dg_size":1400,"gso_bf_size":64400"#), Some(46));
    assert_eq!(burst(r#","bandwidth":100000000,"burst":10,"gso":1"#), Some(10));
    assert_eq!(burst(r#","bandwidth":100000000,"gso":0"#), None);
    assert_eq!(burst(r#","gso":1"#), None, "without a rate nothing waits");
    assert_eq!(burst(r#","bandwidth":100000000"#), None, "a client that does not know of it");
}

fn any_end() -> impl Strategy<Value = End> {
    prop_oneof![
        (1_u64..=86_400).prop_map(|seconds| End::Time(Nanos::from_secs(seconds))),
        (1..=i64::MAX as u64).prop_map(|bytes| End::Bytes(Bytes(bytes))),
        (1..=i64::MAX as u64).prop_map(End::Blocks),
    ]
}

fn any_test() -> impl Strategy<Value = TestSpec> {
    let directions = prop_oneof![Just(Directions::Up), Just(Directions::Down), Just(Directions::Both)];
    let shape = (any::<bool>(), directions, 1..=MAX_STREAMS, any_end(), 0_u64..=600, 16_u32..=65_507);
    let rate = || option::of((1..=i64::MAX as u64).prop_map(BitRate));
    let pace = (rate(), rate(), 0_u32..=1000, any::<bool>());
    let sizes = (option::of(1_u32..=32_767), option::of(1_u32..=512 << 20), option::of("[a-z]{1,15}"));
    let options = (any::<u8>(), option::of(1_u32..=0xf_ffff), any::<[bool; 6]>());
    (shape, pace, sizes, options).prop_map(|(shape, pace, sizes, options)| {
        let transport = if shape.0 { Transport::Tcp } else { Transport::Udp };
        let [nodelay, zero_copy, receive_discard, dont_fragment, repeating_payload, wide] = options.2;
        TestSpec {
            directions: shape.1,
            streams: shape.2,
            end: shape.3,
            omit: Nanos::from_secs(shape.4),
            length: Some(shape.5),
            bitrate: pace.0,
            fq_rate: pace.1,
            // Offload with a rate implies bursts.
            burst: Some(if pace.3 && pace.0.is_some() { pace.2.max(1) } else { pace.2 })
                .filter(|burst| *burst > 0),
            offload: shape.0 || pace.3,
            mss: sizes.0,
            window: sizes.1,
            congestion: sizes.2,
            tos: options.0,
            flow_label: options.1,
            nodelay,
            zero_copy,
            receive_discard,
            dont_fragment,
            repeating_payload,
            wide_counters: wide && !shape.0,
            ..TestSpec::new(transport)
        }
    })
}

proptest! {
    #[test]
    fn parameters_survive_the_wire(
        test in any_test(),
        title: Option<String>,
        extra_data: Option<String>,
        auth_token: Option<String>,
        get_server_output: bool,
        server_affinity in option::of(0_u32..=1024),
    ) {
        let client_version = Some("pathmeter".to_owned());
        let extras = Extras {
            title, extra_data, get_server_output, auth_token, client_version, server_affinity,
        };
        let params = Params { test, extras };
        prop_assert_eq!(Params::decode(&params.encode()), Ok(params));
    }

    #[test]
    fn any_bytes_are_an_answer(bytes: Vec<u8>) {
        let _ = Params::decode(&bytes);
    }

    #[test]
    fn any_member_is_an_answer(key in "(time|num|len|parallel|udp|gso|TOS|title)", value in "[-0-9.eE\"\\[{tn]{1,8}") {
        let _ = Params::decode(format!(r#"{{"len":1000,"{key}":{value}}}"#).as_bytes());
    }
}
