import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './fleet.ts'
import { findProgram } from './programs.ts'

const FETCHED = new URL('../../node_modules/.cache/plimsoll/nginx', import.meta.url).pathname

/** Undefined: this machine has none, and set-up (`--with-nginx`) could not get one. */
export const NGINX = findProgram(['nginx'], { given: process.env.NGINX_BIN, fetched: FETCHED })

/** A real nginx with these server blocks, in the foreground, with nothing outside of a folder of its own. */
export async function startNginx(servers: string, url: string): Promise<{ folder: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-nginx-'))
  const file = join(folder, 'nginx.conf')
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, name))
  const root = process.getuid?.() === 0 ? 'user root;\n' : ''
  writeFileSync(
    file,
    `${root}daemon off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events {}
http {
access_log off;
client_body_temp_path ${folder}/body;
proxy_temp_path ${folder}/proxy;
fastcgi_temp_path ${folder}/fastcgi;
uwsgi_temp_path ${folder}/uwsgi;
scgi_temp_path ${folder}/scgi;
${servers.replaceAll('/var/log/nginx', folder)}
}
`,
  )
  const child: ChildProcess = spawn(NGINX ?? 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(child, 'exit')
  await Promise.race([
    eventually('nginx', async () => (await fetch(url, { redirect: 'manual' }).catch(() => undefined)) !== undefined),
    ended.then(() => {
      throw new Error(`nginx ended: ${readFileSync(join(folder, 'error.log'), 'utf8')}`)
    }),
  ])
  return {
    folder,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
