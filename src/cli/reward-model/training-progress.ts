import type { PairResult } from '../../model/reward/index.ts'
import type { Output } from '../command.ts'
import { clockTime, percent, rounded } from '../output/format.ts'

/** What the last steps came to, as means that forget. */
export interface TrainingState {
  step: number
  steps: number
  loss: number
  /** Share of the pairs of a step that were right before it. */
  accuracy: number
  pairsPerSecond: number
  secondsLeft: number
}

/** How much a new step counts in the means. */
const share = 0.05

/** Follows a training, and says how far it is on an output: in place on a terminal, a line every five seconds elsewhere. */
export class TrainingProgress {
  readonly #output: Output
  readonly #steps: number
  readonly #began = performance.now()
  readonly #timer: NodeJS.Timeout
  #step = 0
  #pairs = 0
  #loss: number | undefined
  #accuracy = 0.5

  constructor(output: Output, steps: number) {
    this.#output = output
    this.#steps = steps
    const terminal = output.isTTY === true
    this.#timer = setInterval(
      () => output.write(terminal ? `\r\x1b[K${this.#line()}` : `${this.#line()}\n`),
      terminal ? 250 : 5_000,
    )
  }

  take(step: number, { loss, accuracy, pairs }: PairResult): TrainingState {
    this.#step = step
    this.#pairs += pairs
    this.#loss = this.#loss === undefined ? loss : this.#loss + share * (loss - this.#loss)
    this.#accuracy += share * (accuracy - this.#accuracy)
    return this.#state()
  }

  close(): void {
    clearInterval(this.#timer)
    if (this.#output.isTTY) this.#output.write('\r\x1b[K')
  }

  #state(): TrainingState {
    const seconds = (performance.now() - this.#began) / 1000
    return {
      step: this.#step,
      steps: this.#steps,
      loss: this.#loss ?? Math.LN2,
      accuracy: this.#accuracy,
      pairsPerSecond: this.#pairs / seconds,
      secondsLeft: (seconds / Math.max(1, this.#step)) * (this.#steps - this.#step),
    }
  }

  #line(): string {
    const { step, steps, loss, accuracy, pairsPerSecond, secondsLeft } = this.#state()
    const left = step === 0 ? '' : ` · ${clockTime(secondsLeft * 1000)} left`
    return `step ${step}/${steps} · loss ${loss.toFixed(3)} · right ${percent(accuracy)} · ${rounded(pairsPerSecond)} pairs/s${left}`
  }
}
