import { type Escape, javascript, python } from './escapes.ts'

const pythonTraces: Escape[] = (
  [
    [
      'a patched builtin',
      'import builtins\nbuiltins.len = lambda x: 42',
      "if len('a') == 42: print('ESCAPED')",
    ],
    [
      'a new builtin',
      'import builtins\nbuiltins.trace = 1',
      "import builtins\nif hasattr(builtins, 'trace'): print('ESCAPED')",
    ],
    [
      'a patched module',
      'import math\nmath.sqrt = lambda x: 42',
      "import math\nif math.sqrt(4) == 42: print('ESCAPED')",
    ],
    [
      'a replaced module',
      "import sys, types\nsys.modules['json'] = types.ModuleType('trace')",
      "import json\nif json.__name__ == 'trace': print('ESCAPED')",
    ],
    [
      'an import hook',
      'import sys\nclass F:\n  def find_spec(self, *a): return None\nsys.meta_path.insert(0, F())',
      "import sys\nif type(sys.meta_path[0]).__name__ == 'F': print('ESCAPED')",
    ],
    [
      'a search path',
      "import sys\nsys.path.append('/trace')",
      "import sys\nif '/trace' in sys.path: print('ESCAPED')",
    ],
    [
      'a module file',
      "import sys, os\nos.makedirs('/tmp/m', exist_ok=True)\nopen('/tmp/m/trace.py', 'w').write('x = 1')\nsys.path.insert(0, '/tmp/m')\nimport trace",
      "import os\nif os.path.exists('/tmp/m/trace.py'): print('ESCAPED')",
    ],
    [
      'a file',
      "open('/tmp/trace', 'w').write('x')",
      "import os\nif os.path.exists('/tmp/trace'): print('ESCAPED')",
    ],
    [
      'a changed standard library',
      "import os\nos.makedirs('/tmp/l', exist_ok=True)\nos.rename('/tmp/l', '/tmp/moved')",
      "import os\nif os.path.exists('/tmp/moved'): print('ESCAPED')",
    ],
    [
      'a working folder',
      "import os\nos.chdir('/tmp')",
      "import os\nif os.getcwd() == '/tmp': print('ESCAPED')",
    ],
    [
      'an open file',
      "f = open('/tmp/open', 'w')",
      "import os\ntry:\n  os.fstat(f.fileno() if 'f' in globals() else 99)\n  print('ESCAPED')\nexcept OSError: pass",
    ],
    ['a variable', 'trace = 1', "if 'trace' in globals(): print('ESCAPED')"],
    [
      'a seed',
      'import random\nrandom.seed(7)\nrandom.trace = random.random()',
      "import random\nrandom.seed\nif getattr(random, 'trace', None): print('ESCAPED')",
    ],
    ['a clock', 'import time\ntime.time = lambda: 0', "import time\nif time.time() == 0: print('ESCAPED')"],
    [
      'an environment',
      "import os\nos.environ['TRACE'] = '1'",
      "import os\nif 'TRACE' in os.environ: print('ESCAPED')",
    ],
    [
      'a recursion limit',
      'import sys\nsys.setrecursionlimit(123)',
      "import sys\nif sys.getrecursionlimit() == 123: print('ESCAPED')",
    ],
    [
      'a collector switched off',
      'import gc\ngc.disable()',
      "import gc\nif not gc.isenabled(): print('ESCAPED')",
    ],
    [
      'a decimal context',
      'import decimal\ndecimal.getcontext().prec = 3',
      "import decimal\nif decimal.getcontext().prec == 3: print('ESCAPED')",
    ],
    [
      'a subclass',
      'class Trace: pass',
      "if any(c.__name__ == 'Trace' for c in object.__subclasses__()): print('ESCAPED')",
    ],
    [
      'an exit handler',
      "import atexit\natexit.register(print, 'ESCAPED')",
      'import atexit\natexit._run_exitfuncs()',
    ],
  ] as const
).map(([name, source, next]) => python('no-reset', `leaves ${name}`, source, { next }))

const javascriptTraces: Escape[] = (
  [
    [
      'a patched prototype',
      'Array.prototype.map = () => 42',
      "if ([1].map((x) => x) === 42) console.log('ESCAPED')",
    ],
    ['a polluted prototype', 'Object.prototype.trace = 1', "if ({}.trace) console.log('ESCAPED')"],
    ['a global', 'globalThis.trace = 1', "if (typeof trace !== 'undefined') console.log('ESCAPED')"],
    ['a constant', 'const trace = 1', "if (typeof trace !== 'undefined') console.log('ESCAPED')"],
    [
      'a patched JSON',
      "JSON.stringify = () => 'trace'",
      "if (JSON.stringify({}) === 'trace') console.log('ESCAPED')",
    ],
    ['a patched random', 'Math.random = () => 42', "if (Math.random() === 42) console.log('ESCAPED')"],
    ['a patched clock', 'Date.now = () => 42', "if (Date.now() === 42) console.log('ESCAPED')"],
    ['a patched console', "const log = console.log; console.log = (x) => log('ESCAPED')", "console.log('x')"],
    ['a patched timer', 'globalThis.setTimeout = 42', "if (setTimeout === 42) console.log('ESCAPED')"],
    ['an environment', 'process.env.TRACE = 1', "if (process.env.TRACE) console.log('ESCAPED')"],
    ['an export', 'module.exports.trace = 1', "if (module.exports.trace) console.log('ESCAPED')"],
    [
      'a symbol',
      "Symbol.for('trace').constructor.prototype.trace = 1",
      "if (Symbol.prototype.trace) console.log('ESCAPED')",
    ],
  ] as const
).map(([name, source, next]) => javascript('no-reset', `leaves ${name}`, source, { next }))

/** What one program leaves behind and the next one would meet. */
export const traces: readonly Escape[] = [...pythonTraces, ...javascriptTraces]
