import type { Clock } from '../../../streams/ports.ts'
import type { Context, Output } from '../command.ts'
import { LiveArea } from './live-area.ts'
import { liveLines, noticeLines, plainLine } from './progress-lines.ts'
import { type Notice, type ProgressEvent, ProgressState } from './progress-state.ts'
import { type Style, styleOf, wantsColor } from './style.ts'

export type { Notice, ProgressEvent } from './progress-state.ts'

export interface ProgressOptions {
  readonly stream: Output
  /** One JSON object a line instead of text: `{event, …}`, see {@link Notice}. */
  readonly json?: boolean
  readonly clock: Clock
  readonly env?: Context['env']
  /** Rewrite lines in place. @default whether the stream is a terminal that can */
  readonly live?: boolean
  /** @default the stream's, or 80 */
  readonly columns?: () => number
  /** Milliseconds between two looks at the clock; 0 for none. The timer keeps no process alive. @default 250 */
  readonly interval?: number
}

export interface Progress {
  /** Takes the next event and shows what it changes. */
  event(event: ProgressEvent): void
  /** Takes an event of before this process without showing it: a resumed run knows where it stands. */
  past(event: ProgressEvent): void
  /** A permanent line of somebody else, such as a warning, without spoiling the live ones; `{event: 'note', text}` with `json`. */
  note(text: string): void
  /** Looks at the clock, as the timer does. */
  tick(): void
  /** Clears the live lines and stops. */
  close(): void
}

/** Milliseconds between two plain lines. */
const plainEvery = 5000

/** Shows how a run goes on: live lines on a terminal, otherwise plain lines, or JSON lines. */
export function createProgress(options: ProgressOptions): Progress {
  const { stream, json = false, clock, env = {}, interval = 250 } = options
  const live = options.live ?? (stream.isTTY === true && env.TERM !== 'dumb')
  const state = new ProgressState()
  const style = styleOf(wantsColor(stream, env))
  const columns = options.columns ?? (() => stream.columns ?? 80)
  const show = json
    ? jsonView(stream)
    : live
      ? liveView(stream, state, clock, columns, style)
      : plainView(stream, state, clock, style)
  const timer = interval > 0 ? setInterval(() => show.tick(), interval).unref() : undefined
  return {
    event(event) {
      for (const notice of state.fold(event)) show.notice(notice)
      show.tick()
    },
    past: (event) => void state.fold(event, true),
    note: (text) => show.note(text),
    tick: () => show.tick(),
    close() {
      clearInterval(timer)
      show.close()
    },
  }
}

interface Show {
  notice(notice: Notice): void
  note(text: string): void
  tick(): void
  close(): void
}

function jsonView(stream: Output): Show {
  return {
    notice: (notice) => void stream.write(`${JSON.stringify(notice)}\n`),
    note: (text) => void stream.write(`${JSON.stringify({ event: 'note', text })}\n`),
    tick: () => undefined,
    close: () => undefined,
  }
}

function liveView(
  stream: Output,
  state: ProgressState,
  clock: Clock,
  columns: () => number,
  style: Style,
): Show {
  const area = new LiveArea(stream)
  return {
    notice: (notice) => area.print(noticeLines(notice, state.baseline(), style)),
    note: (text) => area.print([text]),
    // One column stays free: a full line would make some terminals wrap.
    tick: () => area.paint(liveLines(state.view(clock.now()), columns() - 1, style)),
    close: () => area.clear(),
  }
}

function plainView(stream: Output, state: ProgressState, clock: Clock, style: Style): Show {
  let next = clock.now() + plainEvery
  let shown = ''
  const print = (lines: readonly string[]) => {
    if (lines.length > 0) stream.write(`${lines.join('\n')}\n`)
  }
  return {
    notice(notice) {
      if (notice.event === 'stage-begin') {
        next = clock.now() + plainEvery
        print([
          `[${notice.index}/${notice.of} ${notice.stage}] begins: ${notice.steps} steps on ${notice.domain}`,
        ])
      }
      print(noticeLines(notice, state.baseline(), style))
    },
    note: (text) => print([text]),
    tick() {
      if (clock.now() < next) return
      const view = state.view(clock.now())
      const line = plainLine(view)
      // A run that waits says so once.
      if (view.phase === 'done' || view.phase === 'ended') return
      if (line !== shown) print([line])
      shown = line
      next = clock.now() + plainEvery
    },
    close: () => undefined,
  }
}
