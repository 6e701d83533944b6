/**
 * What a control run takes away: it is the same text with that layer missing, and there the attempt must succeed, which shows that it
 * is one.
 *
 * - `native`: a plain python3 or node process.
 * - `pyodide`: Pyodide as its package loads it, in a plain node process.
 * - `vm`: a context of `node:vm` that was handed a function of the host.
 * - `no-reset`: the same interpreter, where the second program follows the first without the clean state in between.
 */
export type Control = 'native' | 'pyodide' | 'vm' | 'no-reset'

/**
 * `@DIR@` is a folder of the host that holds `secret.txt` and `loaded.py`, `@PORT@` a port on which the host listens. An attempt has
 * succeeded when ESCAPED is printed, a name with `escaped` stands in that folder, or the host was connected to.
 */
export interface Escape {
  readonly name: string
  readonly language: 'python' | 'javascript'
  readonly control: Control
  readonly source: string
  /** The program after it, which looks for traces. */
  readonly next?: string
  /** Native interpreters may do this inside of their own walls. */
  readonly only?: 'wasm'
  /** Takes a limit on processes, which not every machine has for native interpreters. */
  readonly processes?: true
}

export const python = (
  control: Control,
  name: string,
  source: string,
  rest: Partial<Escape> = {},
): Escape => ({
  name: `python: ${name}`,
  language: 'python',
  control,
  source,
  ...rest,
})
export const javascript = (
  control: Control,
  name: string,
  source: string,
  rest: Partial<Escape> = {},
): Escape => ({
  name: `javascript: ${name}`,
  language: 'javascript',
  control,
  source,
  ...rest,
})

const hit = "print('ESCAPED')"
const touch = "['/bin/sh', '-c', 'touch @DIR@/escaped']"

