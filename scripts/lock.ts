/** What this house asks of `package.json` and `package-lock.json`; `scripts/check-lock.ts` runs it. */

export interface Manifest {
  allowScripts: Record<string, boolean>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  engines: Record<string, string>
}

interface Locked {
  hasInstallScript?: boolean
  engines?: Record<string, string>
}

export interface Lock {
  packages: Record<string, Locked>
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** Entries of packages whose install script must not run, although the lock says that they have one. */
function unwanted(manifest: Manifest, lock: Lock): [string, Locked][] {
  return Object.entries(lock.packages).filter(
    ([path, entry]) => entry.hasInstallScript && manifest.allowScripts[nameOf(path)] === false,
  )
}

/**
 * npm 11 runs an install script only where `allowScripts` says so. npm 10 knows no such field: it runs those that the lock flags, so
 * the flag is taken out of the lock for every package that `allowScripts` denies. `npm install` puts it back.
 *
 * @returns one line a fault, empty where all is well
 */
export function faults(manifest: Manifest, lock: Lock): string[] {
  const found = unwanted(manifest, lock).map(
    ([path]) =>
      `package-lock.json: ${path}: expected no hasInstallScript (npm 10 would run its script and download), got true; run npm run lock:fix`,
  )
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (entry.hasInstallScript && !(nameOf(path) in manifest.allowScripts))
      found.push(
        `package.json: allowScripts: expected true or false for ${nameOf(path)}, which has an install script`,
      )
  }
  for (const kind of ['dependencies', 'devDependencies'] as const) {
    for (const [name, version] of Object.entries(manifest[kind])) {
      if (!/^\d+\.\d+\.\d+$/.test(version))
        found.push(`package.json: ${kind}.${name}: expected an exact version, got ${version}`)
    }
  }
  const node = lock.packages['']?.engines?.node
  if (node !== manifest.engines.node)
    found.push(
      `package-lock.json: engines.node: expected ${manifest.engines.node}, got ${node}; run npm run lock:fix`,
    )
  return found
}

/** The lock as it should be, as far as a program can tell. */
export function repaired(manifest: Manifest, lock: Lock): Lock {
  const copy = structuredClone(lock)
  for (const [, entry] of unwanted(manifest, copy)) delete entry.hasInstallScript
  copy.packages['']!.engines = { ...manifest.engines }
  return copy
}
