import { Observable } from 'rxjs'
import type { Policy, Sample } from '../../streams/ports.ts'
import { CascadeError, type Checkpoint, type Prompt } from '../../topics/index.ts'
import { tokenizer } from '../model/tokenizer/index.ts'
import type { CheckpointStore } from '../update/checkpoint-store.ts'
import { loadCheckpoint } from '../update/load-checkpoint.ts'
import type { VersionedEngine } from './versioned-engine.ts'

/** The policy of the engine in this process. */
export function localPolicy(versioned: VersionedEngine, store: CheckpointStore): Policy {
  return {
    get version() {
      return versioned.version
    },
    ready: (version, signal) => versioned.reach(version, signal),
    load: (checkpoint: Checkpoint) => loadCheckpoint(versioned, store, checkpoint),
    generate: (prompt: Prompt) =>
      new Observable<Sample>((out) => {
        if (versioned.version !== prompt.policyVersion) {
          const got = `got version ${versioned.version}`
          out.error(
            new CascadeError(
              'POLICY_VERSION',
              `group ${prompt.groupId}: expected policy version ${prompt.policyVersion}, ${got}`,
            ),
          )
          return
        }
        const abort = new AbortController()
        out.add(() => abort.abort())
        const seed = { run: prompt.seed, stage: prompt.stage, admission: prompt.admission }
        const { promptTokens, groupSize, sampling } = prompt
        versioned.engine
          .generate(
            { prompt: promptTokens, rows: groupSize, sampling, seed },
            (index, row) =>
              out.next({
                index,
                tokens: row.tokens,
                logprobs: row.logprobs,
                mismatch: row.mismatch,
                finishReason: row.finishReason,
                text: tokenizer.decode(row.tokens),
                generateMs: row.milliseconds,
              }),
            abort.signal,
          )
          .then(
            () => out.complete(),
            (error: unknown) => out.error(error),
          )
      }),
  }
}
