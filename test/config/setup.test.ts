import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const SETUP = new URL('../../config/setup/setup.mjs', import.meta.url).pathname

/** A checkout whose packages are installed, on a machine that has no command but those in its `bin`. */
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'setup-'))
  await Promise.all(
    ['config/setup', 'bin', 'node_modules'].map((name) => mkdir(join(folder, name), { recursive: true })),
  )
  await copyFile(SETUP, join(folder, 'config', 'setup', 'setup.mjs'))
  const lock = JSON.stringify({ packages: {} })
  await writeFile(join(folder, 'package-lock.json'), lock)
  await writeFile(join(folder, 'node_modules', '.package-lock.json'), lock)
  await writeFile(join(folder, 'program.mjs'), 'console.log(JSON.stringify(process.argv.slice(2)))')
})
afterEach(() => rm(folder, { recursive: true }))

async function command(name: string, script = 'exit 0'): Promise<void> {
  const path = join(folder, 'bin', name)
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
}

/** Notes what it was asked for, and puts `installs` where commands are found. */
async function aptGet(installs?: string): Promise<void> {
  const bin = join(folder, 'bin')
  const install =
    installs === undefined
      ? ''
      : `[ "$1" = install ] && printf '#!/bin/sh\\n' > ${bin}/${installs} && /bin/chmod +x ${bin}/${installs}`
  await command('apt-get', `echo "$@" >> ${folder}/asked\n${install}\nexit 0`)
}

function asked(): Promise<string> {
  return readFile(join(folder, 'asked'), 'utf8').catch(() => '')
}

/** As root, whoever runs the tests, or as another. */
function setUp(args: string[], env: Record<string, string> = {}, user = 0) {
  return new Promise<{ code: number; out: string; err: string }>((done) => {
    const options = { env: { PATH: join(folder, 'bin'), ...env } }
    const asUser = ['--import', `data:text/javascript,process.getuid=()=>${user}`]
    execFile(
      process.execPath,
      [...asUser, join(folder, 'config', 'setup', 'setup.mjs'), ...args],
      options,
      (error, out, err) => {
        done({ code: error === null ? 0 : Number(error.code), out, err })
      },
    )
  })
}

test('a program that needs nothing gets its arguments as they are', async () => {
  expect(await setUp(['program.mjs', '--with-redis', 'x'])).toEqual({ code: 0, out: '["--with-redis","x"]\n', err: '' })
})

test('without a program it says what to run', async () => {
  expect(await setUp([])).toMatchObject({ code: 1, err: expect.stringContaining('npm test') })
})

describe.each([
  {
    option: '--with-redis',
    variable: 'REDIS_SERVER_BIN',
    name: 'redis-server',
    names: ['redis-server', 'valkey-server'],
  },
  {
    option: '--with-chromium',
    variable: 'CHROMIUM_BIN',
    name: 'chromium',
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  },
])('$option', ({ option, variable, name, names }) => {
  test.each(names)('is done where there is a %s', async (present) => {
    await command(present)
    await aptGet()
    expect(await setUp([option, 'program.mjs'])).toEqual({ code: 0, out: '[]\n', err: '' })
    expect(await asked()).toBe('')
  })

  test('is done where the environment names one', async () => {
    expect(await setUp([option, 'program.mjs'], { [variable]: '/opt/one' })).toMatchObject({ code: 0, err: '' })
  })

  test('says what is missing and how to get it where nothing can be installed', async () => {
    const { code, out, err } = await setUp([option, 'program.mjs'])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/^set-up: there is no .+ on this machine\.$/m)
    expect(err).toContain(`apt-get install ${name}`)
    expect(err).toContain(`set ${variable} to`)
  })

  test('installs one, and says so', async () => {
    await aptGet(name)
    const { code, out, err } = await setUp([option, 'program.mjs', 'x'])
    expect({ code, out }).toEqual({ code: 0, out: '["x"]\n' })
    expect(err).toContain(`(apt-get install ${name})`)
    expect(await asked()).toBe(`update -qq\ninstall -y -qq --no-install-recommends ${name}\n`)
  })

  test('says so where that did not help', async () => {
    await aptGet()
    expect(await setUp([option, 'program.mjs'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('could not be installed'),
    })
  })

  test('leaves installing to root, and says how', async () => {
    await aptGet(name)
    expect(await setUp([option, 'program.mjs'], {}, 1000)).toMatchObject({
      code: 1,
      err: expect.stringContaining('sudo apt-get'),
    })
    expect(await asked()).toBe('')
  })
})

