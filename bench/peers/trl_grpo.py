"""Seconds of each step of TRL's GRPOTrainer on the processor, after 2 that warm up: 16 prompts x 8, every row to its full length,
rewarded by the share of even token ids. The peer of bench/grpo-step.ts; the last line printed is JSON.

    pip install torch transformers trl
    python bench/peers/trl_grpo.py small|large PROMPT_TOKENS NEW_TOKENS STEPS THREADS
"""

import json
import sys
import tempfile
import time

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from torch_update import BASE, SHAPES
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

PROMPTS, GROUP = 16, 8


class StepTimes(TrainerCallback):
    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_train_begin(self, *_args, **_kwargs) -> None:
        self.ends.append(time.perf_counter())

    def on_step_end(self, *_args, **_kwargs) -> None:
        self.ends.append(time.perf_counter())


def tokenizer() -> PreTrainedTokenizerFast:
    # Special tokens are found inside of words too: none may begin like one.
    names = ["<pad>", "<bos>", "<eos>", *(f"t{i}" for i in range(3, BASE["vocab_size"]))]
    inner = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<eos>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>",
                                   padding_side="left")


def reward(completion_ids, **_kwargs) -> list[float]:
    return [sum(t % 2 == 0 for t in ids) / len(ids) for ids in completion_ids]


def main() -> None:
    shape, (prompt, new, steps, threads) = sys.argv[1], map(int, sys.argv[2:6])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(**BASE, **SHAPES[shape]))
    words = [" ".join(f"t{3 + (i * 31 + g * 17) % (BASE['vocab_size'] - 3)}" for i in range(prompt))
             for g in range(PROMPTS)]
    times = StepTimes()
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder, use_cpu=True, bf16=False, gradient_checkpointing=False, report_to=[],
            save_strategy="no", logging_strategy="no", disable_tqdm=True, max_steps=steps + 2,
            per_device_train_batch_size=PROMPTS * GROUP, gradient_accumulation_steps=1, num_generations=GROUP,
            max_completion_length=new, temperature=1.0, top_p=1.0, top_k=0, beta=0.0, learning_rate=1e-4,
            lr_scheduler_type="constant", max_grad_norm=1.0, generation_kwargs={"min_new_tokens": new},
        )
        trainer = GRPOTrainer(model=model, reward_funcs=reward, args=config, callbacks=[times],
                              train_dataset=Dataset.from_dict({"prompt": words * (steps + 2)}),
                              processing_class=tokenizer())
        trainer.train()
    ends = times.ends
    print(json.dumps({"seconds": [b - a for a, b in zip(ends, ends[1:])][2:]}))


if __name__ == "__main__":
    main()
