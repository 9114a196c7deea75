import { isIPv4, isIPv6 } from 'node:net'

/**
 * Whose address it is, as far as an address tells. Who has one of IPv6 has the 2^64 beside it too, so it counts by the
 * first half; the port that some proxies write behind an address is another one for each connection. What is no address
 * stays as it is.
 */
export function whoseIs(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|(\d[\d.]*))(?::\d+)?$/.exec(text) ?? []
  const [address = ''] = (bracketed ?? plain ?? text).split('%')
  // How a socket for both tells of one of IPv4.
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address
  if (isIPv4(mapped)) return mapped
  return isIPv6(address) ? `${firstHalf(address)}::/64` : text
}

/** The first four of the eight groups, each written one way only. */
function firstHalf(address: string): string {
  // A URL writes it in the shortest form, with the longest run of zeros as `::`.
  const shortest = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = shortest.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}
