import { closeSync, openSync } from 'node:fs'
import { atInterval } from './interval.ts'
import type { Logger } from './logger.ts'

const LOOK_EVERY_MS = 2_000

/**
 * Notices when this process, or the machine, can open no more files. A server that is out of them closes each connection
 * right after it has come, without an answer: neither a page nor a probe could show why.
 */
export function watchFileRoom(log: Logger, open = openOne, everyMs = LOOK_EVERY_MS): () => void {
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
