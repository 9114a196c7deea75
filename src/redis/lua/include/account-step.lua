--!include redis-now
--!include append-transitions
--!include recheck-waiting
--!include is-as-read
-- Shared by every step on an account. KEYS[1] is the account's own; the names of all others are made here as `keys.ts` makes
-- them. Each name is made where it is needed: a step needs six of them, and making all was a tenth of it.
local AT, OF, ACCOUNT
-- Most entries of the log of accounts. An entry takes some 30 bytes; all of a fleet of 100,000 that was imported at once are
-- in it.
local MOST_ACCOUNT_EVENTS = 100000

-- All below is about this account. A call for many goes from one to the next with it.
local function standAt(account)
  AT, OF = string.match(account, '^(.*}):account:(%d+)$')
  ACCOUNT = account
end
standAt(KEYS[1])

local function tokensKey() return AT .. ':tokens:' .. OF end
local function accessKey() return AT .. ':access:' .. OF end
local function pollKey() return AT .. ':poll:' .. OF end
local function samplesKey() return AT .. ':samples:' .. OF end
local function historyKey() return AT .. ':history:' .. OF end
local function forecastKey() return AT .. ':forecast:' .. OF end
local function alertsKey() return AT .. ':alerts:' .. OF end

local function dueKey(kind) return AT .. ':due:' .. kind end
local function freshKey() return AT .. ':fresh' end
local function firstReadingsKey() return AT .. ':first-readings' end
local function pollFailingKey() return AT .. ':poll-failing' end
local function nearestKey() return AT .. ':nearest' end
local function expiryKey() return AT .. ':expiry' end
local function domainsKey() return AT .. ':domains' end
local function alertingKey() return AT .. ':alerting' end

local function inState(state) return AT .. ':accounts:' .. state end

-- For receivers that want to know: an account came, was lost, works again or went.
local function noteEvent(hubId, event)
  redis.call('XADD', AT .. ':account-events', '*', 'hubId', hubId, 'event', event)
end

-- An account came, came back or went. Its domain is not part of it: that is forgotten with the account.
local function logAccount(hubId, event, now)
  if event ~= 'uninstalled' then noteEvent(hubId, 'connected') end
  redis.call('XADD', AT .. ':account-log', 'MAXLEN', '~', MOST_ACCOUNT_EVENTS, '*', 'hubId', hubId, 'event', event, 'at', now)
end

local function isLive(state)
  return state and state ~= 'uninstalling' and state ~= 'uninstalled'
end

-- Refresh tokens from before the stored one, which may be alive: `previous`, `previous2` and so on. One of an account with so many
-- is dropped.
local MOST_PREVIOUS = 20

local function previousName(n) return n == 1 and 'previous' or 'previous' .. n end

-- Behind each other: the first that is not there is the end.
local function previousTokens()
  local found = {}
  for n = 1, MOST_PREVIOUS do
    found[n] = redis.call('HGET', tokensKey(), previousName(n)) or nil
    if not found[n] then break end
  end
  return found
end

local function keepPrevious(token)
  local found = previousTokens()
  for _, other in ipairs(found) do
    if other == token then return end
  end
  if #found < MOST_PREVIOUS then redis.call('HSET', tokensKey(), previousName(#found + 1), token) end
end

-- The stored token has worked: whatever it took the place of has not to be tried any more.
local function dropPrevious()
  for n in ipairs(previousTokens()) do redis.call('HDEL', tokensKey(), previousName(n)) end
end

-- The refusal of a value under a key that a rekey has closed, or nil: its walk would not find it. The key's id is at the head of
-- the value, behind its length.
local function refusalOfKey(sealed)
  local id = string.sub(sealed, 3, 2 + (string.byte(sealed, 2) or 0))
  if redis.call('HEXISTS', AT .. ':fleet', 'closed-key:' .. id) == 0 then return nil end
  return { err = 'KEYCLOSED all is encrypted with another key than ' .. id .. ' by now: name that one first in encryption.keys' }
end

-- The access token has a string of its own, so that one MGET begins the polls of many accounts: a line of what a poll needs to
-- know with it, then the token, encrypted. It is read by `stored-access.ts`.
local function writeAccess(version, obtainedAt, expiresAt, hubDomain, access)
  if type(version) == 'number' then version = string.format('%.0f', version) end
  -- The domain is what others chose: it must not end the line.
  local line = { version, obtainedAt, expiresAt, (string.gsub(hubDomain or '', '\n', ' ')) }
  redis.call('SET', accessKey(), table.concat(line, ' ') .. '\n' .. access)
end

