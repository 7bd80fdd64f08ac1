//! Built-in servers: alone, in a hub, and instead of the published ones.

mod alone; // `toolbay builtin`
mod hubs; // entries in files, and `--builtins`
