"""Models of images, sound and both of transformers, in Flax."""

import jax.numpy as jnp
import optax
import transformers as hf
from training import BATCH, cross_entropy, images, integers, struct
from transformers_training import of_images, trained, with_statistics

VISION = {"hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4}
VISION |= {"intermediate_size": 512, "image_size": 32, "patch_size": 4}


def vit():
    config = hf.ViTConfig(num_labels=10, **VISION)
    return of_images(
        hf.FlaxViTForImageClassification, config, images(channels_first=True)
    )


def beit():
    config = hf.BeitConfig(num_labels=10, use_relative_position_bias=True, **VISION)
    return of_images(
        hf.FlaxBeitForImageClassification, config, images(channels_first=True)
    )


def dinov2():
    config = hf.Dinov2Config(num_labels=10, mlp_ratio=4, **VISION)
    return of_images(
        hf.FlaxDinov2ForImageClassification, config, images(channels_first=True)
    )


def resnet_sgd():
    config = hf.ResNetConfig(
        embedding_size=32, hidden_sizes=[64, 128], depths=[2, 2], layer_type="basic",
        num_labels=10,
    )  # fmt: skip
    batch = images(48, 32, channels_first=True)
    return with_statistics(
        hf.FlaxResNetForImageClassification, config, batch, optax.sgd(0.1, 0.9)
    )


def regnet():
    config = hf.RegNetConfig(
        embedding_size=32, hidden_sizes=[48, 96], depths=[1, 2], groups_width=24,
        num_labels=10,
    )  # fmt: skip
    batch = images(48, 32, channels_first=True)
    return with_statistics(hf.FlaxRegNetForImageClassification, config, batch)


def clip():
    text = {"vocab_size": 512, "hidden_size": 96, "intermediate_size": 384}
    text |= {"num_hidden_layers": 2, "num_attention_heads": 4}
    config = hf.CLIPConfig.from_text_vision_configs(
        hf.CLIPTextConfig(max_position_embeddings=32, eos_token_id=2, **text),
        hf.CLIPVisionConfig(**VISION | {"num_hidden_layers": 2}),
        projection_dim=64,
    )
    model = hf.FlaxCLIPModel(config, ((1, 32), (1, 32, 32, 3)), _do_init=False)
    batch = {"x": integers(BATCH, 32), "images": struct(BATCH, 3, 32, 32)}

    def loss_of(model, params, batch):
        logits = model(batch["x"], batch["images"], params=params).logits_per_text
        labels = jnp.arange(BATCH)
        return (cross_entropy(logits, labels) + cross_entropy(logits.T, labels)) / 2

    return trained(model, batch, loss_of)


def wav2vec2():
    config = hf.Wav2Vec2Config(
        vocab_size=32, hidden_size=96, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=384, conv_dim=(64, 64, 64), conv_stride=(5, 4, 4),
        conv_kernel=(10, 8, 4), num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4, do_stable_layer_norm=True,
        feat_extract_norm="layer",
    )  # fmt: skip
    model = hf.FlaxWav2Vec2ForCTC(config, (1, 3200), _do_init=False)
    batch = {"x": struct(BATCH, 3200), "y": integers(BATCH, 12)}

    def loss_of(model, params, batch):
        logits = model(batch["x"], params=params).logits
        none = jnp.zeros(logits.shape[:2])
        losses = optax.ctc_loss(logits, none, batch["y"], jnp.zeros((BATCH, 12)))
        return jnp.mean(losses)

    return trained(model, batch, loss_of)


def whisper():
    config = hf.WhisperConfig(
        vocab_size=512, d_model=96, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=384,
        decoder_ffn_dim=384, num_mel_bins=40, max_source_positions=64,
        max_target_positions=32, pad_token_id=0, decoder_start_token_id=1,
        bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    model = hf.FlaxWhisperForConditionalGeneration(config, (1, 40, 128), _do_init=False)
    batch = {"x": struct(BATCH, 40, 128), "y": integers(BATCH, 24)}

    def loss_of(model, params, batch):
        logits = model(batch["x"], decoder_input_ids=batch["y"], params=params).logits
        return cross_entropy(logits[:, :-1], batch["y"][:, 1:])

    return trained(model, batch, loss_of)
