import type { VerifierAsked, VerifierChange } from '../topics/index.ts'

/** A version of a verifier that came while the run went on. */
export interface StagedVersion {
  readonly version: string
  readonly codeHash: string
  /** Offsets count from here: rollouts rewarded later are judged by it too. */
  readonly id: string
}

export interface VersionsOf {
  /** Promoted ones, the active one last. Below them lies the verifier that the run began with. */
  readonly active: readonly StagedVersion[]
  /** Judges beside the active one without effect. */
  readonly staged: StagedVersion | undefined
  readonly rule: VerifierChange['rule']
}

const none: VersionsOf = { active: [], staged: undefined, rule: undefined }

/** The versions of every verifier, folded from `control`. Events in, decisions out. */
export class VerifierVersions {
  readonly #of = new Map<string, VersionsOf>()

  get names(): string[] {
    return [...this.#of.keys()]
  }

  of(name: string): VersionsOf {
    return this.#of.get(name) ?? none
  }

  /** The record of what was asked: it takes effect, or says why it cannot. */
  decided(asked: VerifierAsked, id: string): Omit<VerifierChange, 'epoch' | 'seq'> {
    const refused = this.#obstacle(asked)
    const { staged, active } = this.of(asked.name)
    const meant = asked.action === 'rollback' ? active.at(-1) : asked.action === 'stage' ? undefined : staged
    const version = asked.version ?? meant?.version
    const codeHash = asked.codeHash ?? meant?.codeHash
    return {
      type: 'verifier',
      ...asked,
      ...(version === undefined ? {} : { version }),
      ...(codeHash === undefined ? {} : { codeHash }),
      ...(refused === undefined ? {} : { refused }),
      id,
    }
  }

  apply(change: VerifierChange): void {
    if (change.refused !== undefined) return
    const { active, staged, rule } = this.of(change.name)
    const set = (next: VersionsOf) => this.#of.set(change.name, next)
    switch (change.action) {
      case 'stage':
        set({
          active,
          staged: { version: change.version!, codeHash: change.codeHash!, id: change.id },
          rule: undefined,
        })
        break
      case 'promote':
        if (change.rule) set({ active, staged, rule: change.rule })
        else set({ active: [...active, staged!], staged: undefined, rule: undefined })
        break
      case 'withdraw':
        set({ active, staged: undefined, rule: undefined })
        break
      case 'rollback':
        set({ active: active.slice(0, -1), staged, rule })
        break
    }
  }

  #obstacle({ action, name, version, codeHash }: VerifierAsked): string | undefined {
    const { active, staged } = this.of(name)
    if (action === 'stage') {
      if (version === undefined || codeHash === undefined) return 'expected a version and a code hash'
      if (active.at(-1)?.codeHash === codeHash) return `${version} is the active version already`
      return undefined
    }
    if (action === 'rollback')
      return active.length === 0 ? 'the version that the run began with is active' : undefined
    if (!staged) return 'no version is staged'
    if (codeHash !== undefined && codeHash !== staged.codeHash)
      return `expected the staged version ${staged.version} (${staged.codeHash.slice(0, 12)}), got ${codeHash.slice(0, 12)}`
    return undefined
  }
}
