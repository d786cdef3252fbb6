//! Warns about programs in which a preloaded library has no effect.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::elf::Target;
use super::{elf, program, secure};

/// The kernel follows so many `#!` lines (fs/exec.c, exec_binprm).
const MAX_SCRIPTS: usize = 5;

/// One line, or `None` when the library should work in it, or when nothing can be said.
pub fn no_effect(name: &OsStr, library: &OsStr) -> Option<String> {
    let path = executed(program::find(name)?);
    let reason = reason(&path, Path::new(library))?;
    let name = name.to_string_lossy();
    let which = if path.file_name() == Path::new(name.as_ref()).file_name() {
        name.into_owned()
    } else {
        format!("{name} (run by {})", path.display())
    };
    Some(format!("{which}: {reason}"))
}

/// The file that the kernel loads in the end: scripts are followed to their interpreter.
pub fn executed(mut path: PathBuf) -> PathBuf {
    for _ in 0..MAX_SCRIPTS {
        match program::interpreter(&path) {
            Some(interpreter) => path = interpreter,
            None => break,
        }
    }
    path
}

/// Why the library has no effect in this ELF program, or ends it.
pub fn reason(path: &Path, library: &Path) -> Option<String> {
    if let Some(secure) = secure::reason(path) {
        return Some(format!(
            "it is {secure}, so the dynamic loader ignores the library; nothing will be reported"
        ));
    }
    let program = elf::read(path)?;
    if !program.dynamic {
        return Some("it is statically linked, so the library has no effect in it".to_owned());
    }
    let library = elf::read(library)?.target;
    if program.target != library {
        let (program, library) = (described(program.target), described(library));
        return Some(format!(
            "it is built for {program}, the library for {library}, so the library has no effect in it"
        ));
    }
    if elf::loader(path).is_some_and(|loader| is_musl(&loader)) {
        let why = "its loader is musl's, which cannot load the library (built for glibc), so it will not start";
        return Some(why.to_owned());
    }
    None
}

/// musl's loader is called ld-musl-ARCH.so.1 everywhere.
fn is_musl(loader: &Path) -> bool {
    let name = loader.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b"ld-musl-")
}

/// The machines that RDMA is used on; others by the number that `readelf -h` explains.
pub fn described(target: Target) -> String {
    use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64};
    let name = match target.machine {
        EM_386 => "x86",
        EM_X86_64 => "x86-64",
        EM_ARM => "Arm",
        EM_AARCH64 => "AArch64",
        EM_PPC64 => "PowerPC",
        EM_RISCV => "RISC-V",
        EM_S390 => "S/390",
        other => return format!("machine {}, {} bits", other.0, target.bits),
    };
    format!("{name}, {} bits", target.bits)
}
