//! `loss-from-hop` and `icmp-rate-limited`: loss that reaches the far end, and answers that a router keeps to itself.

use super::super::text::{grouped, percent};
use super::super::{Finding, Severity};
use super::{Look, named, named_at};
use model::hops::{Hop, HopsResult, LEVEL, LossStart, Missing, better};

/// Packets are lost on the path to the far end, or back.
pub(in super::super) fn loss_from_hop(look: Look<'_>) -> Option<Finding> {
    let found = look.found;
    let loss = found.loss?;
    let counted = loss.counted;
    let place = match (loss.clean, loss.observed) {
        (Some(clean), Some(observed)) if observed == clean + 1 => {
            format!(
                "it begins behind {}, and {} shows it first",
                named_at(found, clean),
                named_at(found, observed)
            )
        }
        (Some(clean), Some(observed)) => {
            format!("it begins between {} and {}", named_at(found, clean), named_at(found, observed))
        }
        (Some(clean), None) => format!("it begins behind {}", named_at(found, clean)),
        (None, _) if is_limited(found) => {
            "the hops answer too few probes to know at which of them it begins".into()
        }
        (None, _) => "so few probes do not show at which hop it begins, or it begins before the first".into(),
    };
    let what = match found.counted_on_arrival {
        true => "packets to this host",
        false => "packets to the far end or of its answers",
    };
    let title = format!(
        "{} of {what} are lost ({} of {}): {place}{}",
        percent(loss.share),
        grouped(counted.missing()),
        grouped(counted.sent),
        not_on_the_return_path(&look, loss).unwrap_or_default()
    );
    let severity = if loss.share >= HEAVY { Severity::Problem } else { Severity::Warning };
    let finding = look
        .finding("loss-from-hop", severity, title)
        .with("loss_share", loss.share)
        .with("lost_count", counted.missing())
        .with("sent_count", counted.sent)
        .with_known("clean_hops", loss.clean)
        .with_known("first_lossy_hops", loss.observed);
    Some(finding.advise(match loss.clean {
        Some(clean) => {
            let other = match look.back.is_some() || found.counted_on_arrival {
                true => "",
                false => " It may be the return path that loses, which `pathmeter serve` at the far end shows.",
            };
            format!(
                "Look at both ends of the link behind {}: counters of errors, drops of its queue, a policer.{other}",
                named_at(found, clean)
            )
        }
        None => {
            let more = look.probes.map_or(MORE, |probes| probes.saturating_mul(4).clamp(MORE, 1000));
            // The rate at which a Linux router answers.
            format!("Repeat it with more probes, as slow as routers answer, which shows the hop: -c {more} -i 1s.")
        }
    }))
}

/// The evidence of the return path's trace on loss of a round trip: that direction loses less than chance explains.
fn not_on_the_return_path(look: &Look<'_>, loss: LossStart) -> Option<String> {
    let (back, _) = look.back?.evidence()?;
    better(back, loss.counted, LEVEL).then(|| {
        format!(
            "; the return path lost {} of {}, so it is the path there",
            grouped(back.missing()),
            grouped(back.sent)
        )
    })
}

/// Hops on the path leave probes unanswered.
fn is_limited(found: &HopsResult) -> bool {
    found.hops.iter().any(|hop| !hop.far_end && hop.counted.missing() > 0)
}

/// Hops that left probes unanswered which others behind them show to have passed.
pub(in super::super) fn rate_limited(look: Look<'_>) -> Option<Finding> {
    let found = look.found;
    let limited: Vec<&Hop> = found.hops.iter().filter(|hop| hop.missing == Missing::OwnAnswers).collect();
    let first = limited.first()?;
    let named: Vec<String> = limited
        .iter()
        .map(|hop| {
            format!(
                "{} answered {} of {}",
                named(hop),
                grouped(hop.counted.answered),
                grouped(hop.counted.sent)
            )
        })
        .collect();
    let is_far = first.far_end && limited.len() == 1;
    let title = match is_far {
        false => format!(
            "{}, and more is answered behind: the answers are limited, or lost on their own return path. No packets are lost there",
            named.join(", ")
        ),
        true => format!(
            "{}, and {} of {} echo requests: the far end limits its ICMP errors, or something drops probes of this protocol alone",
            named.join(", "),
            grouped(found.echo.map_or(0, |echo| echo.answered)),
            grouped(found.echo.map_or(0, |echo| echo.sent))
        ),
    };
    let hops: Vec<u8> = limited.iter().map(|hop| hop.ttl).collect();
    let missing: u32 = limited.iter().map(|hop| hop.counted.missing()).sum();
    Some(
        look.finding("icmp-rate-limited", Severity::Info, title)
            .with("limited_hops", hops)
            .with("unanswered_count", missing)
            .advise(
                "Nothing is to be repaired. Routers limit how many ICMP messages they send (RFC 1812 section 4.3.2.8; Linux: six at \
                 once, then one a second for each destination). Probes at a longer interval are answered: -i 1s.",
            ),
    )
}

/// From this share on it is a problem.
const HEAVY: f64 = 0.05;
/// Number of probes that shows where loss of some percent begins.
const MORE: u32 = 100;
