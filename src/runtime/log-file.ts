import { closeSync, openSync, writeSync } from 'node:fs'

/**
 * File of log lines, each appended at once: the last ones before a crash are those that will be needed. A full disk
 * costs lines and never the daemon; how many were lost is the first line when there is room again.
 */
export class LogFile {
  readonly #path: string
  readonly #complain: (text: string) => void
  readonly #now: () => number
  #fd: number
  #lost = 0
  /** A piece of the line before was written. */
  #isTorn = false

  /** `complain` is called once when lines begin to be lost. Throws if the file can't be opened. */
  constructor(path: string, now: () => number, complain: (text: string) => void) {
    this.#path = path
    this.#now = now
    this.#complain = complain
    this.#fd = open(path)
  }

  write(line: string): void {
    try {
      if (this.#isTorn) this.#append('\n')
      if (this.#lost > 0) this.#append(this.#lossLine())
      this.#lost = 0
      this.#append(line)
    } catch (error) {
      if (this.#lost === 0) this.#complain(`plimsoll: the log file takes nothing, lines are lost: ${String(error)}\n`)
      this.#lost++
    }
  }

  /** After the file was moved away: writes go to a new one of its name. Throws, and goes on as before, if there can't be one. */
  reopen(): void {
    const fd = open(this.#path)
    closeSync(this.#fd)
    this.#fd = fd
    this.#isTorn = false
  }

  #append(text: string): void {
    let left = Buffer.from(text)
    while (left.length > 0) {
      left = left.subarray(writeSync(this.#fd, left))
      this.#isTorn = left.length > 0
    }
  }

  #lossLine(): string {
    const time = new Date(this.#now()).toISOString()
    const msg = 'so many lines of the log were lost: the file took nothing'
    return `${JSON.stringify({ level: 'warn', time, code: 'log.lost', lines: this.#lost, msg })}\n`
  }
}

/** Appending, so that a file that is emptied in its place (copytruncate) is begun anew. */
function open(path: string): number {
  return openSync(path, 'a', 0o640)
}