-- The stored facts about an access token: of another token, or of the one that is there ('' = of that).
local function renewAccess(access)
  if access == '' then
    -- A key of another type counts as missing.
    local stored = redis.call('MGET', accessKey())[1]
    local ends = stored and string.find(stored, '\n', 1, true)
    if not ends then return end
    access = string.sub(stored, ends + 1)
  end
  local a = redis.call('HMGET', ACCOUNT, 'version', 'obtainedAt', 'expiresAt', 'hubDomain')
  writeAccess(a[1] or '', a[2] or '', a[3] or '', a[4] or '', access)
end

-- The account in the list by domains, as `nameOf` in `domains.ts` makes it.
local function nameOf(hubId, domain)
  if not domain or domain == '' then return '\239\191\191' .. string.format('%016.0f', hubId) end
  return string.lower(domain) .. ' ' .. hubId
end

local function setState(hubId, to)
  local from = redis.call('HGET', ACCOUNT, 'state')
  if from == to then return end
  if from then redis.call('ZREM', inState(from), hubId)
  else
    -- The version of an account that was forgotten is left for a while.
    redis.call('PERSIST', ACCOUNT)
    redis.call('ZADD', domainsKey(), 0, nameOf(hubId, redis.call('HGET', ACCOUNT, 'hubDomain')))
    -- Each at a time of day of its own: the work on all of them is spread over it.
    redis.call('ZADD', dueKey('history'), redisNow() + hubId % 86400 * 1000, hubId)
  end
  redis.call('HSET', ACCOUNT, 'state', to)
  redis.call('ZADD', inState(to), hubId, hubId)
  -- The tokens of the others are not kept alive: they fail, or wait for somebody.
  if to ~= 'active' then redis.call('ZREM', expiryKey(), hubId) end
  if to == 'reauthorize' then noteEvent(hubId, 'reauthorize')
  elseif to == 'active' and from == 'reauthorize' then noteEvent(hubId, 'recovered')
  elseif to == 'uninstalling' and isLive(from) then noteEvent(hubId, 'uninstalled') end
end

