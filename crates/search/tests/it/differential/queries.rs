//! Queries and edits made up from what is in the tree.

use std::fs;
use std::path::{Path, PathBuf};

use toolbay_search::text::{Case, Query};
use toolbay_search::tree::{RelPath, Rules};

/// Makes up queries; the same ones in each run.
pub(crate) struct Generator {
    root: PathBuf,
    files: Vec<PathBuf>,
    state: u64,
    edits: u64,
}

const FREQUENT: &[&str] =
    &["self", "error", "use", "fn", "e", "", "the", "std::", "ö", "K", "ß", "Σ", "\u{17F}"];
const GLOBS: &[&str] = &[
    "*.rs",
    "!*.rs",
    "*.{md,toml}",
    "src/**",
    "!vendor",
    "*.log",
    "**/tests/**",
    ".*",
    "odd/*",
    "!odd/",
    "build/**",
];
const PATHS: &[&str] = &[
    "crates",
    "vendor",
    "odd",
    "build",
    ".github",
    "by-ignore",
    "odd/utf16le",
    "a.log",
    ".hidden",
    "odd/deep",
    "odd/nul-at-100000",
    "odd/link",
    "crates/config/src",
    "nowhere",
];

impl Generator {
    pub(crate) fn new(root: PathBuf, seed: u64) -> Self {
        let mut files = Vec::new();
        collect(&root, &mut files);
        files.sort();
        Self { root, files, state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), edits: 0 }
    }

    pub(crate) fn query(&mut self) -> Query {
        let pattern = if self.one_in(60) { (*self.pick(FREQUENT)).to_owned() } else { self.sample() };
        self.query_about(&pattern)
    }

    /// A query with that text in it.
    pub(crate) fn query_about(&mut self, text: &str) -> Query {
        let mut query = if self.one_in(2) { Query::literal(text) } else { Query::regex(self.regex(text)) };
        query.case = *self.pick(&[Case::Smart, Case::Smart, Case::Sensitive, Case::Insensitive]);
        query.word = self.one_in(8);
        if self.one_in(4) {
            query.pattern = match self.below(2) {
                0 => query.pattern.to_lowercase(),
                _ => query.pattern.to_uppercase(),
            };
        }
        if self.one_in(6) {
            let globs = (0..=self.below(1)).map(|_| (*self.pick(GLOBS)).to_owned()).collect();
            query.rules = Rules { globs, ..query.rules };
        }
        query.rules.hidden = self.one_in(20);
        query.rules.ignored = self.one_in(20);
        if self.one_in(8) {
            query.path = Some(RelPath::parse(self.pick::<&str>(PATHS)).unwrap());
        }
        query.limit = usize::MAX;
        query.count_to = u64::MAX;
        query.line_limit = usize::MAX;
        query
    }

    /// Some bytes of some line of some file.
    fn sample(&mut self) -> String {
        for _ in 0..100 {
            let path = self.file();
            let Ok(bytes) = fs::read(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes).replace(['\0', '\u{FFFD}'], "");
            let lines: Vec<&str> = text.lines().filter(|line| line.trim().len() > 2).take(3_000).collect();
            if lines.is_empty() {
                continue;
            }
            let line: Vec<char> = lines[self.below(lines.len() - 1)].chars().take(300).collect();
            let most = *self.pick(&[4, 8, 20]);
            let len = if self.one_in(50) { 1 } else { 3 + self.below(most) };
            let start = self.below(line.len().saturating_sub(len));
            return line[start..].iter().take(len).collect::<String>().replace(['\r', '\n'], " ");
        }
        "self".to_owned()
    }

    /// A regular expression that has to do with the text.
    fn regex(&mut self, text: &str) -> String {
        let escaped = regex_syntax::escape(text);
        let middle = text.chars().count() / 2;
        let (left, right): (String, String) =
            (text.chars().take(middle).collect(), text.chars().skip(middle + 1).collect());
        let (left, right) = (regex_syntax::escape(&left), regex_syntax::escape(&right));
        match self.below(15) {
            0 => escaped,
            1 => format!("{left}.{right}"),
            2 => format!("{left}.*{right}"),
            3 => format!(r"{left}\w+{right}"),
            4 => format!("{left}[a-z_]{right}"),
            5 => format!("{escaped}|{}", regex_syntax::escape(&self.sample())),
            6 => format!(r"^\s*{escaped}"),
            7 => format!("{escaped}$"),
            8 => format!("({left})?.?{right}"),
            9 => format!("(?:{left}|{right}){{1,2}}"),
            10 => format!(r"\b{escaped}\b"),
            11 => format!("{left}[^{}]{right}", 'x'),
            12 => (*self.pick(&[
                r"\w{20}",
                r"[A-Z]{4,}\d",
                r"^$",
                r"\s+$",
                r"[^\x00-\x7F]",
                r"(?i)k",
                r"\bfn\s+\w+_\w+\(",
                "(a|b|c)d",
                r"(?-u:\xFF)",
                r"(?-u)\xE2\x84",
                r"[kK]elv|\x{17F}e",
                "x{0}",
                r"\p{Greek}+",
                "a{3}",
                "(ab?c?)+d",
                "(",
                r"\n",
            ]))
            .to_owned(),
            13 => format!("(?i:{left}).{{0,3}}{right}"),
            _ => format!("[{}]{right}", "abcſK"),
        }
    }

    /// Changes something in the tree and says which text has to do with it.
    pub(crate) fn edit(&mut self) -> String {
        self.edits += 1;
        let word = format!("Edited{}Word", self.edits);
        let path = self.file();
        let folder = path.parent().unwrap().to_owned();
        let beside = folder.join(format!("new{}.rs", self.edits));
        let line = format!("let {word} = 1;\n");
        // Whatever an earlier edit took away cannot be edited; that is fine.
        let _: std::io::Result<()> = match self.below(11) {
            0 | 1 => fs::read(&path).and_then(|old| fs::write(&path, [&old[..], line.as_bytes()].concat())),
            2 => self.overwrite(&path, &word),
            3 => fs::remove_file(&path),
            4 => fs::rename(&path, &beside),
            5 => fs::write(&beside, &line),
            6 => fs::create_dir_all(folder.join(&word).join("deep"))
                .and_then(|()| fs::write(folder.join(&word).join("deep/file.rs"), &line)),
            // The root itself stays.
            7 if folder == self.root => Ok(()),
            7 => fs::rename(&folder, folder.with_file_name(format!("moved{}", self.edits))),
            8 => {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                fs::write(folder.join(".gitignore"), format!("{name}\n*.tmp\n"))
            }
            9 => fs::remove_file(folder.join(".gitignore")),
            _ => fs::write(folder.join(".fresh"), &line)
                .and_then(|()| fs::rename(folder.join(".fresh"), &path)),
        };
        if self.edits.is_multiple_of(8) {
            self.files.clear();
            collect(&self.root.clone(), &mut self.files);
        }
        word
    }

    /// Same size, and the time of modification set back: what only the time of change gives away.
    fn overwrite(&self, path: &Path, word: &str) -> std::io::Result<()> {
        let mut bytes = fs::read(path)?;
        let before = fs::metadata(path)?.modified()?;
        let len = bytes.len().min(word.len());
        bytes[..len].copy_from_slice(&word.as_bytes()[..len]);
        fs::write(path, bytes)?;
        fs::File::options().write(true).open(path)?.set_modified(before)
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() - 1)]
    }

    fn file(&mut self) -> PathBuf {
        let at = self.below(self.files.len() - 1);
        self.files[at].clone()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n - 1) == 0
    }

    /// 0 to `most`.
    fn below(&mut self, most: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % (most as u64 + 1)) as usize
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".git" {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}
