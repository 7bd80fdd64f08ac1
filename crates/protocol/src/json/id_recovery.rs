//! The id of a message that is too long to keep.

use smallvec::SmallVec;

use crate::{
    RequestId, Scanner,
    json::string::{key_is, plain_run},
};

/// Follows a message piece by piece and remembers its top-level `id`, holding no more than one short field.
///
/// A transport feeds it a line that it discards for its length, so that the call whose response it is can fail by
/// name at once instead of timing out. Servers may write `id` first or last. The text is not validated, but it must
/// start as an object: a line of log that quotes a message is none. Two ids are as good as none.
#[derive(Debug, Default)]
pub struct IdRecovery {
    place: Position,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The text of the current top-level field, cut at [`IdRecovery::FIELD`].
    field: SmallVec<[u8; 64]>,
    id: Option<RequestId>,
}

/// Where the next byte stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Position {
    #[default]
    Before,
    Inside,
    /// Behind the object, or in something that cannot name a call.
    Lost,
}

impl IdRecovery {
    const FIELD: usize = RequestId::MAX_LEN + 16;

    /// Takes the next piece.
    pub fn feed(&mut self, mut text: &[u8]) {
        if self.place == Position::Before {
            text = text.trim_ascii_start();
            match text.first() {
                None => return,
                Some(b'{') => self.place = Position::Inside,
                Some(_) => self.place = Position::Lost,
            }
        }
        while let Some(&byte) = text.first()
            && self.place == Position::Inside
        {
            if self.in_string && !self.escaped && self.depth != 1 {
                let run = plain_run(text);
                if run > 0 {
                    text = &text[run..];
                    continue;
                }
            }
            text = &text[1..];
            self.step(byte);
        }
    }

    /// The id, if one was seen.
    pub fn into_id(self) -> Option<RequestId> {
        self.id
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                if self.depth == 1 {
                    return;
                }
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_field();
                    self.place = Position::Lost;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => return self.end_field(),
            b'"' => self.in_string = true,
            _ => {}
        }
        self.keep(byte);
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.field.len() < Self::FIELD {
            self.field.push(byte);
        }
    }

    fn end_field(&mut self) {
        let field = std::mem::take(&mut self.field);
        if field.len() == Self::FIELD {
            return; // cut, and too long for an id
        }
        let object = [b"{", &*field, b"}"].concat();
        let mut id = None;
        let scanned = Scanner::new(&object).object(|scanner, key| {
            let value = scanner.value()?;
            if key_is(&object[key.range()], "id") {
                id = Some(RequestId::from_raw(&object[value.range()]));
            }
            Ok(())
        });
        if let (Ok(_), Some(id)) = (scanned, id) {
            if self.id.is_some() {
                self.place = Position::Lost;
            }
            self.id = if self.place == Position::Inside { id } else { None };
        }
    }
}
