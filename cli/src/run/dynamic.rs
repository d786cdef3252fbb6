//! What a program or library asks the dynamic loader for.

use std::fs::File;
use std::path::Path;

use object::elf::{
    FileHeader32, FileHeader64, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, PT_LOAD,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::StringTable;
use object::{Endianness, FileKind, ReadCache};

use super::regular;

type Cache = ReadCache<File>;

#[derive(Debug, Default)]
pub struct Dynamic {
    pub needed: Vec<String>,
    /// Directories, with $ORIGIN still in them; DT_RPATH counts only without DT_RUNPATH.
    pub search: Vec<String>,
}

/// `None` when it cannot be read, or is no ELF file.
pub fn read(path: &Path) -> Option<Dynamic> {
    let file = ReadCache::new(regular::open(path).ok()?);
    match FileKind::parse(&file).ok()? {
        FileKind::Elf32 => section::<FileHeader32<Endianness>>(&file),
        FileKind::Elf64 => section::<FileHeader64<Endianness>>(&file),
        _ => None,
    }
}

fn section<H: FileHeader<Endian = Endianness>>(file: &Cache) -> Option<Dynamic> {
    let header = H::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let mut tags = Vec::new();
    for segment in segments {
        for entry in segment.dynamic(endian, file).ok()?.unwrap_or_default() {
            tags.push((entry.tag(endian), entry.val(endian)));
        }
    }
    let value = |wanted| tags.iter().find(|(tag, _)| *tag == wanted).map(|(_, v)| *v);
    let Some((start, size)) = value(DT_STRTAB).zip(value(DT_STRSZ)) else {
        return Some(Dynamic::default());
    };
    let loaded = segments.iter().filter(|s| s.p_type(endian) == PT_LOAD);
    let bytes = loaded
        .into_iter()
        .find_map(|s| s.data_range(endian, file, start, size).ok().flatten())?;
    let strings = StringTable::new(bytes, 0, bytes.len() as u64);
    let texts = |wanted| -> Vec<String> {
        tags.iter()
            .filter(|(tag, _)| *tag == wanted)
            .filter_map(|(_, offset)| strings.get(u32::try_from(*offset).ok()?).ok())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    };
    let tag = if value(DT_RUNPATH).is_some() {
        DT_RUNPATH
    } else {
        DT_RPATH
    };
    let search = texts(tag);
    Some(Dynamic {
        needed: texts(DT_NEEDED),
        search: search
            .iter()
            .flat_map(|s| s.split(':'))
            .map(str::to_owned)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_damaged_file_does_no_harm() {
        let whole = fs::read("/bin/true").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let look = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            read(&path).is_some()
        };
        assert!(look(&whole));
        for keep in (0..whole.len()).step_by(97) {
            look(&whole[..keep]);
        }
        // The header and the table of segments, each byte spoilt.
        for at in 4..800.min(whole.len()) {
            let mut spoilt = whole.clone();
            spoilt[at] ^= 0xff;
            look(&spoilt);
        }
    }

    #[test]
    fn what_a_program_needs() {
        let dynamic = read(std::path::Path::new("/bin/true")).unwrap();
        assert!(
            dynamic.needed.iter().any(|n| n.starts_with("libc.so")),
            "{dynamic:?}"
        );
    }
}
