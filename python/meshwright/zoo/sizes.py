"""The available sizes of each model: `tiny` for a CPU, the others as published.

Sources: GPT-2 and GPT-3 for gpt 117m and 175b; Alpa's evaluation (OSDI 2022) for the
other gpt sizes, moe and wide-resnet; Llama 2; BERT; ViT; DDPM for unet.
"""

Size = dict[str, object]


def _rows(columns: str, rows: dict[str, tuple], **common) -> dict[str, Size]:
    """One size per row: values of the columns, and the fields that all rows share."""
    names = columns.split()
    return {
        size: dict(zip(names, values, strict=True)) | common
        for size, values in rows.items()
    }


_TEXT_COLUMNS = "layers width heads vocab seq batch"

_GPT = _rows(
    _TEXT_COLUMNS, {"tiny": (2, 64, 4, 128, 64, 16)}, learning_rate=1e-2
) | _rows(
    _TEXT_COLUMNS,
    {
        "117m": (12, 768, 12, 50257, 1024, 512),
        "1.3b": (24, 2048, 32, 51200, 1024, 1024),
        "2.6b": (32, 2560, 32, 51200, 1024, 1024),
        "6.7b": (32, 4096, 32, 51200, 1024, 1024),
        "15b": (48, 5120, 40, 51200, 1024, 1024),
        "39b": (48, 8192, 64, 51200, 1024, 1024),
        "175b": (96, 12288, 96, 50257, 2048, 1536),
    },
    dtype="bf16",
)

_LLAMA_COLUMNS = "layers width heads kv_heads hidden vocab seq batch"

_LLAMA = _rows(
    _LLAMA_COLUMNS, {"tiny": (2, 64, 4, 2, 176, 128, 64, 8)}, learning_rate=1e-2
) | _rows(
    _LLAMA_COLUMNS,
    {
        "7b": (32, 4096, 32, 32, 11008, 32000, 4096, 1024),
        "70b": (80, 8192, 64, 8, 28672, 32000, 4096, 1024),
    },
    dtype="bf16",
)

_MOE_COLUMNS = "layers width heads vocab seq experts group batch"

_MOE = _rows(
    _MOE_COLUMNS,
    {"tiny": (2, 32, 4, 128, 32, 4, 64, 8)},
    mlp_ratio=4,
    learning_rate=1e-2,
) | _rows(
    _MOE_COLUMNS,
    {
        "380m": (8, 768, 16, 32000, 1024, 8, 2048, 1024),
        "1.3b": (16, 768, 16, 32000, 1024, 16, 2048, 1024),
        "2.4b": (16, 1024, 16, 32000, 1024, 16, 2048, 1024),
        "10b": (16, 1536, 16, 32000, 1024, 32, 2048, 1024),
        "27b": (16, 2048, 16, 32000, 1024, 48, 2048, 1024),
        "70b": (32, 2048, 16, 32000, 1024, 64, 2048, 1024),
    },
    dtype="bf16",
)

_BERT_COLUMNS = "layers width heads vocab seq predictions batch"

_BERT = _rows(
    _BERT_COLUMNS, {"tiny": (2, 64, 4, 128, 32, 5, 8)}, learning_rate=3e-3
) | _rows(
    _BERT_COLUMNS,
    {
        "base": (12, 768, 12, 30522, 512, 76, 256),
        "large": (24, 1024, 16, 30522, 512, 76, 256),
    },
    dtype="bf16",
)

_VIT_COLUMNS = "layers width heads patch image classes batch"

_VIT = _rows(
    _VIT_COLUMNS, {"tiny": (2, 64, 4, 4, 16, 10, 8)}, learning_rate=3e-3
) | _rows(
    _VIT_COLUMNS,
    {
        "base": (12, 768, 12, 16, 224, 1000, 4096),
        "large": (24, 1024, 16, 16, 224, 1000, 4096),
        "huge": (32, 1280, 16, 14, 224, 1000, 4096),
    },
    dtype="bf16",
)

_RESNET_COLUMNS = "stages channels width_factor image classes batch"
_RESNET_50 = (3, 4, 6, 3)
_RESNET_101 = (3, 4, 23, 3)

_WIDE_RESNET = _rows(
    _RESNET_COLUMNS, {"tiny": ((1, 1), 8, 2, 32, 10, 8)}, learning_rate=3e-3
) | _rows(
    _RESNET_COLUMNS,
    {
        "250m": (_RESNET_50, 160, 2, 224, 1024, 1536),
        "1b": (_RESNET_50, 320, 2, 224, 1024, 1536),
        "2b": (_RESNET_50, 448, 2, 224, 1024, 1536),
        "4b": (_RESNET_50, 640, 2, 224, 1024, 1536),
        "6.8b": (_RESNET_50, 320, 16, 224, 1024, 1536),
        "13b": (_RESNET_101, 320, 16, 224, 1024, 1520),
    },
)

_UNET_COLUMNS = "channels multipliers attention depth groups image batch"

_UNET = _rows(
    _UNET_COLUMNS, {"tiny": (8, (1, 2), (1,), 1, 4, 16, 8)}, learning_rate=1e-2
) | _rows(
    _UNET_COLUMNS,
    {
        "small": (128, (1, 2, 2, 2), (1,), 2, 32, 32, 128),
        "large": (128, (1, 1, 2, 2, 4, 4), (4,), 2, 32, 256, 64),
    },
    dtype="bf16",
)

SIZES: dict[str, dict[str, Size]] = {
    "gpt": _GPT,
    "llama": _LLAMA,
    "moe": _MOE,
    "bert": _BERT,
    "vit": _VIT,
    "wide-resnet": _WIDE_RESNET,
    "unet": _UNET,
}
