//! One small text per language; `LONG` stands for statements that make a definition too big to be merged.

use super::check;

/// Symbols of the chunks of `text`, in which `LONG` becomes 300 bytes of a call and its comment sign is not needed.
fn symbols(path: &str, text: &str) -> Vec<String> {
    let call = if path.ends_with(".sh") { "call_it 1\n" } else { "call_it(1);\n" };
    let calls = call.repeat(30);
    let text = text.replace("LONG", &calls);
    let chunks = check(path, &text);
    chunks.iter().map(|chunk| chunk.symbol().unwrap_or("-").to_owned()).collect()
}

#[test]
fn every_language_shows_its_definitions() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("a.py", "class A(B):\n    def one(self):\n        call_it(1)\n", &["class A › def one"]),
        (
            "a.js",
            "class A {\n  one() {\nLONG}\n  static two() {\nLONG}\n}\nexport const f = async (x) => {\nLONG};\nA.prototype.g = function () {\nLONG};\n",
            &["class A › one", "class A › two", "function f", "A › function g"],
        ),
        (
            "a.ts",
            "export abstract class A<T> {\n  private one(): void {\nLONG}\n}\nexport interface I {\n x: string;\n}\nnamespace N {\n export function f(): void {\nLONG}\n}\n",
            &["class A › one", "namespace N › function f"],
        ),
        (
            "a.tsx",
            "export default function App(props: P) {\n  return <div>{props.x}</div>;\n}\n",
            &["function App"],
        ),
        (
            "a.go",
            "package a\n\n// T is a thing.\ntype T struct {\n\tx int\n}\n\nfunc (t *T[K]) One() {\nLONG}\n\nfunc Two() {\nLONG}\n",
            &["T › func One", "func Two"],
        ),
        (
            "A.java",
            "package a;\n\npublic class A {\n    /** Docs. */\n    @Override\n    public int one() {\nLONG}\n    enum E { X, Y }\n    A() {\nLONG}\n}\n",
            &["class A › one", "class A › A"],
        ),
        (
            "a.c",
            "#include <a.h>\n\nstruct s {\n  int x;\n};\n\nstatic int *one(int x)\n{\nLONG}\n\n#define MAX(a, b) \\\n  ((a) > (b))\n",
            &["one"],
        ),
        (
            "a.cc",
            "namespace n {\nclass A {\n public:\n  int one() {\nLONG}\n};\n\ntemplate <typename T>\nvoid A<T>::two(int x) {\nLONG}\n}  // namespace n\n",
            &["namespace n › class A › one", "namespace n › A › two"],
        ),
        (
            "a.cs",
            "namespace N\n{\n    public class A\n    {\n        public int One()\n        {\nLONG}\n        public int Two { get; set; }\n    }\n}\n",
            &["namespace N › class A › One"],
        ),
        (
            "a.rb",
            "module M\n  class A < B\n    def one\nLONG end\n\n    def self.two?\nLONG end\n  end\nend\n",
            &["module M › class A › def one", "module M › class A › def two?"],
        ),
        (
            "a.php",
            "<?php\nnamespace N;\n\nclass A\n{\n    public function one()\n    {\nLONG}\n}\n\nfunction two()\n{\nLONG}\n",
            &["class A › function one", "function two"],
        ),
        (
            "a.kt",
            "package a\n\ninterface I {\n    fun zero()\n}\n\nclass A(val x: Int) {\n    fun one() {\nLONG}\n}\n\nfun two() {\nLONG}\n",
            &["class A › fun one", "fun two"],
        ),
        (
            "a.scala",
            "package a\n\nobject A {\n  def one(x: Int): Int = {\nLONG}\n}\n\ntrait T {\n  def two(): Unit = {\nLONG}\n}\n",
            &["object A › def one", "trait T › def two"],
        ),
        (
            "a.swift",
            "extension A {\n    func one() {\nLONG}\n}\n\nstruct B {\n    init() {\nLONG}\n}\n",
            &["extension A › func one", "struct B › init"],
        ),
        (
            "a.ex",
            "defmodule A.B do\n  @doc \"Does one.\"\n  def one(x) when x > 0 do\nLONG end\n\n  defp two do\nLONG end\nend\n",
            &["A › defmodule B › def one", "A › defmodule B › defp two"],
        ),
        (
            "a.hs",
            "module A where\n\n-- | One.\none :: Int -> Int\none x = x + 1\n\ndata T = A | B\n",
            &["one"],
        ),
        (
            "a.lua",
            "local M = {}\n\nfunction M.one(x)\nLONG end\n\nlocal two = function()\nLONG end\n\nreturn M\n",
            &["M › function one", "function two"],
        ),
        (
            "a.sh",
            "#!/bin/sh\none() {\necho LONG}\n\nfunction two {\necho LONG}\n",
            &["function one", "function two"],
        ),
        (
            "a.zig",
            "const std = @import(\"std\");\n\npub const A = struct {\n    pub fn one(self: A) void {\nLONG}\n};\n\ntest \"it works\" {\nLONG}\n",
            &["struct A › fn one", "test it works"],
        ),
    ];
    let mut wrong = Vec::new();
    for (path, text, expected) in cases {
        let found = symbols(path, text);
        if found != *expected {
            wrong.push(format!("{path}: {found:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
