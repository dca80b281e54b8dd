//! The targets that read what peers, the kernel and users give.
#![no_main]

mod control_messages;
mod cpio;
mod elf;
mod histogram_v2;
mod http;
mod iperf2;
mod iperf3_client;
mod iperf3_params;
mod iperf3_results;
mod iperf3_server;
mod kernel_memory;
mod native_inputs;
mod native_messages;
mod netlink;
mod packets;
mod text;
mod twamp;
mod vm_frames;

use spoiled::{FuzzTarget, chosen, text};
use std::sync::LazyLock;

static TARGET: LazyLock<FuzzTarget> = LazyLock::new(|| {
    chosen(&[
        ("control_messages", control_messages::run),
        ("cpio", |data| cpio::run(text(data))),
        ("elf", elf::run),
        ("histogram_v2", histogram_v2::run),
        ("http", http::run),
        ("iperf2", iperf2::run),
        ("iperf3_client", iperf3_client::run),
        ("iperf3_params", iperf3_params::run),
        ("iperf3_results", iperf3_results::run),
        ("iperf3_server", iperf3_server::run),
        ("kernel_memory", kernel_memory::run),
        ("native_inputs", native_inputs::run),
        ("native_messages", native_messages::run),
        ("netlink", netlink::run),
        ("packets", packets::run),
        ("text", |data| text::run(text(data))),
        ("twamp", twamp::run),
        ("vm_frames", vm_frames::run),
    ])
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (*TARGET)(data));
