"""public_transformers.py FOLDER NAME...: Flax models of transformers, on an older JAX."""

import sys
from pathlib import Path

import jax
from public_models import images, lower_all, tokens
from training import cross_entropy, struct, training

SIZES = {"vocab_size": 64, "hidden_size": 32, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 64, "max_position_embeddings": 32}


def _trained(model, batch, logits_of):
    """A step of a model whose parameters are not made yet."""

    def init():
        return model.init_weights(jax.random.PRNGKey(0), model.input_shape)

    params = jax.eval_shape(init)
    extra = None
    if "batch_stats" in params:
        extra, params = params["batch_stats"], params["params"]

    def loss_of(params, extra, batch):
        logits, extra = logits_of(params, extra, batch)
        return cross_entropy(logits, batch["y"]), extra

    return training(loss_of, params, batch, extra=extra)


def _of_tokens(model):
    def logits_of(params, _, batch):
        return model(batch["x"], params=params, train=False).logits, None

    return _trained(model, tokens(), logits_of)


def transformers_llama():
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_flax_llama import FlaxLlamaForCausalLM

    config = LlamaConfig(num_hidden_layers=3, num_key_value_heads=4, **SIZES)
    return _of_tokens(FlaxLlamaForCausalLM(config, (1, 16), _do_init=False))


def transformers_gpt2():
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_flax_gpt2 import FlaxGPT2LMHeadModel

    config = GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=32)
    return _of_tokens(FlaxGPT2LMHeadModel(config, (1, 16), _do_init=False))


def transformers_bert():
    from transformers import BertConfig
    from transformers.models.bert.modeling_flax_bert import FlaxBertForMaskedLM

    config = BertConfig(num_hidden_layers=2, **SIZES)
    return _of_tokens(FlaxBertForMaskedLM(config, (1, 16), _do_init=False))


def transformers_t5():
    from transformers import T5Config
    from transformers.models.t5.modeling_flax_t5 import FlaxT5ForConditionalGeneration

    config = T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    model = FlaxT5ForConditionalGeneration(config, (1, 16), _do_init=False)

    def logits_of(params, _, batch):
        out = model(
            batch["x"], decoder_input_ids=batch["y"], params=params, train=False
        )
        return out.logits, None

    return _trained(model, tokens(), logits_of)


def transformers_vit():
    from transformers import ViTConfig
    from transformers.models.vit.modeling_flax_vit import FlaxViTForImageClassification

    sizes = {k: v for k, v in SIZES.items() if "size" in k and k != "vocab_size"}
    config = ViTConfig(
        num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=4,
        num_labels=10, **sizes,
    )  # fmt: skip
    model = FlaxViTForImageClassification(config, _do_init=False)
    batch = images() | {"x": struct(8, 3, 16, 16)}

    def logits_of(params, _, batch):
        return model(batch["x"], params=params, train=False).logits, None

    return _trained(model, batch, logits_of)


def transformers_resnet():
    from transformers import ResNetConfig
    from transformers.models.resnet.modeling_flax_resnet import (
        FlaxResNetForImageClassification,
    )

    config = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic",
        num_labels=10,
    )  # fmt: skip
    model = FlaxResNetForImageClassification(config, (1, 32, 32, 3), _do_init=False)
    batch = images() | {"x": struct(8, 3, 32, 32)}

    def logits_of(params, statistics, batch):
        both = {"params": params, "batch_stats": statistics}
        out, changed = model(batch["x"], params=both, train=True)
        return out.logits, changed["batch_stats"]

    return _trained(model, batch, logits_of)


MODELS = {
    model.__name__: model
    for model in (
        transformers_llama,
        transformers_gpt2,
        transformers_bert,
        transformers_t5,
        transformers_vit,
        transformers_resnet,
    )
}

if __name__ == "__main__":
    lower_all(MODELS, Path(sys.argv[1]), sys.argv[2:])
