//! Values from the TOML file.

use toml::de::{DeTable, DeValue};
use toml::Spanned;

use super::lookup::{dotted, is_section, row_of, sections, PROGRAM};
use super::problem::{Problem, MAX_PROBLEMS};
use super::table::{Kind, KEYS};
use super::value::Value;
use crate::text::toml::shown;
use crate::text::{nearest, Lines};

/// A value that the file gives to a row of the table.
pub(super) struct FileValue {
    pub row: usize,
    pub value: Value,
    pub line: usize,
    /// The program whose section it stands in.
    pub program: Option<String>,
}

/// All good values of a file, for every program, and what is wrong in it.
///
/// A file that is no TOML gives no values and one problem: half of a broken file is worse than none.
pub(super) fn read(path: &str, text: &str) -> (Vec<FileValue>, Vec<Problem>) {
    let mut walk = Walk {
        path,
        lines: Lines::of(text),
        program: None,
        values: Vec::new(),
        problems: Vec::new(),
    };
    match DeTable::parse(text) {
        Ok(table) => walk.table(table.get_ref(), &[]),
        Err(error) => walk.broken(&error),
    }
    walk.values.sort_by_key(|v| v.line);
    walk.problems.sort_by_key(|p| (p.line, p.column));
    (walk.values, walk.problems)
}

struct Walk<'t> {
    path: &'t str,
    lines: Lines<'t>,
    /// The program whose section is being read.
    program: Option<String>,
    values: Vec<FileValue>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn broken(&mut self, error: &toml::de::Error) {
        let message = error.message().replace('\n', ", ");
        let what = format!("not valid TOML: {message}");
        let at = error.span().map_or(0, |span| span.start);
        self.problem(at, None, what, String::new());
        if let Some(problem) = self.problems.last_mut() {
            problem.used = "nothing of this file is used".to_owned();
        }
    }

    /// Reads a table whose place is `above`, counted from the file's root or the program's section.
    fn table(&mut self, table: &DeTable<'_>, above: &[&str]) {
        for (name, value) in table {
            let mut place = above.to_vec();
            place.push(name.get_ref());
            self.entry(&place, name.span().start, value);
        }
    }

    fn entry(&mut self, place: &[&str], at: usize, value: &Spanned<DeValue<'_>>) {
        if self.program.is_none() && place == [PROGRAM] {
            return self.programs(at, value);
        }
        let name = place.join(".");
        if place.iter().any(|part| part.contains('.')) {
            return self.quoted_dot(place, at, &name);
        }
        if let Some(row) = row_of(&name) {
            self.key(row, place, at, value);
        } else if is_section(&name) {
            self.section(place, at, value);
        } else {
            self.unknown(place, at, &name);
        }
    }

    /// The table `program`, with one section for each program.
    fn programs(&mut self, at: usize, value: &Spanned<DeValue<'_>>) {
        let form = "write [program.NAME] and its keys beneath";
        let DeValue::Table(programs) = value.get_ref() else {
            return self.problem(at, Some(PROGRAM.into()), is_a(value), form.into());
        };
        for (name, section) in programs {
            if let Some((_, file)) = name.get_ref().rsplit_once('/') {
                // By a path no program is known: nothing beneath would count for any.
                let key = Some(dotted(&[PROGRAM, name.get_ref()]));
                let what = "a path, but programs are known by their names".to_owned();
                let allowed = format!("write [{}]", dotted(&[PROGRAM, file]));
                self.problem(name.span().start, key, what, allowed);
                continue;
            }
            match section.get_ref() {
                DeValue::Table(table) => {
                    self.program = Some(name.get_ref().to_string());
                    self.table(table, &[]);
                    self.program = None;
                }
                _ => {
                    let key = dotted(&[PROGRAM, name.get_ref()]);
                    let what = format!("{}, not a program's section", is_a(section));
                    self.problem(name.span().start, Some(key), what, form.into());
                }
            }
        }
    }

    fn section(&mut self, place: &[&str], at: usize, value: &Spanned<DeValue<'_>>) {
        if let DeValue::Table(table) = value.get_ref() {
            return self.table(table, place);
        }
        let key = self.written(place);
        let what = format!("{}, but this is a section", is_a(value));
        let allowed = format!("write [{key}] once and its keys beneath");
        self.problem(at, Some(key), what, allowed);
    }

    fn key(&mut self, row: usize, place: &[&str], at: usize, value: &Spanned<DeValue<'_>>) {
        let key = &KEYS[row];
        let written = Some(self.written(place));
        if self.program.is_some() && !key.per_program {
            let what = "cannot stand in a program's section".to_owned();
            return self.problem(at, written, what, "set it at the top of the file".into());
        }
        match convert(&key.kind, value.get_ref()) {
            Ok(value) => self.values.push(FileValue {
                row,
                value,
                line: self.lines.position(at).0,
                program: self.program.clone(),
            }),
            Err(what) => {
                let allowed = format!("allowed: {}", key.kind.allowed());
                self.problem(value.span().start, written, what, allowed);
                if let Some(problem) = self.problems.last_mut() {
                    problem.row = Some(row);
                }
            }
        }
    }

    fn quoted_dot(&mut self, place: &[&str], at: usize, name: &str) {
        let hint = match row_of(name) {
            Some(_) => format!("write {name} without quotes"),
            None => String::new(),
        };
        let what = "no such key (a name in quotes is one name)".to_owned();
        self.problem(at, Some(self.written(place)), what, hint);
    }

    fn unknown(&mut self, place: &[&str], at: usize, name: &str) {
        let key = Some(self.written(place));
        // With more mistakes than that nobody reads the hints, and they cost time.
        let hint = match self.problems.len() {
            0..MAX_PROBLEMS => self.near(name),
            _ => String::new(),
        };
        self.problem(at, key, "no such key".into(), hint);
    }

    fn near(&self, name: &str) -> String {
        let mut candidates: Vec<&str> = KEYS.iter().map(|k| k.name).collect();
        candidates.extend(sections());
        if self.program.is_none() {
            candidates.push(PROGRAM);
        }
        match nearest(name, &candidates) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("known: {}", self.known(name)),
        }
    }

    /// What may stand where this unknown key does: the keys of its section, or what a file or a program's section begins with.
    fn known(&self, name: &str) -> String {
        let here = KEYS
            .iter()
            .filter(|key| self.program.is_none() || key.per_program);
        let section = name.rsplit_once('.').map_or("", |(section, _)| section);
        let of_section = |key: &&str| key.rsplit_once('.').is_some_and(|(of, _)| of == section);
        let mut names: Vec<&str> = here
            .clone()
            .map(|key| key.name)
            .filter(of_section)
            .collect();
        if names.is_empty() {
            names = here
                .map(|key| key.name.split('.').next().unwrap_or(key.name))
                .collect();
            names.dedup();
        }
        names.join(", ")
    }

    /// The key as it reads from the root of the file.
    fn written(&self, place: &[&str]) -> String {
        let mut parts: Vec<&str> = Vec::new();
        if let Some(program) = &self.program {
            parts.extend([PROGRAM, program]);
        }
        parts.extend(place);
        dotted(&parts)
    }

    fn problem(&mut self, at: usize, key: Option<String>, what: String, allowed: String) {
        let (line, column) = self.lines.position(at);
        self.problems.push(Problem {
            file: Some(self.path.to_owned()),
            line: Some(line),
            column: Some(column),
            key,
            what,
            allowed,
            program: self.program.clone(),
            ..Problem::default()
        });
    }
}

