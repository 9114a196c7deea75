import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import { Newest } from './newest.ts'
import { ACCOUNT_RATE, SlidingWindow } from './rate.ts'
import { AccountReports } from './reports.ts'
import type { AccountMoment, Scenario } from './scenario.ts'

const CODE_LIFETIME_MS = 60_000

/** How long a code or access token is still recognized as expired, rather than unknown. */
const REMEMBERED_MS = 10 * 60_000
const SWEEP_EVERY_MS = 60_000
/** With more than so many tokens, those that expired are forgotten at once: a sandbox may run for weeks. */
const CROWD = 50_000
const REMEMBERED_DEAD_REFRESH_TOKENS = 100_000
const REMEMBERED_ISSUED_TOKENS = 200_000

/** One CRM account (a hub). `epoch` counts its uninstalls: grants of an earlier one are refused. */
export interface Hub {
  readonly hubId: number
  readonly hubDomain: string
  readonly userId: number
  readonly user: string
  installed: boolean
  epoch: number
  readonly reports: AccountReports
  readonly rate: SlidingWindow
}

/** One approval of the install page. */
export interface Approval {
  readonly account: Hub
  readonly epoch: number
  readonly scopes: readonly string[]
}

interface Code {
  readonly grant: Approval
  readonly redirectUri: string
  readonly expiresAt: number
  used: boolean
}

export interface AccessToken {
  readonly token: string
  readonly grant: Approval
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface IssuedTokens {
  readonly accessToken: AccessToken
  readonly refreshToken: string
  /** Seconds. */
  readonly expiresIn: number
}

export type GrantRefusal =
  | 'unknown-code'
  | 'expired-code'
  | 'other-redirect-uri'
  | 'unknown-refresh-token'
  | 'deleted-account'

export interface WorldOptions {
  accounts: number
  tokenLifetimeMs: number
  rotateRefreshTokens: boolean
  accessTokenLength?: number
  scenario: Scenario
}

/** The provider's real state: accounts, and every code and token that was given out for them. */
export class World {
  /** The lifetime of access tokens that are given out from now on. */
  tokenLifetimeMs: number
  /** The rate of the token endpoint. The provider doesn't publish its own, so there is none until a test sets one. */
  grantRate: SlidingWindow | undefined
  readonly #options: WorldOptions
  readonly #clock: Clock
  readonly #startedAt: number
  #sweepAt: number
  readonly #accounts = new Map<number, Hub>()
  readonly #codes = new Map<string, Code>()
  readonly #accessTokens = new Map<string, AccessToken>()
  readonly #refreshTokens = new Map<string, Approval>()
  /** Accounts of refused refresh tokens: so that a refusal still has its account. */
  readonly #deadRefreshTokens = new Map<string, number>()
  readonly #issued = new Newest<string>(REMEMBERED_ISSUED_TOKENS)

  constructor(options: WorldOptions, clock: Clock) {
    this.#options = options
    this.tokenLifetimeMs = options.tokenLifetimeMs
    this.#clock = clock
    this.#startedAt = clock.now()
    this.#sweepAt = this.#startedAt
    const width = Math.max(2, String(options.accounts).length)
    for (let index = 1; index <= options.accounts; index++) {
      const name = COMPANY_NAMES[(index - 1) % COMPANY_NAMES.length]
      this.addAccount(FIRST_HUB_ID + index - 1, `${name}-${String(index).padStart(width, '0')}.example.com`)
    }
  }

  accounts(): Iterable<Hub> {
    return this.#accounts.values()
  }

  account(hubId: number): Hub | undefined {
    return this.#accounts.get(hubId)
  }

  momentOf({ hubId }: Hub): AccountMoment {
    return { scenario: this.#options.scenario, hubId, elapsedMs: this.#clock.now() - this.#startedAt }
  }

  /** False if there is such an account already. */
  addAccount(hubId: number, hubDomain: string): boolean {
    if (this.#accounts.has(hubId)) return false
    this.#accounts.set(hubId, {
      hubId,
      hubDomain,
      userId: 40_000_000 + (hubId % 10_000_000),
      user: `admin@${hubDomain}`,
      installed: false,
      epoch: 0,
      reports: new AccountReports(),
      rate: new SlidingWindow(ACCOUNT_RATE),
    })
    return true
  }

  /** Everything the account granted is refused from now on; it may install again. */
  uninstall(account: Hub): void {
    account.installed = false
    account.epoch++
  }

  /** The account itself is no more, which is another refusal than that of an account which only uninstalled the app. */
  deleteAccount(account: Hub): void {
    this.uninstall(account)
    this.#accounts.delete(account.hubId)
  }

  /** Approves the app, as the Connect button does. Returns the code that goes to `redirectUri`. */
  approve(account: Hub, scopes: readonly string[], redirectUri: string): string {
    account.installed = true
    const grant = { account, epoch: account.epoch, scopes }
    const code = this.#noted(`na1-${randomUUID()}`)
    this.#codes.set(code, { grant, redirectUri, expiresAt: this.#clock.now() + CODE_LIFETIME_MS, used: false })
    return code
  }

