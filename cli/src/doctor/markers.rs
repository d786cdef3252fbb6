//! What a program or library has of librdmacm in it.

use std::io::Read;
use std::path::Path;

use memchr::memmem;
use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolIndex};

use crate::run::regular;

/// Larger files are not searched: they must fit into memory.
const MAX_BYTES: u64 = 256 << 20;
/// What a file has in it that perhaps opens librdmacm itself.
const OPENS: &[u8] = b"librdmacm.so";
/// A file name that only librdmacm asks the kernel for (librdmacm/cma.c).
const COPY: &[u8] = b"rdma_cm/abi_version";
/// A function that every librdmacm has, and that others of its functions call (rdma_destroy_ep).
const FUNCTION: &str = "rdma_destroy_id";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inside {
    pub own: Own,
    /// It names librdmacm, perhaps to open it.
    pub opens: bool,
    /// It has a text that only librdmacm has.
    pub copy: bool,
}

/// How a file that defines functions of librdmacm calls them itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// It defines none of them.
    None,
    /// By name, so that a preloaded function comes first.
    ByName,
    /// Directly (-Bsymbolic, -Bsymbolic-functions, or linked into a program): no preload comes between.
    Bound,
}

/// `None` when the file cannot be read, or is too large.
pub fn look(path: &Path) -> Option<Inside> {
    let file = regular::open(path).ok()?;
    if file.metadata().ok()?.len() > MAX_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(Inside {
        own: own(&bytes).unwrap_or(Own::None),
        opens: memmem::find(&bytes, OPENS).is_some(),
        copy: memmem::find(&bytes, COPY).is_some(),
    })
}

fn own(bytes: &[u8]) -> Option<Own> {
    let object = object::File::parse(bytes).ok()?;
    let Some(index) = defined(object.dynamic_symbol_table()) else {
        let inside = defined(object.symbol_table()).is_some();
        return Some(if inside { Own::Bound } else { Own::None });
    };
    let to_it = |target| matches!(target, RelocationTarget::Symbol(symbol) if symbol == index);
    let mut relocations = object.dynamic_relocations().into_iter().flatten();
    let by_name = relocations.any(|(_, relocation)| to_it(relocation.target()));
    Some(if by_name { Own::ByName } else { Own::Bound })
}

fn defined<'d, T: ObjectSymbolTable<'d>>(table: Option<T>) -> Option<SymbolIndex> {
    let mut symbols = table?.symbols();
    let symbol = symbols.find(|s| s.is_definition() && s.name() == Ok(FUNCTION))?;
    Some(symbol.index())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_damaged_file_does_no_harm() {
        let whole = fs::read("/bin/true").unwrap();
        assert_eq!(own(&whole), Some(Own::None));
        for keep in (0..whole.len()).step_by(97) {
            own(&whole[..keep]);
        }
        for at in 4..whole.len().min(20_000) {
            let mut spoilt = whole.clone();
            spoilt[at] ^= 0xff;
            own(&spoilt);
        }
    }
}
