"""Language models of transformers, in Flax."""

import optax
import transformers as hf
from transformers_training import of_pairs, of_tokens, sequence_classes

SIZES = {"vocab_size": 1024, "hidden_size": 128, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 512, "max_position_embeddings": 128}
BERT = SIZES | {"num_hidden_layers": 3}
PAIR = {"vocab_size": 1024, "d_model": 128, "max_position_embeddings": 128}
PAIR |= {"encoder_layers": 2, "decoder_layers": 2, "pad_token_id": 0}
PAIR |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
PAIR |= {"encoder_ffn_dim": 512, "decoder_ffn_dim": 512}


def bert():
    return of_tokens(hf.FlaxBertForMaskedLM, hf.BertConfig(**BERT))


def roberta_classifier():
    config = hf.RobertaConfig(num_labels=4, pad_token_id=1, **BERT)
    return sequence_classes(hf.FlaxRobertaForSequenceClassification, config)


def electra_lion():
    config = hf.ElectraConfig(embedding_size=64, **BERT)
    return of_tokens(hf.FlaxElectraForMaskedLM, config, optax.lion(1e-4))


def albert():
    config = hf.AlbertConfig(embedding_size=64, **BERT)
    return of_tokens(hf.FlaxAlbertForMaskedLM, config)


def distilbert_adafactor():
    config = hf.DistilBertConfig(
        vocab_size=1024, dim=128, hidden_dim=512, n_layers=3, n_heads=4
    )
    return of_tokens(hf.FlaxDistilBertForMaskedLM, config, optax.adafactor(1e-3))


def gpt2():
    config = hf.GPT2Config(
        vocab_size=1024, n_embd=128, n_layer=3, n_head=4, n_positions=128
    )
    return of_tokens(hf.FlaxGPT2LMHeadModel, config)


def gpt2_accumulated():
    config = hf.GPT2Config(
        vocab_size=512, n_embd=96, n_layer=2, n_head=4, n_positions=128
    )
    optimizer = optax.MultiSteps(optax.adamw(1e-3), every_k_schedule=2)
    return of_tokens(hf.FlaxGPT2LMHeadModel, config, optimizer)


def gpt_neo():
    config = hf.GPTNeoConfig(
        vocab_size=1024, hidden_size=128, num_layers=4, num_heads=4, window_size=16,
        attention_types=[[["global", "local"], 2]], max_position_embeddings=128,
    )  # fmt: skip
    return of_tokens(hf.FlaxGPTNeoForCausalLM, config)


def gptj():
    config = hf.GPTJConfig(
        vocab_size=1024, n_embd=128, n_layer=3, n_head=4, rotary_dim=16, n_positions=128
    )
    return of_tokens(hf.FlaxGPTJForCausalLM, config)


def opt_clipped():
    config = hf.OPTConfig(
        vocab_size=1024, hidden_size=128, num_hidden_layers=3, ffn_dim=512,
        num_attention_heads=4, word_embed_proj_dim=128, max_position_embeddings=128,
    )  # fmt: skip
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    return of_tokens(hf.FlaxOPTForCausalLM, config, optimizer)


def bloom():
    config = hf.BloomConfig(vocab_size=1024, hidden_size=128, n_layer=3, n_head=4)
    return of_tokens(hf.FlaxBloomForCausalLM, config)


def llama():
    config = hf.LlamaConfig(num_key_value_heads=4, **BERT)
    return of_tokens(hf.FlaxLlamaForCausalLM, config)


def mistral():
    config = hf.MistralConfig(num_key_value_heads=2, **BERT)
    return of_tokens(hf.FlaxMistralForCausalLM, config)


def gemma():
    config = hf.GemmaConfig(num_key_value_heads=1, head_dim=32, **BERT)
    return of_tokens(hf.FlaxGemmaForCausalLM, config)


def xglm_prodigy():
    config = hf.XGLMConfig(
        vocab_size=1024, d_model=128, ffn_dim=512, num_layers=3, attention_heads=4,
        max_position_embeddings=128,
    )  # fmt: skip
    return of_tokens(hf.FlaxXGLMForCausalLM, config, optax.contrib.prodigy())


def t5():
    config = hf.T5Config(
        vocab_size=1024, d_model=128, d_kv=32, d_ff=512, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    return of_pairs(hf.FlaxT5ForConditionalGeneration, config)


def bart():
    config = hf.BartConfig(**PAIR, decoder_start_token_id=0)
    return of_pairs(hf.FlaxBartForConditionalGeneration, config)


def pegasus():
    config = hf.PegasusConfig(**PAIR, decoder_start_token_id=0)
    return of_pairs(hf.FlaxPegasusForConditionalGeneration, config)


def marian_schedule_free():
    config = hf.MarianConfig(**PAIR, decoder_start_token_id=0, decoder_vocab_size=1024)
    optimizer = optax.contrib.schedule_free_adamw(1e-3)
    return of_pairs(hf.FlaxMarianMTModel, config, optimizer)
