//! Packs the relocations of the program where the system that runs it can read them.
//!
//! The tables of the program hold 70,000 addresses. As plain relocations these are 1.7 MB that the loader reads with each
//! start and that stay in memory; packed (`DT_RELR`) they are 50 KB. glibc reads them from 2.36 on, and an older one refuses
//! to start such a program. So they are packed only if the program is built for this machine and its glibc is new enough.
//! `TOOLBAY_PACKED_RELOCATIONS=no` is for programs that are built here and run on older systems.

#![expect(clippy::disallowed_methods, reason = "a build script asks the system that it runs on")]

use std::{env, process::Command};

const SWITCH: &str = "TOOLBAY_PACKED_RELOCATIONS";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={SWITCH}");
    let is_wanted = env::var(SWITCH).map_or(true, |value| value != "no");
    let is_here = env::var("HOST").is_ok_and(|host| env::var("TARGET") == Ok(host));
    let is_linux_gnu = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux")
        && env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|it| it == "gnu");
    if is_wanted && is_here && is_linux_gnu && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of glibc on this system.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
