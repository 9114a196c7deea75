import { describe, expect, test } from 'vitest'
import { configOf, problemsOf, smallestWith } from './load-text.ts'

describe('telemetry', () => {
  test('is off unless a collector is named, and has a name for the service then', () => {
    expect(configOf(smallestWith('')).telemetry).toBeUndefined()
    expect(configOf(smallestWith('telemetry: { url: "http://127.0.0.1:4318/v1/traces" }')).telemetry).toEqual({
      url: 'http://127.0.0.1:4318/v1/traces',
      service: 'plimsoll',
      insecure: false,
    })
  })

  test('goes over plain http to this machine alone, unless it may', () => {
    const elsewhere = 'telemetry: { url: "http://otel.example.com/v1/traces"'
    expect(problemsOf(smallestWith(`${elsewhere} }`))).toEqual([
      'telemetry.url: must start with https:// (http:// needs insecure: true, or a host that is this machine)',
    ])
    expect(problemsOf(smallestWith(`${elsewhere}, insecure: true }`))).toEqual([])
  })

  test('keeps the header that the collector asks for to itself', () => {
    const { telemetry } = configOf(smallestWith('telemetry: { url: "https://a.b/v1", authorization: "Bearer abc" }'))
    expect(JSON.stringify(telemetry)).not.toContain('abc')
    expect(telemetry?.authorization?.reveal()).toBe('Bearer abc')
  })
})
