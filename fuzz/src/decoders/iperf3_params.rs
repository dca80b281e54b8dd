//! Parameters of an iPerf3 client, datagrams and first bytes: any bytes are an answer, and what was read is read
//! again from what is written.

use wire::Datagram;
use wire::iperf3::{Narrow, Params, Wide, classify, is_udp_hello, is_udp_reply};

/// One input.
pub(crate) fn run(bytes: &[u8]) {
    let _ = (classify(bytes), is_udp_hello(bytes), is_udp_reply(bytes), Narrow.read(bytes), Wide.read(bytes));
    if let Ok(params) = Params::decode(bytes) {
        let again = Params::decode(&params.encode()).expect("our own parameters are good");
        assert_eq!((again.test.end, again.test.length), (params.test.end, params.test.length));
        assert_eq!((again.test.mptcp, again.extras), (params.test.mptcp, params.extras));
    }
}
