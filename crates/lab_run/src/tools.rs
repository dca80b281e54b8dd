//! Foreign tools in a topology: run as ours are, and read by the importer.

use super::observed::Observation;
use super::outcome::{Outcome, packet, why};
use super::plan::{Step, address, node};
use super::testbed::Testbed;
use lab::build::Lab;
use lab::command::{Output, Running};
use lab::topology::{Tool, Topology};
use model::framing::Network;
use model::lab::{LabTest, Repetition, Series};
use model::plan::Direction;
use report::import::{Known, read};
use std::time::Duration;

/// A tool and the end it talks to.
pub(super) struct Started {
    pub(super) running: Running,
    pub(super) server: Option<Running>,
}

/// Starts the answering end, and then the tool.
///
/// # Errors
/// Why it could not be started, in words.
pub(super) fn start(lab: &Lab, tool: &Tool, step: &Step) -> Result<Started, String> {
    let topology = lab.topology();
    let begin = |node: &str, args: &[String]| {
        let args = expanded(topology, args, step.family);
        lab.node(node).and_then(|node| node.start(&args)).map_err(|error| error.to_string())
    };
    let server = tool.serve.as_ref().map(|args| begin(&topology.to, args)).transpose()?;
    if server.is_some() {
        // No tool reports when it listens.
        std::thread::sleep(TO_LISTEN);
    }
    Ok(Started { running: begin(&topology.from, &tool.run)?, server })
}

/// The args with their addresses.
fn expanded(topology: &Topology, args: &[String], family: Network) -> Vec<String> {
    let address_of = |name: &str, family| {
        node(topology, name)
            .and_then(|node| address(node, family))
            .map(|ip| ip.to_string())
            .unwrap_or_default()
    };
    let places = [("to", &topology.to), ("from", &topology.from)];
    let replaced = |word: &String| {
        places.iter().fold(word.clone(), |word, (place, node)| {
            word.replace(&format!("{{{place}4}}"), &address_of(node, Network::V4))
                .replace(&format!("{{{place}6}}"), &address_of(node, Network::V6))
                .replace(&format!("{{{place}}}"), &address_of(node, family))
        })
    };
    args.iter().map(replaced).collect()
}

/// Reads a tool's output.
pub(super) fn of_output(output: &Output, name: &str) -> Outcome {
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.succeeded() {
        return Outcome::Failed(why(output));
    }
    match read(name, &text, Known::default()) {
        Ok(mut read) if !read.is_empty() => Outcome::Run(Box::new(read.remove(0).run)),
        Ok(_) => Outcome::Failed("it printed nothing".into()),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Puts its figures beside ours.
pub(super) fn take(
    testbed: &mut Testbed,
    step: &Step,
    tool: &Tool,
    round: u32,
    outcome: Outcome,
    observed: &Observation,
) {
    let run = match outcome {
        Outcome::Run(run) => run,
        Outcome::Failed(why) => {
            let failed = Repetition { number: round, error: Some(why), ..observed.repetition(None) };
            let series = Series::new(&tool.name, step.family, LabTest::Tool, None);
            testbed.series(series).runs.push(failed);
            return;
        }
    };
    let directions = Direction::BOTH.map(Some).into_iter().chain([None]);
    for direction in directions {
        let figures = super::outcome::repetition(&run, LabTest::Tool, direction);
        if figures.goodput.is_none() && figures.rtt_p50.is_none() {
            continue;
        }
        let packet =
            direction.and_then(|direction| packet(&run, direction, step.family, testbed.encaps(step.family)));
        let speed = direction.and_then(|direction| testbed.speed(direction));
        let observed = observed.repetition(direction);
        let series = testbed.series(Series::new(&tool.name, step.family, LabTest::Tool, direction));
        series.packet = packet.or_else(|| series.packet.take());
        series.speed = speed;
        series.runs.push(Repetition { number: round, cpu: observed.cpu, drops: observed.drops, ..figures });
    }
}

const TO_LISTEN: Duration = Duration::from_millis(500);
