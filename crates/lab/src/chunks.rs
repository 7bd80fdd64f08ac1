//! `toolbay-lab chunks PATH`: how files are cut, and how fast.

use std::{collections::BTreeMap, fs, path::Path, time::Instant};

use anyhow::{Result, bail};
use toolbay_search::chunk;

/// Prints the symbols of one file, or figures by language for a folder.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [path] = args else { bail!("usage: toolbay-lab chunks PATH") };
    let path = Path::new(path);
    if path.is_dir() { measure(path) } else { show(path) }
}

fn show(path: &Path) -> Result<()> {
    let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
    for chunk in chunk::cut(chunk::language(&path.to_string_lossy(), &text), &text) {
        println!(
            "{:>5}-{:<5} {:>5} {:<9} {} | {}",
            chunk.start_line,
            chunk.end_line,
            chunk.bytes.len(),
            chunk.kind.as_str(),
            chunk.symbol().unwrap_or("-"),
            chunk.names.join(" ")
        );
    }
    Ok(())
}

#[derive(Default)]
struct Figures {
    files: usize,
    bytes: usize,
    chunks: usize,
    /// Chunks that define something.
    defining: usize,
    seconds: f64,
    slowest: (f64, String),
}

fn measure(root: &Path) -> Result<()> {
    let mut by_language: BTreeMap<&'static str, Figures> = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)?.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && let Ok(text) = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                && !text.contains('\0')
            {
                let name = path.to_string_lossy();
                let start = Instant::now();
                let language = chunk::language(&name, &text);
                let chunks = chunk::cut(language, &text);
                let seconds = start.elapsed().as_secs_f64();
                let figures = by_language.entry(language.name()).or_default();
                figures.files += 1;
                figures.bytes += text.len();
                figures.chunks += chunks.len();
                figures.defining += chunks.iter().filter(|chunk| chunk.kind.is_definition()).count();
                figures.seconds += seconds;
                if seconds > figures.slowest.0 {
                    figures.slowest = (seconds, name.into_owned());
                }
            }
        }
    }
    println!("language       files      MB   chunks  defining   MB/s  slowest file");
    for (language, figures) in by_language {
        let mb = figures.bytes as f64 / 1e6;
        println!(
            "{language:<12} {:>7} {mb:>7.1} {:>8} {:>8.0}% {:>6.1}  {:.0} ms {}",
            figures.files,
            figures.chunks,
            100.0 * figures.defining as f64 / figures.chunks.max(1) as f64,
            mb / figures.seconds,
            figures.slowest.0 * 1e3,
            figures.slowest.1,
        );
    }
    Ok(())
}
