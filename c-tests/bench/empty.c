/* An empty preload library: what any preload costs, to compare with. */
int cmshim_bench_empty;
