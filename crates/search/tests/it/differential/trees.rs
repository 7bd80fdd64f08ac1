//! Trees to search: real sources, and everything that is hard about files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The sources of this workspace and of some crates that it is built from, and a folder of oddities.
pub(crate) fn mixed(root: &Path) {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["crates/config", "crates/search/src", "docs"] {
        copy(&workspace.join(folder), &root.join(folder));
    }
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo"),
        |home| Path::new(&home).to_owned(),
    );
    for registry in fs::read_dir(home.join("registry/src")).into_iter().flatten() {
        let registry = registry.unwrap().path();
        for name in ["ignore-0.4.34", "memchr-2.8.3", "globset-0.4.21"] {
            if registry.join(name).exists() {
                copy(&registry.join(name), &root.join("vendor").join(name));
            }
        }
    }
    odd(&root.join("odd"));
    rules(root);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&entry.path(), &to);
        } else if kind.is_file() {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Encodings, line ends, binary files, long lines, names, links, pipes.
fn odd(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    let text =
        "fn main() { let Größe = \"Straße\"; }\nKELVIN 300 K, \u{17F}hort s, self\r\nprintln error ΣΊΣΥΦΟΣ\n";
    let utf_16 =
        |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    write("utf8", text.as_bytes());
    write("utf8-bom", &[b"\xEF\xBB\xBF", text.as_bytes()].concat());
    write("utf16le", &[&b"\xFF\xFE"[..], &utf_16(text, u16::to_le_bytes)].concat());
    write("utf16be", &[&b"\xFE\xFF"[..], &utf_16(text, u16::to_be_bytes)].concat());
    write("utf16-without-mark", &utf_16(text, u16::to_le_bytes));
    write("utf16-cut", &[&b"\xFF\xFE"[..], &utf_16(text, u16::to_le_bytes)[..41]].concat());
    write("utf16-large", &[&b"\xFF\xFE"[..], &utf_16(&text.repeat(700), u16::to_le_bytes)].concat());
    write("crlf", text.replace('\n', "\r\n").as_bytes());
    write("old-mac", text.replace('\n', "\r").as_bytes());
    write("latin1", b"let gr\xF6\xDFe = self;\nerror \xFF\xFE\xE2\x84 use\n");
    write("no-end", b"last line without an end: self");
    write("empty", b"");
    write("only-a-line-end", b"\n");
    write("nul-at-once", b"\0error self\nuse self\n");
    write("nul-early", &[text.as_bytes(), b"\0", text.as_bytes()].concat());
    write("nul-after-short-line", b"a\nself\0error\n");
    write("nul-after-short-lines", b"a\nb\nself use error\n\0error\n");
    let long = text.repeat(1_100);
    for at in [65_000, 65_536, 65_540, 100_000] {
        let mut bytes = long.clone().into_bytes();
        bytes[at] = 0;
        write(&format!("nul-at-{at}"), &bytes);
    }
    write("fold", "a\u{212A}b \u{17F}elf u\u{17F}e Ε\u{1E9E}\u{DF} K\u{308}\n".as_bytes());
    fs::write(folder.join(OsStr::from_bytes(b"not\xFFutf8.rs")), "use self error fn\n").unwrap();
    write("with space and 'quote\".txt", b"use self\n");
    write("new\rline", b"use self error\n");
    symlink("utf8", folder.join("link")).unwrap();
    symlink("/etc/passwd", folder.join("link-out")).unwrap();
    symlink(".", folder.join("loop")).unwrap();
    let pipe = folder.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

/// Minified sources, one line each, and short ones.
pub(crate) fn long_lines(root: &Path) {
    let code = "function(a){return self.use(a)};let error=1;";
    for (name, times) in [("a.js", 100), ("b.js", 2_000), ("c.js", 8_000), ("d.js", 30_000)] {
        fs::write(root.join(name), code.repeat(times)).unwrap();
    }
    fs::write(root.join("e.js"), [code.repeat(5_000), "rare".to_owned(), code.repeat(5_000)].join("\n"))
        .unwrap();
    fs::write(root.join("f.txt"), format!("{code}\n").repeat(1_000)).unwrap();
}

/// Ignore files of all kinds, with something to ignore.
fn rules(root: &Path) {
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    fs::create_dir_all(root.join(".git/info")).unwrap();
    put(".git/config", "[core] self use error\n");
    put(".git/info/exclude", "excluded.txt\n");
    put(".gitignore", "*.log\n!kept.log\n/build/\nvendor/*/benches\n");
    put(".ignore", "by-ignore/\n!build/back.txt\n");
    put(".rgignore", "by-rgignore.txt\n");
    put("odd/.gitignore", "deep/*\n!deep/kept.txt\n");
    for path in [
        "a.log",
        "kept.log",
        "build/out.txt",
        "build/back.txt",
        "by-ignore/x.txt",
        "by-rgignore.txt",
        "excluded.txt",
        ".hidden",
        ".github/workflow.yml",
        "odd/deep/lost.txt",
        "odd/deep/kept.txt",
        "odd/deep/more/lost.txt",
    ] {
        put(path, &format!("use self error fn {path}\n"));
    }
}
