//! Exact search: what ripgrep finds, looked for only where it can be.
