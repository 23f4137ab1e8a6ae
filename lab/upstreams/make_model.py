"""Makes a model of random weights: GGUF for llama.cpp, safetensors for transformers, one tokenizer for both.

usage: make_model.py TEXT_FILE OUT_DIR

The tokenizer is a byte-level BPE trained on TEXT_FILE. The answers are noise, but they are made as those of any model
are: token by token, with a context window, a chat template, an end-of-turn token and log probabilities.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

# Slow enough that eight streams overlap and a cancelled answer is worth cancelling, small enough to load at once.
HIDDEN, LAYERS, HEADS, KV_HEADS, INNER, CONTEXT, VOCABULARY = 256, 6, 4, 2, 768, 1024, 1024
HEAD = HIDDEN // HEADS
# The fourth is one token so that a request can ask for a call by logit_bias: noise never calls a tool by itself.
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>\n", "</tool_call>"]
# As the models of the Qwen family write tools and their calls; servers read the form from the template.
TEMPLATE = r"""
{%- if tools %}<|im_start|>system
# Tools
You are provided with function signatures within <tools></tools> XML tags:
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools>
For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% elif message.content %}
{%- for part in message.content %}{{ part.text }}{% endfor %}{% endif %}
{%- if message.tool_calls %}{% for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def train(text_file):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train(
        [str(text_file)],
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return tokenizer


def weights(size):
    """Tensors under the names of transformers. One direction of the hidden state is the same for every token, and the
    special tokens are scored against it: noise would end an answer at random, and no case could rely on its length."""
    random = np.random.default_rng(7)

    def noise(*shape):
        return random.normal(0, 0.08, shape).astype(np.float32)

    embedding, head = noise(size, HIDDEN), noise(size, HIDDEN)
    embedding[:, 0] = 4.0
    head[:, 0] = 0.0
    head[: len(SPECIAL), 0] = -8.0
    tensors = {"model.embed_tokens.weight": embedding, "lm_head.weight": head}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        tensors |= {
            f"{prefix}.self_attn.q_proj.weight": noise(HIDDEN, HIDDEN),
            f"{prefix}.self_attn.k_proj.weight": noise(KV_HEADS * HEAD, HIDDEN),
            f"{prefix}.self_attn.v_proj.weight": noise(KV_HEADS * HEAD, HIDDEN),
            f"{prefix}.self_attn.o_proj.weight": noise(HIDDEN, HIDDEN),
            f"{prefix}.mlp.gate_proj.weight": noise(INNER, HIDDEN),
            f"{prefix}.mlp.up_proj.weight": noise(INNER, HIDDEN),
            f"{prefix}.mlp.down_proj.weight": noise(HIDDEN, INNER),
            f"{prefix}.input_layernorm.weight": np.ones(HIDDEN, np.float32),
            f"{prefix}.post_attention_layernorm.weight": np.ones(HIDDEN, np.float32),
        }
        tensors[f"{prefix}.self_attn.o_proj.weight"][0] = 0
        tensors[f"{prefix}.mlp.down_proj.weight"][0] = 0
    tensors["model.norm.weight"] = np.ones(HIDDEN, np.float32)
    return tensors


GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def gguf_name(name):
    fixed = {
        "model.embed_tokens.weight": "token_embd.weight",
        "lm_head.weight": "output.weight",
        "model.norm.weight": "output_norm.weight",
    }
    if name in fixed:
        return fixed[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{GGUF_NAMES[rest.removesuffix('.weight')]}.weight"


def write_gguf(path, tokenizer, tensors):
    size = tokenizer.get_vocab_size()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("docket-noise")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    model = json.loads(tokenizer.to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([tokenizer.id_to_token(index) for index in range(size)])
    kinds = [gguf.TokenType.NORMAL] * size
    kinds[:5] = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.USER_DEFINED] * 2
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in tensors.items():
        writer.add_tensor(gguf_name(name), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_safetensors(directory, tokenizer, tensors):
    directory.mkdir()
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(directory / "tokenizer.json"))
    files = {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": HIDDEN,
            "intermediate_size": INNER,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS,
            "max_position_embeddings": CONTEXT,
            "vocab_size": tokenizer.get_vocab_size(),
            "rms_norm_eps": 1e-5,
            "tie_word_embeddings": False,
            "bos_token_id": 0,
            "eos_token_id": 2,
            "pad_token_id": 0,
            "torch_dtype": "float32",
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": SPECIAL[0],
            "eos_token": SPECIAL[2],
            "pad_token": SPECIAL[0],
            "model_max_length": CONTEXT,
            "chat_template": TEMPLATE,
        },
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0},
    }
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content, indent=2))


def main():
    text_file, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True)
    tokenizer = train(text_file)
    tensors = weights(tokenizer.get_vocab_size())
    write_gguf(out / "noise.gguf", tokenizer, tensors)
    write_safetensors(out / "noise", tokenizer, tensors)


main()
