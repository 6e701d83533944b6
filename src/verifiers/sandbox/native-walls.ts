import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { CascadeError } from '../../../topics/index.ts'
import type { Engine } from './messages.ts'

/** Packages that JavaScript and TypeScript programs are given, with what they need. */
const packages = [
  'lodash',
  'sucrase',
  'lines-and-columns',
  'ts-interface-checker',
  '@jridgewell/gen-mapping',
  '@jridgewell/sourcemap-codec',
  '@jridgewell/trace-mapping',
  '@jridgewell/resolve-uri',
]

const walls = [
  '--unshare-all --die-with-parent --new-session --clearenv --cap-drop ALL --hostname sandbox',
  '--proc /proc --dev /dev --remount-ro /dev',
  `--size ${64 * 2 ** 20} --tmpfs /tmp --dir /tmp/work --chdir /tmp/work`,
  '--setenv HOME /tmp --setenv LANG C.UTF-8 --setenv PYTHONHASHSEED 0',
].flatMap((line) => line.split(' '))

/** @throws `CONFIG_INVALID` where bubblewrap is missing or may not make its namespaces. */
export function checkBubblewrap(): void {
  const probe = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true'], {
    encoding: 'utf8',
  })
  if (probe.status === 0) return
  const why = probe.error
    ? 'bwrap was not found; it is the package bubblewrap of Linux distributions'
    : `bwrap cannot make its namespaces here: ${probe.stderr.trim()}`
  throw new CascadeError('CONFIG_INVALID', `sandbox: expected a Linux with bubblewrap, got none: ${why}`)
}

/** Arguments of bwrap up to the command, and the interpreter inside. */
export interface Walls {
  readonly args: readonly string[]
  readonly interpreter: string
}

export function wallsFor(engine: Engine): Walls {
  const base = [...walls, ...libraries()]
  if (engine === 'javascript') {
    const bound = packages.flatMap((name) => ['--ro-bind', folderOf(name), `/modules/node_modules/${name}`])
    return {
      args: [...base, '--ro-bind', realpathSync(process.execPath), '/node', ...bound],
      interpreter: '/node',
    }
  }
  const { executable, prefix } = python()
  // A system's own Python lies among the libraries; any other is a folder of its own.
  const bound =
    prefix === '/usr'
      ? ['--ro-bind', executable, '/python']
      : ['--ro-bind', prefix, prefix, '--symlink', executable, '/python']
  return { args: [...base, ...bound], interpreter: prefix === '/usr' ? '/python' : executable }
}

/** Shared libraries, and nothing else of the system: no tools, no settings. */
function libraries(): string[] {
  return ['/usr/lib', '/usr/lib64', '/lib', '/lib64'].flatMap((path) => {
    if (!existsSync(path)) return []
    return lstatSync(path).isSymbolicLink()
      ? ['--symlink', readlinkSync(path), path]
      : ['--ro-bind', path, path]
  })
}

function python(): { executable: string; prefix: string } {
  try {
    const [executable, prefix] = execFileSync(
      'python3',
      ['-I', '-c', 'import os, sys; print(os.path.realpath(sys.executable)); print(sys.base_prefix)'],
      { encoding: 'utf8' },
    ).split('\n')
    return { executable: executable!, prefix: prefix! }
  } catch (cause) {
    throw new CascadeError('CONFIG_INVALID', 'sandbox: expected python3 on the path, got none', { cause })
  }
}

function folderOf(name: string): string {
  const from = createRequire(import.meta.url)
  const sucrase = createRequire(from.resolve('sucrase/package.json'))
  for (const each of [from, sucrase]) {
    try {
      return dirname(each.resolve(`${name}/package.json`))
    } catch {
      // its package file is not exported, or it belongs to another package: looked for by its folder
      for (const place of each.resolve.paths(name) ?? [])
        if (existsSync(`${place}/${name}`)) return `${place}/${name}`
    }
  }
  throw new CascadeError('CONFIG_INVALID', `sandbox: expected the package ${name} to be installed, got none`)
}
