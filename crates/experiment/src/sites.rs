//! The labs of a plan while it is carried out, and the servers in them.

use crate::plan::{Path, PathPlace, Plan};
use engine::error::{Result, sentence};
use engine::host::interrupt::Interrupt;
use engine::server::{Config, Confined, Server};
use engine::work::observer::{Observer, Silent};
use lab::build::Lab;
use lab::feature;
use linux::namespace::Namespace;
use model::units::Nanos;
use std::sync::Arc;
use std::thread::Scope;

/// The labs, each once, whichever paths lie in it.
pub(crate) struct Sites(Vec<LabSite>);

struct LabSite {
    name: String,
    /// The lab, or the reason why there is none.
    lab: Result<Lab, String>,
    /// The nodes that answer.
    servers: Vec<String>,
}

impl Sites {
    /// Builds every lab. `say` is called before each.
    pub(crate) fn build(plan: &Plan, say: &mut dyn FnMut(String)) -> Sites {
        let (mut sites, mut host): (Vec<LabSite>, _) = (Vec::new(), feature::Host::default());
        for path in &plan.paths {
            let PathPlace::Lab { topology, to, .. } = &path.place else { continue };
            let known = sites.iter_mut().find(|site| site.name == topology.name);
            if let Some(site) = known {
                if !site.servers.contains(to) {
                    site.servers.push(to.clone());
                }
                continue;
            }
            say(format!("building {}", topology.name));
            let lacks: Vec<String> = host.lacks(topology).into_iter().map(|lack| lack.needs).collect();
            let lab = match lacks.as_slice() {
                [] => Lab::build(topology).map_err(|error| sentence(&error)),
                lacks => Err(format!("not on this host: needs {}", lacks.join(", "))),
            };
            sites.push(LabSite { name: topology.name.clone(), lab, servers: vec![to.clone()] });
        }
        Sites(sites)
    }

    /// Notes on the labs that were built.
    pub(crate) fn notes(&self) -> Vec<String> {
        let built = self.0.iter().filter_map(|site| Some((site, site.lab.as_ref().ok()?)));
        let notes = |(site, lab): (&LabSite, &Lab)| -> Vec<String> {
            lab.notes().iter().map(|note| format!("{}: {note}", site.name)).collect()
        };
        built.flat_map(notes).collect()
    }

    /// Starts a server in every node that answers, for as long as `scope` lasts or until `stop`. A failure to serve is reported.
    pub(crate) fn serve<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        stop: &Interrupt,
    ) -> Result<()> {
        for site in &self.0 {
            let Ok(lab) = &site.lab else { continue };
            for node in &site.servers {
                let Some(namespace) = lab.node(node)?.namespace() else { continue };
                let server = namespace.run(|| Server::bind(config()))??;
                let (stop, observer): (_, Arc<dyn Observer>) = (stop.clone(), Arc::new(Silent));
                // The lab alone can reach it.
                scope.spawn(move || {
                    namespace.run(|| server.serve(Confined::with_all_rights(), &stop, &observer))
                });
            }
        }
        Ok(())
    }

    /// Where a path begins; absent: at this host.
    ///
    /// # Errors
    /// Why its lab could not be built.
    pub(crate) fn namespace(&self, path: &Path) -> Result<Option<&Namespace>, String> {
        let PathPlace::Lab { topology, from, .. } = &path.place else { return Ok(None) };
        let site = self.0.iter().find(|site| site.name == topology.name);
        let lab = match site.map(|site| &site.lab) {
            Some(Ok(lab)) => lab,
            Some(Err(why)) => return Err(why.clone()),
            None => return Err("its lab was not built".into()),
        };
        let node = lab.node(from).map_err(|error| sentence(&error))?;
        node.namespace().map(Some).ok_or_else(|| format!("`{from}` is no namespace of this host"))
    }
}

/// Every protocol, to anyone in the lab.
fn config() -> Config {
    Config {
        iperf3: Some(5201),
        iperf2: Some(5001),
        sockperf: Some(11_111),
        stamp: Some(862),
        http: Some(8080),
        max_time: Some(Nanos::from_secs(86_400)),
        max_tests: Some(MOST_TESTS),
        ..Config::default()
    }
}

/// Pairs are sessions, each for itself.
const MOST_TESTS: u32 = 256;
