//! What an ELF file is built for.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::elf::{FileHeader32, FileHeader64, Machine, ET_DYN, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, Object, ObjectSection, ObjectSymbol, ReadCache};

use super::regular;

/// What a library and a program must have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub bits: u8,
    pub machine: Machine,
}

#[derive(Debug, Clone, Copy)]
pub struct Elf {
    pub target: Target,
    /// Whether a dynamic loader runs first, which is what reads LD_PRELOAD.
    pub dynamic: bool,
    /// A shared library, or a program that can be loaded anywhere.
    pub shared: bool,
    /// Whether all that the loader maps is in the file. What is not kills the program with SIGBUS.
    pub whole: bool,
}

/// `None` when the file is no ELF file, or a broken one, or cannot be read.
pub fn read(path: &Path) -> Option<Elf> {
    facts(regular::open(path).ok()?)
}

pub fn facts(file: File) -> Option<Elf> {
    let length = file.metadata().ok()?.len();
    let file = ReadCache::new(file);
    match FileKind::parse(&file).ok()? {
        FileKind::Elf32 => header::<FileHeader32<Endianness>>(&file, 32, length),
        FileKind::Elf64 => header::<FileHeader64<Endianness>>(&file, 64, length),
        _ => None,
    }
}

/// Whether the file gives this symbol to others.
pub fn exports(file: File, symbol: &str) -> bool {
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else {
        return false;
    };
    let mut symbols = object.dynamic_symbols();
    symbols.any(|s| s.is_definition() && s.name() == Ok(symbol))
}

/// The text of a section, up to the first NUL.
pub fn section(file: File, name: &str) -> Option<String> {
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let section = object.section_by_name(name)?;
    until_nul(section.data().ok()?)
}

/// The dynamic loader that the program asks for.
pub fn loader(path: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(regular::open(path).ok()?);
    let name = match FileKind::parse(&cache).ok()? {
        FileKind::Elf32 => interpreter::<FileHeader32<Endianness>>(&cache),
        FileKind::Elf64 => interpreter::<FileHeader64<Endianness>>(&cache),
        _ => None,
    };
    name.map(PathBuf::from)
}

fn interpreter<H>(file: &ReadCache<File>) -> Option<String>
where
    H: FileHeader<Endian = Endianness>,
{
    let header = H::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let segment = segments.iter().find(|s| s.p_type(endian) == PT_INTERP)?;
    until_nul(segment.data(endian, file).ok()?)
}

fn until_nul(bytes: &[u8]) -> Option<String> {
    let text = bytes.split(|&b| b == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

fn header<H>(file: &ReadCache<File>, bits: u8, length: u64) -> Option<Elf>
where
    H: FileHeader<Endian = Endianness>,
{
    let header = H::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let in_file = |segment: &H::ProgramHeader| {
        let (start, size) = segment.file_range(endian);
        start.checked_add(size).is_some_and(|end| end <= length)
    };
    Some(Elf {
        target: Target {
            bits,
            machine: header.e_machine(endian),
        },
        dynamic: segments.iter().any(|s| s.p_type(endian) == PT_INTERP),
        shared: header.e_type(endian) == ET_DYN,
        whole: segments.iter().all(in_file),
    })
}
