import type { Socket } from 'node:net'
import { Problem } from './problem.ts'

const OF_CODE: Readonly<Record<string, [status: number, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The address and the headers together are too long.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The body is too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not come in time.'],
}

/** What is no HTTP request, or too much of one, never becomes a request: it is answered on the bare connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, detail] = OF_CODE[error.code ?? ''] ?? [400, 'The request could not be read.']
  const problem = new Problem(status, detail)
  const body = JSON.stringify(problem)
  socket.end(
    [
      `HTTP/1.1 ${status} ${problem.title}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
