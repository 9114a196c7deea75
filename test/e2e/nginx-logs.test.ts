import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { askServer } from '../http/open-server.ts'
import { eventually, freePort } from '../support/fleet.ts'
import { NGINX, startNginx } from '../support/nginx.ts'

const DEPLOY = new URL('../../config/deploy/', import.meta.url)
const FILES = readdirSync(DEPLOY).filter((name) => /^nginx.*\.conf$/.test(name))
const SECRET = 'a-code-or-a-signature'

describe.skipIf(NGINX === undefined)('the examples for nginx (left out where there is none)', () => {
  test.each(FILES)(
    '%s: no log has a query, which may be a code or a signed link, also where nobody answers',
    async (name) => {
      const upstream = createServer((_, answer) => answer.end('well'))
      await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
      const [secure, plain] = [await freePort(), await freePort()]
      const servers = readFileSync(new URL(name, DEPLOY), 'utf8')
        .replaceAll(/^ *(ssl_|add_header|listen \[).*\n/gm, '')
        .replaceAll('listen 443 ssl;', `listen 127.0.0.1:${secure};`)
        .replaceAll('listen 80;', `listen 127.0.0.1:${plain};`)
        .replaceAll(/127\.0\.0\.1:(8088|4180)/g, `127.0.0.1:${(upstream.address() as AddressInfo).port}`)
      const nginx = await startNginx(servers, `http://127.0.0.1:${secure}/`)
      onTestFinished(() => nginx.stop())
      const ask = (port: number, path: string) =>
        askServer(`http://127.0.0.1:${port}`, 'GET', `${path}?code=${SECRET}`, { host: 'plimsoll.example.com' })
      const paths = ['/oauth/callback', '/acknowledge', '/install', '/metrics']
      for (const path of paths) for (const port of [secure, plain]) await ask(port, path)
      upstream.closeAllConnections()
      await new Promise((resolve) => upstream.close(resolve))
      expect((await ask(secure, '/oauth/callback')).status).toBeGreaterThanOrEqual(500)

      const logs = () =>
        readdirSync(nginx.folder)
          .filter((file) => file.endsWith('.log'))
          .map((file) => readFileSync(join(nginx.folder, file), 'utf8'))
          .join('')
      await eventually('the requests are in the log', async () => /"GET \/oauth\/callback" 5/.test(logs()))
      for (const path of paths) expect(logs()).toContain(path)
      expect(logs()).not.toContain(SECRET)
    },
  )
})