const pythonHost: Escape[] = [
  python('native', 'reads /etc/passwd', `if 'root:' in open('/etc/passwd').read(): ${hit}`),
  python(
    'native',
    'reads a file by descriptor',
    `import os\nif b'TOKEN' in os.read(os.open('@DIR@/secret.txt', os.O_RDONLY), 99): ${hit}`,
  ),
  python(
    'native',
    'reads a file by path object',
    `import pathlib\nif 'TOKEN' in pathlib.Path('@DIR@/secret.txt').read_text(): ${hit}`,
  ),
  python('native', 'lists a folder', `import os\nif 'secret.txt' in os.listdir('@DIR@'): ${hit}`),
  python(
    'native',
    'asks whether a file is there',
    `import os\nif os.stat('@DIR@/secret.txt').st_size: ${hit}`,
  ),
  python('native', 'globs', `import glob\nif glob.glob('@DIR@/*.txt'): ${hit}`),
  python('native', 'reads the environment', `import os\nif 'CASCADE_SECRET' in os.environ: ${hit}`),
  python(
    'native',
    'reads the environment below os',
    `import posix\nif b'CASCADE_SECRET' in posix.environ: ${hit}`,
  ),
  python(
    'native',
    'reads the environment from /proc',
    `if 'CASCADE_SECRET' in open('/proc/self/environ').read(): ${hit}`,
  ),
  python(
    'native',
    'sees other processes',
    `import glob\nif any('vitest' in open(p, errors='replace').read() for p in glob.glob('/proc/[0-9]*/cmdline')): ${hit}`,
  ),
  python('native', 'spawns by subprocess', `import subprocess\nsubprocess.run(${touch})`),
  python('native', 'spawns by os.system', `import os\nos.system('touch @DIR@/escaped')`),
  python('native', 'spawns by popen', `import os\nos.popen('touch @DIR@/escaped').read()`),
  python(
    'native',
    'spawns by posix_spawn',
    `import os\nos.waitpid(os.posix_spawn('/bin/sh', ${touch}, {'PATH': '/bin:/usr/bin'}), 0)`,
  ),
  python('native', 'becomes another program', `import os\nos.execv('/bin/sh', ${touch})`),
  python(
    'native',
    'forks and spawns',
    `import os\nif os.fork() == 0: os.execv('/bin/sh', ${touch})\nos.wait()`,
  ),
  python(
    'native',
    'spawns by _posixsubprocess',
    `import _posixsubprocess, subprocess\nsubprocess.Popen(${touch}).wait()`,
  ),
  python(
    'native',
    'connects by socket',
    `import socket\nsocket.create_connection(('127.0.0.1', @PORT@), 2).send(b'GET / HTTP/1.0\\r\\n\\r\\n')`,
  ),
  python(
    'native',
    'connects by http',
    `import http.client\nc = http.client.HTTPConnection('127.0.0.1', @PORT@, timeout=2)\nc.request('GET', '/')\nc.getresponse()`,
  ),
  python(
    'native',
    'connects by urllib',
    `import urllib.request\nurllib.request.urlopen('http://127.0.0.1:@PORT@/', timeout=2).read()`,
  ),
  python(
    'native',
    'starts hundreds of processes',
    `import os, signal, time\nthere = []\ntry:\n  while len(there) < 300:\n    child = os.fork()\n    if child == 0:\n      time.sleep(20)\n      os._exit(0)\n    there.append(child)\nexcept OSError: pass\nfor child in there: os.kill(child, signal.SIGKILL)\nif len(there) == 300: ${hit}`,
    { processes: true },
  ),
  python(
    'native',
    'starts hundreds of threads',
    `import threading, time\nthere = 0\ntry:\n  while there < 300:\n    threading.Thread(target=time.sleep, args=(3,), daemon=True).start()\n    there += 1\nexcept RuntimeError: pass\nif there == 300: ${hit}`,
    { processes: true },
  ),
  python('native', 'writes a file', `open('@DIR@/escaped', 'w').write('x')`),
  python('native', 'makes a folder', `import os\nos.mkdir('@DIR@/escaped')`),
  python('native', 'makes a link', `import os\nos.symlink('@DIR@/secret.txt', '@DIR@/escaped')`),
  python('native', 'copies a file', `import shutil\nshutil.copy('@DIR@/secret.txt', '@DIR@/escaped')`),
  python('native', 'imports code of the host', `import sys\nsys.path.insert(0, '@DIR@')\nimport loaded`),
  python('native', 'runs code of the host', `import runpy\nrunpy.run_path('@DIR@/loaded.py')`),
  python('native', 'calls the C library', `import ctypes\nctypes.CDLL(None).system(b'touch @DIR@/escaped')`),
  python('native', 'reads raw memory', `import ctypes\nif ctypes.string_at(id(1), 8): ${hit}`, {
    only: 'wasm',
  }),
  python('pyodide', 'imports js', `import js\nif js.process.env.CASCADE_SECRET: ${hit}`),
  python('pyodide', 'finds eval in js', `from js import eval\nif eval('process.pid'): ${hit}`),
  python('pyodide', 'imports pyodide_js', `import pyodide_js\nif pyodide_js.version: ${hit}`),
  python('pyodide', 'runs JavaScript', `from pyodide.code import run_js\nif run_js('1 + 1') == 2: ${hit}`),
  python(
    'pyodide',
    'climbs from a converted list',
    `from pyodide.ffi import to_js\nif to_js([1]).constructor.constructor('return process.pid')(): ${hit}`,
  ),
  python(
    'pyodide',
    'imports the core again',
    `import sys, importlib\nsys.modules.pop('_pyodide_core', None)\nm = importlib.import_module('_pyodide_core')\nif m.run_js('1 + 1') == 2 if hasattr(m, 'run_js') else m.to_js([1]): ${hit}`,
  ),
  python(
    'pyodide',
    'builds the core by hand',
    `import _imp, importlib.machinery\ns = importlib.machinery.ModuleSpec('_pyodide_core', importlib.machinery.BuiltinImporter, origin='built-in')\nm = _imp.create_builtin(s)\nif m.to_js([1]).constructor: ${hit}`,
  ),
  python(
    'pyodide',
    'finds a host object in the heap',
    `import gc, js\nif any(type(o).__name__ == 'JsProxy' for m in list(__import__('sys').modules.values()) for o in list(vars(m).values())): ${hit}`,
  ),
  python(
    'pyodide',
    'restores the import hook',
    `import sys\nimport _pyodide._importhook as h\nf = [x for x in sys.meta_path if type(x).__name__ == 'JsFinder'][0]\nfrom js import process\nif process.pid: ${hit}`,
  ),
  python('pyodide', 'calls emscripten', `import ctypes\nctypes.CDLL(None).emscripten_run_script\n${hit}`),
]

