//! With nothing in memory: what a question costs when every file must come from the disk.

use std::fs;

use super::beside;
use super::peers::Peer;
use super::questions::{QUESTIONS, Question};
use super::server::Server;

/// Asks each target once, after the kernel dropped its disk caches. A server that runs keeps what it
/// holds itself; that is what it runs for.
pub(super) fn measure(server: &mut Server, peers: &[Peer]) {
    if let Err(error) = forget() {
        println!("\ncold: left out, the kernel's cache cannot be dropped here: {error} (it takes root)");
        return;
    }
    print!("\n{:<26} {:>10}", "cold; once", "toolbay");
    for peer in peers {
        print!(" {:>17}", peer.name());
    }
    println!();
    for question in QUESTIONS.iter().filter(|question| question.cold) {
        row(server, peers, question);
    }
}

fn row(server: &mut Server, peers: &[Peer], question: &Question) {
    let _ = forget();
    let ours = server.ask(question).map_or(f64::NAN, |answer| answer.took.as_secs_f64());
    print!("{:<26} {:>8.1}ms", question.name, ours * 1e3);
    for peer in peers {
        let _ = forget();
        let time = peer.ask(question).map_or(f64::NAN, |(took, _)| took.as_secs_f64());
        print!(" {}", beside(time, ours));
    }
    println!();
}

/// Empties the kernel's cache of files, folders and names.
fn forget() -> std::io::Result<()> {
    fs::write("/proc/sys/vm/drop_caches", "3")
}
