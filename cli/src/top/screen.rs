//! The table on a terminal.

use std::time::Instant;

use cmshim_core::config::reason;
use nix::sys::signal::{raise, SigSet, Signal};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line as TextLine;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};
use ratatui::{DefaultTerminal, Frame};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;

use super::args::TopArgs;
use super::columns::Column;
use super::sample::{Line, Look, Watch};
use super::view::{live, sorted, Then, View};
use crate::failure::{Failure, FOUND};
use crate::stats::overview::now;

pub fn run(args: &TopArgs) -> Result<u8, Failure> {
    // Puts the terminal back also when it panics.
    let ended = put_back_at_signals()
        .and_then(|()| end_without_terminal())
        .and_then(|()| ratatui::try_init())
        .and_then(|mut terminal| show(args, &mut terminal));
    let _ = ratatui::try_restore();
    match ended {
        Ok(()) => Ok(0),
        Err(e) => Err(Failure::new(FOUND, format!("terminal: {}", reason(&e)))),
    }
}

/// What ends a program ends this one too, after the terminal was put back.
fn put_back_at_signals() -> std::io::Result<()> {
    let ends = [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
    ];
    let ends = SigSet::from_iter(ends);
    // All threads from now on have them blocked, and this one waits for them.
    ends.thread_block()?;
    let wait = move || {
        let Ok(signal) = ends.wait() else { return };
        let _ = ratatui::try_restore();
        let _ = ends.thread_unblock().and_then(|()| raise(signal));
        // It was ignored: nohup has SIGHUP so.
        std::process::exit(128 + signal as i32);
    };
    std::thread::Builder::new().spawn(wait).map(drop)
}

/// Nor does it go on when the terminal is gone, which no signal tells where it is not the controlling one: the
/// library that reads keys would try again for ever.
fn end_without_terminal() -> std::io::Result<()> {
    let wait = || {
        let stdin = std::io::stdin();
        // Hang-up and errors are always told.
        let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
        while poll(&mut fds, None) == Err(Errno::INTR) {}
        std::process::exit(FOUND.into());
    };
    std::thread::Builder::new().spawn(wait).map(drop)
}

fn show(args: &TopArgs, terminal: &mut DefaultTerminal) -> std::io::Result<()> {
    let (mut view, mut watch) = (View::new(args.sort), Watch::default());
    let (mut look, mut looked, mut time) = (watch.look(), Instant::now(), now());
    loop {
        let lines = sorted(&look.lines, view.sort, view.reversed);
        terminal.draw(|frame| draw(frame, &view, &lines, &look, &time))?;
        if event::poll(args.interval.saturating_sub(looked.elapsed()))? {
            if let Event::Key(key) = event::read()? {
                if key.kind != KeyEventKind::Release && view.key(key, &lines) == Then::End {
                    return Ok(());
                }
            }
        }
        if looked.elapsed() >= args.interval {
            looked = Instant::now();
            if !view.paused {
                (look, time) = (watch.look(), now());
            }
        }
    }
}

