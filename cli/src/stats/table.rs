//! Columns: the first one to the left, the others to the right.

/// A column of text at the end of a row is not padded: it is not part of `cells`.
pub struct Row {
    pub cells: Vec<String>,
    pub text: &'static str,
}

impl Row {
    pub fn new(cells: impl IntoIterator<Item = String>) -> Row {
        Row {
            cells: cells.into_iter().collect(),
            text: "",
        }
    }
}

/// Writes a section; nothing at all if it has no rows. The title stands over the first column.
pub fn section(out: &mut String, heads: &[&str], rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.cells.get(column));
        let widest = cells
            .map(|cell| cell.chars().count() + indent(column))
            .max();
        let head = heads.get(column).map_or(0, |head| head.chars().count());
        widest.unwrap_or(0).max(head)
    };
    let widths: Vec<usize> = (0..rows[0].cells.len()).map(width).collect();
    out.push('\n');
    out.push_str(line(&widths, heads, 0, "").trim_end());
    out.push('\n');
    for row in rows {
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        out.push_str(line(&widths, &cells, indent(0), row.text).trim_end());
        out.push('\n');
    }
}

fn indent(column: usize) -> usize {
    if column == 0 {
        2
    } else {
        0
    }
}

fn line(widths: &[usize], cells: &[&str], indent: usize, text: &str) -> String {
    let mut line = " ".repeat(indent);
    for (column, width) in widths.iter().enumerate() {
        let cell = cells.get(column).copied().unwrap_or_default();
        if column == 0 {
            let width = width.saturating_sub(indent);
            line.push_str(&format!("{cell:width$}"));
        } else {
            line.push_str(&format!("  {cell:>width$}"));
        }
    }
    format!("{line}  {text}")
}
