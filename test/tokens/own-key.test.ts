import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ownKey } from '../../src/tokens/own-key.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-key-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

describe('the key of an installation that has none', () => {
  test('is made at the first start, for this user alone, and is the same ever after', () => {
    const first = ownKey(dataDir)
    expect(first).toMatchObject({ made: true, file: join(dataDir, 'keys', 'k1'), key: { id: 'k1' } })
    expect(first.key.key).toHaveLength(32)
    expect(statSync(first.file).mode & 0o777).toBe(0o600)
    expect(statSync(join(dataDir, 'keys')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(dataDir, 'keys'))).toEqual(['k1'])
    expect(readFileSync(first.file, 'utf8')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/)

    const second = ownKey(dataDir)
    expect(second.made).toBe(false)
    expect(second.key.key.equals(first.key.key)).toBe(true)
  })

  test('is another one for each installation', () => {
    expect(ownKey(dataDir).key.key.equals(ownKey(join(dataDir, 'other')).key.key)).toBe(false)
  })

  test.each([
    ['damaged', 'c2hvcnQ=\n'],
    ['empty', ''],
  ])('that is %s is an error that names the file, and is left as it is', (_, text) => {
    const file = join(dataDir, 'keys', 'k1')
    mkdirSync(join(dataDir, 'keys'))
    writeFileSync(file, text)
    expect(() => ownKey(dataDir)).toThrow(file)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('is one, when several processes start for the first time at once', async () => {
    const starts = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const child = spawn(process.execPath, [join(import.meta.dirname, 'make-key.ts'), dataDir], {
          stdio: ['pipe', 'pipe', 'inherit'],
        })
        const lines = createInterface({ input: child.stdout })
        await once(lines, 'line')
        return { child, lines }
      }),
    )
    const made = await Promise.all(
      starts.map(async ({ child, lines }) => {
        const answer = once(lines, 'line')
        child.stdin.end()
        const [line] = await answer
        return JSON.parse(line) as { key: string; made: boolean }
      }),
    )
    expect(new Set(made.map(({ key }) => key)).size).toBe(1)
    expect(made.filter(({ made }) => made)).toHaveLength(1)
    expect(readdirSync(join(dataDir, 'keys'))).toEqual(['k1'])
  })
})
