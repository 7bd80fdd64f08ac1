//! `toolbay-load`: calls an echo tool N at a time on one session and prints what it measured as one line of JSON.
#![expect(clippy::print_stdout, reason = "the report is the output")]

use tokio::task::LocalSet;
use toolbay_bench::load::{self, Options};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let report = LocalSet::new().run_until(load::run(&options)).await?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}
