#!/usr/bin/env python3
"""Judges `run --approximate`: random clusters, traces and schemes, each played as a whole and by samples.

  compare_samples.py SPARSYNC [COUNT [SEED [RANKS,RANKS]]]

Prints a line a case (what was told, and how far off it was) and in how many the truth lies within. Hours for the 200
cases of docs/model.md; not run in CI, where tests/cli/test_samples.py plays a few small ones."""
import csv
import io
import json
import random
import subprocess
import sys
import tempfile

SCHEMES = ['allgather', 'allgather:algorithm=direct', 'alltoall', 'alltoall:partition=row', 'ps', 'ps:pull=rows',
           'ps:colocated=true', 'zen', 'zen:format=coo', 'zen:balance=even', 'omnireduce', 'sparcml-split', 'allreduce',
           'zen:hierarchy=shard', 'omnireduce:hierarchy=shard', 'sparcml-split:hierarchy=shard',
           'allgather:hierarchy=shard']


def cluster(draw):
    """A cluster of one of the kinds that people have."""
    per_node = draw.choice([1, 2, 4, 8, 8, 8])
    bandwidth = draw.choice([1, 10, 25, 50, 100, 200, 400])
    made = {'name': 'random', 'model': 'fair' if draw.random() < 0.9 else 'alpha-beta',
            'latency': f'{draw.choice([1, 3, 5, 10, 25, 50])}us', 'bandwidth': f'{bandwidth}Gbps',
            'gpus_per_node': per_node, 'nic': draw.choice(['per-node', 'per-node', 'per-rank']),
            'window': draw.choice([1, 1, 1, 2, 4, 'all'])}
    if per_node > 1:
        made['intra'] = {'latency': f'{draw.choice([1, 4, 8])}us', 'bandwidth': f'{draw.choice([12, 50, 200, 300])}GB/s'}
    if made['model'] == 'fair' and draw.random() < 0.4:
        made['fabric'] = [{'nodes': draw.choice([2, 4, 8, 16]), 'oversubscription': draw.choice([1, 1.5, 2, 3, 4])}]
    if made['model'] == 'alpha-beta':
        del made['window']
    return made


def case(draw, ranks):
    """A scenario of one scheme."""
    machine = cluster(draw)
    name, *options = draw.choice([s for s in SCHEMES if machine['gpus_per_node'] > 1 or 'hierarchy' not in s]).split(':')
    scheme = {'name': name}
    for option in options:
        key, value = option.split('=')
        scheme[key] = True if value == 'true' else value
    synth = {'rows': draw.choice([10000, 30000, 100000, 1000000]), 'row_width': draw.choice([16, 64, 256, 512]),
             'ranks': ranks, 'iterations': 1, 'lookups': draw.choice([256, 1024, 2048, 4096]),
             'zipf': draw.choice([0, 0.6, 1, 1.2]), 'ids': draw.choice(['shuffled', 'shuffled', 'popularity']),
             'seed': draw.randrange(1 << 20)}
    return {'name': 'case', 'trace': {'synth': synth}, 'cluster': machine, 'ranks': ranks, 'certain': True,
            'device': draw.choice(['none', 'none', 'a100']), 'schemes': [scheme], 'verify': False}


def run(program, scenario, *options):
    """The only row of the CSV."""
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(scenario, file)
        file.flush()
        out = subprocess.run([program, 'run', file.name, '--quiet', '--format', 'csv', *options], check=True,
                             capture_output=True, text=True).stdout
    return next(csv.DictReader(io.StringIO(out)))


def judge(program, scenario, wish):
    """What was told, and how far off it was, as shares of the time."""
    whole = float(run(program, scenario)['time_s'])
    sampled = run(program, scenario, '--approximate', wish)
    return float(sampled['approximate_error']), abs(float(sampled['time_s']) / whole - 1)


def main():
    """Prints all cases and the count."""
    program, count, seed = sys.argv[1], int((sys.argv + ['200'])[2]), int((sys.argv + ['', '1'])[3])
    sizes = [int(n) for n in (sys.argv + ['', '', '512,1024'])[4].split(',')]
    within = sampled = 0
    for i in range(count):
        draw = random.Random(seed * 1000 + i)
        ranks = draw.choice(sizes)
        scenario, wish = case(draw, ranks), draw.choice(['1%', '3%', '10%'])
        told, off = judge(program, scenario, wish)
        within += off <= told or off < 1e-12
        sampled += told > 0
        print(f"{i} {scenario['schemes'][0]} {ranks} ranks, {wish}: told {told:.3%}, off {off:.3%}"
              f"{'' if off <= told or off < 1e-12 else '  BEYOND'}", flush=True)
    print(f'{within} of {count} within what was told; a sample stood for all in {sampled}')


if __name__ == '__main__':
    main()
# SPDX-License-Identifier: Apache-2.0
