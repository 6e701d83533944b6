"""Verdicts of Math-Verify by a pool of processes, a batch a line.

    python -m venv peers && peers/bin/pip install math-verify==0.9.0
    peers/bin/python bench/peers/math_verify_pool.py PROCESSES [TIMEOUT]

Reads JSON lists of [gold, answer] pairs from standard input, a list a line, and prints a JSON line for each: seconds of parsing and
comparing, and the verdicts. TIMEOUT is Math-Verify's own, in seconds; 0 turns it off.
"""

import json
import logging
import multiprocessing
import sys
import time

from math_verify import parse, verify

processes = int(sys.argv[1])
timeout = int(sys.argv[2]) if len(sys.argv) > 2 else 5
limit = timeout if timeout > 0 else None


def judge(pair):
    gold, answer = pair
    read = (parse(gold, parsing_timeout=limit), parse(answer, parsing_timeout=limit))
    return bool(verify(*read, timeout_seconds=limit))


def warm(_):
    return judge(("$1$", "$2$"))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    with multiprocessing.Pool(processes) as pool:
        pool.map(warm, range(processes), chunksize=1)
        for line in sys.stdin:
            pairs = json.loads(line)
            began = time.perf_counter()
            verdicts = pool.map(judge, pairs, chunksize=8)
            seconds = time.perf_counter() - began
            print(json.dumps({"seconds": seconds, "verdicts": verdicts}), flush=True)
