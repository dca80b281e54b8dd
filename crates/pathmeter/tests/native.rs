//! The built program at both ends of real connections: every option, every kind of bad peer, every signal that stops it.
//! Nothing here asserts a time; every wait has a limit; every process is killed by its own number.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod native {
    #[cfg(feature = "fleet")]
    mod confined;
    mod facts;
    mod fake;
    mod figures;
    mod formats;
    mod frames;
    mod hostile;
    mod identity;
    mod keep;
    mod lab;
    mod lies;
    mod loaded;
    mod marks;
    #[cfg(feature = "fleet")]
    mod mesh;
    #[cfg(feature = "web")]
    mod metrics;
    mod net;
    mod options;
    mod pairs;
    mod readme;
    mod relay;
    mod rights;
    mod schema;
    mod server;
    mod signals;
    mod support;
    mod terminal;
    #[cfg(feature = "web")]
    mod ui;
    mod vanish;
    mod watch;
    mod without_copy;
}
