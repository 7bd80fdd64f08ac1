//! The server `memory`.

mod directory; // the toolset `anthropic`
mod graph; // the nine tools, the resource, pages, quotas, damage
mod processes; // several processes, kill -9, full disk, read-only files
