//! Built-in servers: alone, in a hub, and instead of the published ones.

mod alone; // `toolbay builtin`
mod crashes; // killed, or without room, while files are written
mod hubs; // entries in files, and `--builtins`
