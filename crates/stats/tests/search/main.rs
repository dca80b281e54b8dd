//! Searches against simulated devices, and against the package that the authors of RFC 9971 publish.

mod device;
mod properties;
mod published;

use pathmeter_stats::search;
