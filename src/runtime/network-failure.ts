/** Codes of Node, its TLS and the HTTP client, in words an operator can act on. */
const WORDS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was dropped',
  EPIPE: 'the connection was dropped',
  UND_ERR_SOCKET: 'the connection was dropped',
  ETIMEDOUT: 'timed out while connecting',
  UND_ERR_CONNECT_TIMEOUT: 'timed out while connecting',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name could not be resolved for now',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EMFILE: 'no connection: this process may open no more files',
  ENFILE: 'no connection: this machine may open no more files',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer is longer or shorter than its content-length',
  HTTPParserError: 'the answer is not HTTP',
  ERR_SSL_WRONG_VERSION_NUMBER: 'this port does not use TLS',
  CERT_HAS_EXPIRED: 'certificate has expired',
  CERT_NOT_YET_VALID: 'certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate is from an unknown issuer',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate is from an unknown issuer',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate is from an unknown issuer',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate is for another host name',
}

/**
 * The cause of a failed connection in a few words. Only codes are read: messages of network errors may hold
 * addresses, and addresses may hold secrets.
 */
export function networkFailure(error: unknown): string {
  let known: string | undefined
  let seen: string | undefined
  for (const code of codesOf(error)) {
    // The innermost known code is the most exact: a dropped connection is often caused by a bad certificate.
    if (WORDS[code] !== undefined) known = WORDS[code]
    seen = code
  }
  return known ?? (seen === undefined ? 'connection failed' : `connection failed (${seen})`)
}

/** The same for a code alone. */
export function networkFailureOfCode(code: string): string {
  return WORDS[code] ?? `connection failed (${code})`
}

function codesOf(error: unknown): string[] {
  const codes: string[] = []
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; depth++) {
    if ('code' in at && typeof at.code === 'string') codes.push(at.code)
    // The codes of the HTTP parser name the unexpected character: its name is enough.
    if (WORDS[at.name] !== undefined) codes.push(at.name)
    at = at instanceof AggregateError && at.errors.length > 0 ? at.errors[0] : at.cause
  }
  return codes
}
