//! A configuration to begin with.

/// Every key of the file with its meaning; values stand in comments.
pub const TEMPLATE: &str = "\
# pathmeter's configuration: ~/.config/pathmeter/config.toml, or --config FILE.
# An option of the command line wins over the environment, that over this file.

# Where runs are kept: a file, or a database of a PostgreSQL server.
# store = \"postgres://pathmeter@db.example/pathmeter\"

# Keep every result, as with --save; --no-save leaves one out.
# save = true

# Far ends with names of their own: `pathmeter measure office`.
# [targets.office]
# host = \"office.example:5210\"
# token_file = \"~/.config/pathmeter/office.token\"
# fingerprint = \"the 64 hexadecimal digits that `pathmeter serve --tls` prints\"
# link = \"1G\"

# What coordinators may have `pathmeter agent run` do at this host; `pathmeter agent show` prints the rules.
# [agent]
# tests = [\"throughput\", \"latency\", \"mtu\", \"hops\"]
# hosts = [\"10.0.0.0/8\", \"far.example\"]
# max_time = \"10min\"
# max_rate = \"1G\"
# max_bytes = \"10GB\"
# max_streams = 16

# Options that every command with such an option has; tables are for one command.
# [defaults]
# color = \"never\"
# connect-timeout = \"2s\"
# [defaults.throughput]
# time = \"5s\"
# parallel = 4

# When differences count in `compare`, `trend` and `watch`, in percent.
# [thresholds]
# noise_floor = 1
# least = 2
# margin = 2
";

#[cfg(test)]
mod tests {
    use super::TEMPLATE;
    use crate::config::read;

    #[test]
    fn the_template_is_a_configuration_with_and_without_its_comments() {
        assert!(read("t", TEMPLATE).is_ok());
        let all: String = TEMPLATE
            .lines()
            .map(|line| {
                line.strip_prefix("# ")
                    .filter(|rest| rest.contains(" = ") || rest.starts_with('['))
                    .unwrap_or(line)
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let config = read("t", &all).unwrap();
        assert_eq!((config.targets.len(), config.defaults.len(), config.save), (1, 7, true));
    }
}
