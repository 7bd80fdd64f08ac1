//! The program that the tests start again as the sandbox, the engine and the shim.

#![forbid(unsafe_code)]

fn main() {
    toolbay_sandbox::run_functions_if_asked(&[toolbay_code::function()]);
    toolbay_supervise::shim::run_if_asked();
    panic!("it is started by the tests only");
}