  redeemCode(text: string, redirectUri: string): IssuedTokens | GrantRefusal {
    const code = this.#codes.get(text)
    if (code === undefined || code.used || !isInForce(code.grant)) return 'unknown-code'
    if (this.#clock.now() >= code.expiresAt) return 'expired-code'
    if (code.redirectUri !== redirectUri) return 'other-redirect-uri'
    code.used = true
    return this.#issueAccessToken(code.grant, this.#issueRefreshToken(code.grant))
  }

  refresh(refreshToken: string): IssuedTokens | GrantRefusal {
    const hubId = this.hubIdOf(refreshToken)
    if (hubId !== null && !this.#accounts.has(hubId)) return 'deleted-account'
    const grant = this.refreshToken(refreshToken)
    if (grant === undefined) return 'unknown-refresh-token'
    if (!this.#options.rotateRefreshTokens) return this.#issueAccessToken(grant, refreshToken)
    this.deleteRefreshToken(refreshToken)
    return this.#issueAccessToken(grant, this.#issueRefreshToken(grant))
  }

  /** The grant of a refresh token; nothing if it was never given out, was deleted or its account uninstalled. */
  refreshToken(token: string): Approval | undefined {
    const grant = this.#refreshTokens.get(token)
    return grant !== undefined && isInForce(grant) ? grant : undefined
  }

  /** False if there is no such token. Access tokens obtained with it stay alive. */
  deleteRefreshToken(token: string): boolean {
    const grant = this.#refreshTokens.get(token)
    if (grant === undefined) return false
    this.#refreshTokens.delete(token)
    if (this.#deadRefreshTokens.size >= REMEMBERED_DEAD_REFRESH_TOKENS) this.#deadRefreshTokens.clear()
    this.#deadRefreshTokens.set(token, grant.account.hubId)
    return isInForce(grant)
  }

  /** An access token, expired or not; nothing if it was never given out, is long gone or its account uninstalled. */
  accessToken(token: string): AccessToken | undefined {
    const found = this.#accessTokens.get(token)
    return found !== undefined && isInForce(found.grant) ? found : undefined
  }

  isExpired(token: AccessToken): boolean {
    return this.#clock.now() >= token.expiresAt
  }

  /** Whole seconds an access token still lives, never more than it really does. */
  secondsLeft({ expiresAt }: AccessToken): number {
    return Math.max(0, Math.floor((expiresAt - this.#clock.now()) / 1000))
  }

  /** The account that a code or token was given out for, though it may be refused now. */
  hubIdOf(text: string): number | null {
    const given = this.#codes.get(text) ?? this.#accessTokens.get(text)
    const grant = given?.grant ?? this.#refreshTokens.get(text)
    return grant?.account.hubId ?? this.#deadRefreshTokens.get(text) ?? null
  }

  /** Codes, access and refresh tokens, oldest first. */
  issued(): readonly string[] {
    return this.#issued.all()
  }

  #issueRefreshToken(grant: Approval): string {
    const token = this.#noted(`na1-${randomUUID()}`)
    this.#refreshTokens.set(token, grant)
    return token
  }

  #issueAccessToken(grant: Approval, refreshToken: string): IssuedTokens {
    this.#sweep()
    const token = this.#noted(newAccessToken(this.#options.accessTokenLength))
    const accessToken = { token, grant, expiresAt: this.#clock.now() + this.tokenLifetimeMs }
    this.#accessTokens.set(token, accessToken)
    return { accessToken, refreshToken, expiresIn: Math.floor(this.tokenLifetimeMs / 1000) }
  }

  #noted(text: string): string {
    this.#issued.add(text)
    return text
  }

  /** Forgets codes and access tokens that expired long ago. */
  #sweep(): void {
    const now = this.#clock.now()
    if (now < this.#sweepAt) return
    this.#sweepAt = now + SWEEP_EVERY_MS
    for (const given of [this.#codes, this.#accessTokens]) {
      const rememberedMs = given.size > CROWD ? 0 : REMEMBERED_MS
      for (const [text, { expiresAt }] of given) if (expiresAt + rememberedMs <= now) given.delete(text)
    }
  }
}

function isInForce(grant: Approval): boolean {
  return grant.epoch === grant.account.epoch
}

const FIRST_HUB_ID = 1_000_001

const COMPANY_NAMES = `
  acme bluefin-logistics cedar-works dawnlight-media evergreen-dental foxglove-design granite-peak harborview
  inkwell-press juniper-health kestrel-energy lantern-labs meridian-travel northgate-homes orchard-foods pinecrest-legal quarry-stone
  redwood-finance silverline-auto tidewater-marine umber-and-oak vantage-optics willow-fitness yellowtail-sushi zephyr-air
`
  .trim()
  .split(/\s+/)

/**
 * An access token of about 290 to 370 characters, its size changing from one to the next as the provider's do, unless a
 * length is asked for. It always holds `/`, `+`, `=`, `-` and `_`, so that a client that forgets to encode a path or a form
 * fails here, not in production.
 */
function newAccessToken(length = 290 + randomInt(80)): string {
  const bytes = randomBytes(Math.ceil((length * 3) / 4))
  const text = bytes.toString('base64').replaceAll('=', '')
  const token = `C${text.slice(0, 40)}/${text.slice(40, 90)}+${text.slice(90, 130)}-${text.slice(130, 180)}_${text.slice(180)}==`
  // Joined texts keep all their pieces in memory; there may be hundreds of thousands of these.
  return Buffer.from(token, 'latin1').toString('latin1')
}
