import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '../../../../src/alerts/alert.ts'
import { renderEmail } from '../../../../src/delivery/receivers/email/send-email.ts'
import { openChromium } from '../../../support/browser-pages.ts'
import { NOW } from '../../example-messages.ts'
import { LINKS, MAILS } from '../many-mails.ts'

interface Measured {
  width: number
  scrollWidth: number
  height: number
  background: string
  texts: { text: string; contrast: number; size: number; left: number; right: number; height: number }[]
  bars: { says: string; width: number; parts: { width: number; height: number; contrast: number }[] }[]
  links: { href: string; height: number }[]
  tags: string[]
}

const MEASURE = readFileSync(new URL('measure-page.js', import.meta.url), 'utf8')
/** Where to leave pictures of all mails for people to look at. */
const SCREENSHOTS = process.env.PLIMSOLL_SCREENSHOTS

let browser: Browser
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(() => browser.close())

const LOOKS = [
  { device: 'phone', width: 390, height: 844, colorScheme: 'light' },
  { device: 'phone', width: 390, height: 844, colorScheme: 'dark' },
  { device: 'desktop', width: 1440, height: 900, colorScheme: 'light' },
  { device: 'desktop', width: 1440, height: 900, colorScheme: 'dark' },
] as const

type Look = (typeof LOOKS)[number]

/** A window that runs scripts and may ask anybody, as no mail program's would. */
async function openWindow({ width, height, colorScheme }: Look) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme })
  const events: string[] = []
  page.on('request', (request) => events.push(`asked for ${request.url()}`))
  page.on('dialog', (dialog) => events.push(`said ${dialog.message()}`))
  page.on('pageerror', (error) => events.push(`failed with ${error.message}`))
  return { page, events }
}

async function show(name: string, { page, events }: Awaited<ReturnType<typeof openWindow>>, look: Look) {
  const { subject, html } = renderEmail(mailNamed(name), NOW, LINKS)
  await page.setContent(html, { waitUntil: 'load' })
  const measured = await page.evaluate<Measured>(MEASURE)
  if (SCREENSHOTS !== undefined) {
    mkdirSync(SCREENSHOTS, { recursive: true })
    const file = `${name} ${look.device} ${look.colorScheme}`.replace(/[^\w]+/g, '-')
    await page.screenshot({ path: join(SCREENSHOTS, `${file}.png`), fullPage: true })
  }
  return { ...measured, events: events.splice(0), title: await page.title(), subject }
}

function mailNamed(name: string): Message {
  const message = MAILS[name]
  if (message === undefined) throw new Error(`no mail is named ${name}`)
  return message
}

const PLAIN_TAGS = 'a b bdi body br code div head html i meta span style table tbody td th title tr'.split(' ')

describe.each(LOOKS)('on a $device, $colorScheme', (look) => {
  let window: Awaited<ReturnType<typeof openWindow>>
  beforeAll(async () => {
    window = await openWindow(look)
  })
  afterAll(() => window.page.close())

  test.each(Object.keys(MAILS))('the mail "%s" is readable, asks for nothing and runs nothing', async (name) => {
    const shown = await show(name, window, look)
    expect(shown.events).toEqual([])
    expect(shown.title).toBe(shown.subject.replace(/\s+/g, ' ').trim())
    expect(shown.tags.filter((tag) => !PLAIN_TAGS.includes(tag))).toEqual([])
    expect(shown.scrollWidth).toBeLessThanOrEqual(look.width)
    expect(shown.background).toBe(look.colorScheme === 'dark' ? 'rgb(30, 35, 43)' : 'rgb(255, 255, 255)')
    expect(shown.texts.length).toBeGreaterThan(3)
    expect(shown.texts.filter(({ contrast }) => contrast < 4.5)).toEqual([])
    expect(shown.texts.filter(({ size, height }) => size < 11 || height === 0)).toEqual([])
    expect(shown.texts.filter(({ left, right }) => left < 0 || right > look.width)).toEqual([])
  })

  test.each([
    ['critical', [96, 4]],
    ['over the limit', [83, 17]],
    ['resolved', [72, 28]],
  ])('the bar of the mail "%s" is as wide as what it stands for', async (name, expected) => {
    const { bars } = await show(name, window, look)
    expect(bars).toHaveLength(1)
    for (const { width, parts } of bars) {
      expect(width).toBeGreaterThan(200)
      expect(parts).toHaveLength(expected.length)
      for (const [index, part] of parts.entries()) {
        // The gap at the limit takes three pixels.
        expect(Math.abs(part.width - ((expected[index] ?? 0) / 100) * width)).toBeLessThan(4)
        expect(part.height).toBe(10)
      }
      expect(parts[0]?.contrast).toBeGreaterThan(2)
    }
  })

  test('what there is to do is large enough for a thumb', async () => {
    const { links } = await show('critical', window, look)
    expect(links.map(({ href }) => new URL(href).pathname)).toEqual([
      '/alerts/a-1',
      '/acknowledge/a-1',
      '/silences/new',
    ])
    for (const { height } of links) expect(height).toBeGreaterThanOrEqual(42)
  })

  test('a label as long as a page makes no long page', async () => {
    for (const name of ['hostile, one long word', 'hostile, ten kilobytes']) {
      expect((await show(name, window, look)).height).toBeLessThan(4_000)
    }
  })
})

test('words of strangers are shown as they are', async () => {
  const window = await openWindow(LOOKS[0])
  const { texts } = await show('hostile, script', window, LOOKS[0])
  expect(texts.filter(({ text }) => text.includes('<script>')).length).toBeGreaterThan(4)
  const entities = await show('hostile, entities', window, LOOKS[0])
  expect(entities.texts.some(({ text }) => text.includes('&lt;b&gt;&amp;&#60;script&#62;&nbsp;'))).toBe(true)
  await window.page.close()
})

test('the measure itself sees a script that runs, a picture that is asked for, a faint word and a wide line', async () => {
  const { page, events } = await openWindow(LOOKS[0])
  await page.setContent(`<body class="card"><p style="color:#999;width:900px">faint</p>
    <img src="http://127.0.0.1:9/x.png"><script>document.title = 'ran'; throw new Error('ran')</script>`)
  const { texts, scrollWidth, tags } = await page.evaluate<Measured>(MEASURE)
  expect(texts[0]).toMatchObject({ text: 'faint', contrast: expect.closeTo(2.85, 2) })
  expect(scrollWidth).toBeGreaterThan(390)
  expect(tags).toContain('script')
  expect(events).toEqual(expect.arrayContaining(['asked for http://127.0.0.1:9/x.png', 'failed with ran']))
  await page.close()
})

test('a mail whose style sheet a mail program throws away still fits and says the same', async () => {
  const { page } = await openWindow(LOOKS[0])
  for (const name of ['critical', 'digest of 40']) {
    const { html } = renderEmail(mailNamed(name), NOW, LINKS)
    await page.setContent(html.replace(/<style>.*<\/style>/s, ''))
    const { scrollWidth, texts } = await page.evaluate<Measured>(MEASURE)
    expect(scrollWidth).toBeLessThanOrEqual(390)
    expect(texts.filter(({ contrast }) => contrast < 4.5)).toEqual([])
  }
  await page.close()
})
