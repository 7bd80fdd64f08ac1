//! The binary as its users meet it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acceptance; // what every user may count on
mod alone; // commands that start the servers themselves
mod approving; // `approve`: what came with a project
mod calling; // `call`: progress, questions of servers, files and errors
mod changing; // `add`, `add-json`, `remove`, `enable` and `disable`
mod checking; // `config check`, `show`, `path` and `schema`
mod codebase; // search and reading in a folder: server, commands, and in a hub
mod completions; // scripts for shells
mod configs; // files that cannot be used, in whole or in part
mod connect; // servers at a URL on stdin and stdout
mod control; // commands that use a running hub, and its socket
mod curl; // the client that everybody has
mod cycles; // hubs that lead back to themselves
mod doctor; // what keeps servers from working
mod doors; // every way in that `serve` opens, and who is kept out
mod everyday; // commands of every day beside servers that are slow, stopped or not there
mod extensions; // servers that extensions describe
mod faults; // one test per fault that a server or a client can have
mod hostile_files; // files that are meant to hold the hub up
mod inspecting; // `inspect`: messages on both hops, and messages in the log
mod interop; // published servers behind the hub, seen through the official SDKs
mod isolation; // many clients with the same ids at once
mod listing; // `list` and `get`
mod login_path; // where servers find programs when a desktop starts the hub
mod matrix; // clients of every revision in front of servers of every revision
mod moving; // `import` and `export`: servers of other programs, and ours in their files
mod odd_tools; // definitions of tools that break clients
mod orders; // start, stop and restart, given to servers of a running hub
mod program; // starts the binary
mod remote; // servers at a URL
mod serve; // the hub over HTTP, with and without a configuration
mod settings; // `[hub]`: options of `serve` in a file
mod sharing; // clients on stdio that share one hub in the background
mod stage; // hubs with one server, over any transport
mod stdio; // the hub on stdin and stdout
mod transparency; // the same calls, directly and through the hub, to the byte
mod transports; // every way to the hub with every way from it
mod watching; // a hub that is looked at for long, and what it says of its configuration
