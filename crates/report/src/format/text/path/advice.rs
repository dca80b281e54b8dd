//! The numbers to set, with their commands.

use super::super::super::{Paint, Style};
use model::path::advice::{Advice, Setting};

/// The list; a reason under each, but of several tunnels, whose reason is their name, and of a second clamp.
pub(in super::super) fn advice_text(advice: &[Advice], style: &Style) -> String {
    if advice.is_empty() {
        return String::new();
    }
    let many = several_tunnels(advice);
    let width = advice.iter().map(|one| name(&one.setting).chars().count()).max().unwrap_or(0) + 2;
    let value = advice.iter().map(|one| one.value.to_string().len()).max().unwrap_or(0);
    let blank = " ".repeat(width + value + 2);
    let mut text = format!("\n{}\n", style.paint(Paint::Bold, "What to set"));
    for one in advice {
        let head =
            format!("{}{:>value$}  ", style.paint(Paint::Dim, &pad(&name(&one.setting), width)), one.value);
        let commands = one.commands.iter().flat_map(|command| shell(command, 2 + blank.len(), style));
        for (index, line) in commands.enumerate() {
            text.push_str(&format!("  {}{line}\n", if index == 0 { &head } else { &blank }));
        }
        let reported = match one.setting {
            Setting::TunnelMtu(_) => many,
            Setting::MssClampIpv6 => advice.iter().any(|other| other.setting == Setting::MssClampIpv4),
            _ => false,
        };
        if reported {
            continue;
        }
        let why = format!("at {}: {}", one.place, one.why);
        let lines = style.wrap(&why, 2 + blank.len());
        text.extend(lines.iter().map(|line| format!("  {blank}{}\n", style.paint(Paint::Dim, line))));
    }
    text
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

/// A command, broken so that a shell still reads it as one.
fn shell(command: &str, indent: usize, style: &Style) -> Vec<String> {
    let narrower = Style { width: style.width.saturating_sub(2), ..*style };
    let lines = narrower.wrap(command, indent);
    let last = lines.len().saturating_sub(1);
    let more = |(index, line): (usize, String)| if index < last { format!("{line} \\") } else { line };
    lines.into_iter().enumerate().map(more).collect()
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}
