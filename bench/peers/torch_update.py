"""Milliseconds of one update step in PyTorch eager: Hugging Face Llama, token-level policy-gradient loss,
global-norm clipping, AdamW. The peer of bench/update-step.ts: same shapes, same batches, one JSON line. Of groups it computes the logits
of the responses alone.

    pip install torch transformers
    python bench/peers/torch_update.py small|large groups|sequences [steps] [threads]
"""

import json
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

BASE = dict(
    vocab_size=128,
    head_dim=32,
    rms_norm_eps=1e-5,
    max_position_embeddings=256,
    tie_word_embeddings=False,
    attention_bias=False,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
SHAPES = {
    "small": dict(hidden_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4,
                  intermediate_size=384),
    "large": dict(hidden_size=256, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=4,
                  intermediate_size=768),
}


PROMPT, GROUP = 32, 8


def time_steps(shape: dict, kind: str, steps: int) -> tuple[int, list[float]]:
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(**BASE, **shape))
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    rows, cols = 64, 64 if kind == "groups" else 65
    trained = cols - PROMPT if kind == "groups" else cols - 1
    tokens = torch.randint(0, BASE["vocab_size"], (rows, cols))
    if kind == "groups":
        tokens[:, :PROMPT] = tokens[::GROUP, :PROMPT].repeat_interleave(GROUP, 0)
    weights = torch.ones(rows, trained)
    weights[:, 1::2] = -1
    weights /= weights.numel()
    times = []
    for _ in range(steps + 3):
        start = time.perf_counter()
        logits = model(input_ids=tokens[:, :-1], use_cache=False, logits_to_keep=trained).logits
        logps = torch.log_softmax(logits, -1)
        entropy = -(logps.detach().exp() * logps.detach()).sum(-1).sum()
        new = logps.gather(-1, tokens[:, -trained:, None]).squeeze(-1)
        ratio = torch.exp(new - new.detach())
        loss = -torch.minimum(ratio * weights, ratio.clamp(0.8, 1.28) * weights).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        float(loss.detach()), float(entropy)
        times.append((time.perf_counter() - start) * 1000)
    return sum(p.numel() for p in model.parameters()), times[3:]


def main() -> None:
    name, kind = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    torch.set_num_threads(int(sys.argv[4]) if len(sys.argv) > 4 else 2)
    count, times = time_steps(SHAPES[name], kind, steps)
    times.sort()
    print(json.dumps({"shape": name, "batch": kind, "parameters": count, "median_ms": times[len(times) // 2],
                      "min_ms": times[0]}), flush=True)


if __name__ == "__main__":
    main()
