//! Section 3: a page for each function of the C API, from the comments of its header.

use std::io::Result;
use std::path::Path;

use clap_mangen::roff::{bold, roman, Inline, Roff};

use super::sections::{references, section, title};

const HEADER: &str = include_str!("../../../include/cmshim.h");

/// One declaration of the header and the comment above it.
struct Item {
    text: String,
    code: String,
}

impl Item {
    fn is_type(&self) -> bool {
        self.code.starts_with("typedef")
    }

    /// The name that it declares: the last one of a type, and the one before the parenthesis of a function.
    fn name(&self) -> &str {
        let end = match (self.is_type(), self.code.find("(*")) {
            (true, None) => self.code.len(),
            (true, Some(at)) => at + 2 + self.code[at..].find(')').unwrap_or(0),
            (false, _) => self.code.find('(').unwrap_or(0),
        };
        let words = self.code[..end].split(|c: char| !c.is_alphanumeric() && c != '_');
        words
            .rev()
            .find(|word| word.starts_with("cmshim_"))
            .unwrap_or_default()
    }
}

pub fn write_all(dir: &Path) -> Result<()> {
    let (types, functions): (Vec<Item>, Vec<Item>) = items().into_iter().partition(Item::is_type);
    for function in &functions {
        let others = functions.iter().map(Item::name);
        let others: Vec<&str> = others.filter(|name| *name != function.name()).collect();
        let file = std::fs::File::create(dir.join(format!("{}.3", function.name())))?;
        page(function, &needed(function, &types), &others).to_writer(&mut &file)?;
    }
    Ok(())
}

fn items() -> Vec<Item> {
    let mut items = Vec::new();
    let mut lines = HEADER.lines();
    while lines.any(|line| line == "/**") {
        let comment = lines.by_ref().take_while(|line| *line != " */");
        let text = comment
            .map(|line| line.trim_start_matches([' ', '*']))
            .collect::<Vec<_>>();
        let (mut code, mut depth) = (String::new(), 0);
        for line in lines.by_ref() {
            code += line;
            code.push('\n');
            depth += line.matches('{').count();
            depth -= line.matches('}').count();
            if depth == 0 && line.ends_with(';') {
                break;
            }
        }
        items.push(Item {
            text: text.join("\n"),
            code,
        });
    }
    items
}

/// The types that this function's declaration or comment names, and those that they name.
fn needed<'a>(function: &Item, types: &'a [Item]) -> Vec<&'a Item> {
    let mut seen = format!("{}{}", function.code, function.text);
    let mut needed = Vec::new();
    for item in types.iter().rev() {
        if seen.contains(item.name()) {
            seen += &item.code;
            needed.insert(0, item);
        }
    }
    needed
}

fn page(function: &Item, types: &[&Item], others: &[&str]) -> Roff {
    let name = function.name();
    let mut roff = title(name, 3);
    let text = function.text.replace('\n', " ").replace('`', "");
    let ends = [". ", ": ", "? "].iter().filter_map(|end| text.find(end));
    let sentence = text[..ends.min().unwrap_or(text.len())].trim_end_matches('.');
    roff.extend([
        named(name, sentence),
        synopsis(function, types),
        description(function),
        references(
            others
                .iter()
                .map(|other| (*other, 3))
                .chain([("cmshim", 1)]),
        ),
    ]);
    roff
}

fn named(name: &str, sentence: &str) -> Roff {
    let mut roff = section("NAME");
    let mut letters = sentence.chars();
    let first = letters.next().map(|c| c.to_ascii_lowercase());
    roff.text([roman(format!("{name} - "))]);
    roff.text([roman(first.into_iter().chain(letters).collect::<String>())]);
    roff
}

fn synopsis(function: &Item, types: &[&Item]) -> Roff {
    let mut roff = section("SYNOPSIS");
    roff.control("nf", []);
    roff.text([bold("#include <cmshim.h>")]);
    for item in types.iter().copied().chain([function]) {
        roff.control("PP", []);
        for line in item.code.lines() {
            roff.text([bold(line)]);
        }
    }
    roff.control("fi", []);
    roff.control("PP", []);
    roff.text([
        roman("Link with what "),
        bold("pkg-config --cflags --libs cmshim"),
        roman(" prints, before librdmacm."),
    ]);
    roff
}

fn description(function: &Item) -> Roff {
    let mut roff = section("DESCRIPTION");
    for paragraph in function.text.split("\n\n") {
        roff.control("PP", []);
        roff.text(marked(&paragraph.replace('\n', " ")));
    }
    roff
}

/// Text in backticks is bold.
fn marked(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate();
    parts
        .map(|(i, part)| if i % 2 == 1 { bold(part) } else { roman(part) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_header_is_found() {
        let names: Vec<String> = items().iter().map(|item| item.name().to_owned()).collect();
        let declared = HEADER.lines().filter(|line| {
            line.contains("cmshim_") && line.contains('(') && !line.starts_with([' ', '#', '/'])
        });
        assert!(declared.count() <= names.len(), "{names:?}");
        for name in [
            "cmshim_version",
            "cmshim_explain",
            "cmshim_access_check",
            "cmshim_transport",
        ] {
            assert!(names.iter().any(|n| n == name), "{name} in {names:?}");
        }
    }

    #[test]
    fn a_page_shows_the_types_that_it_needs() {
        let (types, functions): (Vec<Item>, Vec<Item>) =
            items().into_iter().partition(Item::is_type);
        let of = |name: &str| {
            let function = functions.iter().find(|f| f.name() == name).unwrap();
            let needed = needed(function, &types);
            needed
                .iter()
                .map(|item| item.name().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(of("cmshim_version"), Vec::<String>::new());
        assert_eq!(of("cmshim_explain"), ["cmshim_transport"]);
        assert_eq!(
            of("cmshim_set_access_check"),
            ["cmshim_access_request", "cmshim_access_check"]
        );
    }
}
