// jemalloc's options, which it reads when a program starts. Programs that link
// jemalloc also use it for XLA's CPU plug-in, whose steps allocate and free
// memory all the time. With huge pages, the duration of steps varies less from
// process to process; and large buffers are not returned to the system between
// steps, which would have to clear their pages for every step.
extern "C" const char* malloc_conf;  // NOLINT: jemalloc's name.
const char* malloc_conf = "thp:always,oversize_threshold:0";
