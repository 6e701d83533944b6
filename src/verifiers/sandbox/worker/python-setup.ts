/** Built-in modules through which Python reaches this process's JavaScript or raw memory. */
export const forbiddenModules = [
  '_pyodide_core',
  '_ctypes',
  '_posixsubprocess',
  '_testcapi',
  '_testinternalcapi',
  '_testlimitedcapi',
] as const

/**
 * Runs once, before the clean state is taken: loads what programs often import, gives `asyncio` a loop that needs no sockets, and
 * takes away every module through which Python reaches JavaScript. Leaves `_helpers` in
 * `__main__`, for the engine to pick up.
 */
export const pythonSetup = `
import sys, gc
import abc, array, asyncio, bisect, cmath, collections, collections.abc, contextlib, copy, dataclasses, datetime, decimal, enum
import fractions, functools, hashlib, heapq, io, itertools, json, math, numbers, operator, os, random, re, statistics, string, struct
import textwrap, time, traceback, types, typing, unittest, calendar, queue, threading, zlib, base64, bisect, inspect, warnings

class _Selector:
    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError('asyncio: everything waits and nothing will wake it')
        if timeout > 0:
            time.sleep(timeout)
        return []

class _Loop(asyncio.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = _Selector()
    def _process_events(self, events):
        pass
    def _write_to_self(self):
        pass

class _Policy(asyncio.events._BaseDefaultEventLoopPolicy):
    _loop_factory = _Loop

import asyncio.runners
asyncio.events._set_running_loop(None)
asyncio.events._event_loop_policy = _Policy()
asyncio.run = asyncio.runners.run

for _name in list(sys.modules):
    _root = _name.split('.')[0]
    if _root in ('js', 'pyodide', 'pyodide_js', '_pyodide', '_pyodide_core', '_ctypes', 'ctypes', 'micropip'):
        del sys.modules[_name]
sys.meta_path[:] = [f for f in sys.meta_path if 'pyodide' not in type(f).__module__]
sys.path[:] = [p for p in sys.path if 'site-packages' not in p]
sys.argv[:] = ['program.py']
sys.setrecursionlimit(4000)
for _name in ('breakpointhook', '__breakpointhook__'):
    if hasattr(sys, _name):
        delattr(sys, _name)

def _describe(error, _format=traceback.format_exception_only, _str=str):
    try:
        name = type(error).__name__
        return name + '\\n' + _str(error)[:2000]
    except BaseException as other:
        return 'Exception\\n(its text raised ' + type(other).__name__ + ')'

def _frames(error):
    """Line numbers of the frames of the program that an exception passed through, outermost first."""
    lines = []
    tb = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == '<program>':
            lines.append(str(tb.tb_lineno))
        tb = tb.tb_next
    return ','.join(lines)

def _exit_code(error, _str=str):
    code = error.code
    if code is None or code is False: return '0'
    return _str(code)[:20] if type(code) is int else '1'

os.environ.clear()
os.environ.update(HOME='/home/pyodide', PATH='/', LANG='C.UTF-8')
# A built-in module that was loaded once would be handed out again from here even after it left the table.
import _testinternalcapi
for _name in ${JSON.stringify(forbiddenModules)}:
    _testinternalcapi.clear_extension(_name, _name)
    sys.modules.pop(_name, None)
sys.modules['__main__'].__dict__['_helpers'] = (_describe, _frames, _exit_code)
random.seed(0)
gc.collect()
`
