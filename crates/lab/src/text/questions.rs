//! What is asked: every kind of question that an index helps with, or does not.

use toolbay_search::text::Case;

pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) pattern: &'static str,
    pub(super) regex: bool,
    pub(super) case: Case,
    pub(super) glob: Option<&'static str>,
    /// Whether it is one of those that must be much faster than a scan.
    pub(super) selective: bool,
    /// Whether it is asked with nothing in memory, too.
    pub(super) cold: bool,
}

const LITERAL: Question = Question {
    name: "",
    pattern: "",
    regex: false,
    case: Case::Sensitive,
    glob: None,
    selective: false,
    cold: false,
};
/// Few files can have a match, and the index knows which.
const SELECTIVE: Question = Question { selective: true, ..LITERAL };
const REGEX: Question = Question { regex: true, ..LITERAL };

pub(super) const QUESTIONS: &[Question] = &[
    Question { name: "rare literal", pattern: "tcp_retransmit_timer", cold: true, ..SELECTIVE },
    Question { name: "one place", pattern: "Copyright (C) 1991, 1992  Linus", ..SELECTIVE },
    Question { name: "no match", pattern: "toolbay_is_not_in_linux", ..SELECTIVE },
    Question { name: "rare, any case", pattern: "pm_suspend_ignore", case: Case::Insensitive, ..SELECTIVE },
    Question {
        name: "regex with literals",
        pattern: r"EXPORT_SYMBOL_GPL\(sched_\w+\)",
        regex: true,
        cold: true,
        ..SELECTIVE
    },
    Question {
        name: "alternatives",
        pattern: "mutex_lock_killable|down_read_trylock",
        regex: true,
        ..SELECTIVE
    },
    Question { name: "rare, only in *.h", pattern: "sk_backlog_rcv", glob: Some("*.h"), ..SELECTIVE },
    Question { name: "two letters", pattern: "zq", ..LITERAL },
    Question { name: "frequent literal", pattern: "spin_lock_irqsave", cold: true, ..LITERAL },
    Question { name: "very frequent", pattern: "struct", ..LITERAL },
    Question { name: "frequent, any case", pattern: "kmalloc", case: Case::Insensitive, ..LITERAL },
    Question { name: "regex, short literals", pattern: r"\bif \(\w+ == NULL\)", ..REGEX },
    Question { name: "regex without literals", pattern: r"[A-Z]{5}_[0-9]{3}[a-z]", cold: true, ..REGEX },
    Question { name: "long words", pattern: r"\w{60}", ..REGEX },
];