pub fn draw(frame: &mut Frame, view: &View, lines: &[&Line], look: &Look, time: &str) {
    let parts = [
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [head, body, foot] = Layout::vertical(parts).areas(frame.area());
    let paused = if view.paused { ", stopped" } else { "" };
    let title = format!("cmshim top: {}, {time}{paused}", live(lines.len()));
    frame.render_widget(TextLine::from(title), head);
    let help = match view.at(lines).filter(|_| view.drilled) {
        Some(at) => {
            let all = Paragraph::new(lines[at].all.as_str()).scroll((view.scroll, 0));
            frame.render_widget(all, body);
            "Esc all  up/down scroll  space stop  q end"
        }
        None => {
            table(frame, body, view, lines);
            "< > sort by  r turn round  up/down choose  Enter show  space stop  q end"
        }
    };
    let hidden = look.refused.len() + look.not_ours;
    let hidden = match hidden {
        0 => String::new(),
        n => format!("  ({n} files not readable)"),
    };
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(TextLine::from(format!("{help}{hidden}")).style(dim), foot);
}

fn table(frame: &mut Frame, area: Rect, view: &View, lines: &[&Line]) {
    let columns = fitting(area.width);
    let titles = columns.iter().map(|column| {
        let cell = aligned(*column, column.title().to_owned());
        match *column == view.sort {
            true => cell.style(Style::new().add_modifier(Modifier::UNDERLINED)),
            false => cell,
        }
    });
    let cells = |line: &Line| Row::new(columns.iter().map(|c| aligned(*c, c.cell(line))));
    let widths = columns.iter().map(|c| Constraint::Length(c.width() as u16));
    let table = Table::new(lines.iter().map(|line| cells(line)), widths)
        .header(Row::new(titles).style(Style::new().add_modifier(Modifier::BOLD)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(view.at(lines));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The columns from the left that fit: a number that is cut would be another number.
fn fitting(width: u16) -> Vec<Column> {
    let mut end = 0;
    let fits = |column: &Column| {
        end += column.width() + 1;
        end <= usize::from(width) + 1
    };
    Column::ALL.into_iter().take_while(fits).collect()
}

fn aligned(column: Column, text: String) -> Cell<'static> {
    let text = TextLine::from(text);
    match column {
        Column::Program => Cell::new(text),
        _ => Cell::new(text.right_aligned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::sample::made_up;
    use ratatui::backend::TestBackend;
    use ratatui::Terminal;

    fn drawn(view: &View, lines: &[Line], look: &Look, width: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, 6)).unwrap();
        let lines = sorted(lines, view.sort, view.reversed);
        let draw = |frame: &mut Frame| draw(frame, view, &lines, look, "now");
        terminal.draw(draw).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content().chunks(usize::from(width));
        rows.map(|row| {
            let text: String = row.iter().map(|cell| cell.symbol()).collect();
            text.trim_end().to_owned()
        })
        .collect()
    }

    #[test]
    fn the_table_has_a_head_rows_and_a_foot() {
        let look = Look {
            refused: vec!["x".into()],
            not_ours: 2,
            ..Look::default()
        };
        let mut view = View::new(Column::Made);
        view.paused = true;
        let rows = drawn(&view, &[made_up(1, 5), made_up(2, 600)], &look, 100);
        assert_eq!(rows[0], "cmshim top: 2 live processes, now, stopped");
        assert_eq!(
            rows[1],
            "    PID PROGRAM       OPEN   RATE   MADE FAILED REFUSED POOL BATCH    P50    P99"
        );
        assert_eq!(
            rows[2],
            "      2 program-2        0    0.0    600      0       0    -   1.5   1 ms      -"
        );
        assert!(rows[3].starts_with("      1 program-1 "), "{rows:?}");
        assert!(rows[5].ends_with("(3 files not readable)"), "{rows:?}");
    }

    #[test]
    fn one_process_is_shown_whole() {
        let mut view = View::new(Column::Pid);
        view.drilled = true;
        view.scroll = 1;
        let rows = drawn(&view, &[made_up(1, 5)], &Look::default(), 60);
        assert_eq!(rows[1..4], ["second", "third", ""]);
        assert!(rows[5].starts_with("Esc all"), "{rows:?}");
        // It is gone: the empty table.
        let rows = drawn(&view, &[], &Look::default(), 60);
        assert!(rows[1].contains("PROGRAM"), "{rows:?}");
    }

    #[test]
    fn a_small_terminal_does_no_harm() {
        let view = View::new(Column::Pid);
        for (width, titles) in [(1, ""), (7, "    PID"), (30, "    PID PROGRAM       OPEN")] {
            let rows = drawn(&view, &[made_up(1, 5)], &Look::default(), width);
            assert_eq!(rows[1], titles);
        }
    }
}
