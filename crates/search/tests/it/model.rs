//! The model in the program: what it must know, whatever it was trained with.

use proptest::prelude::*;
use toolbay_search::model::{DIM, Model, Vector};

/// Questions in other words than the code uses, each with its path, name and code. The code of all others is wrong.
#[rustfmt::skip]
const SAMPLE: &[(&str, &str, &str, &str)] = &[
    ("remove entries that are too old", "src/cache.rs", "evict_expired", "fn evict_expired(&mut self, now: Instant) { self.entries.retain(|_, entry| entry.deadline > now); }"),
    ("how many times do we try again before giving up", "src/http/retry.rs", "max_attempts", "pub fn max_attempts(&self) -> u32 { self.policy.retries.unwrap_or(3) + 1 }"),
    ("parse command line arguments", "cli/options.py", "read_options", "def read_options(argv):\n    parser = ArgumentParser()\n    parser.add_argument('--verbose')\n    return parser.parse_args(argv)"),
    ("encrypt a password before it is stored", "auth/passwords.rb", "digest", "def digest(secret)\n  BCrypt::Password.create(secret, cost: 12)\nend"),
    ("open a connection to the database", "store/pool.go", "Dial", "func Dial(dsn string) (*sql.DB, error) {\n\tdb, err := sql.Open(\"postgres\", dsn)\n\treturn db, err\n}"),
    ("write a line to the log file", "lib/logger.js", "append", "append(level, message) { this.stream.write(`${new Date().toISOString()} ${level} ${message}\\n`); }"),
    ("convert a colour to hexadecimal", "src/color.ts", "toHex", "export function toHex({ r, g, b }: Rgb): string { return '#' + [r, g, b].map(c => c.toString(16).padStart(2, '0')).join(''); }"),
    ("delete a directory with everything in it", "fs/tree.go", "RemoveAll", "func RemoveAll(path string) error {\n\tentries, err := os.ReadDir(path)\n\tfor _, entry := range entries { os.Remove(filepath.Join(path, entry.Name())) }\n\treturn err\n}"),
    ("sort the list by date", "app/posts.php", "newestFirst", "public function newestFirst(array $posts): array { usort($posts, fn($a, $b) => $b->created <=> $a->created); return $posts; }"),
    ("check whether the user may do this", "app/policy.rb", "authorized?", "def authorized?(action)\n  roles.any? { |role| role.permissions.include?(action) }\nend"),
    ("multiply two matrices", "math/matrix.py", "matmul", "def matmul(a, b):\n    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]"),
    ("wait until the server is ready", "tests/harness.rs", "poll_health", "async fn poll_health(url: &str) { while get(url).await.is_err() { sleep(Duration::from_millis(50)).await; } }"),
    ("compress data", "src/codec/zip.rs", "deflate", "pub fn deflate(input: &[u8]) -> Vec<u8> { let mut encoder = GzEncoder::new(Vec::new()); encoder.write_all(input); encoder.finish() }"),
    ("draw a rectangle on the screen", "ui/canvas.js", "fillRect", "fillRect(x, y, width, height) { this.context.rect(x, y, width, height); this.context.fill(); }"),
    ("send an e-mail", "notify/mailer.py", "deliver", "def deliver(self, to, subject, body):\n    smtp = SMTP(self.host)\n    smtp.sendmail(self.sender, to, message(subject, body))"),
    ("undo the last change", "editor/history.ts", "revert", "revert() { const edit = this.stack.pop(); if (edit) edit.inverse().apply(this.document); }"),
    ("make text safe to show in a web page", "view/html.php", "escape", "function escape(string $value): string { return htmlspecialchars($value, ENT_QUOTES); }"),
    ("stop all running threads", "worker/pool.rs", "shutdown", "pub fn shutdown(self) { drop(self.sender); for worker in self.workers { worker.join(); } }"),
    ("random string of letters", "util/ids.go", "Nonce", "func Nonce(n int) string {\n\tb := make([]rune, n)\n\tfor i := range b { b[i] = alphabet[rand.Intn(len(alphabet))] }\n\treturn string(b)\n}"),
    ("read settings from a yaml file", "config/load.py", "from_path", "def from_path(path):\n    with open(path) as stream:\n        return Config(**yaml.safe_load(stream))"),
];

fn vector(model: &Model, at: usize) -> Vector {
    let (_, path, name, code) = SAMPLE[at];
    model.code(path, &[name.to_owned()], code)
}

#[test]
fn queries_find_their_code() {
    let model = Model::built_in();
    let codes: Vec<Vector> = (0..SAMPLE.len()).map(|at| vector(model, at)).collect();
    let mut reciprocal = 0.0;
    let mut missed = Vec::new();
    for (at, (question, ..)) in SAMPLE.iter().enumerate() {
        let question_vector = model.query(question);
        let own = question_vector.dot(&codes[at]);
        let rank = 1 + codes.iter().filter(|code| question_vector.dot(code) > own).count();
        reciprocal += 1.0 / rank as f32;
        if rank > 1 {
            missed.push(format!("{question}: place {rank}"));
        }
    }
    let mrr = reciprocal / SAMPLE.len() as f32;
    println!("MRR {mrr:.3}, {missed:#?}");
    assert!(mrr > 0.9, "MRR {mrr:.3}: {missed:#?}");
}

#[test]
fn the_same_words_are_near_in_queries_and_code() {
    let model = Model::built_in();
    for text in ["parse json", "connection pool", "matrix multiplication", "unicode"] {
        let near = model.query(text).dot(&model.code("", &[], text));
        assert!(near > 0.5, "{text}: {near}");
    }
}

#[test]
fn how_an_identifier_is_written_changes_nothing() {
    let model = Model::built_in();
    let way = |name: &str| model.code("", &[name.to_owned()], "");
    assert_eq!(way("readConfigFile"), way("read_config_file"));
    assert_eq!(way("readConfigFile"), way("READ-CONFIG-FILE"));
}

#[test]
fn names_and_paths_say_something_too() {
    let model = Model::built_in();
    let question = model.query("retry policy");
    let code = "fn run(&self) -> u32 { self.limit }";
    let plain = question.dot(&model.code("", &[], code));
    assert!(question.dot(&model.code("", &["RetryPolicy".to_owned()], code)) > plain + 0.1);
    assert!(question.dot(&model.code("src/retry/policy.rs", &[], code)) > plain + 0.05);
}

#[test]
fn a_text_without_a_word_is_like_nothing() {
    let model = Model::built_in();
    for text in ["", " \n", "{}();", "0x", "\u{1f980}"] {
        assert!(model.query(text).dot(&vector(model, 0)).abs() <= 1.0);
    }
    assert_eq!(model.query(""), Vector::ZERO);
}

proptest! {
    #[test]
    fn any_text_has_a_vector_of_length_one_or_none(text in "\\PC{0,300}", path in "\\PC{0,60}", name in "\\PC{0,30}") {
        let model = Model::built_in();
        for vector in [model.query(&text), model.code(&path, &[name], &text)] {
            let length = vector.dot(&vector);
            prop_assert!(vector == Vector::ZERO || (length - 1.0).abs() < 1e-3, "{length}");
            prop_assert_eq!(vector.values().len(), DIM);
        }
    }
}