const javascriptHost: Escape[] = [
  javascript(
    'native',
    'reads /etc/passwd',
    `if (require('fs').readFileSync('/etc/passwd', 'utf8').includes('root:')) console.log('ESCAPED')`,
  ),
  javascript(
    'native',
    'reads a file by a prefixed name',
    `if (require('node:fs').readFileSync('@DIR@/secret.txt', 'utf8').includes('TOKEN')) console.log('ESCAPED')`,
  ),
  javascript(
    'native',
    'lists a folder',
    `if (require('fs').readdirSync('@DIR@').length) console.log('ESCAPED')`,
  ),
  javascript('native', 'writes a file', `require('fs').writeFileSync('@DIR@/escaped', 'x')`),
  javascript(
    'native',
    'imports the file system',
    `import('node:fs').then((fs) => fs.writeFileSync('@DIR@/escaped', 'x'))`,
  ),
  javascript('native', 'reads the environment', `if (process.env.CASCADE_SECRET) console.log('ESCAPED')`),
  javascript(
    'native',
    'reads the environment from a function',
    `if (new Function('return process')().env.CASCADE_SECRET) console.log('ESCAPED')`,
  ),
  javascript(
    'native',
    'reads the environment by eval',
    `if ((0, eval)('process.env.CASCADE_SECRET')) console.log('ESCAPED')`,
  ),
  javascript('native', 'spawns', `require('child_process').execSync('touch @DIR@/escaped')`),
  javascript(
    'native',
    'spawns by a prefixed name',
    `require('node:child_process').spawnSync('touch', ['@DIR@/escaped'])`,
  ),
  javascript(
    'native',
    'spawns by the main module',
    `process.mainModule.require('child_process').execSync('touch @DIR@/escaped')`,
  ),
  javascript(
    'native',
    'spawns by a built-in lookup',
    `process.getBuiltinModule('child_process').execSync('touch @DIR@/escaped')`,
  ),
  javascript(
    'native',
    'spawns by the module loader',
    `require.main.constructor._load('child_process').execSync('touch @DIR@/escaped')`,
  ),
  javascript(
    'native',
    'connects',
    `require('net').connect(@PORT@, '127.0.0.1').on('connect', function () { this.end() })`,
  ),
  javascript('native', 'fetches', `fetch('http://127.0.0.1:@PORT@/').then((r) => r.text())`),
  javascript('native', 'asks by http', `require('http').get('http://127.0.0.1:@PORT@/', (r) => r.resume())`),
  javascript(
    'native',
    'starts a worker',
    `const { Worker } = require('worker_threads'); new Worker("require('fs').writeFileSync('@DIR@/escaped', 'x')", { eval: true })`,
  ),
  javascript(
    'native',
    'loads a file of the host',
    `if (JSON.stringify(require('@DIR@/loaded.json')).includes('TOKEN')) console.log('ESCAPED')`,
  ),
  javascript(
    'native',
    'asks for the host name',
    `if (require('os').userInfo().username) console.log('ESCAPED')`,
    { only: 'wasm' },
  ),
  javascript(
    'vm',
    'climbs from this',
    `if (this.constructor.constructor('return process')().env.CASCADE_SECRET) log('ESCAPED')`,
  ),
  javascript(
    'vm',
    'climbs from a host function',
    `if ((typeof log === 'function' ? log : console.log).constructor('return process')().env.CASCADE_SECRET) (typeof log === 'function' ? log : console.log)('ESCAPED')`,
  ),
  javascript(
    'vm',
    'climbs from a host result',
    `const out = typeof log === 'function' ? log : console.log; const up = out.call.constructor('return process'); if (up().env.CASCADE_SECRET) out('ESCAPED')`,
  ),
  javascript(
    'vm',
    'climbs from a host prototype',
    `const out = typeof log === 'function' ? log : console.log; if (Object.getPrototypeOf(out).constructor('return typeof process !== "undefined" && process.env.CASCADE_SECRET')()) out('ESCAPED')`,
  ),
]

export const hostEscapes: readonly Escape[] = [...pythonHost, ...javascriptHost]
