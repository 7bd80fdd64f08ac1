//! `cargo xtask tidy`: rules of the tree that no compiler checks.
//!
//! Every rule returns all its findings, one line each, so that a run shows everything at once.

mod architecture;
mod crates;
mod sources;
mod vocabulary;

use anyhow::{Result, bail};

use crate::workspace::root;

/// Fails with one line per finding.
pub(crate) fn run() -> Result<()> {
    let root = root();
    let findings = [
        crates::findings(&root)?,
        sources::findings(&root)?,
        vocabulary::findings(&root)?,
        architecture::findings(&root)?,
    ]
    .concat();
    if !findings.is_empty() {
        bail!("the tree is not tidy:\n  {}", findings.join("\n  "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        super::run().unwrap_or_else(|findings| panic!("{findings}"));
    }
}
