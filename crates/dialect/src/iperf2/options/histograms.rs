//! `--histograms` and `--jitter-histograms`: which bins times are counted in.

use super::Taken;
use crate::iperf2::numbers::{real, within};
use crate::iperf2::output::Iperf2Percentiles;
use crate::iperf2::{CommandLine, Fault, Histograms};
use model::stats::bins::BinShape;
use model::units::Nanos;

/// `WIDTH[u|m][,COUNT[,LOW[,HIGH]]]`: bins of so many micro- or milliseconds, their number, and two percentiles.
pub(super) fn histograms(line: &mut CommandLine, text: &str) -> Taken {
    line.both.shown.enhanced = true;
    let (mut parsed, mut percentiles) = (Histograms::default(), Iperf2Percentiles::default());
    if !text.is_empty() {
        let (width, rest) = text.split_once(',').unwrap_or((text, ""));
        let mut rest = rest.splitn(3, ',').filter(|part| !part.is_empty());
        let count = rest.next().map(|count| within(OPTION, count, 1, MOST_BINS)).transpose()?;
        parsed.width = Some(bin_width(width)?);
        parsed.count = count;
        let Iperf2Percentiles { low, high } = percentiles;
        let mut percent =
            |otherwise| rest.next().map_or(Ok(otherwise), |text| real(OPTION, text, 0.0, 100.0));
        percentiles = Iperf2Percentiles { low: percent(low)?, high: percent(high)? };
    }
    line.both.histograms = Some(parsed);
    line.both.shown.percentiles = percentiles;
    Ok(())
}

/// iPerf2 takes a width without a letter for one of the unit that it would have had; here the letter is required.
fn bin_width(text: &str) -> Result<Nanos, Fault> {
    let (number, unit) = match (text.strip_suffix('u'), text.strip_suffix('m')) {
        (Some(number), _) => (number, 1000),
        (None, Some(number)) => (number, 1_000_000),
        (None, None) => {
            return Err(Fault::value(OPTION, text, "a width in micro- or milliseconds: 100u, 1m"));
        }
    };
    Ok(Nanos(u64::from(within(OPTION, number, 1, 1_000_000)?) * unit))
}

/// `--jitter-histograms`: bins of so many microseconds.
pub(super) fn jitter(line: &mut CommandLine, text: &str) -> Taken {
    line.both.shown.enhanced = true;
    let micros = if text.is_empty() { 100 } else { within("--jitter-histograms", text, 1, 1_000_000)? };
    let shape = BinShape { width: Nanos::from_micros(micros.into()), count: JITTER_BINS };
    line.server.jitter = Some(shape);
    Ok(())
}

const OPTION: &str = "--histograms";
const MOST_BINS: u32 = 10_000_000;
/// The number of bins in iPerf2.
const JITTER_BINS: u32 = 1_000_000;
