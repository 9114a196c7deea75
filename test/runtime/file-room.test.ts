import { expect, test } from 'vitest'
import { watchFileRoom } from '../../src/runtime/file-room.ts'
import { eventually } from '../support/fleet.ts'
import { logLines } from '../support/log-lines.ts'

test('that no more files can be opened is told once, and its end once; another trouble is none of it', async () => {
  const logged = logLines()
  let fails: string | undefined = 'ENOENT'
  let looks = 0
  const open = () => {
    looks++
    if (fails !== undefined) throw Object.assign(new Error(fails), { code: fails })
  }
  const end = watchFileRoom(logged.log, open, 5)
  const threeLooks = () => {
    const from = looks
    return eventually('three looks', async () => looks >= from + 3)
  }
  const codes = () => logged.lines().map(({ code }) => code)
  await threeLooks()
  expect(codes()).toEqual([])
  fails = 'EMFILE'
  await threeLooks()
  expect(codes()).toEqual(['files.full'])
  fails = undefined
  await threeLooks()
  expect(codes()).toEqual(['files.full', 'files.room'])
  end()
})
