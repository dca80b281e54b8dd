//! The conclusion of a run of transfers: how fast, against what, and whether the packets' size accounts for it.

use super::{Status, Verdict};
use model::event::Outcome;
use model::run::Run;
use model::stats::compare::Judgement;
use model::transfer::{Fit, Gain, TransferResult, TransferRow};
use model::units::{BitRate, Nanos, change, change_between, difference};

/// The conclusion.
pub(super) fn verdict(run: &Run) -> Verdict {
    let result = run.summary.transfer.clone().unwrap_or_default();
    let failed: u32 = result.rows.iter().map(|row| row.failed).sum();
    if result.rows.iter().all(|row| row.count == 0) {
        return Verdict { status: Status::Void, text: void(run, &result) };
    }
    let mut sentences = match result.rows.as_slice() {
        [row] => single(row),
        rows => of_several(rows),
    };
    sentences.extend(result.rows.iter().filter(|row| row.count == 0 && row.failed > 0).map(silent));
    if failed > 0 {
        let error = result.transfers.iter().find_map(|one| one.error.as_deref()).unwrap_or_default();
        let all = result.transfers.len();
        sentences.push(format!("{failed} of {all} transfers failed, the first by: {error}."));
    }
    if run.summary.outcome == Some(Outcome::Interrupted) {
        sentences.push("It was stopped before its end.".into());
    }
    if sentences.is_empty() {
        // Not of this program's making: it counts no transfer without its time.
        return Verdict { status: Status::Void, text: "The document has no transfer's time.".into() };
    }
    let status = if failed > 0 { Status::Degraded } else { Status::Ok };
    Verdict { status, text: sentences.join(" ") }
}

fn void(run: &Run, result: &TransferResult) -> String {
    let reason = result.transfers.iter().rev().find_map(|one| one.error.as_ref());
    match (reason, &run.summary.outcome) {
        (Some(reason), _) | (None, Some(Outcome::Failed { reason })) => {
            format!("No transfer came to its end: {}.", reason.trim_end_matches(['.', '…']))
        }
        _ => "No transfer came to its end.".into(),
    }
}

/// One row: its rate and times.
fn single(row: &TransferRow) -> Vec<String> {
    let (Some(rate), Some(total)) = (row.rate, row.total) else { return Vec::new() };
    let transfers = if row.count == 1 { "1 transfer".into() } else { format!("{} transfers", row.count) };
    let mut sentences = vec![format!(
        "{transfers} of {}: {} (median, {} to {}), in {} (median).",
        row.label,
        rate_of(rate.median),
        rate_of(rate.min),
        rate_of(rate.max),
        Nanos(total.median as u64)
    )];
    sentences.extend(row.first_byte.map(|first| {
        format!("The first byte of the answer took {} of it (median).", Nanos(first.median as u64))
    }));
    sentences
}

/// The sure differences, the surest first; where nothing differs for sure, the rates come first.
fn of_several(rows: &[TransferRow]) -> Vec<String> {
    let is_sure = |row: &&TransferRow| {
        let judgement = row.gain.as_ref().map(|gain| gain.comparison.judgement);
        judgement.is_some_and(|found| matches!(found, Judgement::Better | Judgement::Worse | Judgement::Same))
    };
    let (sure, open): (Vec<&TransferRow>, Vec<&TransferRow>) = rows.iter().partition(is_sure);
    let rate = |row: &TransferRow| Some(format!("{} {}", row.label, rate_of(row.rate?.median)));
    let rates: Vec<String> = rows.iter().filter_map(rate).collect();
    let rates = (sure.is_empty() && !rates.is_empty()).then(|| format!("{} (medians).", rates.join(", ")));
    let against = sure.into_iter().chain(open).filter_map(|row| Some(compared(row, row.gain.as_ref()?)));
    rates.into_iter().chain(against).collect()
}

fn rate_of(value: f64) -> BitRate {
    BitRate(value as u64)
}

/// One row against its baseline.
fn compared(row: &TransferRow, gain: &Gain) -> String {
    let change = gain.comparison.shift.map(|shift| {
        let (word, percent) =
            if shift.percent < 0.0 { ("slower", -shift.percent) } else { ("faster", shift.percent) };
        let sure =
            shift.low.zip(shift.high).map(|(low, high)| format!(" ({} at 95 %)", change_between(low, high)));
        (word, difference(percent), sure.unwrap_or_default())
    });
    let (label, base) = (&row.label, &gain.baseline);
    let reported = match (gain.comparison.judgement, change) {
        (Judgement::Better | Judgement::Worse, Some((word, percent, sure))) => {
            format!("{label} is {percent} {word} than {base}{sure}")
        }
        (Judgement::Same, Some((.., sure))) => format!("{label} and {base} are the same{sure}"),
        (_, Some((word, percent, sure))) => {
            let judgement = gain.comparison.judgement;
            format!("{label} against {base}: {judgement}; it came out {percent} {word}{sure}")
        }
        (judgement, None) => format!("{label} against {base}: {judgement}"),
    };
    format!("{reported}{}.", explained(gain))
}

