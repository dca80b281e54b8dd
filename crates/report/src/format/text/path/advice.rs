//! The numbers to set, with their commands.

use crate::document::{Line, NamedLines, Paint};
use model::path::advice::{Advice, Setting};

/// The list; a reason under each, but of several tunnels, whose reason is their name, and of a second clamp.
pub(in crate::format) fn entries(advice: &[Advice]) -> Vec<NamedLines> {
    let many = several_tunnels(advice);
    let width = advice.iter().map(|one| name(&one.setting).chars().count()).max().unwrap_or(0);
    let value = advice.iter().map(|one| one.value.to_string().len()).max().unwrap_or(0);
    let entry = |one: &Advice| {
        let is_explained = match one.setting {
            Setting::TunnelMtu(_) => many,
            Setting::MssClampIpv6 => advice.iter().any(|other| other.setting == Setting::MssClampIpv4),
            _ => false,
        };
        let name = format!("  {:<width$}  {:>value$}", name(&one.setting), one.value);
        let commands = one.commands.iter().map(|command| Line::command(Paint::Plain, command));
        let why = (!is_explained).then(|| Line::new(Paint::Dim, format!("at {}: {}", one.place, one.why)));
        NamedLines {
            name: Line::new(Paint::Dim, name),
            lines: commands.chain(why).collect(),
            ..NamedLines::default()
        }
    };
    advice.iter().map(entry).collect()
}

/// No tunnel was named: there is a line for each of the usual ones.
fn several_tunnels(advice: &[Advice]) -> bool {
    advice.iter().filter(|one| matches!(one.setting, Setting::TunnelMtu(_))).count() > 1
}

/// The name of a setting.
pub(in crate::format) fn name(setting: &Setting) -> String {
    match setting {
        Setting::InterfaceMtu => "interface MTU".into(),
        Setting::MtuProbing => "tcp_mtu_probing".into(),
        Setting::MssClampIpv4 => "MSS clamp, IPv4".into(),
        Setting::MssClampIpv6 => "MSS clamp, IPv6".into(),
        Setting::UdpPayload => "UDP payload".into(),
        Setting::TunnelMtu(encaps) => format!("tunnel {encaps}"),
    }
}
