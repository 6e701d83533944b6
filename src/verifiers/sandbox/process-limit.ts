import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Processes and threads that one program may have at a time: node alone has a dozen threads. */
export const maxProcesses = 64

const prefix = 'cascade-sandbox-'
const prlimit = '/usr/bin/prlimit'

/**
 * What keeps a program from starting processes without end.
 *
 * - `cgroup`: the controller `pids`, where this process may make groups.
 * - `rlimit`: RLIMIT_NPROC. Since Linux 5.14 it counts in each user namespace by itself, but never holds for the machine's root.
 * - `none`: the time limit alone.
 */
export type ProcessLimit =
  | { readonly kind: 'cgroup'; readonly parent: string }
  | { readonly kind: 'rlimit' }
  | { readonly kind: 'none' }

/** Found by trying. Bubblewrap must be there. */
export function findProcessLimit(): ProcessLimit {
  const parent = pidsGroup()
  if (parent !== undefined && holdsGroup(parent)) return { kind: 'cgroup', parent }
  return limitHolds() ? { kind: 'rlimit' } : { kind: 'none' }
}

/** A group for one program at a time. */
export class ProcessGroup {
  readonly #folder: string

  constructor(parent: string, name: string) {
    this.#folder = join(parent, `${prefix}${process.pid}-${name}`)
    mkdirSync(this.#folder)
    try {
      writeFileSync(join(this.#folder, 'pids.max'), String(maxProcesses))
    } catch (error) {
      rmdirSync(this.#folder)
      throw error
    }
  }

  /** What a process writes its id into to join, and its children with it. */
  get door(): string {
    return join(this.#folder, 'cgroup.procs')
  }

  /** Ends what is still in it. */
  empty(): void {
    for (const pid of readFileSync(this.door, 'utf8').split('\n').filter(Boolean)) {
      try {
        process.kill(Number(pid), 'SIGKILL')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
  }

  /** Its processes may take a moment to go. */
  async remove(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        this.empty()
        return rmdirSync(this.#folder)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || tries === 100) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** What goes between bwrap's arguments and the program's command, for a limit that is set inside the walls. */
export function limitInside(limit: ProcessLimit): { walls: string[]; command: string[] } {
  if (limit.kind !== 'rlimit') return { walls: [], command: [] }
  return { walls: ['--ro-bind', prlimit, '/prlimit'], command: ['/prlimit', `--nproc=${maxProcesses}`] }
}

/** The folder of this process's own group of the controller `pids`, of either version of cgroups. */
function pidsGroup(): string | undefined {
  if (process.platform !== 'linux') return undefined
  const groups = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n')
  for (const group of groups) {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(group) ?? []
    const second = controllers === ''
    if (!second && !controllers.split(',').includes('pids')) continue
    for (const mount of mounts) {
      const [place = '', rest = ''] = mount.split(' - ')
      const [, , , root = '/', point = ''] = place.split(' ')
      const [type, , options = ''] = rest.split(' ')
      const fits = second ? type === 'cgroup2' : type === 'cgroup' && options.split(',').includes('pids')
      if (!fits) continue
      const folder = join(point, root !== '/' && path.startsWith(root) ? path.slice(root.length) : path)
      if (existsSync(folder) && (!second || delegates(folder))) return folder
    }
  }
  return undefined
}

/** Version 2 hands a controller down only where it is told to. */
function delegates(folder: string): boolean {
  try {
    if (!readFileSync(join(folder, 'cgroup.controllers'), 'utf8').split(/\s/).includes('pids')) return false
    writeFileSync(join(folder, 'cgroup.subtree_control'), '+pids')
    return true
  } catch {
    return false // not ours to change, which is an answer too
  }
}

/** Whether a group can be made there and joined. Groups of processes that are no more are cleared away. */
function holdsGroup(parent: string): boolean {
  try {
    for (const name of readdirSync(parent)) {
      const [, pid] = new RegExp(`^${prefix}(\\d+)-`).exec(name) ?? []
      if (pid && !existsSync(`/proc/${pid}`)) rmdirSync(join(parent, name))
    }
    const group = new ProcessGroup(parent, 'probe')
    try {
      const joined = spawnSync('/bin/sh', ['-c', 'echo $$ > "$1"', 'sh', group.door])
      return joined.status === 0
    } finally {
      void group.remove()
    }
  } catch {
    return false // read-only, or not ours: which is an answer too
  }
}

/** With a limit of one process, a shell behind bwrap's walls must not be able to start another. */
function limitHolds(): boolean {
  if (!existsSync(prlimit)) return false
  const walls = ['--unshare-all', '--ro-bind', '/', '/', prlimit]
  const shell = ['/bin/sh', '-c', '(exit 0) && echo started']
  const run = (limit: number) =>
    spawnSync('bwrap', [...walls, `--nproc=${limit}`, ...shell], { encoding: 'utf8' }).stdout
  return run(1) === '' && run(maxProcesses) === 'started\n'
}
