// The files of `meshwright demo`, as bytes between two symbols each.
#define EMBED(name, file)        \
        .global mw_##name##_begin; \
        .global mw_##name##_end;   \
        .balign 16;                \
mw_##name##_begin:                 \
        .incbin file;  \
mw_##name##_end:                   \
        .byte 0

        .section .rodata
EMBED(demo_module, "gpt_tiny.hlo.pb.zst")
EMBED(demo_state, "gpt_tiny_init.safetensors")
EMBED(demo_text, "text.txt")

        .section .note.GNU-stack, "", @progbits
