/* For tenant/check: catches what a function throws, and throws. As C++ does it; panics.rs does the same as Rust does. */
extern "C" int caught(int (*call)(void))
{
    try {
        return call();
    } catch (int number) {
        return number;
    }
}

extern "C" void thrown(int number) { throw number; }
