import type { Register } from '../command.ts'

/** A command by name. Its module is loaded only when it is called: no other command pays for the engine. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  /** Goes on later where it was interrupted: a reader of its output that goes away ends it with 130, as Ctrl-C does. */
  readonly resumable?: true
  load(): Promise<{ register: Register }>
}

/** To add a command: copy the file beside this one, add its line here, add its test. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'run',
    summary: 'train: run a cascade, or resume one',
    resumable: true,
    load: () => import('./run.ts'),
  },
  { name: 'plan', summary: 'what a run of a config would do', load: () => import('./plan.ts') },
  {
    name: 'eval',
    summary: 'score a checkpoint on the held-out prompts',
    load: () => import('./eval.ts'),
  },
  {
    name: 'worker',
    summary: 'run one operator of a run in a process of its own',
    resumable: true,
    load: () => import('./worker.ts'),
  },
  { name: 'report', summary: 'what a run has reached, from its log', load: () => import('./report.ts') },
  {
    name: 'replay',
    summary: 'stored rollouts again: inspect, rebuild the weights, judge anew',
    load: () => import('./replay.ts'),
  },
  {
    name: 'import',
    summary: 'take over rollouts that another program wrote, as a run',
    load: () => import('./import.ts'),
  },
  {
    name: 'export',
    summary: 'write the rollouts of a run as rows that another program reads',
    load: () => import('./export.ts'),
  },
  {
    name: 'topics',
    summary: 'list, print and follow the topics of a run',
    load: () => import('./topics.ts'),
  },
  {
    name: 'control',
    summary: 'pause, resume or stop a run that is going on; finish or change its stage',
    load: () => import('./control.ts'),
  },
  { name: 'verify', summary: 'score a file of cases with a verifier', load: () => import('./verify.ts') },
  {
    name: 'verifiers',
    summary: 'stage, compare, promote and roll back verifiers of a run that is going on',
    load: () => import('./verifiers.ts'),
  },
  {
    name: 'reward-model',
    summary: 'train a reward model on preference pairs',
    load: () => import('./reward-model.ts'),
  },
  { name: 'doctor', summary: 'what this machine can do', load: () => import('./doctor.ts') },
]
