import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import * as z from 'zod'
import type { Message } from '../../../src/alerts/alert.ts'
import { recordPages } from '../../../src/delivery/describe/mail-links.ts'
import { openReceiver as openOne, RECEIVER_SETTINGS } from '../../../src/delivery/receivers/all-receivers.ts'
import { aMessage, NOW } from '../example-messages.ts'

interface Arrived {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** A service that keeps what it was posted; `answer` decides what it says. */
export async function aFarSide(answer: (response: ServerResponse, arrived: Arrived) => void) {
  const arrived: Arrived[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const one = { path: request.url ?? '', headers: request.headers, body }
      arrived.push(one)
      answer(response, one)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })
  return { arrived, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const HOME = 'https://plimsoll.example.com/'
const settings = z.discriminatedUnion('type', RECEIVER_SETTINGS)

export const never = new AbortController().signal

/** A receiver with these settings, which are parsed as those of a config are; the caller closes it. */
export function openReceiver(given: { type: string } & Record<string, unknown>) {
  const parsed = settings.parse(given)
  const links = {
    changes: `${HOME}changes`,
    open: ({ id }: { id: string }) => `${HOME}alerts/${id}`,
    acknowledge: () => `${HOME}acknowledge?s=1`,
    record: recordPages('https://app.hubspot.com/oauth/authorize'),
  }
  return openOne(parsed, { receiver: 'ops', home: HOME, groupBy: ['account'], links })
}

/** Sends one message as the daemon would. */
export async function sendThrough(given: Parameters<typeof openReceiver>[0], message: Message = aMessage()) {
  const receiver = openReceiver(given)
  try {
    return await receiver.send({ id: 'd-1', message, now: NOW }, never)
  } finally {
    await receiver.close()
  }
}

/** Answers with a status, and a body where there is one. */
export function answers(status: number, body: string | object = '', headers: Record<string, string> = {}) {
  return (response: ServerResponse) =>
    void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** An outcome may be shown anywhere: nothing of these is in it. */
export function expectNothingOf(outcome: unknown, ...secrets: string[]): void {
  for (const secret of secrets) expect(JSON.stringify(outcome)).not.toContain(secret)
}
