use super::*;

fn one(path: &str, text: &str) -> (String, String) {
    let pairs = extract(path, text);
    assert_eq!(pairs.len(), 1, "{pairs:#?}");
    (pairs[0].query.clone(), pairs[0].code.clone())
}

#[test]
fn rust_comments_leave_their_function() {
    let (query, code) = one(
        "src/a.rs",
        "/// Reads the next [`Frame`] from the `stream`. Blocks until one is there.\n///\n/// # Errors\n#[inline]\nfn next(&self) -> Frame {\n    self.read_frame()\n}\n",
    );
    assert_eq!(query, "Reads the next Frame from the stream");
    assert_eq!(code, "#[inline]\nfn next(&self) -> Frame {\n    self.read_frame()\n}");
}

#[test]
fn what_follows_the_first_sentence_is_known() {
    let rest = |path: &str, text: &str| text[extract(path, text)[0].rest.clone()].to_owned();
    let body = "fn next(&self) -> Frame {\n    self.read_frame()\n}\n";
    let text = format!("/// Reads the next [`Frame`] from the\n/// `stream`. Blocks until then.\n{body}");
    assert_eq!(rest("a.rs", &text).trim_start_matches('`').trim(), ". Blocks until then.");
    let text = format!("/// Reads the next frame from the stream.\n{body}");
    assert_eq!(rest("a.rs", &text).trim(), ".");
}

#[test]
fn python_docstrings_leave_their_function() {
    let (query, code) = one(
        "a.py",
        "class A:\n    @property\n    def size(self):\n        \"\"\"Return the number of :class:`Item` objects\n        that are stored.\n\n        Args: none\n        \"\"\"\n        return len(self.items)\n",
    );
    assert_eq!(query, "Return the number of Item objects that are stored");
    assert_eq!(code.trim(), "@property\n    def size(self):\n        return len(self.items)");
}

#[test]
fn a_go_comment_loses_the_name_it_begins_with() {
    let (query, code) = one(
        "a.go",
        "package a\n\n// Shutdown stops the server gracefully, e.g. on a signal. It waits.\nfunc (s *Server) Shutdown(ctx context.Context) error {\n\treturn s.close(ctx)\n}\n",
    );
    assert_eq!(query, "stops the server gracefully, e.g. on a signal");
    assert!(code.starts_with("func (s *Server) Shutdown"));
}

#[test]
fn javascript_php_and_ruby_comments_are_read() {
    let js = "/**\n * Merges two {@link Options} objects into one.\n * @param {Object} a\n */\nexport function mergeOptions(a, b) {\n  return { ...a, ...b };\n}\n";
    assert_eq!(one("a.js", js).0, "Merges two Options objects into one");
    let php = "<?php\nclass A {\n    /**\n     * Sends the cached response headers.\n     *\n     * @return void\n     */\n    public function send(): void\n    {\n        $this->headers->send();\n    }\n}\n";
    assert_eq!(one("a.php", php).0, "Sends the cached response headers");
    let ruby = "class A\n  # Finds the *user* with that session token.\n  #\n  # @param token [String]\n  def find_by_token(token)\n    users.find { |user| user.token == token }\n  end\nend\n";
    assert_eq!(one("a.rb", ruby).0, "Finds the user with that session token");
}

#[test]
fn comments_inside_of_functions_go_with_the_next_lines() {
    let text = "fn f() {\n    // Retry with a longer delay after every failure.\n    let delay = delay * 2;\n    sleep(delay);\n\n    other();\n}\n";
    let (query, code) = one("a.rs", text);
    assert_eq!(query, "Retry with a longer delay after every failure");
    assert_eq!(code, "    let delay = delay * 2;\n    sleep(delay);\n");
}

#[test]
fn what_says_nothing_is_left_out() {
    for text in [
        "/// TODO write this function some day.\nfn f() { a_function_with_a_body() }\n",
        "/// It is.\nfn f() { a_function_with_a_body() }\n",
    ] {
        assert_eq!(extract("a.rs", text), []);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(120))]
    #[test]
    fn any_text_is_taken(
        text in "(fn |def |class |\\{|\\}|\\(|\n|    |//|#|\"|'|x1|=|;|é|/\\*|\\*/|@|<\\?php|end){0,200}",
        name in "a\\.(rs|py|js|ts|tsx|go|c|php|rb|md|txt|sh|cc|cs|ex|hs|java|kt|lua|scala|swift|zig)",
    ) {
        extract(&name, &text);
    }
}
