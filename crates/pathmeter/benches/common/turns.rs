//! The harness: cases played in turns, their order rotating, and stored as they end.

use super::document::{Case, Contender, Figure, Goal, Measure, Record, Setting, Turn, pages, tables};
use super::machine;
use super::options::Options;
use anyhow::Context;
use std::path::Path;
use std::process::{Command, Stdio};

/// A case about to be played.
pub(crate) struct Plan<'a> {
    pub(crate) name: String,
    /// A goal needs it.
    pub(crate) essential: bool,
    pub(crate) goals: Vec<Goal>,
    pub(crate) entrants: Vec<Entrant<'a>>,
}

/// One contender, and how one run of it is made.
pub(crate) struct Entrant<'a> {
    pub(crate) label: String,
    pub(crate) run: Box<dyn Fn() -> anyhow::Result<Measured> + 'a>,
}

/// The result of one run.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) figures: Vec<(&'static str, f64)>,
    /// CPU time of others meanwhile, as a share of one CPU.
    pub(crate) foreign: f64,
}

/// One benchmark as a whole.
pub(crate) struct Bench<'a> {
    pub(crate) name: &'static str,
    pub(crate) figures: Vec<Figure>,
    pub(crate) versions: Vec<String>,
    pub(crate) plans: Vec<Plan<'a>>,
}

/// Plays every requested case, prints it, and stores it when that was requested, too.
pub(crate) fn play(bench: Bench<'_>, options: &Options) -> anyhow::Result<()> {
    let setting = Setting {
        date: today()?,
        machine: machine::describe(),
        command: options.command(bench.name),
        versions: bench.versions,
    };
    let names: Vec<String> = bench.plans.iter().map(|plan| plan.name.clone()).collect();
    let mut played = Record { figures: bench.figures, cases: Vec::new() };
    let wanted = |plan: &&Plan<'_>| options.wants(&plan.name) && (plan.essential || options.all);
    for plan in bench.plans.iter().filter(wanted) {
        let case = play_case(plan, &setting, options);
        println!("{}", tables::case(&Record { figures: played.figures.clone(), cases: Vec::new() }, &case));
        played.cases.push(case);
        if options.store {
            store(bench.name, played.clone(), &names)?;
        }
    }
    println!("### Goals\n\n{}", tables::goals(&played));
    Ok(())
}

/// Stores these cases beside those stored before, and makes the documents of all.
fn store(bench: &str, played: Record, names: &[String]) -> anyhow::Result<()> {
    let mut record = pages::load(root(), bench)?;
    record.merge(played, names);
    let path = pages::stored(root(), bench);
    std::fs::write(&path, record.to_json()?).with_context(|| format!("write {}", path.display()))?;
    pages::write(root())
}

/// A B C, B C A, C A B …: none always comes after the same. Turn 0 warms up and is forgotten.
fn play_case(plan: &Plan<'_>, setting: &Setting, options: &Options) -> Case {
    let entrants = &plan.entrants;
    let blank = |entrant: &Entrant<'_>| Contender { label: entrant.label.clone(), ..Contender::default() };
    let mut contenders: Vec<Contender> = entrants.iter().map(blank).collect();
    for turn in 0..=options.turns {
        for step in 0..entrants.len() {
            let index = (turn + step) % entrants.len();
            let (entrant, contender) = (&entrants[index], &mut contenders[index]);
            if contender.turns.is_empty()
                && contender.failed.as_ref().is_some_and(|(count, _)| *count >= HOPELESS)
            {
                continue;
            }
            match machine::undisturbed(options.timeout, &entrant.run) {
                Ok(measured) => {
                    eprintln!("{} {turn} {}: {}", plan.name, entrant.label, in_words(&measured));
                    if turn > 0 {
                        contender.turns.push(as_turn(turn, &measured));
                    }
                }
                Err(error) => {
                    eprintln!("{} {turn} {}: {error:#}", plan.name, entrant.label);
                    let count = contender.failed.take().map_or(0, |(count, _)| count);
                    contender.failed = Some((count + 1, format!("{error:#}")));
                }
            }
        }
    }
    if let Some(dir) = &options.profile {
        for entrant in entrants {
            if let Err(error) = profile(dir, &plan.name, entrant, options) {
                eprintln!("profile of {} {}: {error:#}", plan.name, entrant.label);
            }
        }
    }
    Case { name: plan.name.clone(), setting: setting.clone(), goals: plan.goals.clone(), contenders }
}

