import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OPERATIONS } from '../../src/operations/all-operations.ts'
import { describeCommands } from '../../src/operations/describe-commands.ts'
import { helpTexts, plimsoll, plimsollHere, run } from '../support/command.ts'
import { type Daemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import { freePort } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { exampleArgs } from '../support/operation-example.ts'
import { isOnPath } from '../support/programs.ts'
import { startRedis } from '../support/redis-server.ts'

const operations = describeCommands(OPERATIONS).flatMap((command) => {
  const operation = OPERATIONS.find((one) => one.command?.name === command.name)
  return operation?.example === undefined ? [] : [[command.name, exampleArgs(operation, command)] as const]
})

describe('who may read it', () => {
  const NOBODY = 65_534

  let folder: string
  let data: string
  let file: string
  let daemon: Daemon | undefined
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plimsoll-data-'))
    data = join(folder, 'data')
    // Nothing of the far side is asked in these tests.
    const far = { sandboxUrl: 'http://127.0.0.1:1', smtpUrl: 'smtp://127.0.0.1:1' }
    file = writeDaemonConfig(folder, { ...far, port: await freePort() })
  })
  afterEach(async () => {
    await daemon?.stop()
    daemon = undefined
    rmSync(folder, { recursive: true, force: true })
  })

  const modeOf = (path: string) => statSync(path).mode & 0o777

  function openToAll(path: string): void {
    mkdirSync(path)
    chmodSync(path, 0o777)
  }

  test('a data folder that others may look into, with all in it, is closed to them by the start', async () => {
    for (const path of [data, join(data, 'keys'), join(data, 'redis')]) openToAll(path)
    daemon = await startDaemon(file)
    for (const path of [data, join(data, 'keys'), join(data, 'redis')]) expect(modeOf(path), path).toBe(0o700)
  })

  test('nobody else may read what the private Redis writes, whatever the umask', async () => {
    const umask = process.umask(0o000)
    daemon = await startDaemon(file).finally(() => process.umask(umask))
    const files = readdirSync(join(data, 'redis'), { recursive: true }).map((name) => join(data, 'redis', String(name)))
    expect(files.some((path) => path.endsWith('.aof'))).toBe(true)
    // A lock comes and goes.
    const open = files.filter((path) => existsSync(path) && (modeOf(path) & 0o077) !== 0)
    expect(open).toEqual([])
  })

  test('one that holds other things too is left as it is, and the start refused', async () => {
    openToAll(data)
    writeFileSync(join(data, 'index.html'), '')
    const { code, err } = await run(process.execPath, [MAIN, 'start', '--config', file], folder)
    expect(code).toBe(1)
    expect(err).toBe(
      `plimsoll: ${data} is open to other users of this machine (mode 777) and was not closed: it also holds index.html; ` +
        `run chmod 700 ${data}, or set dataDir to a folder of Plimsoll's own\n`,
    )
    expect(modeOf(data)).toBe(0o777)
    expect(readdirSync(data)).toEqual(['index.html'])
  })

  test.skipIf(process.getuid?.() !== 0 || !isOnPath('setpriv'))(
    'one that belongs to somebody else is refused (left out where tests do not run as root)',
    async () => {
      openToAll(data)
      for (const path of [folder, file]) chownSync(path, NOBODY, NOBODY)
      const as = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
      const { code, err } = await run('setpriv', [...as, process.execPath, MAIN, 'start', '--config', file], folder)
      const refused = `${data} belongs to another user of this machine (user id 0): run plimsoll as that user`
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(refused) })
      expect(readdirSync(data)).toEqual([])
    },
  )
})

