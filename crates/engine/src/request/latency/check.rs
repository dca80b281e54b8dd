//! Checks of round trips: options of another protocol or mode, and times beyond their limits.

use super::Latency;
use crate::error::Failure;
use model::latency::{LatencyMode, LatencyProtocol};
use model::plan::Transport;
use model::units::Nanos;

pub(super) fn check(asked: &Latency, mode: LatencyMode) -> Result<(), Failure> {
    let no = |what: &str, advice: &str| Err(Failure::usage(what, advice));
    by_protocol(asked, mode)?;
    if asked.timeout.is_some_and(|timeout| timeout == Nanos::ZERO || timeout > LONGEST_TIMEOUT) {
        return no("--timeout is out of range", "give a time above 0 and up to 8s");
    }
    if asked.protocol != LatencyProtocol::Stamp && asked.key.is_some() {
        return no("a key goes with --protocol stamp alone", "leave the key out");
    }
    if mode == LatencyMode::Playback && asked.playback.is_empty() {
        return no(
            "--mode playback needs the messages",
            "give --playback FILE, with lines of `seconds, bytes`",
        );
    }
    if asked.load.is_none() && !asked.observe.is_empty() {
        return no("--observe is about hosts that a load crosses", "add --loaded, or drop it");
    }
    if asked.load.is_some() { beside_load(asked, mode) } else { Ok(()) }
}

/// Refuses options that do not work beside a load.
fn beside_load(asked: &Latency, mode: LatencyMode) -> Result<(), Failure> {
    let no = |what: &str, advice: &str| Err(Failure::usage(what, advice));
    if mode != LatencyMode::UnderLoad {
        return no(
            "--loaded sends its messages at a fixed rate",
            "drop --mode and --playback; --rate sets the rate",
        );
    }
    if asked.count.is_some() || asked.reply_every > 1 {
        return no(
            "--loaded has phases of a time, and every message asks for a reply",
            "drop -n and --reply-every; -t sets the length of a phase",
        );
    }
    if asked.time() < SHORTEST_PHASE {
        return no(
            "so short a load fills no path",
            "give -t 1s or more; -t 40s for responsiveness that can be relied on",
        );
    }
    if asked.hosts.len() > 1 || !asked.via.is_empty() {
        return no("--loaded measures one way at a time", "give one host, and --bind or --device at most");
    }
    Ok(())
}

/// Refuses options that a protocol does not have.
fn by_protocol(asked: &Latency, mode: LatencyMode) -> Result<(), Failure> {
    let no = |what: &str, advice: &str| Err(Failure::usage(what, advice));
    let of_sockperf = matches!(mode, LatencyMode::Throughput | LatencyMode::Playback);
    match asked.protocol {
        LatencyProtocol::Stamp | LatencyProtocol::Twamp if asked.transport == Transport::Tcp => {
            no("the messages of STAMP and TWAMP go over UDP alone", "drop --tcp")
        }
        LatencyProtocol::Stamp | LatencyProtocol::Twamp if of_sockperf => {
            no("STAMP and TWAMP answer every message of one size", "use --mode ping-pong or under-load")
        }
        LatencyProtocol::Stamp | LatencyProtocol::Twamp if asked.reply_every > 1 => {
            no("STAMP and TWAMP answer every message", "drop --reply-every")
        }
        LatencyProtocol::Iperf2 if of_sockperf => {
            no("iPerf2 answers every message of one size", "use --mode ping-pong or under-load")
        }
        LatencyProtocol::Iperf2 if asked.reply_every > 1 => {
            no("iPerf2 answers every message", "drop --reply-every")
        }
        LatencyProtocol::Native => Ok(()),
        _ if asked.secured => {
            no("a token or TLS goes with --protocol native alone", "drop it, or measure `pathmeter serve`")
        }
        _ if asked.load.is_some() => {
            no("--loaded puts our own streams beside the round trips", "use --protocol native")
        }
        _ => Ok(()),
    }
}

/// A server of ours takes a client for gone that is silent for 10 s.
const LONGEST_TIMEOUT: Nanos = Nanos::from_secs(8);
/// Connections start in this time where the path is short.
const SHORTEST_PHASE: Nanos = Nanos::from_millis(100);
