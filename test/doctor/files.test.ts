import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkFileLimit, checkSecretFiles, holdsSecrets } from '../../src/doctor/config-and-keys.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { configOf, SMALLEST } from '../config/load-text.ts'

describe('the config file', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'plimsoll-doctor-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const look = (mode: number, hasSecrets: boolean) => {
    const path = join(folder, 'plimsoll.yaml')
    writeFileSync(path, '')
    chmodSync(path, mode)
    const config = { ...configOf(SMALLEST), dataDir: folder }
    return checkSecretFiles({ configFile: { path, hasSecrets }, secretFiles: [], vaultKeys: [], config })[0]
  }

  test.each([
    [0o600, true, 'ok'],
    [0o644, false, 'ok'],
    [0o644, true, 'warn'],
    [0o664, false, 'fail'],
  ])('mode %o, secrets in it: %s: %s', (mode, hasSecrets, level) => {
    expect(look(mode, hasSecrets)?.level).toBe(level)
  })

  test('has secrets in it where they are written out; an address without a password is none', () => {
    const config = { provider: { clientSecret: new Secret('s3cret') }, redis: { url: new Secret('redis://localhost') } }
    expect(holdsSecrets('clientSecret: s3cret', config)).toBe(true)
    expect(holdsSecrets('clientSecret: ${NAME}\nurl: redis://localhost', config)).toBe(false)
    const withPassword = { url: [new Secret('redis://:pw@localhost')] }
    expect(holdsSecrets('url: redis://:pw@localhost', withPassword)).toBe(true)
  })
})

describe('open files', () => {
  const limits = (hard: string) => () =>
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 ${hard}              files\n`
  test.each([
    ['1024', 'warn'],
    ['4096', 'ok'],
    ['unlimited', 'ok'],
  ])('%s at most: %s', (hard, level) => expect(checkFileLimit(limits(hard)).level).toBe(level))

  test('where the system does not say, nothing is wrong', () => {
    const away = () => {
      throw new Error('ENOENT')
    }
    expect(checkFileLimit(away).level).toBe('ok')
  })
})
