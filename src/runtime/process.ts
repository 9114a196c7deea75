import { closeSync, openSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { atInterval } from './concurrency.ts'
import type { Logger } from './logger.ts'

const CHECK_EVERY_MS = 2_000

/**
 * Notices when this process, or the machine, can open no more files. A server that is out of them closes each connection
 * right after it has come, without an answer: neither a page nor a probe could show why.
 */
export function watchFileRoom(log: Logger, open = openOne, everyMs = CHECK_EVERY_MS): () => void {
  let isFull = false
  return atInterval(async () => {
    const cause = full(open)
    if ((cause !== undefined) === isFull) return
    isFull = cause !== undefined
    if (isFull) log.error({ code: 'files.full', reason: cause }, 'no more files or connections can be opened')
    else log.info({ code: 'files.room' }, 'files and connections can be opened again')
  }, everyMs)
}

function full(open: () => void): string | undefined {
  try {
    open()
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'EMFILE' || code === 'ENFILE' ? code : undefined
  }
}

function openOne(): void {
  closeSync(openSync('/dev/null', 'r'))
}

type Collect = (how: { type: 'major'; flavor: 'last-resort'; execution: 'sync' }) => void

/** Before the next full collection the heap may grow by so much of what the last one left. */
const GROWTH_PERCENT = 100

/**
 * Left alone, the engine finds out by itself how far its heap may grow, between 1.3 and 4 times what is in use. Of several
 * daemons with the same work some then collect three times as often as the others, for as long as they live, and take a
 * quarter more CPU; the others take more memory. So it is the same for all.
 */
export function growHeapEvenly(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}

/**
 * Has what is young collected by the main thread alone. What survives is mostly of calls under way, and several threads spend more on
 * sharing it than on copying it: of paired runs of P2 on two cores the daemon took 0.94 of the CPU.
 */
export function collectYoungOnMainThread(): void {
  setFlagsFromString('--no-parallel-scavenge')
}

/**
 * Gives back what a start leaves behind: some 50 MB that the engine would keep for hours where little happens. It holds
 * everything up once, for some 0.1 s.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', flavor: 'last-resort', execution: 'sync' })
}