local function setFields(fields)
  if fields.hubDomain then
    redis.call('ZREM', domainsKey(), nameOf(OF, redis.call('HGET', ACCOUNT, 'hubDomain')))
    redis.call('ZADD', domainsKey(), 0, nameOf(OF, fields.hubDomain))
  end
  local set, gone = {}, {}
  for name, value in pairs(fields) do
    if value == '' then gone[#gone + 1] = name else set[#set + 1], set[#set + 2] = name, value end
  end
  if #set > 0 then redis.call('HSET', ACCOUNT, unpack(set)) end
  if #gone > 0 then redis.call('HDEL', ACCOUNT, unpack(gone)) end
end

-- Marks what polls know of the account so that the next one begins with less, see `poll-state-text.ts`: '1', polling was
-- stopped for a while, or its alerts changed; '2', a new grant, which includes that. Unreadable text is found by the next poll.
local function markPolls(mark)
  local stands = redis.pcall('GETRANGE', pollKey(), 0, 0)
  if stands == '0' or (stands == '1' and mark == '2') then redis.call('SETRANGE', pollKey(), 0, mark) end
end

-- The account is polled, next at `at`. Until it was read for the first time, it counts as read when that began.
local function startPolling(hubId, at, now)
  redis.call('ZADD', dueKey('poll'), at, hubId)
  redis.call('ZADD', freshKey(), 'NX', now, hubId)
end

-- The account is not polled any more: its first reading is not waited for.
local function stopPolling(hubId)
  redis.call('ZREM', dueKey('poll'), hubId)
  redis.call('ZREM', freshKey(), hubId)
  redis.call('ZREM', firstReadingsKey(), hubId)
  redis.call('ZREM', pollFailingKey(), hubId)
  redis.call('ZREM', nearestKey(), hubId)
  -- A poll that sees what the last one saw does not rank it anew.
  markPolls('1')
end

-- True while no other worker has claimed or planned the account since.
local function isClaimedBy(kind, hubId, claim)
  return tonumber(redis.call('ZSCORE', dueKey(kind), hubId) or '') == tonumber(claim)
end

-- True while a refresh of the account is under way, by another claim than that.
local function isRefreshed(hubId, claim)
  local at = tonumber(redis.call('ZSCORE', dueKey('refresh'), hubId) or '')
  return at and at % 1 > 0 and at > redisNow() and at ~= tonumber(claim)
end

-- Plans the next refresh. One that is under way keeps the account until its claim ends, for others would redeem the same token; but
-- the claim is no longer its worker's: what that brings is late.
local function planRefresh(hubId, at)
  if isRefreshed(hubId, '') then redis.call('ZINCRBY', dueKey('refresh'), 1, hubId)
  else redis.call('ZADD', dueKey('refresh'), at, hubId) end
end

-- When tokens are refreshed. How old those are that were got later than now is not known, by a clock that was set back since: they are
-- refreshed now. See `APART_MS`.
local function refreshOf(refreshAt, obtainedAt)
  return tonumber(obtainedAt or 0) > redisNow() + 5000 and redisNow() or refreshAt
end

-- The version of an account is an intent, and how many times its tokens were stored since: intent x 1e6 + n. An intent is
-- what somebody wanted of it: an install, an import or an uninstall, in the order of `takeIntent`. Whatever was begun with a lower
-- version came too late. It fits into a double, and an intent in ms would not.
local PER_INTENT = 1000000

-- 0 for what is no version: nothing but this reads one, so that a spoiled record stops no step.
local function versionIn(text)
  return string.match(text or '', '^%d+$') and tonumber(text) or 0
end

local function intentOf(version) return math.floor(version / PER_INTENT) end

local function setVersion(version) redis.call('HSET', ACCOUNT, 'version', string.format('%.0f', version)) end

-- The version outlives the account by a month.
local function storedVersion() return versionIn(redis.call('HGET', ACCOUNT, 'version')) end

-- The first version of an intent that none had before: above the last one, whatever was done to the clock of Redis. It is no lower
-- than that clock shows, so that where the last ones were lost, with a failover, the next one is above those, too.
local function nextIntent()
  local last = redis.call('HGET', AT .. ':fleet', 'intent')
  local intent = math.max(versionIn(last) + 1, math.floor(redisNow() / 1000))
  redis.call('HSET', AT .. ':fleet', 'intent', string.format('%.0f', intent))
  return intent * PER_INTENT
end

-- Whatever is under way with the tokens of before is refused from here on.
local function moveVersion()
  local before = storedVersion()
  setVersion(before > 0 and before + 1 or nextIntent())
end

-- A refresh token that came too late for what it was to be: the account has tokens of a later intent, or of another refresh. It
-- may be the one that the provider takes: it is tried where the stored one is refused.
local function keepOvertaken(hubId, token, now)
  keepPrevious(token)
  local state = redis.call('HGET', ACCOUNT, 'state')
  if state ~= 'failing' and state ~= 'reauthorize' then return end
  redis.call('HDEL', ACCOUNT, 'retryAt')
  planRefresh(hubId, now)
end

-- A refresh token of an account that is uninstalled, or being uninstalled: its uninstall deletes this one, too, and begins
-- anew where it was over.
local function leaveToUninstall(hubId, token, now, reason)
  local state = redis.call('HGET', ACCOUNT, 'state')
  -- Tokens of another account stay with that account.
  if redis.call('HDEL', ACCOUNT, 'tokenOf') == 1 then redis.call('DEL', tokensKey()) end
  local before = redis.call('HGET', tokensKey(), 'refresh')
  if before and before ~= token then keepPrevious(before) end
  redis.call('HSET', tokensKey(), 'refresh', token)
  if not state then redis.call('HSET', ACCOUNT, 'connectedAt', now, 'obtainedAt', 0, 'expiresAt', 0) end
  if state ~= 'uninstalling' then
    setVersion(storedVersion())
    setState(hubId, 'uninstalling')
    redis.call('HDEL', ACCOUNT, 'uninstalledAt', 'uninstallEnding', 'purgeAt', 'uninstallAttempts', 'uninstallFailureReason',
      'uninstallFailureAt')
    if redis.call('HSETNX', ACCOUNT, 'uninstallAskedAt', now) == 1 then
      redis.call('HSET', ACCOUNT, 'uninstallReason', reason, 'uninstallBy', 'evidence')
    end
  end
  redis.call('ZADD', dueKey('uninstall'), now, hubId)
end

-- changes: { { field, state as it was read ('' = none), state from now on ('' = none) }, ... }
local function alertsAreAsRead(changes)
  for _, change in ipairs(changes) do
    if not isAsRead(redis.call('HGET', alertsKey(), change[1]) or '', change[2]) then return false end
  end
  return true
end

local function writeAlerts(hubId, writes)
  for _, change in ipairs(writes.changes) do
    if change[3] == '' then redis.call('HDEL', alertsKey(), change[1])
    else redis.call('HSET', alertsKey(), change[1], change[3]) end
  end
  appendTransitions(AT, AT .. ':transitions:' .. OF, writes.entries)
  -- Alerts about all accounts hold others back.
  if OF == '0' and #writes.changes > 0 then recheckWaiting(AT) end
  if #writes.changes == 0 then return end
  redis.call(redis.call('EXISTS', alertsKey()) == 1 and 'SADD' or 'SREM', alertingKey(), hubId)
end
