import { isMailbox, LONGEST_MAILBOX, MUST_BE_MAILBOX } from '../runtime/mailbox.ts'
import { ContactShape } from '../views/shapes/account.ts'
import { accountField, flagField, parsedField, required } from './field.ts'
import { operation } from './operation.ts'
import { noAccount, wrongField } from './refusal.ts'

export const accountContact = operation({
  id: 'setContact',
  route: 'PUT /accounts/{hubId}/contact',
  also: [
    {
      id: 'removeContact',
      route: 'DELETE /accounts/{hubId}/contact',
      is: "take the account's own contact away",
      given: { contact: undefined, remove: true },
    },
  ],
  args: '<account> [address]',
  is: "show or change the account's own contact: who gets what a receiver with to: account sends",
  takes: {
    hubId: required(accountField('the account')),
    contact: {
      ...parsedField('the new e-mail address', addressOf, MUST_BE_MAILBOX),
      // The command's argument may be left out all the same.
      isRequired: true,
      option: 'address',
      most: LONGEST_MAILBOX,
    },
    remove: flagField('take the contact away', { only: 'command' }),
  },
  gives: ContactShape,
  problems: [404],
  example: { params: { hubId: '1234567' }, body: { contact: 'ada@acme.example.com' } },
  examples: ['acme.example.com ada@acme.example.com', 'acme.example.com', 'acme.example.com --remove'],
  does: async ({ actions, registry }, { given: { hubId, contact, remove }, who }) => {
    if (remove && contact !== undefined) throw wrongField('remove', 'takes no address')
    if (remove || contact !== undefined) await actions.setContact(hubId, contact ?? null, who)
    const account = await registry.get(hubId)
    if (account === undefined) throw noAccount(hubId)
    return { hubId, contact: account.contact }
  },
  show: ({ hubId, contact }) => [contact ?? `account ${hubId} has no contact of its own`],
})

function addressOf(text: string): string | undefined {
  const address = text.trim()
  return isMailbox(address) ? address : undefined
}
