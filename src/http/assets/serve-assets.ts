import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'

/** Files that pages load: all of them from here, as the Content-Security-Policy asks. */
export const ASSETS = {
  '/assets/plimsoll.css': { type: 'text/css; charset=utf-8', file: 'plimsoll.css' },
  '/assets/live.js': { type: 'text/javascript; charset=utf-8', file: 'live.js' },
  '/assets/mark.svg': { type: 'image/svg+xml', file: 'mark.svg' },
} as const

export interface Asset {
  path: string
  type: string
  content: string | Buffer
  headers?: Readonly<Record<string, string>>
}

/** Once, at the start: when the config is read again, files of another version may lie there, or none. */
export function readAssets(): Asset[] {
  return Object.entries(ASSETS).map(([path, { type, file }]) => ({
    path,
    type,
    content: readFileSync(new URL(file, import.meta.url), 'utf8'),
  }))
}

export function serveAssets(app: FastifyInstance, assets: readonly Asset[]): void {
  for (const { path, type, content, headers = {} } of assets) {
    app.get(path, async (_request, reply) =>
      reply
        .type(type)
        .headers({ 'cache-control': 'public, max-age=300', ...headers })
        .send(content),
    )
  }
}
