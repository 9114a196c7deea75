/**
 * What each HTTP status means, by RFC 9110. An import of `node:http` would also load the clients that it offers under other names: a short
 * command would take a tenth longer.
 */
export const { STATUS_CODES } = process.getBuiltinModule('node:http')
