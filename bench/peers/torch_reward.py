"""Seconds of reward-model updates in PyTorch: `torch_reward.py FILE` with {config, pairs: [[chosen, rejected], ...], batch, steps}."""

import json
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForSequenceClassification

given = json.load(open(sys.argv[1]))
config = LlamaConfig(**given["config"], num_labels=1, pad_token_id=0, bos_token_id=None, eos_token_id=None)
model = LlamaForSequenceClassification(config).float().train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def step(pairs: list) -> None:
    texts = [torch.tensor(text) for pair in pairs for text in pair]
    tokens = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=0)
    rewards = model(input_ids=tokens, attention_mask=(tokens != 0).long()).logits.squeeze(-1)
    chosen, rejected = rewards.reshape(-1, 2).unbind(-1)
    loss = -torch.nn.functional.logsigmoid(chosen - rejected).mean() + 0.01 * ((chosen + rejected) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


size = given["batch"]
batches = [given["pairs"][i:i + size] for i in range(0, len(given["pairs"]), size)]
step(batches[0])
began = time.perf_counter()
for i in range(given["steps"]):
    step(batches[i % len(batches)])
print(json.dumps(dict(seconds=time.perf_counter() - began)))
