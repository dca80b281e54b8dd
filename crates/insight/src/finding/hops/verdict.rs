//! The conclusion of a trace: how far the far end is, what is lost, what stands out.

use super::super::status;
use super::super::text::grouped;
use super::super::verdict::first_sentence;
use super::super::{Severity, Status, Verdict};
use super::found;
use model::hops::{Counted, Hop, HopProtocol, HopsEnd, HopsResult, Missing};
use model::run::Run;

/// Void when nothing answered at all; else one to three sentences.
pub(in super::super) fn verdict_of_run(run: &Run) -> Verdict {
    let Some(found) = found(run) else { return Verdict { status: Status::Void, text: nothing(run) } };
    if found.hops.iter().all(|hop| hop.counted.answered == 0) {
        return match found.echo.filter(|echo| echo.answered > 0) {
            Some(echo) => Verdict { status: Status::Degraded, text: echoes_alone(found, echo) },
            None => Verdict { status: Status::Void, text: nothing(run) },
        };
    }
    let worst = run.findings.iter().find(|finding| finding.severity > Severity::Info);
    // The finding has the rest.
    let what = |title: &str| {
        [": ", "; "].iter().fold(title, |title, end| title.split(end).next().unwrap_or(title)).to_owned()
    };
    let why = worst.map(|finding| format!("{}. {}", what(&finding.title), first_sentence(&finding.advice)));
    let sentences = [Some(reached(run, found)), back(found), why.or_else(|| unclear(found))];
    let least = match found.end {
        HopsEnd::Reached => Status::Ok,
        _ => Status::Degraded,
    };
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Verdict { status: status(&run.findings).max(least), text }
}

/// The far end is there, and no answer to these probes shows it.
fn echoes_alone(found: &HopsResult, echo: Counted) -> String {
    format!(
        "The far end answers echo requests, {} of {}, and these probes are not answered: its port takes them, or something drops \
         them. {}",
        grouped(echo.answered),
        grouped(echo.sent),
        other(found.protocol)
    )
}

fn nothing(run: &Run) -> String {
    let why = run.findings.iter().find(|finding| finding.severity == Severity::Problem);
    match why {
        Some(why) => format!("Nothing answered. {}. {}", why.title, first_sentence(&why.advice)),
        None => "Nothing answered, not even the first hop: see whether this host has a route there and a firewall of its own, or \
                 try another --protocol."
            .into(),
    }
}

fn reached(run: &Run, found: &HopsResult) -> String {
    let last = found.hops.last();
    let ttl = last.map_or(0, |hop| hop.ttl);
    match found.end {
        HopsEnd::Reached => far_end(run, found, ttl),
        HopsEnd::Silent => format!(
            "Nothing behind hop {ttl} answers: the far end, or a firewall before it, drops these probes. {}",
            other(found.protocol)
        ),
        HopsEnd::Refused => {
            let refuses =
                |hop: &Hop| hop.routers.iter().find_map(|router| Some((router.address, router.refused?)));
            match last.and_then(refuses) {
                Some((address, [kind, code])) => format!(
                    "{address}, at hop {}, refuses to pass the probes on (ICMP type {kind} code {code}). {}",
                    ttl.saturating_sub(1).max(1),
                    other(found.protocol)
                ),
                None => format!("Hop {ttl} refuses the probes for their size: choose a smaller --size."),
            }
        }
        HopsEnd::Circle => format!("The far end was not reached in {ttl} hops."),
        HopsEnd::Cut => format!("The far end is more than {ttl} hops away: look further with --max-hops."),
    }
}

fn far_end(run: &Run, found: &HopsResult, ttl: u8) -> String {
    let hops = hops(ttl);
    let rtt = found.far_end().and_then(|hop| hop.rtt);
    let rtt = rtt.map(|rtt| format!(", round trip {} (median)", rtt.p50)).unwrap_or_default();
    let lost = match found.evidence() {
        Some((counted, false)) if counted.missing() == 0 && found.dead_flows().is_empty() => {
            format!("; none of {} packets to it was lost", grouped(counted.sent))
        }
        _ => String::new(),
    };
    if found.ttl_rewritten.is_some_and(|what| what.ttl_quoted.is_some()) {
        return format!(
            "Probes of {hops} reach the far end, which is further away: their TTL is set on the path{rtt}{lost}."
        );
    }
    match found.beyond {
        Some(_) => format!("These probes are answered {hops} away, and not by the far end{rtt}{lost}."),
        None => {
            format!("The far end is {hops} away{rtt}{lost}.{}", other_address(run, found).unwrap_or_default())
        }
    }
}

/// The far end answers from another address than the target.
fn other_address(run: &Run, found: &HopsResult) -> Option<String> {
    let target = run.hops()?.target.address.ip().to_canonical();
    let routers = &found.far_end()?.routers;
    let is_other = !routers.is_empty() && routers.iter().all(|router| router.address != target);
    is_other.then(|| format!(" It answers from {}, not {target}.", routers[0].address))
}

/// How far the return path is, where the far end traced it, and what is lost on it.
fn back(found: &HopsResult) -> Option<String> {
    let back = found.back.as_deref()?;
    let Some(ttl) = back.far_end().map(|hop| hop.ttl) else {
        return Some("Packets that the far end traced back with do not arrive here: a firewall before this host drops them.".into());
    };
    let lost = back.evidence().map(|(counted, _)| match counted.missing() {
        0 => format!("; none of {} packets on it was lost", grouped(counted.sent)),
        missing => format!("; {} of {} packets on it were lost", grouped(missing), grouped(counted.sent)),
    });
    Some(format!("The return path takes {}{}.", hops(ttl), lost.unwrap_or_default()))
}

fn hops(ttl: u8) -> String {
    if ttl == 1 { "1 hop".into() } else { format!("{ttl} hops") }
}

/// The doubt that the far end's missing answers leave.
fn unclear(found: &HopsResult) -> Option<String> {
    let far = found.far_end().filter(|hop| hop.missing == Missing::Unclear)?;
    found.evidence().filter(|(_, limited)| *limited)?;
    Some(format!(
        "It left {} of {} probes unanswered, which may be loss or its limit of ICMP errors: --protocol icmp or tcp shows which.",
        grouped(far.counted.missing()),
        grouped(far.counted.sent)
    ))
}

fn other(protocol: HopProtocol) -> &'static str {
    match protocol {
        HopProtocol::Udp => "Try --protocol icmp, or tcp with --port of a service there.",
        HopProtocol::Icmp => "Try --protocol udp, or tcp with --port of a service there.",
        HopProtocol::Tcp => "Try the --port of a service there, or --protocol icmp.",
    }
}
