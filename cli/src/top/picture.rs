//! The picture in README: the screen as it is drawn, on figures that stay.
//!
//! `make pictures` writes it anew.

use std::fmt::Write;

use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;
use ratatui::Terminal;

use super::columns::Column;
use super::sample::{Line, Look};
use super::screen::draw;
use super::view::{sorted, View};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/top.svg");

/// Columns and rows of the terminal.
const SIZE: (u16, u16) = (80, 10);
/// Pixels of a character, and around all.
const CELL: (f64, f64) = (9.0, 19.0);
const EDGE: f64 = 14.0;

/// Programs of the lab, as `top --once` showed them in several runs (emulated, on a busy machine): pid, name, open, rate,
/// made, failed, refused, pool, batch, p50 and p99 in ms.
type Figures = (
    u32,
    &'static str,
    u64,
    f64,
    u64,
    u64,
    u64,
    Option<f64>,
    Option<f64>,
    u64,
    u64,
);
#[rustfmt::skip]
const LAB: [Figures; 5] = [
    (274, "events", 256, 54.5, 256, 0, 0, Some(0.97), Some(12.2), 747, 1_000),
    (288, "churn", 0, 14.9, 107, 0, 0, Some(0.98), None, 11, 47),
    (289, "ib_send_lat", 2, 0.2, 2, 0, 0, Some(0.0), None, 87, 98),
    (296, "rping", 0, 0.6, 3, 0, 0, Some(0.0), None, 28, 44),
    (303, "churn", 0, 22.6, 106, 0, 0, Some(0.98), None, 14, 127),
];

fn line(figures: &Figures) -> Line {
    let (pid, program, open, rate, made, failed, refused, pool, batch, p50, p99) = *figures;
    let time = |ms: u64| Some(ms * 1_000_000);
    Line {
        inode: (1, u64::from(pid)),
        pid,
        program: program.into(),
        open,
        made,
        rate,
        failed,
        refused,
        pool,
        batch,
        p50_ns: time(p50),
        p99_ns: time(p99),
        all: String::new(),
    }
}

fn screen() -> Buffer {
    let lines: Vec<Line> = LAB.iter().map(line).collect();
    let mut view = View::new(Column::Made);
    view.chosen = Some((1, 274));
    let lines = sorted(&lines, view.sort, view.reversed);
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    let time = "2026-11-29T20:44:51.802Z";
    terminal
        .draw(|frame| draw(frame, &view, &lines, &Look::default(), time))
        .unwrap();
    terminal.backend().buffer().clone()
}

/// Runs of cells of one style, each a text of the width that it has on a terminal, whatever the font.
fn picture(buffer: &Buffer) -> String {
    let (columns, rows) = (f64::from(SIZE.0), f64::from(SIZE.1));
    let (width, height) = (2.0 * EDGE + columns * CELL.0, 2.0 * EDGE + rows * CELL.1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>cmshim top</title>\n\
         <style>text{{font:15px monospace;fill:#ddd;white-space:pre}}.bold{{font-weight:bold}}.dim{{fill:#999}}\
         .reversed{{fill:#1b1f24}}.underlined{{text-decoration:underline}}rect.light{{fill:#ddd}}\
         rect.ground{{fill:#1b1f24}}</style>\n\
         <rect class=\"ground\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n"
    );
    for (y, row) in buffer.content().chunks(usize::from(SIZE.0)).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|a, b| a.modifier == b.modifier) {
            text(&mut out, x, y, run);
            x += run.len();
        }
    }
    out.push_str("</svg>\n");
    out
}

fn text(out: &mut String, column: usize, row: usize, run: &[Cell]) {
    let modifier = run[0].modifier;
    let at = |column: usize| EDGE + column as f64 * CELL.0;
    let top = EDGE + row as f64 * CELL.1;
    let reversed = modifier.contains(Modifier::REVERSED);
    if reversed {
        let (x, width, height) = (at(column), run.len() as f64 * CELL.0, CELL.1);
        let _ = writeln!(
            out,
            "<rect class=\"light\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }
    let words: String = run.iter().map(Cell::symbol).collect();
    let shown = words.trim();
    if shown.is_empty() {
        return;
    }
    let before = words.chars().take_while(|c| *c == ' ').count();
    let classes: Vec<&str> = [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::REVERSED, "reversed"),
        (Modifier::UNDERLINED, "underlined"),
    ]
    .into_iter()
    .filter(|(one, _)| modifier.contains(*one))
    .map(|(_, class)| class)
    .collect();
    let (x, y) = (at(column + before), top + 14.0);
    let width = shown.chars().count() as f64 * CELL.0;
    let shown = shown.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text class=\"{}\" x=\"{x}\" y=\"{y}\" textLength=\"{width}\" xml:space=\"preserve\">{}</text>",
        classes.join(" "),
        shown.replace('>', "&gt;")
    );
}

#[test]
fn the_picture_is_what_top_draws() {
    let made = picture(&screen());
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        std::fs::write(PATH, &made).unwrap();
    }
    let committed = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(
        committed == made,
        "docs/top.svg is not what top draws: make pictures"
    );
}
