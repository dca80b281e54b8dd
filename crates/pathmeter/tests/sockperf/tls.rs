//! TLS between our two ends. Debian's sockperf has none: against one that was built with it `scripts/interop` tries both roles.

use crate::process::{Tool, free_port};

#[test]
fn encrypted_messages_come_back_whole() {
    for suite in ["TLS_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"] {
        let port = free_port();
        let serving = Tool::Ours.serve(port, &format!("--tcp --tls={suite}"));
        let options = format!("pp -i 127.0.0.1 -p {port} --tcp --tls={suite} -t 1 --mps=100");
        // Several records of TLS to each message.
        let output = Tool::Ours.run(&format!("{options} -m 40000 --data-integrity")).good();
        let [sent, received] = ["SentMessages=", "ReceivedMessages="].map(|args| output.number(args));
        assert!(sent > 0.0 && sent == received, "{suite}: {output:#?}");
        let bursts = Tool::Ours.run(&format!("{options} -b 5")).good();
        assert_eq!(bursts.number("# dropped messages = "), 0.0, "{suite}: {bursts:#?}");
        serving.stop().good();
    }
}

#[test]
fn ends_that_do_not_agree_on_a_suite_say_so() {
    let port = free_port();
    let _serving = Tool::Ours.serve(port, "--tcp --tls=TLS_AES_128_GCM_SHA256");
    let options = format!("pp -i 127.0.0.1 -p {port} --tcp -t 1");
    let other = Tool::Ours.run(&format!("{options} --tls=ECDHE-ECDSA-AES128-GCM-SHA256"));
    assert_eq!(other.code, Some(7), "{other:#?}");
    assert!(other.stderr.contains("no TLS with the server"), "{other:#?}");
    // Unencrypted data to a server of TLS have no answer.
    let plain = Tool::Ours.run(&options);
    assert!(matches!(plain.code, Some(7 | 8)), "{plain:#?}");
}
