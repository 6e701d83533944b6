import { Decoder } from '../decode/decoder.ts'
import { Group, type GroupListener } from '../decode/group.ts'
import { checkRequest, type GenerateRequest } from '../decode/requests.ts'
import { Trainer } from '../train/trainer.ts'
import { initWeights, zeroState } from '../weights/init.ts'
import type { Call, EngineOptions } from './protocol.ts'

/** A piece of work other than decoding; `exclusive` if the weights must not be in use meanwhile. */
interface Task {
  exclusive: boolean
  run(): Promise<void>
}

/**
 * The worker's side: trainer and decoder over the same weights, and the order of their work. One loop does everything,
 * in order of arrival: groups join the batch under way until a task stands before them, and an exclusive task waits
 * until the batch has run dry.
 */
export class Service {
  readonly #config: EngineOptions['config']
  readonly #trainer: Trainer
  readonly #decoder: Decoder
  readonly #arrivals: (Group | Task)[] = []
  #running = false

  constructor(options: EngineOptions, session: { intraOpNumThreads: number; executionProviders: string[] }) {
    const { config, deterministic, maxRows } = options
    this.#config = config
    this.#trainer = new Trainer(config, { weights: initWeights(config, 0), session })
    this.#decoder = new Decoder(config, { deterministic, maxRows, session })
  }

  /** Joins the continuous batch. @throws CascadeError RECORD_INVALID */
  generate(request: GenerateRequest, listener: GroupListener): Group {
    checkRequest(request, this.#config)
    const group = new Group(request, listener)
    this.#add(group)
    return group
  }

  async perform(call: Exclude<Call, { op: 'generate' }>): Promise<unknown> {
    const trainer = this.#trainer
    switch (call.op) {
      case 'initialise': {
        const [seed] = call.args
        return this.#task(true, () => {
          const empty = { m: zeroState(this.#config), v: zeroState(this.#config), step: 0 }
          trainer.loadState({ weights: initWeights(this.#config, seed), ...empty })
        })
      }
      case 'loadState':
        return this.#task(true, () => trainer.loadState(...call.args))
      case 'resetOptimizer':
        return this.#task(true, () => trainer.resetOptimizer())
      case 'setReference':
        return this.#task(true, () => trainer.setReference())
      case 'step':
        return this.#task(true, () => trainer.step(...call.args))
      case 'exportState':
        return this.#task(false, () => trainer.exportState())
      case 'score':
        return this.#task(false, () => trainer.score(...call.args))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#task(true, async () => {
      await this.#decoder[Symbol.asyncDispose]()
      await this.#trainer[Symbol.asyncDispose]()
    })
  }

  #task<T>(exclusive: boolean, work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = async () => {
        try {
          resolve(await work())
        } catch (error) {
          reject(error)
        }
      }
      this.#add({ exclusive, run })
    })
  }

  #add(arrival: Group | Task): void {
    this.#arrivals.push(arrival)
    if (this.#running) return
    this.#running = true
    void this.#loop()
  }

  /** Neither rounds nor tasks reject. */
  async #loop(): Promise<void> {
    for (;;) {
      const next = this.#arrivals[0]
      if (next && !(next instanceof Group)) {
        if (next.exclusive && !this.#decoder.idle) {
          await this.#round()
        } else {
          this.#arrivals.shift()
          await next.run()
          if (next.exclusive) await this.#decoder.weightsChanged()
        }
      } else if (next || !this.#decoder.idle) {
        await this.#round()
      } else {
        this.#running = false
        return
      }
    }
  }

  #round(): Promise<void> {
    const queue = {
      peek: () => (this.#arrivals[0] instanceof Group ? this.#arrivals[0] : undefined),
      shift: () => this.#arrivals.shift() as Group,
    }
    return this.#decoder.round(queue, this.#trainer.weights)
  }
}
