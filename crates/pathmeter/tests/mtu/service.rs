//! Case J: the largest datagram that a UDP service answers.

use super::helper;
use super::lab::{Family, Lab, Node, Who};

#[test]
fn case_j_a_service_whose_large_requests_are_dropped() {
    let Some(lab) = Lab::new("case_j") else { return };
    lab.forward(Node::R1, "udp length > 1240 drop");
    assert_limit(&lab, Some((1232, 1233)));
}

#[test]
fn case_j_a_service_whose_fragments_are_dropped() {
    let Some(lab) = Lab::new("case_j_fragments") else { return };
    lab.forward(Node::R1, "ip frag-off & 0x3fff != 0 drop\nexthdr frag exists drop");
    assert_limit(&lab, None);
}

/// Largest answered and smallest not; else what fits a packet and one more.
#[track_caller]
fn assert_limit(lab: &Lab, limit: Option<(u32, u32)>) {
    for (family, any) in [(Family::V4, "0.0.0.0:7"), (Family::V6, "[::]:7")] {
        let _echo = helper::start(lab, Node::S, &format!("echo {any}"));
        let (answered, silent) = limit.unwrap_or((1500 - family.headers(), 1501 - family.headers()));
        for who in [Who::Root, Who::Unprivileged] {
            let host = Node::S.address(family);
            let args = ["mtu", host, "--service", "7", "--reply-timeout", "300ms", "--json"];
            let run = lab.run(Node::C, who, &args).code(0).json();
            let service = &run["summary"]["path"]["service"];
            assert_eq!(
                (&service["payload"], &service["silent"], &service["fragmented_from"]),
                (&answered.into(), &silent.into(), &(1501 - family.headers()).into()),
                "{family:?} {who:?}: {service:#}"
            );
            let findings = run["findings"].as_array().unwrap();
            assert!(findings.iter().any(|finding| finding["id"] == "service-limit"), "{findings:#?}");
        }
    }
}
