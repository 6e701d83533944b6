"""Parses rows of verl's dump and stores their texts and scores in SQLite, durable at the end: seconds, on standard output."""

import json
import sqlite3
import sys
import time

source, target = sys.argv[1:3]
began = time.perf_counter()
store = sqlite3.connect(target)
store.execute("create table rollouts (step int, prompt text, response text, truth text, score real)")


def rows():
    with open(source, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["step"], row["input"], row["output"], json.dumps(row["gts"]), row["score"]


store.executemany("insert into rollouts values (?, ?, ?, ?, ?)", rows())
store.commit()
store.close()
print(json.dumps({"seconds": time.perf_counter() - began}))
