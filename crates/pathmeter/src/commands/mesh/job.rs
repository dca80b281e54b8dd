//! The jobs of a mesh.

pub(crate) use mesh_run::{MeshJob, MeshTest};
