import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { startRedis } from '../support/redis-server.ts'
import type { Figure } from './figure.ts'

/**
 * P5: accounts refreshed per CPU second of one worker - claim, lease, POST, parse, encrypt, awaited store, next due -
 * against a bare loop of the same POSTs with the same HTTP layer, each in a fresh process against the same server.
 */
export const refreshOnly: Figure = {
  id: 'P5',
  rows: [
    {
      what: 'refresh only: one worker against a bare loop of the same POSTs',
      unit: 'accounts per client CPU second',
      goal: { of: 'ratio', atLeast: 0.75 },
    },
    { what: 'the same runs, the other way round: lower is better', unit: 'client CPU seconds per 1,000 refreshes' },
  ],
  open: async () => {
    const redis = await startRedis()
    const server = launch('token-server.ts')
    const url = await firstLine(server)
    const run = async (file: string) => {
      const child = launch(file, url, redis.url)
      const exited = once(child, 'exit')
      const perSecond = Number(await firstLine(child))
      await exited
      if (!Number.isFinite(perSecond)) throw new Error(`${file} measured nothing`)
      return [perSecond, 1_000 / perSecond]
    }
    return {
      ours: () => run('refresh-worker.ts'),
      reference: () => run('bare-loop.ts'),
      close: async () => {
        server.kill()
        await redis.stop()
      },
    }
  },
}

function launch(file: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [new URL(file, import.meta.url).pathname, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('no output to read')
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return line
}
