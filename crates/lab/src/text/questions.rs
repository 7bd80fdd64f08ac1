//! What is asked: every kind of question that an index helps with, or does not.

use toolbay_search::text::Case;

pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) pattern: &'static str,
    pub(super) regex: bool,
    pub(super) case: Case,
    /// Whether it is one of those that must be much faster than a scan.
    pub(super) selective: bool,
}

const fn question(
    name: &'static str,
    pattern: &'static str,
    regex: bool,
    case: Case,
    selective: bool,
) -> Question {
    Question { name, pattern, regex, case, selective }
}

pub(super) const QUESTIONS: &[Question] = &[
    question("rare literal", "tcp_retransmit_timer", false, Case::Sensitive, true),
    question("one place", "Copyright (C) 1991, 1992  Linus", false, Case::Sensitive, true),
    question("no match", "toolbay_is_not_in_linux", false, Case::Sensitive, true),
    question("rare, any case", "pm_suspend_ignore", false, Case::Insensitive, true),
    question("regex with literals", r"EXPORT_SYMBOL_GPL\(sched_\w+\)", true, Case::Sensitive, true),
    question("alternatives", "mutex_lock_killable|down_read_trylock", true, Case::Sensitive, true),
    question("frequent literal", "spin_lock_irqsave", false, Case::Sensitive, false),
    question("very frequent", "struct", false, Case::Sensitive, false),
    question("frequent, any case", "kmalloc", false, Case::Insensitive, false),
    question("regex, short literals", r"\bif \(\w+ == NULL\)", true, Case::Sensitive, false),
    question("regex without literals", r"[A-Z]{5}_[0-9]{3}[a-z]", true, Case::Sensitive, false),
    question("two letters", "zq", false, Case::Sensitive, false),
];
