// What jemalloc reads as a program starts. Programs that link it give it to
// XLA's CPU plug-in too, whose steps take and return memory all the time:
// with huge pages their duration varies less from process to process, and large
// buffers are not given back to the system between steps, which would clear
// their pages for every step anew.
extern "C" const char* malloc_conf;  // NOLINT: jemalloc's name.
const char* malloc_conf = "thp:always,oversize_threshold:0";
