import type { StagedVersion } from '../../../streams/verifier-versions.ts'
import { ConfiguredVerifiers } from '../../verifiers/configured/verifiers.ts'
import type { Context } from '../command.ts'
import type { OpenRun } from '../open-run.ts'
import { print } from '../output/print.ts'
import { table } from '../output/table.ts'
import { openOptions } from '../run/open-verifiers.ts'
import { verifierNames, versionHistory } from './versions.ts'

interface Row {
  verifier: string
  version: string
  codeHash: string
  state: 'active' | 'staged' | 'earlier'
  /** How it came to that; null for the one that the run began with. */
  since: string | null
}

/** `cascade verifiers ls`. */
export async function list(open: OpenRun, flags: { json?: true }, context: Context): Promise<void> {
  const { versions, changes } = await versionHistory(open.log, context.signal)
  const times = new Map(
    changes.map(({ change, timestamp }) => [change.id, new Date(timestamp).toISOString()]),
  )
  const names = verifierNames(open.manifest.config)
  await using all = await ConfiguredVerifiers.open(names, openOptions(open.dir, open.manifest))
  const rows = names.flatMap((name): Row[] => {
    const { active, staged } = versions.of(name)
    const row = (v: StagedVersion, state: Row['state']): Row => ({
      verifier: name,
      version: v.version,
      codeHash: v.codeHash,
      state,
      since: times.get(v.id) ?? null,
    })
    const { version, codeHash } = all.current(name)
    return [
      { verifier: name, version, codeHash, state: active.length === 0 ? 'active' : 'earlier', since: null },
      ...active.map((v, i) => row(v, i === active.length - 1 ? 'active' : 'earlier')),
      ...(staged ? [row(staged, 'staged')] : []),
    ]
  })
  const text = flags.json
    ? rows.map((row) => JSON.stringify(row))
    : table(
        ['verifier', 'version', 'code', 'state', 'since'].map((title) => ({ title })),
        rows.map((r) => [
          r.verifier,
          r.version,
          r.codeHash.slice(0, 12),
          r.state,
          r.since ?? 'the beginning',
        ]),
      )
  await print(context.stdout, `${text.join('\n')}\n`, context.signal)
}
