import * as z from 'zod'
import { SCOPES } from '../../src/http/access/scopes.ts'
import { faultOfNetwork } from './addresses.ts'
import { checkPlainHttp, hostPort, secret, secretAddress, webAddress } from './secrets.ts'
import {
  asGroup,
  duration,
  hexColor,
  plainText,
  type ReportProblem,
  related,
  timeZone,
  toggle,
  type Unchecked,
} from './values.ts'

const longEnough = (secret: string) =>
  secret.length < 16 ? 'must have at least 16 characters; to make one: openssl rand -base64 24' : undefined

/** A header with another meaning can't name a person: clients set it, or the connection does. */
const TAKEN =
  /^(host|cookie|authorization|origin|referer|user-agent|accept.*|content-.*|connection|transfer-encoding|te|upgrade|via|forwarded|x-forwarded-(for|host|proto|port)|x-real-ip|sec-.*)$/i

const headerName = () =>
  plainText(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be the name of a header: letters, digits and -').refine(
    (name) => !TAKEN.test(name),
    'is a header with another meaning, which clients may set: choose one that the proxy sets, like X-Forwarded-User',
  )

/** Each header counts only from proxies that are named, and groups only beside a person. */
function checkTrusted(given: Unchecked, report: ReportProblem): void {
  const { trustedUserHeader: user, trustedProxies: proxies, trustedGroupsHeader: groups, trustedGroups: table } = given
  const { trustedGroupsSeparator: separator } = given
  const needs = (name: string, what: string) => report([name], `does nothing without ${what}: set both`)
  if (user !== undefined && proxies === undefined) needs('trustedUserHeader', 'trustedProxies')
  if (user === undefined && proxies !== undefined) needs('trustedProxies', 'trustedUserHeader')
  if (user === undefined && groups !== undefined) needs('trustedGroupsHeader', 'trustedUserHeader')
  if (groups !== undefined && table === undefined) needs('trustedGroupsHeader', 'trustedGroups')
  if (groups === undefined && table !== undefined) needs('trustedGroups', 'trustedGroupsHeader')
  if (groups === undefined && separator !== undefined) needs('trustedGroupsSeparator', 'trustedGroupsHeader')
  if (typeof user === 'string' && typeof groups === 'string' && user.toLowerCase() === groups.toLowerCase()) {
    report(['trustedGroupsHeader'], 'must be another header than trustedUserHeader')
  }
  for (const name of Object.keys(asGroup(table))) {
    if (!/^\P{Cc}{1,200}$/u.test(name) || name !== name.trim() || name.includes(String(separator ?? ','))) {
      report(['trustedGroups', name], 'a group is text on one line, without the separator of groups')
    }
  }
}

export const http = related(
  z.strictObject({
    listen: hostPort().prefault('127.0.0.1:8088').describe('host:port to listen on.'),
    publicUrl: webAddress().describe('Address of this server for browsers and the provider.'),
    adminToken: secret({
      fault: (token) => {
        if (!/^[!-~]+$/.test(token)) return 'must be letters, digits and signs without spaces'
        return longEnough(token)
      },
    })
      .exactOptional()
      .describe('Admin token for pages, API and metrics. Default: made at the first start, in dataDir/admin-token.'),
    metrics: z.enum(['token', 'open']).prefault('token').describe('Access to /metrics: open, or with a token.'),
    trustedUserHeader: headerName().exactOptional().describe('Single sign-on: in it a proxy names the person.'),
    trustedProxies: z
      .array(
        plainText(/^\S+$/, 'must be an address or a network').superRefine((text, context) => {
          const message = faultOfNetwork(text)
          if (message !== undefined) context.addIssue({ code: 'custom', message })
        }),
      )
      .min(1, 'must have at least one entry, or be left out')
      .exactOptional()
      .describe('Addresses or networks of the proxies that set it; from others the header is ignored.'),
    trustedGroupsHeader: headerName().exactOptional().describe('The header with the groups of that person.'),
    trustedGroupsSeparator: z
      .enum([',', '|', ';'], 'must be one of , | ;')
      .exactOptional()
      .describe('Separator of groups in that header; a comma if not given.'),
    trustedGroups: z
      .record(
        z.string(),
        z
          .array(z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`))
          .min(1, 'must have at least one entry, or be left out')
          .describe('Scopes of members, as of admin tokens.'),
      )
      .exactOptional()
      .describe('Scopes of the members of each group: { ops: [read, write], support: [read] }.'),
    timeZone: timeZone().exactOptional().describe("Time zone of pages, mails and commands. Default: the machine's."),
    brand: z
      .strictObject({
        name: plainText().exactOptional().describe('Name of the app for customers; without it they get no mail.'),
        logo: plainText().exactOptional().describe('A file with a picture: PNG, JPEG, WebP or SVG, 256 kB at most.'),
        color: hexColor().exactOptional().describe('Color of the edge of the page.'),
      })
      .prefault({})
      .describe('Pages for customers show this: install, callback, reconnect, and their errors.'),
    afterInstall: webAddress({ strip: false })
      .exactOptional()
      .describe('Your page after an install, with hubId, outcome, until and signature as parameters.'),
    afterInstallSecret: secret({ fault: longEnough })
      .exactOptional()
      .describe('Signs them; default: the clientSecret.'),
    insecure: toggle().prefault(false).describe('Allows http:// for hosts other than this machine.'),
  }),
  (given, report) => {
    checkPlainHttp(given, ['publicUrl', 'afterInstall'], report, 'http.')
    checkTrusted(given, report)
  },
).describe('The HTTP server: install, callback, health, pages, API.')

export const heartbeat = related(
  z.strictObject({
    url: secretAddress(['https', 'http'], ({ username, password, hash }) => {
      if (username !== '' || password !== '') return 'must be an address without user and password'
      return hash === '' ? undefined : 'must be an address without #'
    }).describe('Address that gets a ping while all is well: a POST to it, or to /fail below it with the reasons.'),
    every: duration({ min: '30s', max: '1h' }).prefault('1m').describe('How often, by one daemon for all.'),
    insecure: toggle().prefault(false).describe('Allows http://, for servers in your own network.'),
  }),
  (given, report) => checkPlainHttp(given, ['url'], report),
).describe('Pings a service outside as long as Plimsoll does its work.')

export const logging = z
  .strictObject({
    level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).prefault('info').describe('Least level.'),
    pretty: toggle().prefault(false).describe('Lines for people instead of JSON, on standard output.'),
    file: plainText().exactOptional().describe('A file to append JSON lines to, in place of standard output.'),
  })
  .describe('The log: JSON lines, on standard output unless `file` is set.')
