//! Foreign tools in a topology: run as ours are, and read by the importer.

use super::observed::Observation;
use super::outcome::{Outcome, repetition, why};
use super::plan::{Step, address};
use super::testbed::Testbed;
use lab::build::Lab;
use lab::command::{Output, Running};
use lab::topology::{Tool, Topology};
use model::framing::Network;
use model::lab::{LabTest, Series};
use model::plan::Direction;
use report::import::{Known, read};
use std::time::Duration;

/// A command, and the end that a tool talks to.
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
        let address = topology.node(name).and_then(|node| address(node, family));
        address.map(|address| address.to_string()).unwrap_or_default()
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
        return Err(why(output));
    }
    let read = read(name, &text, Known::default()).map_err(|error| error.to_string())?;
    let first = read.into_iter().next().ok_or("it printed nothing")?;
    Ok(Box::new(first.run))
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
    let series = |direction| Series::new(&tool.name, step.family, LabTest::Tool, direction);
    let run = match outcome {
        Ok(run) => run,
        Err(why) => return testbed.add_failed(series(None), observed.repetition(round, None), &why),
    };
    for direction in [Some(Direction::Up), Some(Direction::Down), None] {
        let figures = repetition(&run, LabTest::Tool, direction, observed.repetition(round, direction));
        if figures.goodput.is_some() || figures.rtt_p50.is_some() {
            testbed.add(series(direction), &run, figures);
        }
    }
}

const TO_LISTEN: Duration = Duration::from_millis(500);
