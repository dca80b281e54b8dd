//! `service-limit`: a UDP service that is silent above a size.

use super::super::text::count;
use super::super::{Finding, Severity};
use model::path::ServiceLimit;
use model::run::Run;

/// The service answers up to a size, or not at all.
pub(in super::super) fn service_limit(run: &Run) -> Option<Finding> {
    let limit = run.summary.path.as_ref()?.service.as_ref()?;
    match (limit.payload, limit.silent) {
        (Some(payload), Some(silent)) => Some(silent_above(limit, payload, silent)),
        (None, _) => Some(no_answer(limit)),
        (Some(_), None) => None,
    }
}

fn silent_above(limit: &ServiceLimit, payload: u32, silent: u32) -> Finding {
    let cut = limit.fragmented_from;
    let (why, advice) = if payload < cut && cut <= silent {
        (
            match silent == cut {
                true => ": this host cuts these into fragments, which are lost or not accepted".to_owned(),
                false => format!(
                    ": from {cut} on this host cuts them into fragments, which are lost or not accepted"
                ),
            },
            "Fragments do not reach the service, or it does not take them (`pathmeter mtu` to a pathmeter beside it shows which).",
        )
    } else if silent < cut {
        (
            format!(", though they are whole up to {}", cut.saturating_sub(1)),
            "The datagrams still go unfragmented: the path carries no larger packets (`pathmeter mtu` shows it), or it is the service's own limit.",
        )
    } else {
        (
            format!(", though fragments reach it: they begin at {cut}"),
            "The limit is the service's own (its buffer), or that of a device which puts fragments together.",
        )
    };
    let refused = limit.refused.as_ref().map(|words| format!("; ICMP reports: {words}")).unwrap_or_default();
    let title = format!(
        "The service at UDP port {} answers payloads of up to {payload} bytes and is silent from {silent} on{why}{refused}",
        limit.port
    );
    with_probes(Finding::new("service-limit", Severity::Warning, None, title), limit)
        .with("answered_payload_bytes", payload)
        .with("silent_payload_bytes", silent)
        .advise(format!("Send at most {payload} bytes in a datagram. {advice}"))
}

fn no_answer(limit: &ServiceLimit) -> Finding {
    let sent: u64 = limit.sizes.iter().map(|probe| u64::from(probe.sent)).sum();
    let refused = limit.refused.as_ref().map(|words| format!("; ICMP reports: {words}")).unwrap_or_default();
    let title = format!(
        "The service at UDP port {} answered none of {}{refused}",
        limit.port,
        count(sent, "datagram")
    );
    with_probes(Finding::new("service-limit", Severity::Problem, None, title), limit).advise(
        "Check that it runs at this port and that firewalls let it through; send it a request that it answers, and check the rule by which an answer is known.",
    )
}

fn with_probes(finding: Finding, limit: &ServiceLimit) -> Finding {
    let sum = |of: fn(&model::path::SizeProbe) -> u32| {
        limit.sizes.iter().map(|probe| u64::from(of(probe))).sum::<u64>()
    };
    finding
        .with("fragmented_from_bytes", limit.fragmented_from)
        .with("sent_count", sum(|probe| probe.sent))
        .with("answered_count", sum(|probe| probe.received))
}
