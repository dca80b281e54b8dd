//! The rows of the decision table, in their order: what the hosts do first, then the reasons of a TCP that gets less than the path
//! gives, then the path under a load that it does not take.

use super::signs::{BINDING, MILLI, STALLED, STEADY, Signs};
use super::{End, facts, limit, path};
use model::limit::{Confidence, Limit, LimitKind, LoadProbing, LoadStep, Purpose};
use model::units::{BitRate, Bytes};

/// One row of the table: the limit, where its signs hold.
type LimitRow = fn(&Signs<'_>) -> Option<Limit>;

/// Every row; the first that holds names the limit.
pub(super) const ROWS: &[LimitRow] = &[
    application,
    line_rate,
    mtu,
    |signs| quota(signs, LimitKind::SenderCpu, End::Sender),
    |signs| quota(signs, LimitKind::ReceiverCpu, End::Receiver),
    fact_of_a_host,
    host_drop,
    |signs| cpu(signs, LimitKind::SenderCpu, signs.evidence.host.sender_full.as_ref()),
    |signs| cpu(signs, LimitKind::ReceiverCpu, signs.evidence.host.receiver_full.as_ref()),
    ramp_up,
    path::others::standing,
    receiver_window,
    sender_buffer,
    loss,
    loss_of_datagrams,
    reordering,
    ack_path,
    dropped_load,
    path::queue::short_queue,
    path::packets::cpus_far_above,
    path::packets::forwarder,
    path::others::variable,
    path::others::competing,
    path::treated_differently,
    path::not_met,
    path::packets::packet_rate,
    path::policer::policer_beside_a_queue,
    path::queue::controlled,
    path::policer::queue_of_another,
    path::queue::shaper,
    path::policer::policer,
];

fn application(signs: &Signs<'_>) -> Option<Limit> {
    let requested = signs.evidence.asked?;
    let reached = signs.evidence.goodput.0 as f64 >= ASKED * requested.0 as f64
        && (signs.tcp().is_some() || signs.lost() < FEW_LOST);
    reached.then(|| Limit { rate: Some(requested), ..limit(LimitKind::Application, Confidence::High) })
}

fn line_rate(signs: &Signs<'_>) -> Option<Limit> {
    signs.evidence.host.line_share?;
    let confidence = Confidence::High;
    Some(Limit { rate: signs.evidence.host.link, ..limit(LimitKind::LineRate, confidence) })
}

/// The size search found that packets as large as those of the test vanish.
fn mtu(signs: &Signs<'_>) -> Option<Limit> {
    let size = signs.evidence.host.lost_by_size?;
    Some(Limit {
        cause: Some(format!("packets of {size} bytes vanish on the path")),
        ..limit(LimitKind::Mtu, Confidence::High)
    })
}

/// A throttled end never shows a full CPU, and what it sends or takes of the load is its quota's too.
fn quota(signs: &Signs<'_>, kind: LimitKind, end: End) -> Option<Limit> {
    let (cause, fix) = facts::quota(signs, end)?;
    Some(Limit { cause: Some(cause), fix: Some(fix), ..limit(kind, Confidence::High) })
}

/// A fact of a host names the limit. Acknowledgements that wait come many at once, and the bursts that follow may be too much for a
/// host: then its drops do not.
fn fact_of_a_host(signs: &Signs<'_>) -> Option<Limit> {
    facts::named(signs).filter(|named| named.kind != LimitKind::HostDrop || ack_path(signs).is_none())
}

/// Most of what the load lost was dropped in the kernels of the two hosts.
pub(super) fn host_drop(signs: &Signs<'_>) -> Option<Limit> {
    let (load, hot) = (signs.load()?, signs.hot?);
    let is_many = is_dropped_by_hosts(load);
    // TCP that lost nothing and stayed far below that rate has not met these drops.
    let is_met = signs.tcp().is_none() || signs.rate >= BINDING * hot.rate || path::is_touched(signs, &hot);
    (is_many && is_met).then(|| Limit {
        cause: Some(
            "the kernel of an end dropped packets before any socket, or a socket's buffer was full".into(),
        ),
        rate: Some(BitRate(hot.rate as u64)),
        ..limit(LimitKind::HostDrop, Confidence::Medium)
    })
}

/// Hosts whose kernels dropped most of what a load lost show nothing about the path.
fn dropped_load(signs: &Signs<'_>) -> Option<Limit> {
    let why = "the kernels of the two hosts dropped most of what a load lost, and TCP has not met that";
    is_dropped_by_hosts(signs.load()?).then(|| Limit { ruled_out: vec![why.into()], ..Limit::default() })
}

fn is_dropped_by_hosts(load: &LoadProbing) -> bool {
    let sum = |of: fn(&LoadStep) -> f64| load.steps.iter().map(of).sum::<f64>();
    let (sent, lost) = (sum(|step| step.datagrams as f64), sum(|step| step.loss * step.datagrams as f64));
    let dropped = load.host_drops as f64;
    dropped >= 0.001 * sent && dropped >= MOST_DROPS * lost.max(1.0)
}

/// A CPU is full, and the path was not observed at its limit.
fn cpu(signs: &Signs<'_>, kind: LimitKind, full: Option<&String>) -> Option<Limit> {
    let by_path = signs.hot.is_some_and(|hot| signs.rate >= BINDING * hot.rate);
    let confidence = if signs.passes() { Confidence::High } else { Confidence::Medium };
    (!by_path).then(|| Some(Limit { cause: Some(full?.clone()), ..limit(kind, confidence) }))?
}

fn ramp_up(signs: &Signs<'_>) -> Option<Limit> {
    let reached = signs.hot.is_some_and(|hot| signs.rate >= BINDING * hot.rate);
    // A window of the receiver that grows slowly is what holds TCP back to the end.
    let by_window = signs.tcp()?.late_receive_window >= STOPPED;
    let is_growing = signs.tcp()?.growing && !reached && !by_window;
    // TCP that loses packets all the time over hundreds of round trips grows and falls; it will not reach more.
    let is_losing =
        signs.lost() >= LOSING && signs.round_trips().is_some_and(|count| count > MANY_ROUND_TRIPS);
    // Others take and leave their share of a path, and chance losses come and go: TCP grows and falls with them, to the end.
    let by_others = path::others::standing(signs).is_some() || path::is_filled(signs);
    let by_chance = loss(signs).is_some_and(|limit| limit.confidence == Confidence::High);
    // Acknowledgements that wait let TCP grow slowly, and it goes on to the end.
    let is_start = !is_losing && !by_others && !by_chance && ack_path(signs).is_none();
    (is_growing && is_start).then(|| Limit {
        also: path::any(signs).map(Box::new),
        ..limit(LimitKind::RampUp, Confidence::Medium)
    })
}

/// TCP stood still for the receiver's window, and its round trip did not grow.
fn receiver_window(signs: &Signs<'_>) -> Option<Limit> {
    let tcp = signs.tcp()?;
    let rtt = tcp.loaded_rtt?.0 as f64;
    let accounted = tcp.busy.0 > 0;
    let in_flight = signs.evidence.goodput.0 as f64 * rtt / 8e9;
    let filled = in_flight / tcp.largest_window.0.max(1) as f64;
    let is_filled = tcp.largest_window.0 > 0 && filled >= FILLED;
    // BBR sends at its own pace, and so stands still for a part of the time where the window is full all the time.
    let is_paced =
        !tcp.is_loss_based && tcp.receive_window >= NOW_AND_THEN && tcp.largest_cwnd > tcp.largest_window;
    let stood_still =
        tcp.receive_window.max(tcp.late_receive_window) >= MOSTLY || is_filled && (!accounted || is_paced);
    let confidence = window_confidence(signs)?;
    (stood_still && signs.evidence.host.receiver_full.is_none()).then(|| Limit {
        window: Some(tcp.largest_window),
        share: Some(if accounted { tcp.receive_window } else { filled.min(1.0) }),
        also: path::any(signs).map(Box::new),
        ..limit(LimitKind::ReceiverWindow, confidence)
    })
}

/// Far less is in flight than TCP could have there, and nothing was lost: the sender has no room for more.
fn sender_buffer(signs: &Signs<'_>) -> Option<Limit> {
    let tcp = signs.tcp()?;
    let rtt = tcp.loaded_rtt?.0 as f64;
    let payload = signs.rate * f64::from(tcp.mss) / f64::from(signs.evidence.frame.max(1));
    let in_flight = payload * rtt / 8e9;
    let may = tcp.largest_cwnd.min(tcp.largest_window).0 as f64;
    // BBR keeps a window of twice what it wants in flight.
    let unused = if tcp.is_loss_based { UNUSED } else { UNUSED_OF_MODEL };
    let held = (may > 0.0 && in_flight < unused * may) || tcp.send_buffer >= MOSTLY;
    // Without a load that passed, little in flight shows nothing, unless the kernel reports it itself.
    let is_shown = |confidence: &Confidence| *confidence == Confidence::High || tcp.send_buffer >= MOSTLY;
    let confidence = window_confidence(signs).filter(is_shown)?;
    let is_idle = signs.evidence.host.sender_full.is_none() && tcp.receive_window < 0.2;
    // Losses and marks keep the window of such a TCP far below its largest one; the kernel counts when the buffer is what stops it.
    let has_backed_off = tcp.lost.saturating_add(tcp.marked) >= SOME_LOSSES;
    let by_losses = tcp.is_loss_based && has_backed_off && tcp.send_buffer < MOSTLY;
    (held && rtt >= MILLI && signs.lost() < 0.001 && is_idle && !by_losses).then(|| Limit {
        window: Some(Bytes(in_flight as u64)),
        share: (tcp.send_buffer >= MOSTLY).then_some(tcp.send_buffer),
        also: path::any(signs).map(Box::new),
        ..limit(LimitKind::SenderBuffer, confidence)
    })
}

/// Whether the path had room: UDP passed more, or nothing asked it and TCP's round trip did not grow.
fn window_confidence(signs: &Signs<'_>) -> Option<Confidence> {
    let tcp = signs.tcp()?;
    let (idle, growth) = (tcp.idle_rtt?.0 as f64, signs.rtt_growth()?);
    // A queue as long as the path is TCP's own, filled: the window is large enough then.
    if growth > idle.max(MILLI) {
        return None;
    }
    match signs.load() {
        _ if !signs.is_below() => None,
        Some(_) if signs.passed >= 1.25 * signs.rate => Some(Confidence::High),
        _ => Some(Confidence::Medium),
    }
}

/// The round trip grows, the data's own direction does not: the acknowledgements wait.
fn ack_path(signs: &Signs<'_>) -> Option<Limit> {
    let growth = signs.rtt_growth().filter(|growth| *growth > 5.0 * MILLI)?;
    let flat = signs
        .load()?
        .for_purpose(Purpose::Ladder)
        .filter(|step| step.loss < 0.03 && step.delivered.0 as f64 >= 1.15 * signs.rate);
    let largest = flat.map(|step| step.growth.0 as f64).reduce(f64::max)?;
    // The data's own queue is as long when it is full: TCP filled that one, where it came near its rate.
    let own = signs
        .hot
        .is_some_and(|hot| hot.is_queued() && hot.queue > growth / 2.0 && signs.rate >= NEAR * hot.rate);
    // Where the data's own queue is shorter by far when it is full, or a load far above TCP's rate fills none, no loss makes the round
    // trip grow so.
    let is_elsewhere =
        signs.hot.map_or(signs.passed >= path::FAR_ABOVE * signs.rate, |hot| hot.queue < growth / 4.0);
    let most = if is_elsewhere { LOSING } else { most_lost(signs, 0.002) };
    let is_it =
        !own && signs.passes() && signs.is_below() && largest < growth / 4.0 && signs.lost_late() < most;
    is_it.then(|| Limit {
        queue: Some(model::units::Nanos(growth as u64)),
        ..limit(LimitKind::AckPath, Confidence::Medium)
    })
}

/// The share that TCP may have lost, where something else than losses holds it down: with acknowledgements that come many at once it
/// sends bursts, which CPUs that take far more than its rate, now more and now less, may drop. A limit of the path is steady.
fn most_lost(signs: &Signs<'_>, usual: f64) -> f64 {
    let is_of_cpus = signs.hot.is_none_or(|hot| hot.variation > STEADY);
    if is_of_cpus && signs.passed >= path::FAR_ABOVE * signs.rate { LOSING } else { usual }
}

/// Losses that do not depend on the rate hold a loss-based TCP down, as Reno's formula has it.
fn loss(signs: &Signs<'_>) -> Option<Limit> {
    let tcp = signs.tcp().filter(|tcp| tcp.is_loss_based && tcp.lost >= 2)?;
    let share = if tcp.late_lost >= 2 { signs.lost_late() } else { signs.lost() };
    let rtt = tcp.loaded_rtt.or(tcp.idle_rtt)?.as_secs_f64();
    let segments = f64::from(tcp.mss) * 8.0 * f64::from(tcp.streams);
    let (most, least) = (segments * reno(rtt, share), segments * with_timeouts(rtt, share));
    let fits = (0.25 * least..=most / 0.3).contains(&signs.rate);
    let load = signs.load()?;
    // Steps that the path took: of one that was capped the losses are the cap's, and of one that waited a full queue's.
    let below = |step: &&LoadStep| signs.hot.is_none_or(|hot| (step.sent.0 as f64) < 0.9 * hot.rate);
    let waited = |step: &&LoadStep| step.growth_p10.0 as f64 > WAITED;
    let is_shared = load.for_purpose(Purpose::Ladder).filter(below).any(|step| waited(&step));
    // Small frames that arrive, too: at twice the packets per second they are a part of the rate, unless packets are what is limited.
    let small = load.for_purpose(Purpose::Small).filter(|step| step.loss < CAPPED);
    let free: Vec<&LoadStep> =
        load.for_purpose(Purpose::Ladder).chain(small).filter(below).filter(|step| !waited(step)).collect();
    let sent: f64 = free.iter().map(|step| step.datagrams as f64).sum();
    let lost: f64 = free.iter().map(|step| step.loss * step.datagrams as f64).sum();
    let expected = sent * share;
    // Below the cap a policer or a queue drops nothing: one loss shows that chance takes some.
    let confirmed = lost.round() >= (expected / 4.0).floor().max(1.0);
    let confidence = match expected {
        MANY.. => Confidence::High,
        SOME.. if confirmed => Confidence::Medium,
        _ => Confidence::Low,
    };
    // Packets that overtake each other are taken for lost, and a load that lost none shows that few were.
    let overtaken = lost < 0.5 && reordering(signs).is_some();
    let too_few = expected < MANY && signs.hot.is_none() && !is_shared && !overtaken;
    let is_it = signs.passes() && signs.is_below() && fits && (confirmed && expected >= SOME || too_few);
    // TCP that losses hold down sends few segments; what the load lost counts with them.
    let pooled = match tcp.late_lost {
        2.. => (tcp.late_lost as f64 + lost) / (tcp.late_segments as f64 + sent),
        _ => (tcp.lost as f64 + lost) / (tcp.segments as f64 + sent),
    };
    is_it.then(|| Limit {
        share: Some(if confirmed { pooled } else { share }),
        also: path::any(signs).map(Box::new),
        ..limit(LimitKind::Loss, confidence)
    })
}

/// Segments per second of a TCP that loses a share of them and repairs each loss at once (Mathis et al., 1997).
fn reno(rtt: f64, share: f64) -> f64 {
    1.22 / (rtt * share.sqrt())
}

/// The same where timeouts repair what many losses in a window leave (Padhye et al., 1998, one acknowledgement for each segment).
fn with_timeouts(rtt: f64, share: f64) -> f64 {
    let timeouts = (3.0 * (0.375 * share).sqrt()).min(1.0) * share * (1.0 + 32.0 * share * share);
    1.0 / (rtt * (share / 1.5).sqrt() + (LEAST_TIMEOUT + rtt) * timeouts)
}

/// Datagrams are lost by chance: also where less is sent than the path took, or where more of a load passes than of the test.
fn loss_of_datagrams(signs: &Signs<'_>) -> Option<Limit> {
    let share = signs.lost();
    if signs.evidence.udp.is_none() || share < FEW_LOST {
        return None;
    }
    let is_below = |step: &&LoadStep| (step.sent.0 as f64) < BELOW * signs.rate && step.stalled < STALLED;
    let below: Vec<&LoadStep> = signs.load()?.for_purpose(Purpose::Ladder).filter(is_below).collect();
    let sent: f64 = below.iter().map(|step| step.datagrams as f64).sum();
    let lost: f64 = below.iter().map(|step| step.loss * step.datagrams as f64).sum();
    let expected = sent * share;
    let (is_it, confidence) = match expected {
        MANY.. => (lost >= expected / 8.0, Confidence::High),
        _ => (signs.passes(), Confidence::Medium),
    };
    is_it.then(|| Limit { share: Some(share), ..limit(LimitKind::Loss, confidence) })
}

/// Packets overtake each other: TCP takes some for lost, and waits for others. A queue or a window that binds is named before.
fn reordering(signs: &Signs<'_>) -> Option<Limit> {
    let tcp = signs.tcp().filter(|tcp| tcp.reordering >= FAR)?;
    let steps = signs.load()?.steps.iter();
    let of_one_flow =
        steps.filter(|step| matches!(step.purpose, Purpose::Ladder | Purpose::Hot) && step.sparse == 0);
    let share =
        of_one_flow.map(|step| step.reordered).reduce(f64::max).filter(|share| *share >= REORDERED)?;
    let is_it =
        signs.passes() && signs.is_below() && signs.lost_late() < most_lost(signs, 0.001) && tcp.segments > 0;
    is_it.then(|| Limit {
        share: Some(share),
        also: path::any(signs).map(Box::new),
        ..limit(LimitKind::Reordering, Confidence::Medium)
    })
}

/// Nothing is named: what it is not.
pub(super) fn not_known(signs: &Signs<'_>) -> Limit {
    let mut ruled_out = Vec::new();
    let load = signs.load();
    if let Some(down) = signs.evidence.down {
        ruled_out.push(format!("the path was down for {down} of the test"));
    } else if signs.is_delayed() {
        ruled_out.push(
            "the path took no more than a load gave it, and this host was too busy to show how much".into(),
        );
    } else if signs.passes() {
        let test = if signs.tcp().is_some() { "TCP" } else { "the test" };
        ruled_out.push(format!(
            "not the path: UDP passed {} where {test} got {}",
            BitRate(signs.passed as u64),
            BitRate(signs.rate as u64)
        ));
    } else if let Some(load) = load.filter(|load| !load.steps.is_empty()) {
        if !signs.exceeded() {
            let why = load.note.as_deref().unwrap_or("the load was no faster");
            ruled_out.push(format!("the path was not loaded above what the test got: {why}"));
        }
    } else if let Some(note) = load.and_then(|load| load.note.as_deref()) {
        ruled_out.push(format!("the path was not loaded: {note}"));
    }
    if load.is_some() {
        let host = &signs.evidence.host;
        if host.sender_full.is_none() && host.receiver_full.is_none() {
            ruled_out.push(match host.busy {
                true => "other work kept the hosts busy, which may have set the rate".into(),
                false => "no CPU of either end was full".into(),
            });
        }
        if signs.tcp().is_some_and(|tcp| tcp.busy.0 > 0 && tcp.receive_window < MOSTLY) {
            ruled_out.push("TCP did not wait for the receiver's window".into());
        }
    }
    Limit { ruled_out, ..Limit::default() }
}

/// Nearly every packet of a load below the limit waited for longer than hosts delay them, nanoseconds: in a queue that others filled.
const WAITED: f64 = 5.0 * MILLI;
/// Linux's shortest retransmission timeout, seconds, beyond the round trip.
const LEAST_TIMEOUT: f64 = 0.2;
/// Slow start ends with a loss or two.
const SOME_LOSSES: u64 = 4;
/// A step that loses more may have met a cap.
const CAPPED: f64 = 0.03;
/// Fewer datagrams are lost on many paths.
const FEW_LOST: f64 = 0.005;
/// A load below this share of what arrived of a test meets no limit of rate.
const BELOW: f64 = 0.9;
/// Datagrams that are lost again where chance takes them.
const MANY: f64 = 4.0;
/// Fewer are hardly met.
const SOME: f64 = 3.0;
/// TCP at less of a path's rate has no queue there.
const NEAR: f64 = 0.5;
/// Segments lost, of all: in slow start alone it is less over so long a time.
const LOSING: f64 = 0.02;
const MANY_ROUND_TRIPS: f64 = 200.0;
/// Segments by which one overtook another: far beyond the three that Linux begins with.
const FAR: u32 = 10;
/// Share of datagrams of one flow that were overtaken.
const REORDERED: f64 = 0.003;
/// The share of a requested rate that counts as reached.
const ASKED: f64 = 0.97;
/// The share of a load's losses that a host's kernel counted.
const MOST_DROPS: f64 = 0.3;
/// The share of the time that TCP was busy.
const MOSTLY: f64 = 0.5;
const NOW_AND_THEN: f64 = 0.2;
/// A share of the last interval.
const STOPPED: f64 = 0.8;
/// The share of the window that is in flight.
const FILLED: f64 = 0.9;
/// In flight, of what TCP could have there.
const UNUSED: f64 = 0.7;
/// The same of a congestion control that goes by a model of the path.
const UNUSED_OF_MODEL: f64 = 0.4;
