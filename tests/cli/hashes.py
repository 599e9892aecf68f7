"""Hashes, each from its specification."""
import struct

MASK = 2**64 - 1


def xxh64(data, seed=0):
    """Yann Collet's specification of XXH64."""
    p = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)

    def rotate(x, by):
        return (x << by | x >> (64 - by)) & MASK

    def step(lane, word):
        return rotate((lane + word * p[1]) & MASK, 31) * p[0] & MASK

    at = 0
    if len(data) >= 32:
        lanes = [(seed + p[0] + p[1]) & MASK, (seed + p[1]) & MASK, seed, (seed - p[0]) & MASK]
        for at in range(0, len(data) - 31, 32):
            lanes = [step(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
        at += 32
        total = sum(rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            total = ((total ^ step(0, lane)) * p[0] + p[3]) & MASK
    else:
        total = (seed + p[4]) & MASK
    total = (total + len(data)) & MASK
    while at + 8 <= len(data):
        total = (rotate(total ^ step(0, struct.unpack_from("<Q", data, at)[0]), 27) * p[0] + p[3]) & MASK
        at += 8
    if at + 4 <= len(data):
        total = (rotate(total ^ struct.unpack_from("<I", data, at)[0] * p[0] & MASK, 23) * p[1] + p[2]) & MASK
        at += 4
    for byte in data[at:]:
        total = rotate(total ^ byte * p[4] & MASK, 11) * p[0] & MASK
    total = (total ^ total >> 33) * p[1] & MASK
    total = (total ^ total >> 29) * p[2] & MASK
    return total ^ total >> 32


def mix(a, b):
    """base/random.h, ss_mix: a published finaliser (splitmix64), twice."""
    z = (b + (a + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    z = ((z ^ (z >> 33)) * 0xFF51AFD7ED558CCD) & MASK
    return z ^ (z >> 32)
# SPDX-License-Identifier: Apache-2.0