describe('--with-systemd', () => {
  const setUpWith = (user?: number) => setUp(['--with-systemd', 'program.mjs', 'x'], {}, user)

  test('installs it where that can be done', async () => {
    await aptGet('systemd-analyze')
    expect(await setUpWith()).toMatchObject({ code: 0, out: '["x"]\n', err: expect.stringContaining('installing') })
    expect(await asked()).toContain('systemd')
  })

  test('goes on without it where it can not, and says so', async () => {
    expect(await setUpWith()).toMatchObject({
      code: 0,
      out: '["x"]\n',
      err: 'set-up: there is no systemd-analyze on this machine: what needs it is left out; to get it: apt-get install systemd (as root)\n',
    })
    await aptGet()
    expect(await setUpWith(1000)).toMatchObject({ code: 0, err: expect.stringContaining('only root can install one') })
    expect(await asked()).toBe('')
  })
})

test('several are set up in one go', async () => {
  await command('valkey-server')
  await command('google-chrome')
  expect(await setUp(['--with-redis', '--with-chromium', 'program.mjs'])).toMatchObject({ code: 0, out: '[]\n' })
})

describe('--with-promtool', () => {
  const unpacked = () => readFile(join(folder, 'node_modules', '.cache', 'plimsoll', 'promtool'), 'utf8')
  /** The package lists are there only after an update. */
  const apt = (downloads = true) =>
    command(
      'apt-get',
      `echo "$@" >> ${folder}/asked
[ "$1" = update ] && : > ${folder}/lists
[ "$1" = download ] && [ -e ${folder}/lists ] && ${downloads} && : > prometheus_2.42_amd64.deb
exit 0`,
    )
  const dpkg = () => command('dpkg-deb', '/bin/mkdir -p "$3/usr/bin" && echo from "$2" > "$3/usr/bin/promtool"')

  test('is done where there is one, or the environment names one', async () => {
    await apt()
    expect(await setUp(['--with-promtool', 'program.mjs'], { PROMTOOL_BIN: '/opt/one' })).toMatchObject({ code: 0 })
    await command('promtool')
    expect(await setUp(['--with-promtool', 'program.mjs'])).toEqual({ code: 0, out: '[]\n', err: '' })
    expect(await asked()).toBe('')
  })

  test('takes it out of its package without installing that, says so, and does so once', async () => {
    await apt()
    await dpkg()
    const first = await setUp(['--with-promtool', 'program.mjs', 'x'])
    expect(first).toEqual({
      code: 0,
      out: '["x"]\n',
      err: 'set-up: fetching promtool (apt-get download prometheus)\n',
    })
    expect(await unpacked()).toBe('from prometheus_2.42_amd64.deb\n')
    const needed =
      'download -qq -o APT::Sandbox::User=root prometheus\nupdate -qq\ndownload -qq -o APT::Sandbox::User=root prometheus\n'
    expect(await asked()).toBe(needed)
    expect(await setUp(['--with-promtool', 'program.mjs'])).toEqual({ code: 0, out: '[]\n', err: '' })
    expect(await asked()).toBe(needed)
  })

  test('needs no root where the package lists are there', async () => {
    await apt()
    await dpkg()
    await writeFile(join(folder, 'lists'), '')
    expect(await setUp(['--with-promtool', 'program.mjs'], {}, 1000)).toMatchObject({ code: 0 })
    expect(await asked()).toBe('download -qq -o APT::Sandbox::User=root prometheus\n')
  })

  test('says what is missing and the command, where nothing can be fetched', async () => {
    const lacks = { code: 1, out: '', err: expect.stringContaining('apt-get install prometheus (as root)') }
    expect(await setUp(['--with-promtool', 'program.mjs'])).toMatchObject(lacks)
    await apt(false)
    await dpkg()
    const { err } = await setUp(['--with-promtool', 'program.mjs'])
    expect(err).toContain('a promtool could not be fetched')
    expect(err).toContain('set PROMTOOL_BIN to')
    await expect(unpacked()).rejects.toThrow('ENOENT')
  })
})
