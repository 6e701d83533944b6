"""Seconds of one Hugging Face `generate` after one that warms up: sampled at temperature 1 and top-p 0.95, every row to its
full length. The peer of bench/decode.ts; prints one JSON line.

    pip install torch transformers
    python bench/peers/hf_generate.py small|large BATCH PROMPT_TOKENS NEW_TOKENS THREADS
"""

import json
import sys
import time

import torch
from torch_update import BASE, SHAPES
from transformers import LlamaConfig, LlamaForCausalLM


def main() -> None:
    shape, (batch, prompt, new, threads) = sys.argv[1], map(int, sys.argv[2:6])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(**BASE, **SHAPES[shape])).eval()
    ids = torch.randint(3, BASE["vocab_size"], (batch, prompt))
    options = dict(do_sample=True, temperature=1.0, top_p=0.95, top_k=0, max_new_tokens=new, min_new_tokens=new,
                   eos_token_id=None, attention_mask=torch.ones_like(ids))
    with torch.inference_mode():
        for _ in range(2):
            start = time.perf_counter()
            out = model.generate(ids, **options)
            seconds = time.perf_counter() - start
    assert out.shape == (batch, prompt + new), out.shape
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
