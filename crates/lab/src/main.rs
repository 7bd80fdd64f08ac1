//! Tools of the project around the searches for code and for tools, run by `cargo xtask`: they make the embedding models and measure
//! what the searches are worth.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a tool of the project: what it prints is its result")]

mod chunks;
mod english;
mod fit;
mod packages;
mod pairs;
mod quality;
mod ranking;
mod semble;
mod speed;
mod text;
mod tools;
mod train;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("chunks") => chunks::run(&args[1..]),
        Some("fit") => fit::run(&args[1..]),
        Some("model") if args.get(1).is_some_and(|name| name == "english") => english::run(&args[2..]),
        Some("model") => train::run(&args[1..]),
        Some("quality") => quality::run(&args[1..]),
        Some("semble") => semble::run(&args[1..]),
        Some("speed") => speed::run(&args[1..]),
        Some("text") => text::run(&args[1..]),
        Some("tools") => tools::run(&args[1..]),
        _ => bail!("usage: toolbay-lab COMMAND, see `cargo xtask`"),
    }
}