/// A TOML value as a value of this kind.
fn convert(kind: &Kind, value: &DeValue<'_>) -> Result<Value, String> {
    match (kind, value) {
        (Kind::Bool, DeValue::Boolean(b)) => Ok(Value::Bool(*b)),
        (Kind::Int { .. }, DeValue::Integer(number)) => {
            match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(n) => kind.check_int(n),
                Err(_) => Err("the number is out of range".to_owned()),
            }
        }
        (
            Kind::Choice(_)
            | Kind::Path
            | Kind::Directory
            | Kind::File
            | Kind::Tenant
            | Kind::CgroupPattern
            | Kind::Cpus,
            DeValue::String(text),
        ) => kind.check_text(text),
        (Kind::Names, DeValue::Array(items)) => {
            let mut names = Vec::new();
            for item in items.iter() {
                match item.get_ref() {
                    DeValue::String(text) => names.push(text.to_string()),
                    _ => return Err(format!("{} in the list", is_a(item))),
                }
            }
            kind.check_list(names)
        }
        (_, DeValue::String(text)) => Err(format!("{} is a string", shown(text))),
        (_, other) => Err(is_a_value(other)),
    }
}

fn is_a(value: &Spanned<DeValue<'_>>) -> String {
    is_a_value(value.get_ref())
}

/// What a value of the wrong type is, in the words of TOML.
pub(crate) fn is_a_value(value: &DeValue<'_>) -> String {
    let kind = match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    };
    format!("this is {kind}")
}
