"""Verdicts of Math-Verify on (gold, answer) pairs, each parsed and compared once.

    python -m venv peers && peers/bin/pip install math-verify==0.9.0
    peers/bin/python bench/peers/math_verify_pairs.py PAIRS.json

Prints one JSON line: seconds of parsing and comparing, and the verdicts.
"""

import json
import sys
import time

from math_verify import parse, verify

with open(sys.argv[1]) as file:
    pairs = json.load(file)
verify(parse("$1$"), parse("$2$"))
began = time.perf_counter()
verdicts = [bool(verify(parse(gold), parse(answer))) for gold, answer in pairs]
print(json.dumps({"seconds": time.perf_counter() - began, "verdicts": verdicts}))