/// One more run, with every CPU looked at by perf: the report of it is a text beside its data.
fn profile(dir: &Path, case: &str, entrant: &Entrant<'_>, options: &Options) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("make {}", dir.display()))?;
    let label: String =
        entrant.label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let data = dir.join(format!("{case}-{label}.data"));
    let time = (options.time.as_secs_f64() + 0.5).to_string();
    let mut recorder = Command::new("perf");
    recorder.args(["record", "-a", "-q", "-F", "997", "-g", "-o"]).arg(&data).args(["--", "sleep", &time]);
    let mut recorder = recorder.stdin(Stdio::null()).spawn().context("start perf")?;
    let measured = (entrant.run)();
    recorder.wait().context("wait for perf")?;
    let mut report = Command::new("perf");
    report
        .args(["report", "--stdio", "--no-children", "-g", "none", "--sort", "comm,symbol", "-i"])
        .arg(&data);
    let text = report.stdin(Stdio::null()).output().context("perf report")?.stdout;
    let head = format!("{}\n", in_words(&measured?));
    std::fs::write(data.with_extension("txt"), [head.into_bytes(), text].concat())?;
    Ok(())
}

fn as_turn(turn: usize, measured: &Measured) -> Turn {
    let finite = measured.figures.iter().filter(|(_, value)| value.is_finite());
    let figures = finite.map(|(key, value)| ((*key).to_owned(), rounded(*value))).collect();
    Turn { turn, foreign: rounded(measured.foreign.max(0.0)), figures }
}

/// Five digits that count: what is stored stays small.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

fn in_words(measured: &Measured) -> String {
    let figures = measured.figures.iter().map(|(key, value)| format!("{key} {}", rounded(*value)));
    let mut argv = figures.collect::<Vec<_>>().join(", ");
    if machine::is_disturbed(measured.foreign) {
        argv += &format!(", DISTURBED: others used {:.0} % of a CPU", measured.foreign * 100.0);
    }
    argv
}

/// A figure that is always shown.
pub(crate) fn figure(key: &str, title: &str, higher_is_better: bool) -> Figure {
    Figure { key: key.into(), title: title.into(), higher_is_better, beyond: None }
}

/// A figure shown where it is worth a column.
pub(crate) fn shown_beyond(key: &str, title: &str, beyond: f64) -> Figure {
    Figure { beyond: Some(beyond), ..figure(key, title, false) }
}

/// Ours over the strongest of some settings.
pub(crate) fn ratio(figure: &str, ours: &str, peers: &[&str], wanted: f64) -> Goal {
    let peers = peers.iter().map(ToString::to_string).collect();
    Goal { figure: figure.into(), ours: ours.into(), peers, measure: Measure::Ratio, wanted }
}

/// Ours alone.
pub(crate) fn alone(figure: &str, ours: &str, wanted: f64) -> Goal {
    Goal { measure: Measure::Value, ..ratio(figure, ours, &[], wanted) }
}

/// Makes the documents of what is stored.
pub(crate) fn write_tables() -> anyhow::Result<()> {
    pages::write(root())
}

fn today() -> anyhow::Result<String> {
    Ok(jiff::Zoned::now().strftime("%Y-%m-%d").to_string())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Failures without a success after which a contender is left out of the further turns.
const HOPELESS: usize = 2;
