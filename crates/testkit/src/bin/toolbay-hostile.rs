//! The hostile server as a program: see `toolbay_testkit::hostile` for its flags and tools.

fn main() -> std::process::ExitCode {
    toolbay_testkit::hostile::run(std::env::args().skip(1).collect())
}
