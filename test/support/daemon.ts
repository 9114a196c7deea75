import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ADMIN_TOKEN } from './fleet.ts'
import { MAIN } from './main.ts'

/** A daemon as users run it: a process of its own, told by a config file, seen through its log. */
export interface Daemon {
  readonly url: string
  readonly child: ChildProcess
  /** Everything it wrote, line by line. */
  readonly lines: string[]
  /** The first line from now on (or from `since`) whose text matches. */
  line(pattern: RegExp, since?: number): Promise<string>
  /** Asks it to stop; resolves with the exit code. */
  stop(): Promise<number | null>
  /** No chance to clean up. */
  kill(): Promise<void>
}

/** Starts a daemon and waits until it is at work. `main`: what Node is to run, if it isn't the sources. */
export async function startDaemon(
  configFile: string,
  env: Record<string, string> = {},
  main: string | readonly string[] = MAIN,
  more: readonly string[] = [],
): Promise<Daemon> {
  const daemon = spawnDaemon(configFile, env, main, more)
  const started = JSON.parse(await daemon.line(/"daemon.started"/, 0)) as { url: string }
  return Object.assign(daemon, { url: started.url })
}

/** Starts a daemon without waiting for anything. `more`: options of `plimsoll start`. */
export function spawnDaemon(
  configFile: string,
  env: Record<string, string> = {},
  main: string | readonly string[] = MAIN,
  more: readonly string[] = [],
): Daemon {
  const child = spawn(process.execPath, [...[main].flat(), 'start', '--config', configFile, ...more], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const watchers = new Set<() => void>()
  const note = (line: string) => {
    lines.push(line)
    for (const watcher of watchers) watcher()
  }
  createInterface({ input: child.stdout }).on('line', note)
  createInterface({ input: child.stderr }).on('line', note)
  const exited = once(child, 'exit') as Promise<[number | null]>

  return {
    url: '',
    child,
    lines,
    line: (pattern, since = lines.length) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.slice(since).find((line) => pattern.test(line))
          if (found === undefined) return
          watchers.delete(look)
          resolve(found)
        }
        watchers.add(look)
        look()
        void exited.then(() =>
          reject(new Error(`the daemon ended before it wrote ${pattern}:\n${lines.slice(-20).join('\n')}`)),
        )
      }),
    stop: async () => {
      child.kill('SIGTERM')
      return (await exited)[0]
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

export type Settings = Readonly<Record<string, object | string>>

interface DaemonConfig {
  sandboxUrl: string
  smtpUrl: string
  /** Absent: the embedded server in `folder`. */
  redisUrl?: string
  port: number
  /** Merged over the rest, group by group. */
  settings?: Settings
}

export const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of the webhook tests, 32+').toString('base64')}`

/** A config file for short lives: everything ticks each second. */
export function writeDaemonConfig(folder: string, options: DaemonConfig): string {
  const { sandboxUrl, smtpUrl, redisUrl, port, settings = {} } = options
  const config: Record<string, object | string> = {
    provider: {
      baseUrl: sandboxUrl,
      installUrl: `${sandboxUrl}/oauth/authorize`,
      clientId: 'sandbox-client-id',
      clientSecret: 'sandbox-client-secret',
      scopes: ['oauth', 'crm.objects.contacts.read'],
      // In many tests most calls fail, and that is not what they are about.
      failedCalls: { warning: '90%', critical: '95%' },
    },
    ...(redisUrl === undefined ? {} : { redis: { url: redisUrl } }),
    dataDir: join(folder, 'data'),
    schedule: { refreshTokens: '* * * * * *', pollLimits: '* * * * * *' },
    limits: { every: '2s', associations: [{ from: '0-1', to: '0-2' }] },
    alerts: { firstRun: 'alert', group: { by: ['rule', 'account'], wait: '200ms', interval: '1s' } },
    routes: [{ to: ['ops-mail', 'ops-hook'] }],
    receivers: {
      'ops-mail': { type: 'email', smtp: smtpUrl, from: 'Plimsoll <plimsoll@example.com>', to: ['ops@example.com'] },
      'ops-hook': { type: 'webhook', url: `${sandboxUrl}/sandbox/hooks`, secrets: [WEBHOOK_SECRET] },
    },
    http: { listen: `127.0.0.1:${port}`, publicUrl: `http://127.0.0.1:${port}`, adminToken: ADMIN_TOKEN },
  }
  for (const [group, values] of Object.entries(settings)) {
    const isGroup = typeof values === 'object' && !Array.isArray(values)
    config[group] = isGroup ? { ...(config[group] as object | undefined), ...values } : values
  }
  const file = join(folder, `plimsoll-${port}.yaml`)
  writeFileSync(file, JSON.stringify(config, undefined, 2)) // JSON is YAML too.
  return file
}
