import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

const lineOf = (text: string) => /<p class="health (\w+)"(.*?)><a href="\/">(.*?)<\/a><\/p>/.exec(text)?.slice(1)

test('a stranger sees no verdict', async () => {
  const { ask } = await openServer(redis)
  for (const path of ['/sign-in', '/oauth/callback', '/guide']) {
    expect(lineOf((await ask('GET', path)).text), path).toBeUndefined()
  }
})

test('pages share a verdict for some seconds, until an operator changes something', async () => {
  const { signedIn, connectAccount, poll, clock } = await openServer(redis)
  await connectAccount({ hubId: 4 })
  await poll(4, readings(clock.now(), 10))
  const { see, send } = await signedIn()
  const says = async () => lineOf((await see('/deliveries')).text)?.[2]
  expect(await says()).toBe('All is well.')
  await poll(4, readings(clock.now(), 960), { overall: openState('critical', 'full', clock.now()) })
  expect(await says()).toBe('All is well.')
  expect((await send('/accounts/4/poll')).status).toBe(303)
  expect(await says()).toMatch(/^Critical: /)
})

test('a page that a form has led to, and that can not be asked for again, keeps its verdict as it is', async () => {
  const { signedIn } = await openServer(redis)
  const { send } = await signedIn()
  const { status, text } = await send('/silences/new', 'name=level&value=high&do=silence')
  expect(status).toBe(400)
  expect(lineOf(text)?.[1]).toBe('')
})

test('without Redis the pages that need none are shown, and say so', async () => {
  const { get, logs } = await openServer(redis, {
    registry: { countByState: () => Promise.reject(new Error('Connection is closed.')) } as never,
  })
  const { status, text } = await get('/api')
  expect(status).toBe(200)
  expect(lineOf(text)).toEqual([
    'critical',
    ' data-live="health"',
    'Critical: Redis does not answer: nothing is refreshed, polled or sent',
  ])
  expect(logs.lines().filter(({ code }) => code === 'http.error')).toEqual([])
})

test('what can not be read takes no page away', async () => {
  const { get, logs } = await openServer(redis, {
    registry: { countByState: () => Promise.reject(new Error('no such state')) } as never,
  })
  const { status, text } = await get('/api')
  expect(status).toBe(200)
  expect(lineOf(text)?.[2]).toBe('Critical: the state of Plimsoll could not be read: the log has the cause')
  expect(logs.lines().filter(({ code }) => code === 'http.error')).toHaveLength(1)
})
