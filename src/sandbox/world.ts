import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import { BoundedLog, Queue } from './bounded-log.ts'
import { AccountReports } from './reports.ts'
import type { AccountMoment, Scenario } from './scenario.ts'

const CODE_LIFETIME_MS = 60_000

/** How long a code or access token is still recognised as expired, rather than unknown. */
const REMEMBERED_MS = 10 * 60_000
const REMEMBERED_EXPIRED_TOKENS = 50_000
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
}

/** One approval of the install page. */
export interface Approval {
  readonly account: Hub
  readonly epoch: number
  readonly scopes: readonly string[]
}

interface Code {
  readonly text: string
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

export type CodeRefusal = 'unknown-code' | 'expired-code' | 'other-redirect-uri'

export interface WorldOptions {
  accounts: number
  tokenLifetimeMs: number
  rotateRefreshTokens: boolean
  accessTokenLength?: number
  scenario: Scenario
}

/** The provider's real state: accounts, and every code and token that was given out for them. */
export class World {
  readonly #options: WorldOptions
  readonly #clock: Clock
  readonly #startedAt: number
  readonly #accounts = new Map<number, Hub>()
  // Beside each map its texts in the order of issue, which is the order of expiry for as long as lifetimes stay the same.
  readonly #codes = new Map<string, Code>()
  readonly #codesByAge = new Queue<Code>()
  readonly #accessTokens = new Map<string, AccessToken>()
  readonly #accessTokensByAge = new Queue<AccessToken>()
  readonly #refreshTokens = new Map<string, Approval>()
  /** Accounts of refused refresh tokens: so that a refusal still has its account. */
  readonly #deadRefreshTokens = new Map<string, number>()
  readonly #deadRefreshTokensByAge = new Queue<string>()
  readonly #issued = new BoundedLog<string>({ entries: REMEMBERED_ISSUED_TOKENS })
  #tokenLifetimeMs: number

  constructor(options: WorldOptions, clock: Clock) {
    this.#options = options
    this.#tokenLifetimeMs = options.tokenLifetimeMs
    this.#clock = clock
    this.#startedAt = clock.now()
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

  /** Access tokens given out from now on live so long; those that are out keep their life. */
  changeTokenLifetime(ms: number): void {
    this.#tokenLifetimeMs = ms
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
    })
    return true
  }

  /** Approves the app, as the Connect button does. Returns the code that goes to `redirectUri`. */
  approve(account: Hub, scopes: readonly string[], redirectUri: string): string {
    this.#forgetOldCodes()
    account.installed = true
    const grant = { account, epoch: account.epoch, scopes }
    const expiresAt = this.#clock.now() + CODE_LIFETIME_MS
    const code = { text: newCode(), grant, redirectUri, expiresAt, used: false }
    this.#codes.set(code.text, code)
    this.#codesByAge.add(code)
    this.#issued.add(code.text)
    return code.text
  }

  redeemCode(text: string, redirectUri: string): IssuedTokens | CodeRefusal {
    const code = this.#codes.get(text)
    if (code === undefined || code.used || !isInForce(code.grant)) return 'unknown-code'
    if (this.#clock.now() >= code.expiresAt) return 'expired-code'
    if (code.redirectUri !== redirectUri) return 'other-redirect-uri'
    code.used = true
    const refreshToken = this.#issueRefreshToken(code.grant)
    return this.#issueAccessToken(code.grant, refreshToken)
  }

  refresh(refreshToken: string): IssuedTokens | 'unknown-refresh-token' | 'deleted-account' {
    const hubId = this.hubIdOfRefreshToken(refreshToken)
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
    if (grant === undefined || isInForce(grant)) return grant
    this.deleteRefreshToken(token)
    return undefined
  }

  /** False if there is no such token. Access tokens obtained with it stay alive. */
  deleteRefreshToken(token: string): boolean {
    const grant = this.#refreshTokens.get(token)
    if (grant === undefined) return false
    this.#refreshTokens.delete(token)
    this.#deadRefreshTokens.set(token, grant.account.hubId)
    this.#deadRefreshTokensByAge.add(token)
    if (this.#deadRefreshTokens.size > REMEMBERED_DEAD_REFRESH_TOKENS) {
      this.#deadRefreshTokens.delete(this.#deadRefreshTokensByAge.takeOldest() ?? '')
    }
    return isInForce(grant)
  }

  /** An access token, expired or not; nothing if it was never given out, is long gone or its account uninstalled. */
  accessToken(token: string): AccessToken | undefined {
    const found = this.#accessTokens.get(token)
    return found === undefined || !isInForce(found.grant) ? undefined : found
  }

  isExpired(token: AccessToken): boolean {
    return this.#clock.now() >= token.expiresAt
  }

  /** Whole seconds an access token still lives, never more than it really does. */
  secondsLeft(token: AccessToken): number {
    return Math.max(0, Math.floor((token.expiresAt - this.#clock.now()) / 1000))
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

  hubIdOfCode(code: string): number | null {
    return this.#codes.get(code)?.grant.account.hubId ?? null
  }

  hubIdOfRefreshToken(token: string): number | null {
    return this.#refreshTokens.get(token)?.account.hubId ?? this.#deadRefreshTokens.get(token) ?? null
  }

  hubIdOfAccessToken(token: string): number | null {
    return this.#accessTokens.get(token)?.grant.account.hubId ?? null
  }

  /** Codes, access and refresh tokens, oldest first. */
  issued(): readonly string[] {
    return this.#issued.all()
  }

  #issueRefreshToken(grant: Approval): string {
    const token = newRefreshToken()
    this.#refreshTokens.set(token, grant)
    this.#issued.add(token)
    return token
  }

  #issueAccessToken(grant: Approval, refreshToken: string): IssuedTokens {
    this.#forgetOldAccessTokens()
    const lifetime = this.#tokenLifetimeMs
    const token = newAccessToken(this.#options.accessTokenLength)
    const accessToken = { token, grant, expiresAt: this.#clock.now() + lifetime }
    this.#accessTokens.set(accessToken.token, accessToken)
    this.#accessTokensByAge.add(accessToken)
    this.#issued.add(accessToken.token)
    return { accessToken, refreshToken, expiresIn: Math.floor(lifetime / 1000) }
  }

  #forgetOldCodes(): void {
    const before = this.#clock.now() - REMEMBERED_MS
    for (let code = this.#codesByAge.oldest; code !== undefined; code = this.#codesByAge.oldest) {
      if (code.expiresAt > before) return
      this.#codesByAge.takeOldest()
      this.#codes.delete(code.text)
    }
  }

  #forgetOldAccessTokens(): void {
    const now = this.#clock.now()
    for (let token = this.#accessTokensByAge.oldest; token !== undefined; token = this.#accessTokensByAge.oldest) {
      const isCrowded = this.#accessTokens.size > REMEMBERED_EXPIRED_TOKENS
      if (token.expiresAt > (isCrowded ? now : now - REMEMBERED_MS)) return
      this.#accessTokensByAge.takeOldest()
      this.#accessTokens.delete(token.token)
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

function newRefreshToken(): string {
  return `na1-${randomUUID()}`
}

function newCode(): string {
  return `na1-${randomUUID()}`
}
