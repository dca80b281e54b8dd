//! The jobs that coordinators may have this agent do: the table `[agent]` of its configuration. The holder of the coordinator's
//! key gives the jobs; the agent's operator decides which are allowed.

use engine::host::host_port::HostPort;
use engine::request::{Request, Throughput};
use engine::run::PairCount;
use model::latency::LatencyProtocol;
use model::path::PathMethod;
use model::plan::{End, ProtocolName};
use model::units::{BitRate, Bytes, Nanos};
use report::document::{Block, Column, Csv, Document, Head, Table, json_value};
use serde::Serialize;
use serde_json::Value;
use std::net::IpAddr;

/// The rules of an agent, schema `pathmeter/agent-rules/1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Allowed {
    /// Always `pathmeter/agent-rules/1`.
    pub schema: String,
    /// The kinds of tests, by the names of their commands.
    pub tests: Vec<String>,
    /// Where tests may go beside the mesh's agents and the hosts that the configuration names: names, addresses and networks
    /// (`10.0.0.0/8`); `any`: anywhere.
    pub hosts: Vec<String>,
    /// Longest test.
    pub max_time: Nanos,
    /// Highest rate of a test; absent: as fast as the path.
    pub max_rate: Option<BitRate>,
    /// Most bytes of a test that ends by amount, and of what is uploaded.
    pub max_bytes: Bytes,
    /// Most streams of a test.
    pub max_streams: u32,
}

impl Default for Allowed {
    fn default() -> Allowed {
        Allowed {
            schema: SCHEMA.to_owned(),
            tests: ["throughput", "latency", "mtu", "hops", "frames", "measure"].map(str::to_owned).to_vec(),
            hosts: Vec::new(),
            max_time: Nanos::from_secs(3600),
            max_rate: None,
            max_bytes: Bytes(100_000_000_000),
            max_streams: 128,
        }
    }
}

