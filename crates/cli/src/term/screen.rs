//! A terminal that is taken over for a while: a screen of its own, and keys without Enter.
//!
//! The terminal is always restored: when the value is dropped, after a signal too, because that ends
//! the command that holds it, and when the program panics.

use std::{
    io::{self, IsTerminal, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use crate::term::output::{Size, size};

/// Another screen, without a cursor; lines are not wrapped.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// The size of a terminal that does not report it.
const USUAL: Size = Size { columns: 80, rows: 24 };
/// A read of a key that is not pressed ends after this many tenths of a second.
const KEY_TIMEOUT: u8 = 2;
/// Keys that may wait.
const KEYS: usize = 16;

/// The terminal, until this is dropped.
#[derive(Debug)]
pub(crate) struct Screen {
    before: Option<Termios>,
    keys: mpsc::Receiver<u8>,
    is_over: Arc<AtomicBool>,
    drawn: Vec<String>,
}

impl Screen {
    /// Takes over stdin and stdout; the latter must be a terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = if stdin.is_terminal() { tcgetattr(&stdin).ok() } else { None };
        let is_over = Arc::new(AtomicBool::new(false));
        let (pressed, keys) = mpsc::channel(KEYS);
        restore_on_panic(before.clone());
        let screen = Self { before, keys, is_over: is_over.clone(), drawn: Vec::new() };
        if let Some(before) = &screen.before {
            tcsetattr(&stdin, OptionalActions::Now, &by_key(before.clone()))?;
            // The thread ends with the screen, or with the program.
            tokio::task::spawn_blocking(move || {
                let mut key = [0];
                while !is_over.load(Ordering::Relaxed) {
                    match io::stdin().read(&mut key) {
                        Ok(0) => {} // no key was pressed
                        Ok(_) if pressed.blocking_send(key[0]).is_ok() => {}
                        _ => return,
                    }
                }
            });
        }
        write(ENTER)?;
        Ok(screen)
    }

    pub(crate) fn size(&self) -> Size {
        size(io::stdout()).unwrap_or(USUAL)
    }

    /// The next key; never, where there is no keyboard.
    pub(crate) async fn key(&mut self) -> u8 {
        match self.keys.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }

    /// Shows these lines and nothing else; they must fit.
    pub(crate) fn draw(&mut self, lines: Vec<String>) -> io::Result<()> {
        if lines == self.drawn {
            return Ok(());
        }
        // The old content is erased first: after a line that fills its row, the cursor is on its last character.
        write(&format!("\x1b[H\x1b[J{}", lines.join("\r\n")))?;
        self.drawn = lines;
        Ok(())
    }

    /// Redraws everything next time.
    pub(crate) fn forget(&mut self) {
        self.drawn.clear();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        restore(self.before.as_ref());
        if !std::thread::panicking() {
            // Removes our own panic hook; the program has no other.
            let _ = std::panic::take_hook();
        }
    }
}

/// Keys come one by one and are not shown; those that end a program still do, those that stop it do nothing.
fn by_key(mut modes: Termios) -> Termios {
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    modes.special_codes[SpecialCodeIndex::VMIN] = 0;
    modes.special_codes[SpecialCodeIndex::VTIME] = KEY_TIMEOUT;
    modes.special_codes[SpecialCodeIndex::VSUSP] = 0;
    modes
}

fn restore(before: Option<&Termios>) {
    if let Some(before) = before {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
    }
    // There is no place left to report an error.
    let _ = write(LEAVE);
}

/// Restores the terminal before the message of a panic is printed.
fn restore_on_panic(before: Option<Termios>) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore(before.as_ref());
        usual(panic);
    }));
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Lines on a terminal that are redrawn in place.
#[derive(Debug, Default)]
pub(crate) struct Redraw {
    drawn: Vec<String>,
}

impl Redraw {
    /// The text to write so that `lines` replace the last ones; none if they are equal.
    pub(crate) fn with(&mut self, lines: Vec<String>) -> Option<String> {
        if lines == self.drawn {
            return None;
        }
        // Up to the first line, then each line again; longer ones are cut by the terminal, not wrapped.
        let mut text = String::from("\x1b[?7l");
        if !self.drawn.is_empty() {
            text.push_str(&format!("\x1b[{}A", self.drawn.len()));
        }
        for line in &lines {
            text.push_str(&format!("\r\x1b[2K{line}\n"));
        }
        text.push_str("\x1b[J\x1b[?7h");
        self.drawn = lines;
        Some(text)
    }
}
