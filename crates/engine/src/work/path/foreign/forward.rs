//! The largest packet that reaches the far end whole, by what it answers.

use super::bisect::Bisect;
use super::closed::{CONTROL, ClosedPort, Verdict};
use super::echo::{Echo, SizeReplies};
use super::facts::Facts;
use crate::error::Result;
use crate::host::interrupt::Interrupt;
use linux::options::MtuDiscovery;
use model::path::{Bound, Outcome, Search, SizeProbe};
use model::units::Nanos;

/// The largest packet that one method has observed to arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Whole packet.
    pub(super) path_mtu: Option<u32>,
    /// How sure it is that no larger one arrives.
    pub(super) bound: Bound,
}

/// Searches with echo requests that no router may cut: the smaller of both directions, where the far end forbids that too.
pub(super) fn by_echo(echo: &mut Echo, facts: &Facts, interrupt: &Interrupt) -> Result<Outcome> {
    let mut search = Search::new(facts.ipv6, echo.least(), facts.most);
    let mut reported = 0;
    while let Some(round) = search.round() {
        let rows = echo.probe_train(&round.sizes, round.copies, MtuDiscovery::Probe, interrupt)?;
        if interrupt.is_raised() {
            break;
        }
        let probe = |row: &SizeReplies| SizeProbe { size: row.size, sent: row.sent, received: row.received };
        let probes: Vec<SizeProbe> = rows.iter().map(probe).collect();
        search.take(&probes);
        echo.too_big[reported..].iter().for_each(|message| search.hint_mtu(message.mtu));
        reported = echo.too_big.len();
    }
    Ok(search.outcome())
}

/// Goes on with a search by echo that ended without a size, as the far end answers few requests in a second: one size after another, each
/// after a pause.
pub(super) fn slowly(
    echo: &mut Echo,
    facts: &Facts,
    found: &mut Outcome,
    interrupt: &Interrupt,
) -> Result<()> {
    let Some(low) = echo.largest_answered().filter(|_| found.bound != Bound::Exact) else { return Ok(()) };
    let mut bisect = Bisect::new(low, facts.most);
    echo.too_big.iter().for_each(|message| bisect.hint(message.mtu));
    (found.path_mtu, found.bound) = (Some(low), Bound::AtLeast);
    while let Some(size) = bisect.next() {
        let verdict = reaches(echo, size, interrupt)?;
        if verdict == Verdict::Unclear {
            return Ok(());
        }
        bisect.take(size, verdict == Verdict::Arrives);
        found.path_mtu = Some(bisect.low());
    }
    // What was lost by chance would have ended the search too early.
    let is_lost = bisect.low() >= facts.most || reaches(echo, bisect.low() + 1, interrupt)? == Verdict::Lost;
    if is_lost {
        found.bound = Bound::Exact;
    }
    Ok(())
}

/// Whether requests of `size` bytes are answered by a host that answers few in a second: each follows a pause, and silence counts where a
/// small request sent right after it is answered.
fn reaches(echo: &mut Echo, size: u32, interrupt: &Interrupt) -> Result<Verdict> {
    let mut lost = 0;
    for _ in 0..SLOW_TRIES {
        interrupt.sleep(PAUSE);
        if interrupt.is_raised() {
            break;
        }
        let is_answered = |rows: &[SizeReplies]| rows.iter().any(|row| row.received > 0);
        if is_answered(&echo.probe_train(&[size], 1, MtuDiscovery::Probe, interrupt)?) {
            return Ok(Verdict::Arrives);
        }
        lost += u32::from(is_answered(&echo.probe_train(&[CONTROL], 1, MtuDiscovery::Probe, interrupt)?));
        if lost == SURELY_LOST {
            return Ok(Verdict::Lost);
        }
    }
    Ok(Verdict::Unclear)
}

/// Searches with datagrams to a closed port. `hint`: a size that may be it.
pub(super) fn by_port(port: &mut ClosedPort<'_>, facts: &Facts, hint: Option<u32>) -> Result<Reach> {
    let mut bisect = Bisect::new(CONTROL.min(facts.most), facts.most);
    hint.into_iter().for_each(|hint| bisect.hint(hint));
    let mut reported = 0;
    while let Some(size) = bisect.next() {
        let verdict = port.reaches(size, MtuDiscovery::Probe)?;
        if verdict == Verdict::Unclear {
            return Ok(Reach { path_mtu: Some(bisect.low()), bound: Bound::AtLeast });
        }
        bisect.take(size, verdict == Verdict::Arrives);
        port.too_big[reported..].iter().for_each(|message| bisect.hint(message.mtu));
        reported = port.too_big.len();
    }
    Ok(Reach { path_mtu: Some(bisect.low()), bound: Bound::Exact })
}

/// The results of both, put together: the datagrams went one way alone, and prove more.
pub(super) fn best(echo: Option<&Outcome>, port: Option<Reach>) -> Reach {
    let echo = echo.map(|outcome| Reach { path_mtu: outcome.path_mtu, bound: outcome.bound });
    match (echo, port) {
        (Some(echo), Some(port)) if port.bound == Bound::Exact || echo.path_mtu <= port.path_mtu => port,
        (Some(echo), _) => echo,
        (None, port) => port.unwrap_or_default(),
    }
}

/// Hosts and routers that limit echo seldom answer less than one request per second.
const PAUSE: Nanos = Nanos::from_millis(1_050);
/// Attempts with one size, and how many of them have to be lost beside an answered small request.
const SLOW_TRIES: u32 = 4;
const SURELY_LOST: u32 = 2;
