import { expect, test } from 'vitest'
import { faults, type Lock, type Manifest, repaired } from '../../scripts/lock.ts'

const manifest: Manifest = {
  allowScripts: { 'onnxruntime-node': false, lmdb: true },
  dependencies: { lmdb: '3.5.6' },
  devDependencies: {},
  engines: { node: '>=20.19' },
}

function lockOf(packages: Lock['packages']): Lock {
  return { packages: { '': { engines: { node: '>=20.19' } }, ...packages } }
}

test('a lock without scripts that must not run is fine', () => {
  const lock = lockOf({
    'node_modules/onnxruntime-node': {},
    'node_modules/lmdb': { hasInstallScript: true },
  })
  expect(faults(manifest, lock)).toEqual([])
})

test('npm install put the flag back: named, with the repair, and repaired', () => {
  const lock = lockOf({
    'node_modules/onnxruntime-node': { hasInstallScript: true },
    'node_modules/a/node_modules/onnxruntime-node': { hasInstallScript: true },
    'node_modules/lmdb': { hasInstallScript: true },
  })
  expect(faults(manifest, lock)).toEqual([
    expect.stringMatching(/^package-lock\.json: node_modules\/onnxruntime-node: .*npm run lock:fix$/),
    expect.stringMatching(/^package-lock\.json: node_modules\/a\/node_modules\/onnxruntime-node: /),
  ])
  const after = repaired(manifest, lock)
  expect(faults(manifest, after)).toEqual([])
  expect(after.packages['node_modules/lmdb']).toEqual({ hasInstallScript: true })
})

test('a new package with an install script has to be decided on', () => {
  const lock = lockOf({ 'node_modules/@a/native': { hasInstallScript: true } })
  expect(faults(manifest, lock)).toEqual([
    'package.json: allowScripts: expected true or false for @a/native, which has an install script',
  ])
})

test('versions are exact', () => {
  expect(faults({ ...manifest, devDependencies: { vite: '^8.3.8' } }, lockOf({}))).toEqual([
    'package.json: devDependencies.vite: expected an exact version, got ^8.3.8',
  ])
})

test('the lowest Node is the same in both files, and repaired', () => {
  const lock: Lock = { packages: { '': { engines: { node: '>=18' } } } }
  expect(faults(manifest, lock)).toEqual([
    'package-lock.json: engines.node: expected >=20.19, got >=18; run npm run lock:fix',
  ])
  expect(faults(manifest, repaired(manifest, lock))).toEqual([])
})
