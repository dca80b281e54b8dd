//! The commands that advice gives: one function for each, so that the same fix reads the same everywhere. Where an option is
//! advised it stands in a whole command line, since not every command has it.

use model::host::Host;

/// Rights for everything that any test does. All of them always: `setcap` replaces what was there before.
pub const RIGHTS: &str = "cap_net_admin,cap_net_raw,cap_sys_nice,cap_bpf,cap_perfmon";

/// The limit of a socket's receive buffer that serves every rate measured so far, in bytes: 256 MiB.
pub const RECEIVE_BUFFER: u64 = 268_435_456;

/// The copy of the program that has rights.
pub const PRIVILEGED: &str = "pathmeter-privileged";

/// Gives a copy of the program its rights, for the user's group alone: everyone who may start it could change interfaces. The
/// program itself stays open to all users: a service without capabilities cannot start a file that has some. `program`: where
/// it lies, if that is known.
#[must_use]
pub fn rights(program: Option<&str>) -> String {
    let program = program.unwrap_or("$(command -v pathmeter)");
    let copy = format!("/usr/local/bin/{PRIVILEGED}");
    let setcap = format!("sudo setcap {RIGHTS}+ep");
    if program.ends_with(PRIVILEGED) {
        return format!("{setcap} {program}");
    }
    format!("sudo install -m 750 -g $(id -gn) {program} {copy} && {setcap} {copy} && {PRIVILEGED} doctor")
}

/// Raises a limit of socket buffers: `net.core.rmem_max`, `net.core.wmem_max`.
#[must_use]
pub fn buffer_limit(setting: &str) -> String {
    format!("sudo sysctl -w {setting}={RECEIVE_BUFFER}")
}

/// Keeps the CPUs at their highest frequency.
#[must_use]
pub fn governor() -> String {
    "sudo cpupower frequency-set --governor performance".into()
}

/// Asks for the largest receive buffer.
#[must_use]
pub fn receive_buffer() -> String {
    "pathmeter throughput HOST --udp -w 256M".into()
}

/// Keeps the measuring thread of a latency run on a CPU of its own; `None` where this host has none to spare.
#[must_use]
pub fn latency_cpu(host: Option<&Host>) -> Option<String> {
    let cpu = host?.spare_cpu?;
    Some(format!("pathmeter latency HOST --affinity {cpu}"))
}

/// Keeps the streams of a test on a CPU of their own; likewise.
#[must_use]
pub fn stream_cpu(host: Option<&Host>) -> Option<String> {
    let cpu = host?.spare_cpu?;
    Some(format!("pathmeter throughput HOST --affinity {cpu}"))
}

/// Uses so many streams.
#[must_use]
pub fn streams(count: u32) -> String {
    format!("pathmeter throughput HOST -P {count}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_a_copys_and_one_groups() {
        assert_eq!(
            rights(Some("/usr/bin/pathmeter")),
            "sudo install -m 750 -g $(id -gn) /usr/bin/pathmeter /usr/local/bin/pathmeter-privileged && \
             sudo setcap cap_net_admin,cap_net_raw,cap_sys_nice,cap_bpf,cap_perfmon+ep /usr/local/bin/pathmeter-privileged && \
             pathmeter-privileged doctor"
        );
        // The copy cannot be copied onto itself.
        assert_eq!(
            rights(Some("/usr/bin/pathmeter-privileged")),
            "sudo setcap cap_net_admin,cap_net_raw,cap_sys_nice,cap_bpf,cap_perfmon+ep /usr/bin/pathmeter-privileged"
        );
    }

    #[test]
    fn a_cpu_is_advised_where_there_is_one_to_spare() {
        let host = Host { spare_cpu: Some(1), ..Host::default() };
        assert_eq!(latency_cpu(Some(&host)).as_deref(), Some("pathmeter latency HOST --affinity 1"));
        assert_eq!((latency_cpu(None), stream_cpu(Some(&Host::default()))), (None, None));
    }
}
