/**
 * Node's HTTP server and its names of statuses (RFC 9110). An import of `node:http` reads all that is in there, and so loads a second HTTP
 * client that Node keeps behind its WebSocket: a tenth of what a short command takes, and some MB of a daemon.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
