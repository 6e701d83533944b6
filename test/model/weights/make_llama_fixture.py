"""Makes llama-tiny/: a Hugging Face Llama with random weights, and its logits for fixed tokens.

    pip install torch transformers
    python test/model/weights/make_llama_fixture.py
"""

import json
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

folder = Path(__file__).parent / "llama-tiny"
torch.manual_seed(3)
config = LlamaConfig(
    vocab_size=11, hidden_size=8, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    head_dim=4, intermediate_size=12, max_position_embeddings=32, rms_norm_eps=1e-5, rope_theta=5000.0,
    tie_word_embeddings=False, initializer_range=0.3, bos_token_id=None, eos_token_id=None, pad_token_id=None,
)
model = LlamaForCausalLM(config).float().eval()
with torch.no_grad():
    for name, p in model.named_parameters():
        if "norm" in name:
            p.uniform_(0.5, 1.5)
    model.save_pretrained(folder, safe_serialization=True)
    (folder / "generation_config.json").unlink(missing_ok=True)
    tokens = [[1, 5, 2, 9, 10, 0, 3, 7], [4, 4, 8, 6, 1, 2, 10, 3]]
    logps = torch.log_softmax(model(torch.tensor(tokens)).logits.double(), -1)
    picked = logps[:, :-1].gather(-1, torch.tensor(tokens)[:, 1:, None]).squeeze(-1)
json.dump({"tokens": tokens, "log_probs": picked.tolist()}, open(folder / "expected.json", "w"))
