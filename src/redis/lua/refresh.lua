-- A refresh of one account, from its claim to its stored tokens, and who is given them.

--!step claimRefreshes
--!include account-step
--!include claim
--!include refusal
--!include read-refresh
-- Claims accounts whose tokens are due, and reads what their refreshes need. That this write succeeds is the proof, before a refresh
-- token is redeemed, that the store takes writes.
-- If more are due than may go, about three quarters of those that go are the nearest to the end of their tokens, one alone with
-- that chance. Accounts that fail, or have no token yet, may have been due for longer, by the thousand.
-- KEYS: that of account 0; or an account that is claimed alone, due or not, because a caller waits for it. ARGV: how long a claim lasts
--   (ms), fraction, by chance; with account 0: most to claim, where in the set of ends to begin (from 0, the nearest, up to 1).
-- Returns { the claim, as `readRefresh` for each, ... }. One that can't be read fails alone: { hubId, error }. Of one account also
-- 'gone' (it is not planned) | 'held' (another worker has it).
local due, ms, fraction, most = dueKey('refresh'), tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
-- Tokens that end soon and whose accounts are not due are passed over, but other commands wait.
local SHARE, READ_AT_ONCE, MOST_READ = 0.75, 100, 2000

local function read(hubId, before)
  local worked, found = pcall(readRefresh, hubId, before, ms)
  return worked and found or { hubId, refusal(found) }
end

if OF ~= '0' then
  local claim, before = claimOne(AT .. ':fleet', due, OF, ms, fraction)
  return before and { claim, read(OF, before) } or claim
end

local claim, now = beginClaims(AT .. ':fleet', ms, fraction)
local answers = { claim }