/// Where a job goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Far<'a> {
    /// Another agent, at the host that the coordinator gives.
    Agent(&'a str),
    /// To a host that this agent's configuration names.
    Named,
    /// Anywhere else.
    Host(&'a str),
}

impl Allowed {
    /// Holds what a job asks for against the rules. A test that names no rate keeps to the highest.
    ///
    /// # Errors
    /// The rule that it breaks, and the key that would allow it.
    pub(crate) fn check(&self, request: &mut Request, far: Far<'_>) -> Result<(), String> {
        let kind = kind(request).ok_or("no agent carries out such a test for others")?;
        if !self.tests.iter().any(|test| test == kind) {
            return Err(refused(&format!("{kind} tests"), &format!("tests = [\"{kind}\"]")));
        }
        self.check_far(request, far)?;
        observed(request).iter().try_for_each(|host| self.check_host(&host.host))?;
        // The estimate has what connecting and the exchange of results take.
        let time = experiment::time_of(request).filter(|time| time.saturating_sub(AROUND) > self.max_time);
        if let Some(time) = time {
            return Err(refused(&format!("a test of {time}"), &format!("max_time = \"{time}\"")));
        }
        if let Some(streams) = streams(request).filter(|streams| *streams > self.max_streams) {
            return Err(refused(&format!("{streams} streams"), &format!("max_streams = {streams}")));
        }
        match request {
            Request::Throughput(asked) => self.check_throughput(asked),
            Request::Transfer(asked) => {
                // Another host that an answer names is none of those that are allowed.
                asked.redirects = 0;
                match &asked.body {
                    Some(engine::request::Body::Size(size)) => {
                        self.check_bytes(Bytes(size.0.saturating_mul(asked.repetitions.into())))
                    }
                    Some(engine::request::Body::File(_)) => {
                        Err("a job opens no file of the agent".to_owned())
                    }
                    None => Ok(()),
                }
            }
            Request::Latency(asked) => {
                let size = asked.size.unwrap_or(0);
                let bits = asked.rate.map_or(0, |rate| rate.0.saturating_mul(size.into()).saturating_mul(8));
                self.check_rate(BitRate(bits))
            }
            _ => Ok(()),
        }
    }

    /// Data goes to agents and named hosts by our own protocol, whose server must agree to it first; all other traffic could be
    /// directed at a host that never agreed to receive it.
    fn check_far(&self, request: &Request, far: Far<'_>) -> Result<(), String> {
        if let Request::Transfer(asked) = request {
            return asked.urls.iter().try_for_each(|url| self.check_url(url));
        }
        let host = match far {
            Far::Named => return Ok(()),
            Far::Agent(_) if is_agreed_on(request) => return Ok(()),
            Far::Agent(host) | Far::Host(host) => host,
        };
        self.check_host(host)
    }

    fn check_url(&self, text: &str) -> Result<(), String> {
        if scheme_of(text).eq_ignore_ascii_case("s3") {
            return Err("the keys of this agent's S3 account are not for jobs".to_owned());
        }
        let host = host_of(text).ok_or_else(|| format!("`{text}` names no host"))?;
        self.check_host(host)
    }

    fn check_host(&self, host: &str) -> Result<(), String> {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        let fits = |rule: &String| {
            rule == "any" || rule.eq_ignore_ascii_case(host) || address.is_some_and(|to| is_in(to, rule))
        };
        match self.hosts.iter().any(fits) {
            true => Ok(()),
            false => Err(refused(&format!("tests toward {host}"), &format!("hosts = [\"{host}\"]"))),
        }
    }

    fn check_throughput(&self, asked: &mut Throughput) -> Result<(), String> {
        if let End::Bytes(bytes) = asked.test.end {
            self.check_bytes(bytes)?;
        }
        let streams = u64::from(asked.test.streams.max(1));
        if let Some(rate) = asked.test.bitrate {
            self.check_rate(BitRate(rate.0.saturating_mul(streams)))?;
        }
        let share = self.max_rate.map(|most| BitRate((most.0 / streams).max(1)));
        asked.test.bitrate = asked.test.bitrate.or(share);
        Ok(())
    }

    fn check_rate(&self, rate: BitRate) -> Result<(), String> {
        match self.max_rate.filter(|most| rate > *most) {
            Some(_) => Err(refused(&format!("a rate of {rate}"), &format!("max_rate = \"{rate}\""))),
            None => Ok(()),
        }
    }

    fn check_bytes(&self, bytes: Bytes) -> Result<(), String> {
        match bytes > self.max_bytes {
            true => Err(refused(&format!("{} bytes", bytes.0), &format!("max_bytes = \"{}\"", bytes.0))),
            false => Ok(()),
        }
    }

    fn rows(&self) -> [(&'static str, String); 6] {
        let or = |text: String, none: &str| if text.is_empty() { none.to_owned() } else { text };
        [
            ("tests", self.tests.join(", ")),
            ("hosts", or(self.hosts.join(", "), "none but agents and [targets]")),
            ("max_time", self.max_time.to_string()),
            (
                "max_rate",
                self.max_rate.map_or_else(|| "as fast as the path".to_owned(), |rate| rate.to_string()),
            ),
            ("max_bytes", self.max_bytes.0.to_string()),
            ("max_streams", self.max_streams.to_string()),
        ]
    }
}

impl Document for Allowed {
    fn head(&self) -> Head {
        let title = "What jobs may do here".to_owned();
        Head { kind: "agent-rules".into(), title, depth: 1, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let rows = self.rows().map(|(key, value)| vec![key.into(), value]);
        vec![Block::Table(Table::new(vec![Column::left("rule"), Column::left("value")], rows.into()))]
    }

    fn csv(&self) -> Csv {
        Csv::new(["rule", "value"], self.rows().into_iter().map(|(key, value)| [key.to_owned(), value]))
    }

    fn value(&self) -> Value {
        json_value(self)
    }
}

fn refused(what: &str, key: &str) -> String {
    format!(
        "this agent's configuration does not allow {what} ([agent] {key} would; `pathmeter agent show` lists its rules)"
    )
}

/// The name of the command that does it; absent: none that a job can ask for.
fn kind(request: &Request) -> Option<&'static str> {
    // Builds with other features have more kinds, so that a match over all of them is not the same in each.
    let kinds = [
        (matches!(request, Request::Throughput(_)), "throughput"),
        (matches!(request, Request::Measure(_)), "measure"),
        (matches!(request, Request::Frames(_)), "frames"),
        (matches!(request, Request::Latency(_)), "latency"),
        (matches!(request, Request::Path(_)), "mtu"),
        (matches!(request, Request::Hops(_)), "hops"),
        (matches!(request, Request::Transfer(_)), "transfer"),
    ];
    kinds.into_iter().find_map(|(is_asked, name)| is_asked.then_some(name))
}

/// The hosts that it contacts to observe them.
fn observed(request: &Request) -> &[HostPort] {
    match request {
        Request::Throughput(asked) => &asked.observe,
        Request::Measure(asked) => &asked.observe,
        Request::Latency(asked) => &asked.observe,
        _ => &[],
    }
}

fn streams(request: &Request) -> Option<u32> {
    let sessions = |pairs: &Option<PairCount>| match pairs {
        Some(PairCount::Fixed(count)) => *count,
        Some(PairCount::Auto) => MOST_PAIRS,
        None => 1,
    };
    match request {
        Request::Throughput(asked) => Some(asked.test.streams.saturating_mul(sessions(&asked.pairs))),
        Request::Frames(asked) => Some(asked.streams.saturating_mul(sessions(&asked.pairs))),
        Request::Latency(asked) => asked.load.as_ref().map(|load| load.streams),
        _ => None,
    }
}

/// Nothing is sent beyond a few packets unless a pathmeter at the far end agrees.
fn is_agreed_on(request: &Request) -> bool {
    match request {
        Request::Throughput(asked) => asked.protocol == ProtocolName::Native,
        Request::Latency(asked) => asked.protocol == LatencyProtocol::Native,
        Request::Path(asked) => matches!(asked.method, PathMethod::Auto | PathMethod::Native),
        Request::Hops(_) | Request::Measure(_) | Request::Frames(_) => true,
        _ => false,
    }
}

fn scheme_of(url: &str) -> &str {
    url.trim_start().split("://").next().unwrap_or_default()
}

/// The host of a URL, as it is written.
fn host_of(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!name.is_empty()).then_some(name)
}

/// Whether an address is in a network, written `10.0.0.0/8`.
fn is_in(address: IpAddr, network: &str) -> bool {
    let Some((base, length)) = network.split_once('/') else {
        return network.parse::<IpAddr>().is_ok_and(|one| one.to_canonical() == address.to_canonical());
    };
    let (Ok(base), Ok(length)) = (base.parse::<IpAddr>(), length.parse::<u32>()) else { return false };
    let same = |one: u128, other: u128, bits: u32| {
        length <= bits && (length == 0 || one >> (bits - length) == other >> (bits - length))
    };
    match (address.to_canonical(), base) {
        (IpAddr::V4(one), IpAddr::V4(other)) => same(one.to_bits().into(), other.to_bits().into(), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => same(one.to_bits(), other.to_bits(), 128),
        _ => false,
    }
}

/// The most that a test takes beside its own time.
const AROUND: Nanos = Nanos::from_secs(30);
/// Sessions that are tried at most where their number is searched for.
const MOST_PAIRS: u32 = 64;
const SCHEMA: &str = "pathmeter/agent-rules/1";

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::{Known, request_of_plan};

    fn request(to: &str, test: &str) -> Request {
        let text = format!("title = \"t\"\nrepetitions = 1\n[paths.a]\nto = \"{to}\"\n[[tests]]\n{test}\n");
        request_of_plan(&text, None, &Known::default()).expect("a job").0
    }

    fn checked(allowed: &Allowed, to: &str, test: &str, far: Far<'_>) -> String {
        allowed.check(&mut request(to, test), far).err().unwrap_or_default()
    }

    #[test]
    fn by_default_a_job_measures_agents_and_named_hosts_by_our_own_protocol() {
        let usual = Allowed::default();
        let agent = Far::Agent("10.0.0.2");
        for (test, far, refusal) in [
            ("test = \"throughput\"", agent, ""),
            ("test = \"latency\"", agent, ""),
            ("test = \"hops\"", agent, ""),
            ("test = \"throughput\"\nprotocol = \"iperf2\"", Far::Named, ""),
            ("test = \"throughput\"", Far::Host("10.0.0.2"), "tests toward 10.0.0.2"),
            (
                "test = \"throughput\"\nprotocol = \"iperf2\"\ntransport = \"udp\"",
                agent,
                "tests toward 10.0.0.2",
            ),
            ("test = \"latency\"\nprotocol = \"stamp\"", agent, "tests toward 10.0.0.2"),
            ("test = \"mtu\"\nprotocol = \"udp\"", agent, "tests toward 10.0.0.2"),
            ("test = \"transfer\"\nurl = \"http://{host}/\"", agent, "transfer tests"),
            ("test = \"throughput\"\ntime = \"2h\"", agent, "a test of 7201 s"),
            ("test = \"throughput\"\nbytes = \"200GB\"", agent, "200000000000 bytes"),
        ] {
            let refused = checked(&usual, "10.0.0.2", test, far);
            assert!(
                refused.contains(refusal) && refused.is_empty() == refusal.is_empty(),
                "{test}: {refused}"
            );
        }
    }

    #[test]
    fn what_the_configuration_names_is_allowed_and_nothing_more() {
        let allowed = Allowed {
            tests: vec!["transfer".into(), "throughput".into()],
            hosts: vec!["10.0.0.0/8".into(), "far.example".into(), "2001:db8::/32".into()],
            max_rate: Some(BitRate(1_000_000)),
            max_streams: 4,
            ..Allowed::default()
        };
        let host = Far::Host("10.1.2.3");
        for (to, test, far, refusal) in [
            ("10.1.2.3", "test = \"transfer\"\nurl = \"http://{host}/\"", host, ""),
            ("10.1.2.3", "test = \"transfer\"\nurl = \"http://11.1.2.3/\"", host, "tests toward 11.1.2.3"),
            (
                "10.1.2.3",
                "test = \"transfer\"\nurl = \"http://[2001:db9::1]/\"",
                host,
                "tests toward 2001:db9::1",
            ),
            ("10.1.2.3", "test = \"throughput\"\nbitrate = \"2M\"", host, "a rate of 2"),
            ("10.1.2.3", "test = \"throughput\"\nbitrate = \"500k\"\nparallel = 3", host, "a rate of 1.5"),
            ("10.1.2.3", "test = \"throughput\"\nparallel = 5", host, "5 streams"),
            ("10.1.2.3", "test = \"latency\"", host, "latency tests"),
            (
                "other.example",
                "test = \"throughput\"",
                Far::Host("other.example"),
                "tests toward other.example",
            ),
            ("far.example", "test = \"throughput\"", Far::Host("FAR.example"), ""),
            ("10.1.2.3", "test = \"throughput\"\nobserve = \"10.1.0.1, far.example\"", host, ""),
            (
                "10.1.2.3",
                "test = \"throughput\"\nobserve = \"10.1.0.1, 192.0.2.1:22\"",
                host,
                "tests toward 192.0.2.1",
            ),
        ] {
            let refused = checked(&allowed, to, test, far);
            assert!(
                refused.contains(refusal) && refused.is_empty() == refusal.is_empty(),
                "{test}: {refused}"
            );
        }
        let mut request = request("10.1.2.3", "test = \"throughput\"\nparallel = 4");
        allowed.check(&mut request, host).expect("allowed");
        let Request::Throughput(asked) = request else { panic!("it is one") };
        assert_eq!(asked.test.bitrate, Some(BitRate(250_000)), "four streams share the highest rate");
    }
}
