/** Programs that take without end. In a control run they are still at it, or got it, when they are stopped. */
export interface Bomb {
  readonly name: string
  readonly language: 'python' | 'javascript'
  readonly source: string
  /** How it may end; an ordinary error of the interpreter counts where it stands here. */
  readonly ends: readonly string[]
}

export const bombs: readonly Bomb[] = [
  { name: 'python: endless loop', language: 'python', source: 'while True: pass', ends: ['timeout'] },
  {
    name: 'python: endless loop that catches all',
    language: 'python',
    source:
      'def f():\n  while True:\n    try:\n      while True: pass\n    except BaseException: continue\nwhile True:\n  try: f()\n  except BaseException: pass',
    ends: ['timeout'],
  },
  {
    name: 'python: endless finally',
    language: 'python',
    source: 'def f():\n  try:\n    while True: pass\n  finally: f()\nf()',
    ends: ['timeout', 'error'],
  },
  {
    name: 'python: catastrophic expression',
    language: 'python',
    source: "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
    ends: ['timeout'],
  },
  { name: 'python: huge power', language: 'python', source: 'x = 9 ** 9 ** 9', ends: ['timeout', 'memory'] },
  {
    name: 'python: long sleep',
    language: 'python',
    source: 'import time\ntime.sleep(1000)',
    ends: ['timeout'],
  },
  {
    name: 'python: memory by lists',
    language: 'python',
    source: 'x = []\nwhile True: x.append([0] * 100000)',
    ends: ['memory'],
  },
  {
    name: 'python: memory at once',
    language: 'python',
    source: "x = 'x' * (2 * 10 ** 9)\nwhile True: pass",
    ends: ['memory'],
  },
  {
    name: 'python: memory by files',
    language: 'python',
    source: "f = open('/tmp/big', 'wb')\nwhile True: f.write(b'x' * 10 ** 7)",
    ends: ['memory', 'error'],
  },
  {
    name: 'python: endless output',
    language: 'python',
    source: "while True: print('x' * 1000)",
    ends: ['output'],
  },
  {
    name: 'python: endless error output',
    language: 'python',
    source: "import sys\nwhile True: sys.stderr.write('x' * 1000)",
    ends: ['output'],
  },
  { name: 'javascript: endless loop', language: 'javascript', source: 'for (;;) {}', ends: ['timeout'] },
  {
    name: 'javascript: endless loop that catches all',
    language: 'javascript',
    source: 'for (;;) { try { for (;;) {} } catch {} finally { continue } }',
    ends: ['timeout'],
  },
  {
    name: 'javascript: catastrophic expression',
    language: 'javascript',
    source: "/^(a+)+$/.test('a'.repeat(40) + 'b')",
    ends: ['timeout', 'error'],
  },
  {
    name: 'javascript: endless promises',
    language: 'javascript',
    source: 'const f = () => Promise.resolve().then(f); f()',
    ends: ['timeout'],
  },
  {
    name: 'javascript: endless timers',
    language: 'javascript',
    source: 'setInterval(() => {}, 1)',
    ends: ['timeout'],
  },
  {
    name: 'javascript: memory by arrays',
    language: 'javascript',
    source: 'const x = []; for (;;) x.push(new Array(100000).fill(1.5))',
    ends: ['memory', 'error'],
  },
  {
    name: 'javascript: memory by buffers',
    language: 'javascript',
    source: 'const x = []; for (;;) x.push(new Uint8Array(1e7).fill(1))',
    ends: ['memory', 'error'],
  },
  {
    name: 'javascript: endless output',
    language: 'javascript',
    source: "for (;;) console.log('x'.repeat(1000))",
    ends: ['output'],
  },
]
