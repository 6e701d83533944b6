"""A stream of records through map, groups of 8 and batches of 64 in Bytewax, one worker.

    python -m venv peers && peers/bin/pip install bytewax==0.21.1
    peers/bin/python bench/peers/bytewax_flow.py 1000000

Prints one JSON line: seconds of the flow alone, and the sum that proves it saw every record.
"""

import json
import sys
import time
from datetime import timedelta

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import TestingSource, run_main

count = int(sys.argv[1])
never = timedelta(days=1)
total = 0


class SumPartition(StatelessSinkPartition):
    def write_batch(self, items):
        global total
        for batch in items:
            total += sum(batch)


class Sum(DynamicSink):
    def build(self, step_id, worker_index, worker_count):
        return SumPartition()


flow = Dataflow("operators")
records = op.input("records", flow, TestingSource(range(count), batch_size=1024))
mapped = op.map("map", records, lambda i: (str((i >> 6) * 8 + (i & 7)), i * 2))
groups = op.collect("group", mapped, timeout=never, max_size=8)
sums = op.map("sum", groups, lambda kv: ("all", sum(kv[1])))
batches = op.collect("batch", sums, timeout=never, max_size=64)
op.output("out", op.key_rm("unkey", batches), Sum())

began = time.perf_counter()
run_main(flow)
print(json.dumps({"seconds": time.perf_counter() - began, "sum": total}))
