//! What Toolbay is measured with. Nothing here is shipped.
//!
//! Three programs, each a thin `main` over a module here: an [`echo`] server that does as little as a server can, the bare
//! byte [`forward`]er that is the yardstick of a proxy, and the [`load`] generator. `scenarios` starts them around a hub and
//! its peers, and reports what it measured: `cargo xtask bench` calls [`run`].

#![forbid(unsafe_code)]

pub mod echo;
pub mod forward;
pub mod load;
mod scenarios;
pub mod workspace;

pub use scenarios::{median, peak_kib, pss_kib, run};
