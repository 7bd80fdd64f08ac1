//! The binary as users run it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acceptance; // what every user may rely on
mod add_remove; // `add`, `add-json`, `remove`, `enable` and `disable`
mod approve; // `approve`: servers of a project
mod audit; // records of calls: complete, in order, and verified
mod broken_configs; // files with invalid entries, or invalid as a whole
mod built_in; // built-in servers: alone, in a hub, and instead of the published ones
mod call; // `call`: progress, server requests, files and errors
mod code_mode; // `run_code`: code of models that calls tools
mod codebase; // the codebase server: alone, in a hub, and its commands
mod completions; // scripts for shells
mod config_command; // `config check`, `show`, `path` and `schema`
mod connect; // servers at a URL on stdin and stdout
mod control; // commands that use a running hub, and its socket
mod curl; // plain HTTP requests
mod cycles; // hubs that are servers of themselves
mod doctor; // `doctor`
mod drop_in; // built-in servers beside the published ones that they replace
mod exposure; // hubs that list few tools
mod extensions; // servers of extensions
mod faults; // one test per fault that a server or a client can have
mod harness; // hubs with one server, over any transport
mod hostile_files; // files that try to block or exhaust the hub
mod import_export; // `import` and `export`: files of other programs
mod inspect; // `inspect`: messages on both hops, and messages in the log
mod interop; // published servers behind the hub, called by the official SDKs
mod isolation; // many clients with the same ids at once
mod list_get; // `list` and `get`
mod listeners; // listeners of `serve`: transports, TLS, tokens, origins and users
mod login; // logins at protected servers, with a real authorization server
mod login_path; // where servers find programs when a desktop starts the hub
mod matrix; // clients of every revision in front of servers of every revision
mod odd_tools; // definitions of tools that break clients
mod pins; // definitions that change after they were pinned
mod policy; // profiles and rules
mod principals; // several principals on one hub
mod program; // starts the binary
mod protected_servers; // servers that require tokens of an authorization server
mod remote; // servers at a URL
mod secret_values; // secrets of servers arrive, and appear nowhere else
mod secrets; // `secret`: set, list, remove, move
mod serve; // the hub over HTTP, with and without a configuration
mod settings; // `[hub]`: options of `serve` in a file
mod sharing; // clients on stdio that share one hub in the background
mod start_stop; // `start`, `stop` and `restart`
mod status_watch; // `status --watch`, and problems of the configuration
mod stdio; // the hub on stdin and stdout
mod tokens; // `token`: create, list, revoke
mod transparency; // the same calls, directly and through the hub, to the byte
mod transports; // every transport of clients with every transport of servers
mod unavailable_servers; // commands while servers are slow, stopped or missing
mod without_hub; // commands that start the servers themselves