describe('who makes it', () => {
  /** Where the data of an installation is looked for, and who may begin an installation. */
  let folder: string
  let config: string
  let data: string

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plimsoll-no-data-'))
    config = join(folder, 'installed', 'config', 'plimsoll.yaml')
    data = join(folder, 'installed', 'config', '.plimsoll')
    mkdirSync(dirname(config), { recursive: true })
    mkdirSync(join(folder, 'elsewhere'))
    await writeConfig()
    return () => rmSync(folder, { recursive: true, force: true })
  })

  async function writeConfig(more: object = {}): Promise<void> {
    const port = await freePort()
    const parts = {
      provider: { clientId: 'id', clientSecret: 'secret', baseUrl: 'http://127.0.0.1:9', api: '2026-03' },
      receivers: {
        ops: { type: 'webhook', url: 'http://127.0.0.1:9/', secrets: [Buffer.alloc(32).toString('base64')] },
      },
      routes: [{ to: ['ops'] }],
      http: { publicUrl: `http://127.0.0.1:${port}`, listen: `127.0.0.1:${port}` },
    }
    writeFileSync(config, JSON.stringify({ ...parts, ...more }))
  }

  const elsewhere = (...more: string[]) => join(folder, 'elsewhere', ...more)
  const everything = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()

  async function importOne(cwd: string) {
    writeFileSync(join(cwd, 'fleet.csv'), 'hubId,refreshToken\n7,a-refresh-token\n')
    return plimsoll(['accounts', 'import', 'fleet.csv', '-c', config], cwd)
  }

  /** What each command needs beside `--config`. */
  const NEED_DATA: Record<string, string[]> = {
    ...Object.fromEntries(operations),
    status: [],
    check: [],
    'accounts export': ['fleet-out.csv'],
    'accounts history': ['7'],
    'accounts reconnect-link': ['7'],
    'alerts test': ['ops'],
    'thresholds plan': [],
    'outbox verify': [],
    'admin-tokens add': ['ann', '--scopes', 'read'],
    'admin-tokens list': [],
    'admin-tokens remove': ['ann'],
    'keys rekey': [],
    doctor: [],
  }
  const MAKE_DATA = ['start', 'demo', 'accounts connect', 'accounts import']
  const NEED_NONE = ['init', 'sandbox', 'config check', 'config schema', 'config print', 'completion']

  test('of each command it is said whether it needs data, makes them, or neither', async () => {
    const all = (await helpTexts()).map(({ path }) => path.join(' '))
    expect([...Object.keys(NEED_DATA), ...MAKE_DATA, ...NEED_NONE].toSorted()).toEqual(all.toSorted())
  })

  describe('without data', () => {
    test.each(Object.entries(NEED_DATA))(
      '%s names the folder where there are none, and makes nothing',
      async (command, args) => {
        const before = everything()
        const plan = command === 'thresholds plan' ? [config] : args
        const { code, out, err } = await plimsollHere([...command.split(' '), ...plan, '-c', config], elsewhere())
        expect(code).toBe(command === 'check' ? 3 : 1)
        expect(out + err).toContain(`no Plimsoll data at ${data}`)
        expect(everything()).toEqual(before)
      },
    )

    test('status and check as users run them: one line each, and no Redis left running', async () => {
      const said = `no Plimsoll data at ${data}: `
      const status = await plimsoll(['status', '--config', config], elsewhere())
      expect(status).toMatchObject({ code: 1, out: '' })
      expect(status.err).toMatch(/^plimsoll: .*\n$/)
      expect(status.err).toContain(said)
      const check = await plimsoll(['check', '--config', config], elsewhere())
      expect(check).toMatchObject({ code: 3, out: expect.stringContaining(`PLIMSOLL UNKNOWN - ${said}`) })
      expect(existsSync(data)).toBe(false)
      expect(everything().filter((path) => path.includes('redis'))).toEqual([])
    })

    test('a Redis of one’s own is no installation either while the key is missing, and none is made', async () => {
      const redis = await startRedis()
      try {
        await writeConfig({ redis: { url: redis.url } })
        const { code, err } = await plimsollHere(['accounts', 'list', '-c', config], elsewhere())
        expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`no Plimsoll data at ${data}`) })
        expect(existsSync(data)).toBe(false)
        const key = { id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }
        await writeConfig({ redis: { url: redis.url }, encryption: { keys: [key] } })
        expect(await plimsollHere(['accounts', 'list', '-c', config, '--json'], elsewhere())).toMatchObject({
          code: 0,
          out: '[]\n',
        })
      } finally {
        await redis.stop()
      }
    })
  })

  describe('with data', () => {
    beforeEach(async () => {
      expect(await importOne(elsewhere())).toMatchObject({ code: 0, out: expect.stringContaining('imported 1') })
    })

    test('they are beside the config, and found from every folder, whether a daemon runs or not', async () => {
      expect(existsSync(elsewhere('.plimsoll'))).toBe(false)
      for (const cwd of [folder, dirname(config), elsewhere()]) {
        const { code, out } = await plimsoll(['accounts', 'list', '--json', '-c', config], cwd)
        expect({ code, hubIds: JSON.parse(out).map(({ hubId }: { hubId: number }) => hubId) }).toEqual({
          code: 0,
          hubIds: [7],
        })
      }
    })

    test('a key that is gone is named, and not made anew by who only looks', async () => {
      const key = join(data, 'keys', 'k1')
      rmSync(key)
      const { code, err } = await plimsollHere(['status', '-c', config], elsewhere())
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`no Plimsoll data at ${key}: `) })
      expect(existsSync(key)).toBe(false)
    })

    test('nor by who may begin an installation: it is said which one to restore, and with it all goes on', async () => {
      const key = join(data, 'keys', 'k1')
      renameSync(key, elsewhere('k1'))
      for (const command of [['start'], ['accounts', 'import', elsewhere('fleet.csv')]]) {
        const { code, err } = await plimsollHere([...command, '-c', config], folder)
        expect({ code, err }).toEqual({
          code: 1,
          err: expect.stringContaining(`restore k1 from your backup to ${key}`),
        })
        expect(existsSync(key)).toBe(false)
      }
      renameSync(elsewhere('k1'), key)
      expect(await plimsollHere(['accounts', 'list', '-c', config], folder)).toMatchObject({ code: 0 })
    })
  })
})
