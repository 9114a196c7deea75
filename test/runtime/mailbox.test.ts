import { expect, test } from 'vitest'
import { isMailbox } from '../../src/runtime/mailbox.ts'

test.each([
  'ada@example.com',
  'ada.lovelace+crm@mail.example.co.uk',
  "o'neil@example.com",
  'ada@bücher.example',
  'a@localhost',
  `${'a'.repeat(64)}@example.com`,
])('one address: %s', (text) => expect(isMailbox(text)).toBe(true))

test.each([
  '',
  'ada',
  '@example.com',
  'ada@',
  'ada@@example.com',
  'ada@example..com',
  'ada@-example.com',
  'ada@example.com.',
  'a@example.com,b@example.com',
  'a@example.com b@example.com',
  'Ada <ada@example.com>',
  'ops:a@example.com;',
  'ada@example.com\r\nBcc: eve@evil.example',
  'ada\n@example.com',
  '"a b"@example.com',
  'ada@[127.0.0.1]',
  'ädä@example.com',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b.'.repeat(130)}com`,
])('not one address: %j', (text) => expect(isMailbox(text)).toBe(false))
