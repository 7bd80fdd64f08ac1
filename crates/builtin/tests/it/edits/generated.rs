//! Text files of all kinds, made from a seed.

/// How a file is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Ascii,
    Utf8,
    Utf8WithMark,
    Latin1,
    Utf16Le,
    Utf16Be,
    /// UTF-8 with bytes that are none.
    Damaged,
}

const STYLES: [Style; 7] = [
    Style::Ascii,
    Style::Utf8,
    Style::Utf8WithMark,
    Style::Latin1,
    Style::Utf16Le,
    Style::Utf16Be,
    Style::Damaged,
];

/// What an edit replaces and by what.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
    /// Where the bytes that it replaces begin and end.
    place: (usize, usize),
}

/// A text that is inserted after a line.
#[derive(Debug)]
pub(super) struct Insertion {
    pub(super) line: usize,
    pub(super) text: &'static str,
    at: usize,
    pub(super) is_at_end: bool,
}

/// A file: some lines, two with markers, some more lines.
#[derive(Debug)]
pub(super) struct Generated {
    style: Style,
    bytes: Vec<u8>,
    /// Where the first marker begins and ends, and where the second ends.
    markers: (usize, usize, usize),
    /// The line of the first marker.
    marker_line: usize,
    /// Where each line ends, after its line ending.
    line_ends: Vec<usize>,
    /// The line ending, if all are the same.
    ending: Option<&'static str>,
}

const FIRST: &str = "let marker_1 = \"one\";";
const SECOND: &str = "let marker_2 = \"two\";";
const INSERTED: &str = "inserted by a tool";

impl Generated {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let style = STYLES[random.below(STYLES.len())];
        let endings: &[&'static str] = [&["\n"][..], &["\r\n"], &["\n", "\r\n"]][random.below(3)];
        let mut file = Self {
            style,
            bytes: mark(style).to_vec(),
            markers: (0, 0, 0),
            marker_line: 0,
            line_ends: Vec::new(),
            ending: (endings.len() == 1).then_some(endings[0]),
        };
        for _ in 0..random.below(20) {
            file.push_line(&mut random);
            file.end_line(random.pick(endings));
        }
        file.push(random.pick(&["", "\t", "    ", "\t  "]));
        let start = file.bytes.len();
        file.push(FIRST);
        let middle = file.bytes.len();
        file.end_line(random.pick(endings));
        file.marker_line = file.line_ends.len();
        file.push(SECOND);
        file.markers = (start, middle, file.bytes.len());
        if style == Style::Latin1 {
            file.push(" // é"); // else it could be ASCII
        }
        for _ in 0..random.below(20) {
            file.end_line(random.pick(endings));
            file.push_line(&mut random);
        }
        if random.below(3) > 0 {
            file.end_line(random.pick(endings));
        } else if file.line_ends.last() != Some(&file.bytes.len()) {
            file.line_ends.push(file.bytes.len());
        }
        file
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// The line of the first marker, from 1.
    pub(super) fn marker_line(&self) -> usize {
        self.marker_line
    }

    /// Whether all lines have the same line ending, and the last one has it, too.
    pub(super) fn has_uniform_lines(&self) -> bool {
        self.ending.is_some() && decoded(&self.bytes, self.style).iter().any(|text| text.ends_with('\n'))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Edits of one line, of two, and one that deletes.
    pub(super) fn edits(&self) -> Vec<Edit> {
        let (start, middle, end) = self.markers;
        let both = format!("{FIRST}\n{SECOND}");
        vec![
            Edit { old: FIRST.to_owned(), new: "let \"x\" = $1;\té".to_owned(), place: (start, middle) },
            Edit { old: both, new: "one\ntwo\n\n\tthree".to_owned(), place: (start, end) },
            Edit { old: FIRST.to_owned(), new: String::new(), place: (start, middle) },
        ]
    }

    /// Insertions at the beginning, in the middle and at the end.
    pub(super) fn insertions(&self) -> Vec<Insertion> {
        let count = self.line_ends.len();
        let after = |line: usize| Insertion {
            line,
            text: INSERTED,
            at: if line == 0 { mark(self.style).len() } else { self.line_ends[line - 1] },
            is_at_end: line == count,
        };
        vec![after(0), after(count / 2), after(count)]
    }

    /// The file with the first marker in it twice, and the lines that it is in.
    pub(super) fn twice(&self) -> (Vec<u8>, Edit, [usize; 2]) {
        let mut twice = Self { bytes: self.bytes.clone(), line_ends: self.line_ends.clone(), ..*self };
        if !decoded(&self.bytes[self.markers.2..], self.style).iter().any(|text| text.ends_with('\n')) {
            twice.push("\n");
        }
        twice.push(FIRST);
        (twice.bytes, self.edits().remove(0), [self.marker_line, self.line_ends.len() + 1])
    }

    /// Checks that a file is what it should be after an edit.
    pub(super) fn check(&self, edit: &Edit, after: &[u8]) -> Result<(), String> {
        let inside = self.inside(edit.place, after)?;
        let expected = match self.ending {
            Some(ending) => edit.new.replace('\n', ending),
            None => edit.new.clone(),
        };
        let is_expected = |text: &String| match self.ending {
            Some(_) => *text == expected,
            None => text.replace("\r\n", "\n") == expected,
        };
        let texts = decoded(inside, self.style);
        texts.iter().any(is_expected).then_some(()).ok_or(format!("{texts:?} instead of {expected:?}"))
    }

    /// Checks that a file is what it should be after an insertion.
    pub(super) fn check_insertion(&self, insertion: &Insertion, after: &[u8]) -> Result<(), String> {
        let texts = decoded(self.inside((insertion.at, insertion.at), after)?, self.style);
        let is_expected = |text: &String| {
            let has_ending = self.ending.is_none_or(|ending| text.replace(ending, "") == INSERTED);
            has_ending && text.trim_matches(['\r', '\n']) == INSERTED && text.matches('\n').count() <= 1
        };
        texts.iter().any(is_expected).then_some(()).ok_or(format!("inserted {texts:?}"))
    }

    /// The bytes between those that an edit must not touch.
    fn inside<'a>(&self, (start, end): (usize, usize), after: &'a [u8]) -> Result<&'a [u8], String> {
        let (before, behind) = (&self.bytes[..start], &self.bytes[end..]);
        let difference = |expected: &[u8], found: &[u8]| {
            let at = expected.iter().zip(found).take_while(|(left, right)| left == right).count();
            format!("{:?} became {:?}", window(expected, at), window(found, at))
        };
        if !after.starts_with(before) {
            return Err(format!("the bytes before it changed: {}", difference(before, after)));
        }
        let inside = after[before.len()..].strip_suffix(behind);
        inside.ok_or_else(|| {
            let from = after.len().saturating_sub(behind.len());
            format!("the bytes after it changed: {}", difference(behind, &after[from..]))
        })
    }

