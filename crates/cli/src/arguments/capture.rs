//! The options of the commands that can capture packets.

use clap::Args;
use engine::host::capture::{CaptureOptions, WHOLE};
use model::units::Bytes;
use std::path::PathBuf;

/// Whether and how the packets of a test are captured.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Packets")]
pub struct CaptureArgs {
    /// Capture the packets of the test on this host and count them by size, direction and flow; needs cap_net_raw
    #[arg(long)]
    pub capture: bool,
    /// Write them to this pcapng file; turns --capture on
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write the packets of the wire, not the super-packets that offloads make of them
    #[arg(long, requires = "pcap")]
    pub pcap_split: bool,
    /// Capture on this interface [default: the one that leads to the far end]
    #[arg(long, value_name = "NAME")]
    pub capture_interface: Option<String>,
    /// Bytes of each frame for the file, 64 to 512K [default: 160; all with --pcap-split]
    #[arg(long, value_name = "SIZE", requires = "pcap", value_parser = snap)]
    pub snap: Option<Bytes>,
}

impl CaptureArgs {
    /// The engine's options; `device`: the interface that the options of the test name.
    pub fn options(&self, device: Option<&str>) -> CaptureOptions {
        CaptureOptions {
            count: self.capture || self.capture_interface.is_some(),
            pcap: self.pcap.clone(),
            split: self.pcap_split,
            interface: self.capture_interface.clone().or(device.map(str::to_owned)),
            snap: self.snap.and_then(|snap| u32::try_from(snap.0).ok()),
        }
    }
}

fn snap(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    let fits = (64..=u64::from(WHOLE)).contains(&size.0);
    fits.then_some(size).ok_or_else(|| "from 64 bytes, which the headers need, to 512K".into())
}
