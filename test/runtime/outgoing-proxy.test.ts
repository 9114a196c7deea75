import { describe, expect, test } from 'vitest'
import { nameOfProxy, type ProxyVariables, proxyIn } from '../../src/runtime/outgoing-proxy.ts'

function nameFor(env: ProxyVariables, address: string): string | undefined {
  const proxy = proxyIn(env, new URL(address))
  return proxy && nameOfProxy(proxy)
}

describe('which proxy an address is reached through', () => {
  const BOTH = { HTTPS_PROXY: 'http://secure:1', HTTP_PROXY: 'http://plain:2' }

  test.each<[string, ProxyVariables, string, string | undefined]>([
    ['none without a variable', {}, 'https://a.example', undefined],
    ['none by an empty one', { HTTPS_PROXY: '', https_proxy: '' }, 'https://a.example', undefined],
    ['for https', BOTH, 'https://a.example', 'http://secure:1 (HTTPS_PROXY)'],
    ['for http', BOTH, 'http://a.example', 'http://plain:2 (HTTP_PROXY)'],
    ['for https where only HTTP_PROXY is set', { HTTP_PROXY: 'http://p:2' }, 'https://a.b', 'http://p:2 (HTTP_PROXY)'],
    ['none for http where only HTTPS_PROXY is set', { HTTPS_PROXY: 'http://p:1' }, 'http://a.example', undefined],
    ['lower case first', { ...BOTH, https_proxy: 'http://low:3' }, 'https://a.b', 'http://low:3 (https_proxy)'],
    ['without http://', { HTTPS_PROXY: 'proxy.corp:3128' }, 'https://a.b', 'http://proxy.corp:3128 (HTTPS_PROXY)'],
    ['over TLS', { HTTPS_PROXY: 'https://proxy.corp:3129/' }, 'https://a.b', 'https://proxy.corp:3129 (HTTPS_PROXY)'],
    [
      'with a login, which is not shown',
      { HTTPS_PROXY: 'http://us3r:pa%2Fss@proxy:1' },
      'https://a.b',
      'http://proxy:1 (HTTPS_PROXY, with a login)',
    ],
  ])('%s', (_what, env, address, name) => {
    expect(nameFor(env, address)).toBe(name)
  })

  test.each<[string, string, boolean]>([
    ['a.example', 'https://a.example/x', true],
    ['a.example', 'https://A.example./x', true],
    ['A.Example', 'https://sub.a.example', true],
    ['.a.example', 'https://sub.a.example', true],
    ['.a.example', 'https://a.example', true],
    ['*.a.example', 'https://sub.a.example', true],
    ['*.a.example', 'https://a.example', false],
    ['a.example', 'https://ba.example', false],
    ['x.example, a.example', 'https://a.example', true],
    ['x.example a.example', 'https://a.example', true],
    ['a.example:443', 'https://a.example', true],
    ['a.example:80', 'https://a.example', false],
    ['a.example:8443', 'https://a.example:8443', true],
    ['*', 'https://a.example', true],
    ['10.0.0.7', 'https://10.0.0.7:8443', true],
    ['::1', 'https://[::1]:8443', true],
    ['[::1]:8443', 'https://[::1]:8443', true],
    ['[::1]:8443', 'https://[::1]', false],
    [',, ', 'https://a.example', false],
  ])('NO_PROXY=%s leaves out %s: %s', (noProxy, address, isLeftOut) => {
    for (const name of ['NO_PROXY', 'no_proxy'])
      expect(proxyIn({ ...BOTH, [name]: noProxy }, new URL(address)) === undefined).toBe(isLeftOut)
  })
})

test.each(['http://us3r:s3cret#x@proxy:1', 'http://us3r:s3cret/x@proxy:1', 'socks5://us3r:s3cret@proxy:1', 'http://'])(
  'a variable that names no proxy is refused by its name, and nothing of it is shown: %s',
  (value) => {
    const refused = () => proxyIn({ HTTPS_PROXY: value }, new URL('https://a.example'))
    expect(refused).toThrow(/^HTTPS_PROXY must be http:\/\/host:port, with user:password@ /)
    expect(refused).not.toThrow(/s3cret|us3r/)
  },
)
