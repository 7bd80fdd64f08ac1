//! Tables.

use crate::{
    app::{context::Context, error::CliError},
    term::style::{Palette, cut, width},
};

/// A cell: its text and its style.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    look: Look,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Look {
    #[default]
    Plain,
    Bold,
    Dim,
    Good,
    Busy,
    Bad,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, look: Look) -> Self {
        Self { text: text.into(), look }
    }

    pub(crate) fn painted(&self, paint: Palette) -> String {
        match self.look {
            Look::Plain => self.text.clone(),
            Look::Bold => paint.bold(&self.text),
            Look::Dim => paint.dim(&self.text),
            Look::Good => paint.green(&self.text),
            Look::Busy => paint.yellow(&self.text),
            Look::Bad => paint.red(&self.text),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Look::Plain)
    }
}

/// Between two columns.
const GAP: usize = 2;

/// Prints rows as wide as they are, or `nothing` on stderr where there are none.
pub(crate) fn print(context: &Context, rows: &[Vec<Cell>], nothing: &str) -> Result<(), CliError> {
    if rows.is_empty() {
        context.out.note(nothing);
    }
    for line in render(rows, context.out.paint) {
        context.out.data(&format!("{line}\n"))?;
    }
    Ok(())
}

/// Lines of aligned cells. The last cell of a row may be as long as it likes: it widens no column.
pub(crate) fn render(rows: &[Vec<Cell>], paint: Palette) -> Vec<String> {
    render_fitting(rows, paint, None)
}

/// As [`render`], but no line is wider than `columns`: what does not fit of the last cell of a row is cut off, and columns
/// for which there is no room at all are left out, the last first.
pub(crate) fn render_fitting(rows: &[Vec<Cell>], paint: Palette, columns: Option<usize>) -> Vec<String> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (index, cell) in row.iter().enumerate().take(row.len().saturating_sub(1)) {
            if widths.len() <= index {
                widths.push(0);
            }
            widths[index] = widths[index].max(width(&cell.text));
        }
    }
    let columns = columns.unwrap_or(usize::MAX);
    let shown = shown_columns(rows, &widths, columns);
    rows.iter()
        .map(|row| {
            let (mut line, mut used) = (String::new(), 0);
            for (index, cell) in row.iter().take(shown).enumerate() {
                let fitted = Cell { text: cut(&cell.text, columns.saturating_sub(used)), look: cell.look };
                line.push_str(&fitted.painted(paint));
                used += width(&fitted.text);
                if index + 1 < row.len().min(shown) {
                    let padding = widths[index].saturating_sub(width(&fitted.text)) + GAP;
                    line.push_str(&" ".repeat(padding));
                    used += padding;
                }
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// How many columns have room for at least a few letters.
fn shown_columns(rows: &[Vec<Cell>], widths: &[usize], columns: usize) -> usize {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let last =
        rows.iter().filter_map(|row| row.get(count.wrapping_sub(1))).map(|cell| width(&cell.text)).max();
    let mut used = 0;
    for index in 0..count {
        let wanted = widths.get(index).copied().or(last).unwrap_or(0);
        if columns.saturating_sub(used) < wanted.min(LEAST) {
            return index;
        }
        used += wanted + GAP;
    }
    count
}

/// The least room that a cell must have to be shown in part.
const LEAST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit() {
        let row = |cells: [&str; 3]| cells.map(Cell::from).to_vec();
        let rows = [row(["NAME", "STATE", "DESCRIPTION"]), row(["a-long-name", "up", "what it is good for"])];
        let lines = |columns| render_fitting(&rows, Palette(false), columns).join("\n");
        assert_eq!(lines(None), "NAME         STATE  DESCRIPTION\na-long-name  up     what it is good for");
        assert_eq!(lines(Some(31)), "NAME         STATE  DESCRIPTION\na-long-name  up     what it is…");
        assert_eq!(lines(Some(22)), "NAME         STATE\na-long-name  up");
        assert_eq!(lines(Some(10)), "NAME\na-long-na…");
    }
}
