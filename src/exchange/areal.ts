import type { VersionSpan } from '../../topics/index.ts'
import { type Exported, type ForeignRollout, type Format, hasTokens, knows, type Place } from './foreign.ts'
import { countOf, listOf, Row, RowFault, shown } from './row.ts'

/**
 * AReaL's dump of trajectories (`rollout.dump_to_file`): `[eval-]rollout/{version}/{task_id}.jsonl`, one sample a line. The samples of a
 * task are a group. Text only; which versions of the policy sampled which tokens is kept. -1 is the version of tokens that no policy sampled.
 *
 * `areal/infra/workflow_executor.py`, `_dump_trajectory` and `_split_trajectory_for_dump` (areal-project/AReaL). Older versions write no
 * `version_rle`, `segments` and `original_reward`.
 */
export const areal: Format = {
  name: 'areal',
  summary: 'rollout/{version}/{task_id}.jsonl of AReaL: text, reward and policy versions',
  scoredOnly: true,
  read(line, place) {
    const row = new Row(line)
    row.optional('sample_idx', row.count)
    row.optional('seqlen', row.count)
    row.optional('prompt_len', row.count)
    row.any('tail_version')
    const original = row.optional('original_reward', row.number)
    const spans = spansOf(row)
    const rollout: ForeignRollout = {
      group: taskOf(row, place),
      prompt: row.text('prompt'),
      response: row.text('completion'),
      ...versionOf(row),
      ...(spans ? { versionSpans: spans } : {}),
      reward: {
        outcome: 'score',
        score: row.number('reward'),
        ...(original === undefined ? {} : { detail: { original_reward: original } }),
      },
    }
    return { rollouts: [rollout], ignored: Object.keys(row.rest()) }
  },
  write: (members) => members.map(arealRow),
}

/** Ids begin again with every run: only within a file do they mean the same task. */
function taskOf(row: Row, { file }: Place): string {
  const id = row.any('task_id')
  if (typeof id === 'number' || (typeof id === 'string' && id !== '')) return `${file}:${id}`
  throw new RowFault('task_id', 'a number or a text', shown(id))
}

function versionOf(row: Row): { policyVersion?: number } {
  const head = row.any('head_version')
  return head === undefined || head === -1 ? {} : { policyVersion: row.count('head_version') }
}

/** Runs of versions cover generated tokens only; segments, which are there where there are several turns, say where those lie. */
function spansOf(row: Row): VersionSpan[] | undefined {
  const runs = row.optional('version_rle', (name) =>
    row.list(name).map((pair, i) => {
      const [version, length] = listOf(pair, `${name}[${i}]`)
      return { version: countOf(version, `${name}[${i}][0]`), left: countOf(length, `${name}[${i}][1]`) }
    }),
  )
  const segments = row.optional('segments', (name) =>
    row.list(name).map((value, i) => {
      const segment = new Row(value, `${name}[${i}]`)
      return {
        generated: segment.text('role') === 'gen',
        role: segment.text('role'),
        length: segment.count('len'),
      }
    }),
  )
  if (!runs) return undefined
  const total = runs.reduce((sum, run) => sum + run.left, 0)
  const parts = segments?.filter((s) => s.role !== 'prompt') ?? [{ generated: true, length: total }]
  const spans: VersionSpan[] = []
  let at = 0
  for (const { generated, length } of parts) {
    for (let left = generated ? length : 0, start = at; left > 0; ) {
      const run = runs[0]
      if (!run) throw new RowFault('version_rle', 'a version for every generated token', 'fewer')
      const taken = Math.min(run.left, left)
      if (taken > 0) spans.push({ version: run.version, start, end: start + taken })
      run.left -= taken
      left -= taken
      start += taken
      if (run.left === 0) runs.shift()
    }
    at += length
  }
  return spans
}

function arealRow(of: Exported): Record<string, unknown> {
  const { rollout: r, reward } = of
  const spans = knows(of, 'versionSpans') ? r.versionSpans : []
  const versions = spans.map((s) => s.version)
  const known = versions.length > 0 ? versions : knows(of, 'policyVersion') ? [r.policyVersion] : []
  const tokens = hasTokens(of)
  const original = originalOf(reward?.rewards[0]?.detail)
  return {
    task_id: r.admission,
    sample_idx: r.index,
    seqlen: tokens ? r.promptTokens.length + r.responseTokens.length : undefined,
    prompt_len: tokens ? r.promptTokens.length : undefined,
    head_version: known.length > 0 ? Math.min(...known) : -1,
    tail_version: known.length > 0 ? Math.max(...known) : -1,
    version_rle: spans.length > 0 ? spans.map((s) => [s.version, s.end - s.start]) : undefined,
    reward: reward!.score,
    prompt: r.promptText,
    completion: r.responseText,
    ...(original === undefined ? {} : { original_reward: original }),
  }
}

function originalOf(detail: unknown): unknown {
  return typeof detail === 'object' && detail !== null && 'original_reward' in detail
    ? detail.original_reward
    : undefined
}
