//! A list of CPUs, as people write it.

use std::str::FromStr;

/// CPU numbers, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<CpuList, String> {
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (cpu(first), cpu(last)) {
                (Some(first), Some(last)) if first <= last => cpus.extend(first..=last),
                _ => return Err(format!("`{part}`: expected CPU numbers such as 0,2-3, below {MAX_CPUS}")),
            }
        }
        Ok(CpuList(cpus))
    }
}

fn cpu(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|&number| number < MAX_CPUS)
}

const MAX_CPUS: u32 = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!("0,2-4,1".parse(), Ok(CpuList(vec![0, 2, 3, 4, 1])));
        for text in ["", "a", "3-1", "0,", "0-99999999999", "-1"] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }
}
