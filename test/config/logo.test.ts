import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../config/schema/load.ts'
import { logoOf } from '../../config/schema/logo.ts'
import { configOf, problemsOf, SMALLEST } from './load-text.ts'

const svg = (inside = '', head = '') =>
  Buffer.from(`${head}<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">${inside}</svg>`)
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

describe('a logo', () => {
  test.each([
    ['image/png', PNG],
    ['image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['image/webp', Buffer.from('RIFF\x24\x00\x00\x00WEBPVP8 ', 'latin1')],
    ['image/svg+xml', svg('<path d="M0 0h8v8z"/>')],
    [
      'image/svg+xml',
      svg(
        '',
        '\uFEFF<?xml version="1.0"?>\n<!-- made by hand -->\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x">\n',
      ),
    ],
    [
      'image/svg+xml',
      svg('<use href="#a" xlink:href = "#a" fill="url( #b )"/><image href="data:image/png;base64,AA"/>'),
    ],
  ])('is %s by its bytes', (type, bytes) => {
    expect(logoOf(bytes)).toEqual({ type, bytes })
  })

  test.each([
    ['is no picture', Buffer.from('GIF89a')],
    ['is no picture', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['is no picture', Buffer.alloc(0)],
    ['more than 256 kB', Buffer.concat([PNG, Buffer.alloc(256 * 1024)])],
  ])('is refused where it %s: %#', (why, bytes) => {
    expect(logoOf(bytes)).toContain(why)
  })
})

describe('http.brand', () => {
  const brand = (lines: string) =>
    SMALLEST.replace(/^http:.*/m, `http:\n  publicUrl: https://plimsoll.example.com\n  brand: ${lines}`)
  const logo = (bytes: Buffer) => ({ files: { 'logo.svg': bytes.toString('latin1') } })

  test('names its logo by a path beside the config, and its color in one form', () => {
    const config = configOf(brand('{ name: Example App, logo: logo.svg, color: "#0A7" }'), logo(svg()))
    expect(config.http.brand).toEqual({ name: 'Example App', logo: '/work/dir/logo.svg', color: '#0a7' })
    for (const color of ['"#0b6e4f"', '0b6e4f', '000000']) {
      expect(configOf(brand(`{ color: ${color} }`)).http.brand.color).toMatch(/^#(0b6e4f|000000)$/)
    }
  })

  test.each([
    ['{ color: green }', 'http.brand.color: must be a color like "#0b6e4f", in quotes'],
    ['{ color: "#12345" }', 'http.brand.color: must be a color like "#0b6e4f", in quotes'],
    ['{ color: "#fff;} body{display:none" }', 'http.brand.color: must be a color like "#0b6e4f", in quotes'],
    ['\n    color: #0b6e4f', 'http.brand.color: has no value: # begins a comment, write "#0b6e4f", in quotes'],
    ['{ logo: missing.svg }', 'http.brand.logo: there is no such file'],
    ['{ logo: logo.svg }', 'http.brand.logo: is no picture that browsers show: PNG, JPEG, WebP or SVG'],
  ])('%s is refused', (lines, problem) => {
    expect(problemsOf(brand(lines), logo(Buffer.from('GIF89a')))).toEqual([problem])
  })

  test('reads no more of a file than a logo may have', () => {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-logo-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'large.png'), Buffer.concat([PNG, Buffer.alloc(300 * 1024)]))
    const load = (logo: string) => {
      writeFileSync(join(folder, 'plimsoll.yaml'), brand(`{ logo: ${logo} }`))
      const loaded = loadConfig({ file: join(folder, 'plimsoll.yaml'), env: {}, cwd: '/', now: 0 })
      return loaded.ok ? [] : loaded.problems.map(({ message }) => message)
    }
    expect(load('large.png')).toEqual(['the file has more than 256 kB'])
    expect(load('.')).toEqual(['is a directory, not a file'])
    writeFileSync(join(folder, 'small.png'), PNG)
    expect(load('small.png')).toEqual([])
  })
})
