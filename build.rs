//! Link arguments of the shared object.
fn main() {
    // Our own soname: with librdmacm's, the loader would count the program's NEEDED entry as met
    // and never load the real library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcmshim.so.0");
    // The keeper thread runs our code: the object must never be unmapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
