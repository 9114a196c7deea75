import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { eventually } from './fleet.ts'
import { cpuSecondsOf } from './process-cost.ts'

/** A pipe of the kernel, as a shell makes them: what `spawn` calls a pipe is a pair of sockets. Nobody reads it at first. */
interface Pipe {
  /** For the process that writes, while that is started. */
  writeEnd<T>(use: (fd: number) => T): T
  /** From now on somebody reads, as fast as it comes, to the end. */
  readAll(): Promise<string>
  /** The first piece, once it is there, and no more: nobody reads on. */
  readSome(): Promise<string>
  /** From now on nobody can. */
  closeReader(): void
}

export function openPipe(): Pipe {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-pipe-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  // A pipe can be opened for writing once it is open for reading.
  const idle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const closeReader = () => {
    closeSync(idle)
    rmSync(folder, { recursive: true })
  }
  return {
    writeEnd: (use) => {
      const fd = openSync(path, constants.O_WRONLY)
      try {
        return use(fd)
      } finally {
        closeSync(fd)
      }
    },
    readAll: async () => {
      rmSync(folder, { recursive: true })
      return text(new Socket({ fd: idle, readable: true, writable: false }))
    },
    readSome: () => eventually('something to read', async () => readNow(idle)),
    closeReader,
  }
}

function readNow(fd: number): string | undefined {
  const piece = Buffer.alloc(20)
  try {
    return piece.toString('utf8', 0, readSync(fd, piece)) || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
  }
}

/** A process whose standard output or error goes into a pipe; the other one is kept. */
export function spawnInto(pipe: Pipe, which: 'stdout' | 'stderr', command: readonly string[], cwd: string) {
  const [file = '', ...args] = command
  const child = pipe.writeEnd((fd) => {
    const stdio = which === 'stdout' ? (['ignore', fd, 'pipe'] as const) : (['ignore', 'pipe', fd] as const)
    return spawn(file, args, { cwd, stdio: [...stdio] })
  })
  const other = which === 'stdout' ? child.stderr : child.stdout
  const ended = Promise.all([once(child, 'close'), other === null ? '' : text(other)]).then(
    ([[code, signal], said]) => ({
      code: code as number | null,
      signal: signal as string | null,
      said,
    }),
  )
  return { child, ended }
}

const LOOKS = 5

/**
 * Until it has ended, or does nothing any more: whoever writes into a pipe that is full waits. On a busy machine it may only
 * look so: no test may fail where it does.
 */
export async function untilIdle(child: ChildProcess): Promise<void> {
  let [spent, same] = [-1, 0]
  await eventually('a process that waits', async () => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return true
    const now = cpuSecondsOf(child.pid)
    same = now === spent ? same + 1 : 0
    spent = now
    return same >= LOOKS
  })
}