/// A row of which nothing came through, while others did.
fn silent(row: &TransferRow) -> String {
    let reported = match row.mtu {
        Some(_) => ": `pathmeter mtu HOST` shows which packets the path carries",
        None => "",
    };
    format!("No transfer of {} came to its end{reported}.", row.label)
}

/// The expected effect of the packets' size.
fn explained(gain: &Gain) -> String {
    let Some(expected) = gain.expected_percent else { return String::new() };
    let by_size = format!("the size of the packets alone would give {}", change(expected));
    match gain.fit() {
        Fit::Agrees => format!("; {by_size}, which is what came"),
        Fit::More => {
            format!("; {by_size}, so loss, fragments or a limit of packets per second are behind the rest")
        }
        Fit::Less => format!("; {by_size}, so something other than the link's bits is the limit"),
        Fit::Unknown => format!("; {by_size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::stats::compare::{Case, Rules, table};
    use model::transfer::{Spread, Transfer};

    fn row(rates: [f64; 6], expected: Option<f64>) -> TransferRow {
        let base = [19_000.0, 19_001.0, 19_002.0, 19_003.0, 19_004.0, 19_005.0];
        let rules = Rules { least_percent: 0.5, margin_percent: 0.5, ..Rules::new(true) };
        let case = Case { name: "MTU 2000", base: &base, other: &rates, rules };
        let comparison = table(&[case]).expect("they are rates").remove(0);
        let gain = Some(Gain { baseline: "MTU 1280".into(), comparison, expected_percent: expected });
        TransferRow {
            label: "MTU 2000".into(),
            count: 6,
            rate: Spread::from_values(&rates),
            gain,
            ..TransferRow::default()
        }
    }

    fn finding_text(rates: [f64; 6], expected: Option<f64>) -> String {
        let row = row(rates, expected);
        compared(&row, row.gain.as_ref().expect("it has one"))
    }

    #[test]
    fn a_gain_is_reported_with_its_interval_and_its_reason() {
        let text = finding_text([19_370.0, 19_365.0, 19_372.0, 19_361.0, 19_368.0, 19_366.0], Some(1.92));
        assert!(
            text.starts_with("MTU 2000 is 1.9 % faster than MTU 1280 (+1.9 to +1.9 % at 95 %)"),
            "{text}"
        );
        assert!(text.ends_with("would give +1.9 %, which is what came."), "{text}");
        let more = finding_text([21_370.0, 21_365.0, 21_372.0, 21_361.0, 21_368.0, 21_366.0], Some(1.92));
        assert!(more.contains("packets per second"), "{more}");
        let same = finding_text([19_000.5, 19_001.5, 19_002.5, 19_003.5, 19_004.5, 19_005.5], None);
        assert!(same.starts_with("MTU 2000 and MTU 1280 are the same"), "{same}");
        let noisy = finding_text([15_000.0, 24_000.0, 19_000.0, 17_000.0, 22_000.0, 20_000.0], Some(1.92));
        assert!(noisy.contains("cannot tell"), "{noisy}");
    }

    #[test]
    fn failures_are_reported_and_nothing_whole_is_void() {
        let mut result = TransferResult { rows: vec![row([1.0; 6], None)], ..TransferResult::default() };
        result.rows[0].failed = 1;
        result.transfers = vec![Transfer { error: Some("it broke".into()), ..Transfer::default() }];
        let mut run = Run::unjudged("1", "transfer", &[]);
        run.summary.transfer = Some(result.clone());
        let found = verdict(&run);
        assert_eq!(found.status, Status::Degraded);
        assert!(found.text.ends_with("1 of 1 transfers failed, the first by: it broke."), "{}", found.text);
        let silent =
            TransferRow { label: "MTU 9000".into(), mtu: Some(9000), failed: 1, ..TransferRow::default() };
        result.rows.push(silent);
        run.summary.transfer = Some(result.clone());
        let found = verdict(&run);
        assert!(
            found.text.contains("No transfer of MTU 9000 came to its end: `pathmeter mtu"),
            "{}",
            found.text
        );
        result.rows.truncate(1);
        result.rows[0].count = 0;
        run.summary.transfer = Some(result);
        assert_eq!(verdict(&run).status, Status::Void);
        assert_eq!(verdict(&run).text, "No transfer came to its end: it broke.");
    }
}