    fn push_line(&mut self, random: &mut Random) {
        const ASCII: [&str; 8] =
            ["fn", "\treturn", "  two  spaces", "x = 1;", "", "trailing \t", "a\rb", "\u{c}"];
        const LATIN: [&str; 4] = ["Grüße", "café", "naïve £5", "§ 7"];
        const ANY: [&str; 6] = ["世界", "🎉", "e\u{301}", "\u{2028}", "x\u{feff}", "עברית"];
        if random.below(60) == 0 {
            self.push(&"long line ".repeat(200 + random.below(1_000)));
        }
        for _ in 0..random.below(6) {
            let has_more = self.style != Style::Ascii;
            match random.below(4) {
                2 if has_more => self.push(random.pick(&LATIN)),
                3 if has_more && self.style != Style::Latin1 => self.push(random.pick(&ANY)),
                _ => self.push(random.pick(&ASCII)),
            }
            self.push(" ");
            if self.style == Style::Damaged && random.below(4) == 0 {
                self.bytes.extend_from_slice(random.pick::<&[u8]>(&[
                    b"\xff ",
                    b"\xc3 ",
                    b"\x80.",
                    b"\xf0\x9f ",
                ]));
            }
        }
    }

    fn end_line(&mut self, ending: &str) {
        self.push(ending);
        self.line_ends.push(self.bytes.len());
    }

    fn push(&mut self, text: &str) {
        match self.style {
            Style::Latin1 => self.bytes.extend(text.chars().map(|character| character as u8)),
            Style::Utf16Le => self.bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Style::Utf16Be => self.bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            _ => self.bytes.extend_from_slice(text.as_bytes()),
        }
    }
}

/// The byte order mark of a file.
fn mark(style: Style) -> &'static [u8] {
    match style {
        Style::Utf8WithMark => b"\xef\xbb\xbf",
        Style::Utf16Le => b"\xff\xfe",
        Style::Utf16Be => b"\xfe\xff",
        _ => b"",
    }
}

/// What bytes can mean. Without bytes that tell UTF-8 and Latin-1 apart, either is right.
fn decoded(bytes: &[u8], style: Style) -> Vec<String> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        vec![String::from_utf16_lossy(&units)]
    };
    match style {
        Style::Utf16Le => wide(u16::from_le_bytes),
        Style::Utf16Be => wide(u16::from_be_bytes),
        Style::Latin1 | Style::Damaged => vec![
            bytes.iter().map(|byte| char::from(*byte)).collect(),
            String::from_utf8_lossy(bytes).into_owned(),
        ],
        _ => vec![String::from_utf8_lossy(bytes).into_owned()],
    }
}

fn window(bytes: &[u8], at: usize) -> String {
    bytes[at.saturating_sub(10)..bytes.len().min(at + 20)].escape_ascii().to_string()
}

/// SplitMix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
