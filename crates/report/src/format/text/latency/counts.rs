//! The counts of messages, in a phrase.

use model::latency::Counted;
use model::units::{grouped, percent};

/// `1 000 sent, 998 came back; 2 lost (0.200 %), 1 twice`: lost always, the rest where there is something.
pub(in crate::format) fn counted(counted: &Counted) -> String {
    if counted.asked == 0 && counted.far_received.is_some() {
        return one_way(counted);
    }
    let requested = match counted.asked == counted.sent {
        true => String::new(),
        false => format!(", {} of them asked for a reply", grouped(counted.asked)),
    };
    let lost = match counted.lost {
        0 => "none lost".into(),
        lost => {
            let share = percent(share(lost, counted.asked));
            format!("{} lost ({share}{})", grouped(lost), places(counted))
        }
    };
    let others = [
        (counted.in_flight, "still in flight at the end"),
        (counted.late, "too late to be measured"),
        (counted.duplicates, "twice"),
        (counted.reordered, "out of order"),
        (counted.strays, "strays of others"),
        (counted.behind, "sent late"),
        (counted.unsent, "due and not sent"),
    ];
    let others: String = others
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {} {what}", grouped(*count)))
        .collect();
    format!(
        "{} sent{requested}, {} came back; {lost}{others}",
        grouped(counted.sent),
        grouped(counted.received)
    )
}

fn one_way(counted: &Counted) -> String {
    let arrived = counted.far_received.unwrap_or_default();
    let lost = counted.sent.saturating_sub(arrived);
    let behind = match counted.behind {
        0 => String::new(),
        behind => format!(", {} sent late", grouped(behind)),
    };
    format!(
        "{} sent, {} arrived; {} lost ({}){behind}",
        grouped(counted.sent),
        grouped(arrived),
        grouped(lost),
        percent(share(lost, counted.sent))
    )
}

fn places(counted: &Counted) -> String {
    match (counted.lost_up, counted.lost_down) {
        (Some(up), Some(down)) => format!(": {} up, {} down", grouped(up), grouped(down)),
        _ => String::new(),
    }
}

pub(super) fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_reported() {
        let mut all = Counted { sent: 1000, asked: 1000, received: 998, lost: 2, ..Counted::default() };
        assert_eq!(counted(&all), "1\u{a0}000 sent, 998 came back; 2 lost (0.200 %)");
        (all.lost_up, all.lost_down, all.strays, all.asked) = (Some(2), Some(0), 7, 500);
        let text = "1\u{a0}000 sent, 500 of them asked for a reply, 998 came back; 2 lost (0.400 %: 2 up, 0 down), 7 strays of others";
        assert_eq!(counted(&all), text);
        let thrown = Counted { sent: 10, far_received: Some(9), ..Counted::default() };
        assert_eq!(counted(&thrown), "10 sent, 9 arrived; 1 lost (10.0 %)");
    }
}
