//! The figures that a plan will measure, so that an expectation which it can never answer is refused before the test.

use super::Expectation;
use insight::figure::{Part, Scope};
use model::plan::{Direction, Directions, Transport};
use thiserror::Error;

/// The figures that a plan will measure. Those that may or may not come, such as the sizes probed to explain a loss, count
/// as measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Yields {
    /// Streams: of which transport and direction.
    pub streams: Vec<(Transport, Direction)>,
    /// Packet sizes are looked for.
    pub sizes: bool,
    /// Round trips are timed.
    pub round_trips: bool,
    /// Labels of the paths of a latency run.
    pub egress_paths: Vec<String>,
    /// Phases of a latency run under load; `None`: idle.
    pub phases: Vec<Option<Directions>>,
    /// Several sessions at once.
    pub pairs: bool,
    /// Files are transferred.
    pub transfers: bool,
    /// Frames of one size are sent.
    pub frames: bool,
    /// A UDP service is asked.
    pub service: bool,
    /// The routers on the path are asked.
    pub hops: bool,
}

/// A plan does not measure what is expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{expectation}` can never hold: {why}")]
pub struct NeverMeasured {
    /// The expectation as it was given.
    pub expectation: String,
    /// The part that the plan lacks.
    pub why: String,
}

impl Expectation {
    /// Whether the plan can yield the figure at all.
    ///
    /// # Errors
    /// It cannot, and why.
    pub fn answered_by(&self, yields: &Yields) -> Result<(), NeverMeasured> {
        let lacking = |is_there: bool, what: &str| (!is_there).then(|| what.to_owned());
        let why = match self.key.figure.scope {
            Scope::Streams => self.lacks_streams(yields),
            Scope::Sizes => lacking(yields.sizes, "this command does not look for packet sizes"),
            Scope::Egress => self.lacks_path(&yields.egress_paths),
            Scope::Load => {
                let is_there = yields.phases.iter().any(|phase| self.key.part == Part::Loaded(*phase));
                lacking(is_there, "there is no such phase; `pathmeter latency HOST --loaded` has them")
            }
            Scope::Transfers => lacking(yields.transfers, "files are timed by `pathmeter transfer`"),
            Scope::Frames => {
                lacking(yields.frames, "frames of one size are sent by `pathmeter frames --frame N`")
            }
            Scope::Service => lacking(yields.service, "a service is asked by `pathmeter mtu --service PORT`"),
            Scope::Probing => {
                lacking(yields.sizes || yields.service, "packet sizes are looked for by `pathmeter mtu`")
            }
            Scope::Hops => lacking(yields.hops, "routers are asked by `pathmeter hops`"),
            Scope::Pairs => lacking(yields.pairs, "pairs run with `pathmeter throughput --pairs N`"),
            Scope::RoundTrips => {
                lacking(yields.round_trips, "round trips are timed by `latency` and `measure`")
            }
            Scope::Latency => {
                lacking(!yields.egress_paths.is_empty(), "round trips are timed by `pathmeter latency`")
            }
            Scope::Every | Scope::Device => None,
        };
        why.map_or(Ok(()), |why| Err(NeverMeasured { expectation: self.text.clone(), why }))
    }

    fn lacks_streams(&self, yields: &Yields) -> Option<String> {
        let fits = |(transport, direction): &&(Transport, Direction)| {
            self.key.direction.is_none_or(|wanted| wanted == *direction)
                && self.key.transport.is_none_or(|wanted| wanted == *transport)
                && self.key.figure.transport.is_none_or(|wanted| wanted == *transport)
        };
        if yields.streams.iter().any(|stream| fits(&stream)) {
            return None;
        }
        let mut all: Vec<String> =
            yields.streams.iter().map(|(transport, direction)| format!("{transport} {direction}")).collect();
        all.dedup();
        Some(match all.is_empty() {
            true => "this command measures no throughput".into(),
            false => {
                format!("this test measures {} only (--reverse, --bidir, --udp change that)", all.join(", "))
            }
        })
    }

    fn lacks_path(&self, paths: &[String]) -> Option<String> {
        let Part::Egress(label) = &self.key.part else { return None };
        let list = || paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        (!paths.contains(label)).then(|| match paths.is_empty() {
            true => "this command has no paths; `pathmeter latency` has".into(),
            false => format!("there is no path `{label}`; the paths are {}", list()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, yields: &Yields) -> Option<String> {
        let expectation: Expectation = text.parse().expect(text);
        expectation.answered_by(yields).err().map(|error| error.to_string())
    }

    #[test]
    fn a_figure_of_another_direction_or_transport_is_refused() {
        let yields = Yields { streams: vec![(Transport::Tcp, Direction::Up)], ..Yields::default() };
        for text in
            ["up.goodput>=1M", "tcp.up.goodput>=1M", "up.retransmits<=3", "verdict==ok", "findings==0"]
        {
            assert_eq!(refused(&text.replace("1M", "1Mbit/s"), &yields), None, "{text}");
        }
        for text in ["down.goodput>=1Mbit/s", "udp.up.goodput>=1Mbit/s", "up.loss<=1%", "up.path_mtu>=1500"] {
            assert!(refused(text, &yields).is_some(), "{text}");
        }
        let udp = Yields { streams: vec![(Transport::Udp, Direction::Up)], ..Yields::default() };
        for text in ["up.limit==shaper", "up.retransmits==0"] {
            assert!(refused(text, &udp).is_some(), "{text}");
        }
        let message = refused("down.goodput>=1Mbit/s", &yields).expect("it is refused");
        assert!(message.contains("measures TCP up only") && message.contains("--reverse"), "{message}");
    }

    #[test]
    fn paths_and_phases_must_be_there() {
        let yields = Yields {
            round_trips: true,
            egress_paths: vec!["direct".into()],
            phases: vec![None, Some(Directions::Up)],
            ..Yields::default()
        };
        for text in ["rtt.p50<1ms", "way.direct.rtt.p50<1ms", "loaded.up.rtt.p50<1ms", "late==0"] {
            assert_eq!(refused(text, &yields), None, "{text}");
        }
        for text in
            ["way.other.rtt.p50<1ms", "loaded.down.rtt.p50<1ms", "transfer.failed==0", "up.goodput>1M"]
        {
            assert!(refused(&text.replace(">1M", ">1Mbit/s"), &yields).is_some(), "{text}");
        }
    }
}