-- Strange members go: at their keys nothing could be read.
local function take(hubId, before)
  if not string.match(hubId, '^%d+$') then return redis.call('ZREM', due, hubId) end
  redis.call('ZADD', due, claim, hubId)
  answers[#answers + 1] = read(hubId, before)
end

if redis.call('ZCOUNT', due, '-inf', now) >= most then
  local wanted, ends = math.floor(most * SHARE + fraction), expiryKey()
  local first = math.floor(ARGV[4] * redis.call('ZCARD', ends))
  for from = first, first + MOST_READ - 1, READ_AT_ONCE do
    local some = redis.call('ZRANGE', ends, from, from + READ_AT_ONCE - 1)
    if #some == 0 or #answers > wanted then break end
    for n, at in ipairs(redis.call('ZMSCORE', due, unpack(some))) do
      if at and tonumber(at) <= now and #answers <= wanted then take(some[n], at) end
    end
  end
end
local longest = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most + 1 - #answers)
for n = 1, #longest, 2 do take(longest[n], longest[n + 1]) end
return answers

--!step storeTokens
--!include account-step
--!include refusal
-- Stores what refreshes brought, unless another worker wrote tokens since (the version is higher): then a new refresh token is kept
-- beside those. An account that is being uninstalled takes it only to have it deleted too, beside the one that it may still have;
-- so does one that is forgotten already. Of one that was never here nothing is known: a Redis that was emptied must not end what is
-- alive at the provider. A store with a lower version lost writes, with a failover: what it has may be over already.
-- KEYS: accounts. ARGV, for each: a line of words; access token; refresh token ('' = keep the one there is); alert writes (JSON,
--   '' = none). The words: hubId, the claim, version as read, obtainedAt, expiresAt, next refresh, next poll ('-' = as it is).
--   Then 'again' where it was stored before, and may have been lost; 'previous' where that one was redeemed and the last one refused;
--   'own' where the tokens are known to be of this account. '-' stands in place of each of these three.
-- Returns for each 'stored' | 'lost' (also what was stored before, and is there) | 'uninstalled' | 'unknown' | 'held' (one that was
-- lost waits for the worker that refreshes the account: the token that it redeems is newer) | error: one that fails, fails alone.
local EACH = 4
-- The owner of an imported account is asked for at once; so much later where no worker came to it, or it had no answer.
local ASKED_AGAIN_MS = 15000

local function storeOne(line, access, refresh, writes)
  local hubId, claim, read, obtainedAt, expiresAt, refreshAt, pollAt, again, redeemed, whose =
    string.match(line, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  local refused = refusalOfKey(access)
  if refused then return refused end

  local a = redis.call('HMGET', ACCOUNT, 'state', 'version', 'metadataDue', 'hubDomain')
  read = versionIn(read)
  local stored = a[1] and versionIn(a[2]) or storedVersion()
  if not a[1] and stored <= read then return 'unknown' end
  if not isLive(a[1]) then
    if refresh ~= '' and (a[1] or again ~= 'again') then
      leaveToUninstall(hubId, refresh, obtainedAt, 'a refresh under way left a refresh token')
    end
    return 'uninstalled'
  end
  if stored > read then
    if again == 'again' then return 'lost' end
    -- By this very step, whose answer was lost: no text is encrypted twice alike.
    local there = redis.call('MGET', accessKey())[1]
    if there and string.sub(there, -#access) == access then return 'stored' end
    if refresh ~= '' and whose == 'own' and redis.call('HGET', tokensKey(), 'refresh') ~= refresh then
      keepOvertaken(hubId, refresh, obtainedAt)
    end
    return 'lost'
  end
  if again == 'again' and isRefreshed(hubId, claim) then return 'held' end

  if refresh ~= '' then
    -- The one that was redeemed stays until the new one has worked once. A store that is behind may not have the one that was
    -- refused: what it has in its place is what was redeemed.
    local had = redis.call('HGET', tokensKey(), 'refresh')
    if stored == read and redeemed ~= 'previous' then dropPrevious() end
    if had and (stored < read or redeemed ~= 'previous') then keepPrevious(had) end
    redis.call('HSET', tokensKey(), 'refresh', refresh)
  else
    dropPrevious()
  end
  local next = read + 1
  writeAccess(next, obtainedAt, expiresAt, a[4] or '', access)
  redis.call('HSET', ACCOUNT, 'version', string.format('%.0f', next), 'obtainedAt', obtainedAt, 'expiresAt', expiresAt,
    'refreshedAt', obtainedAt)
  redis.call('ZADD', expiryKey(), expiresAt, hubId)
  -- All that a refresh that worked puts an end to. To look which are there first took longer.
  redis.call('HDEL', ACCOUNT, 'failures', 'failureClass', 'failureReason', 'failureAt',
    'rejectedAt', 'retryAt', 'parkedUntil', 'failingSince', 'interruptedAt')
  if a[1] ~= 'active' then setState(hubId, 'active') end
  local at = refreshOf(a[3] == '1' and math.min(refreshAt, obtainedAt + ASKED_AGAIN_MS) or refreshAt, obtainedAt)
  -- Another worker may be at it by now: the account would be due at once by tokens from long ago.
  if not isRefreshed(hubId, claim) then redis.call('ZADD', dueKey('refresh'), at, hubId) end
  if a[3] == '1' then
    -- Numbers may be another account's: it is polled once it is known whose they are.
    redis.call('ZADD', freshKey(), 'NX', obtainedAt, hubId)
  else
    -- The caller may not know that the account was given up, or parked, since: it is not polled then.
    if pollAt == '-' and (a[1] == 'reauthorize' or a[1] == 'parked') then pollAt = obtainedAt end
    if pollAt ~= '-' then startPolling(hubId, pollAt, obtainedAt) end
  end
  if writes ~= '' then
    writes = cjson.decode(writes)
    -- An alert that changed since it was read is left for the next refresh to close; the tokens must not wait for it.
    if alertsAreAsRead(writes.changes) then writeAlerts(hubId, writes) end
  end
  return 'stored'
end

local answers = {}
for n = 1, #ARGV / EACH do
  standAt(KEYS[n])
  local worked, answer = pcall(storeOne, unpack(ARGV, (n - 1) * EACH + 1, n * EACH))
  answers[n] = worked and answer or refusal(answer)
end
return answers

--!step recordRefreshFailure
--!include account-step
-- Notes a failed refresh and when to try again, if the tokens are still the ones it was tried with. Where another
-- worker has claimed the account since, the outcome of its refresh counts: this one may have been refused because of it.
-- ARGV: hubId, the claim, version as read, state from now on, next refresh, next poll ('' = as it is,
--   'never' = not until the account is well again), fields of the account (JSON), alert writes (JSON).
-- Returns 'recorded' | 'lost'.
local hubId, claim, version, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local refreshAt, pollAt, fields, writes = ARGV[5], ARGV[6], cjson.decode(ARGV[7]), cjson.decode(ARGV[8])

local a = redis.call('HMGET', ACCOUNT, 'state', 'version')
if not isLive(a[1]) or a[2] ~= version or not isClaimedBy('refresh', hubId, claim)
  or not alertsAreAsRead(writes.changes) then return 'lost' end
setState(hubId, state)
setFields(fields)
if fields.failureAt then redis.call('HSETNX', ACCOUNT, 'failingSince', fields.failureAt) end
redis.call('ZADD', dueKey('refresh'), refreshAt, hubId)
if pollAt == 'never' then stopPolling(hubId)
elseif pollAt ~= '' then startPolling(hubId, pollAt, fields.failureAt or pollAt) end
writeAlerts(hubId, writes)
return 'recorded'

--!step noteTokenServed
--!include account-step
-- Notes who is given the account's access token, if it is still the one that was read: what was replaced meanwhile, or
-- belongs to an account that is being uninstalled, is handed out to no caller.
-- ARGV: version as read, now, name of the admin token that asks.
-- Returns 'noted' | 'stale'.
local version, now, to = ARGV[1], ARGV[2], ARGV[3]

local a = redis.call('HMGET', ACCOUNT, 'state', 'version')
if not isLive(a[1]) or a[2] ~= version then return 'stale' end
redis.call('HSET', ACCOUNT, 'tokenServedAt', now, 'tokenServedTo', to)
return 'noted'
