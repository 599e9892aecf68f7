"""sparsync beside a training in PyTorch: recorded, measured, or given another scheme's result. Nothing is imported before it is
used, and torch by nothing else of the package.

    Recorder              what `sparsync train --capture` needs, out of a training of your own
    Capture               the rows alone, of any model
    apply                 what ranks would end with under a scheme"""
import importlib

_WHERE = {"Recorder": "_recorder", "Capture": "_recorder", "measure_collectives": "_collectives", "apply": "_hook"}
__all__ = list(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
# SPDX-License-Identifier: Apache-2.0
