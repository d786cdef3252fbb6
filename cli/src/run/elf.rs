//! What an ELF file is built for.

use std::fs::File;
use std::path::Path;

use object::elf::{FileHeader32, FileHeader64, Machine, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache};

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
}

/// `None` when the file is no ELF file, or a broken one, or cannot be read.
pub fn read(path: &Path) -> Option<Elf> {
    let file = ReadCache::new(File::open(path).ok()?);
    match FileKind::parse(&file).ok()? {
        FileKind::Elf32 => facts::<FileHeader32<Endianness>>(&file, 32),
        FileKind::Elf64 => facts::<FileHeader64<Endianness>>(&file, 64),
        _ => None,
    }
}

fn facts<H>(file: &ReadCache<File>, bits: u8) -> Option<Elf>
where
    H: FileHeader<Endian = Endianness>,
{
    let header = H::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    Some(Elf {
        target: Target {
            bits,
            machine: header.e_machine(endian),
        },
        dynamic: segments.iter().any(|s| s.p_type(endian) == PT_INTERP),
    })
}
