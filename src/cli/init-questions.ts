/** Questions of `plimsoll init` in the order in which they are asked; each has a flag of its name, and its place in the config. */
export const QUESTIONS = {
  clientId: { text: 'client ID of your app', at: 'provider.clientId' },
  clientSecret: { text: 'client secret of your app', at: 'provider.clientSecret' },
  scopes: { text: 'scopes of your app, as set at HubSpot', at: 'provider.scopes' },
  publicUrl: { text: 'address of this server in browsers, like https://plimsoll.example.com', at: 'http.publicUrl' },
  appName: { text: 'name of your app, for customers', at: 'http.brand.name' },
  smtp: { text: 'mail server, like smtps://user:password@mail.example.com:465', at: 'receivers.ops.smtp' },
  mailFrom: { text: 'sender of mails', at: 'receivers.ops.from' },
  mailTo: { text: 'mail addresses that get alerts, with commas between them', at: 'receivers.ops.to' },
  slack: { text: 'Slack webhook, like https://hooks.slack.com/services/...', at: 'receivers.slack.url' },
  webhook: { text: 'your own webhook (gets JSON)', at: 'receivers' },
}

export type Name = keyof typeof QUESTIONS
export const NAMES = Object.keys(QUESTIONS) as Name[]
export const isSecret = (name: Name) => name === 'clientSecret' || name === 'smtp' || name === 'slack'
export const flagOf = (name: Name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
export const usageOf = (name: Name) => `${flagOf(name)} <${isSecret(name) ? 'source' : 'value'}>`
