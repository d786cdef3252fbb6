//! libcmshim: the shared object that stands between a program and librdmacm/libibverbs.
