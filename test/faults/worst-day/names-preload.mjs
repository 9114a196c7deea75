// Loaded into a daemon (--import): host names under .test are looked up in a file that a test writes, as in a name
// service of its own. What the file doesn't name is not found, as when the name service is gone.
import dns from 'node:dns'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const file = new URL(import.meta.url).searchParams.get('names')
const lookup = dns.lookup

function addressOf(name) {
  return JSON.parse(readFileSync(file, 'utf8'))[name]
}

dns.lookup = (name, options, callback) => {
  if (!name.endsWith('.test')) return lookup(name, options, callback)
  const done = typeof options === 'function' ? options : callback
  const address = addressOf(name)
  const answer = () => {
    if (address === undefined) {
      done(Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }))
    } else if (options?.all) done(null, [{ address, family: 4 }])
    else done(null, address, 4)
  }
  process.nextTick(answer)
}
for (const way of ['resolve4', 'resolve6']) {
  for (const on of [dns, dns.Resolver.prototype]) {
    const ask = on[way]
    on[way] = function (name, ...rest) {
      if (!name.endsWith('.test')) return ask.call(this, name, ...rest)
      const address = way === 'resolve4' ? addressOf(name) : undefined
      process.nextTick(() => {
        if (address === undefined) rest.at(-1)(Object.assign(new Error(`query ETIMEOUT ${name}`), { code: 'ETIMEOUT' }))
        else rest.at(-1)(null, [address])
      })
    }
  }
}
syncBuiltinESMExports()
