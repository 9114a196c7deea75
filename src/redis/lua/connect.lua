-- How an account comes: with tokens, and the answer whose they are.

--!step connectAccount
--!include begin-grant
-- Stores an account that was just authorised, for the first time or again: new tokens, a clean record, history kept. The grant that
-- was kept for it goes with the same step, unless another worker was given newer tokens of it meanwhile.
-- ARGV: hubId, now, access token, refresh token, granted scopes, obtainedAt, expiresAt, next refresh,
--   fields of the account (JSON), alert writes (JSON), version, id of the grant, the refresh token before, which may be alive
--   ('' = none), 'kept' = only an account that is kept here.
-- Returns 'connected' | 'reconnected' | 'known' (this was done before, or somebody connected it later: the refresh token is kept
-- beside that one) | 'stale' (an alert changed since it was read: read again) | 'uninstalled' (somebody asked for that later, or, with
-- 'kept', at all: the uninstall deletes the refresh token, too) | 'strange' (with 'kept': it is not kept here).
local hubId, now, access, refresh, scopes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local obtainedAt, expiresAt, refreshAt = ARGV[6], ARGV[7], ARGV[8]
local fields, writes, version = cjson.decode(ARGV[9]), cjson.decode(ARGV[10]), tonumber(ARGV[11])
local grant, previous, onlyKept = ARGV[12], ARGV[13], ARGV[14] == 'kept'
local refused = refusalOfKey(refresh)
if refused then return refused end

local function ending(answer)
  local key = AT .. ':grant:' .. grant
  if versionIn(redis.call('HGET', key, 'version')) <= version then
    redis.call('DEL', key)
    redis.call('ZREM', AT .. ':due:grant', grant)
  end
  return answer
end

local state, stored = redis.call('HGET', ACCOUNT, 'state'), storedVersion()
local isLater = intentOf(version) > intentOf(stored)
if not isLive(state) and ((state and onlyKept) or not isLater) then
  if previous ~= '' then keepPrevious(previous) end
  leaveToUninstall(hubId, refresh, now, 'an install left a refresh token')
  return ending('uninstalled')
end
if not state and onlyKept then return ending('strange') end
if version <= stored then
  -- The first token of the same grant is that of the account, or was.
  local isKnown = version == intentOf(stored) * PER_INTENT or redis.call('HGET', tokensKey(), 'refresh') == refresh
  if not isKnown and previous ~= '' then keepPrevious(previous) end
  if not isKnown then keepOvertaken(hubId, refresh, now) end
  return ending('known')
end
if not alertsAreAsRead(writes.changes) then return 'stale' end
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', now)
beginGrant(hubId, version, refresh, fields, refreshAt, obtainedAt)
if previous ~= '' then keepPrevious(previous) end
redis.call('HSET', tokensKey(), 'scopes', scopes)
redis.call('HSET', ACCOUNT, 'connectedAt', now, 'obtainedAt', obtainedAt, 'expiresAt', expiresAt, 'refreshedAt', obtainedAt)
redis.call('ZADD', expiryKey(), expiresAt, hubId)
renewAccess(access)
startPolling(hubId, now, now)
writeAlerts(hubId, writes)
local event = state and 'reconnected' or 'connected'
logAccount(hubId, event, now)
return ending(event)

--!step importAccount
--!include begin-grant
-- Takes in an account with its refresh token alone: no access token yet, refreshed now, polled once it is known whose
-- token it is.
-- One that is known keeps what it has, because its tokens may have been refreshed since the file was written; with
-- `replace` it is overwritten, unless it was connected or uninstalled since the import began.
-- ARGV: hubId, now, refresh token, 'replace' or '', fields of the account (JSON), version.
-- Returns 'imported' | 'kept' | 'uninstalled' (known, and kept so) | 'replaced'.
local hubId, now, refresh, replace, fields = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == 'replace', cjson.decode(ARGV[5])
local version = tonumber(ARGV[6])
local refused = refusalOfKey(refresh)
if refused then return refused end

local state, stored = redis.call('HGET', ACCOUNT, 'state'), storedVersion()
-- By this very step, whose answer was lost.
if isLive(state) and intentOf(stored) == intentOf(version) then return replace and 'replaced' or 'imported' end
if (state and not replace) or stored >= version then return isLive(state) and 'kept' or 'uninstalled' end
redis.call('HDEL', ACCOUNT, 'refreshedAt')
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', fields.connectedAt or now)
redis.call('HSET', ACCOUNT, 'obtainedAt', 0, 'expiresAt', 0)
redis.call('ZREM', expiryKey(), hubId)
beginGrant(hubId, version, refresh, fields, now, 0)
stopPolling(hubId)
redis.call('ZADD', firstReadingsKey(), 1, hubId)
logAccount(hubId, state and 'reconnected' or 'connected', now)
return state and 'replaced' or 'imported'

--!step takeIntent
--!include account-step
-- KEYS: account 0. Returns the first version of an intent that none had before.
return string.format('%.0f', nextIntent())

--!step parkGrant
--!include account-step
-- Keeps the tokens of an install whose account is not stored yet, or newer ones of it, and when it is tried next. The refresh
-- token before may be alive until its successor has worked: it is kept, too.
-- KEYS: the account ('account 0': it is not known). ARGV: id, next try, version, refresh token, its other
--   fields with their values.
-- Returns 'parked' | 'gone' (newer tokens of it are there, or its account has them).
local id, nextAt, version, refresh = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local grant = AT .. ':grant:' .. id
local refused = refusalOfKey(refresh)
if refused then return refused end

local before = redis.call('HMGET', grant, 'version', 'refresh')
if versionIn(before[1]) > version or intentOf(storedVersion()) >= intentOf(version) then return 'gone' end
if before[2] and before[2] ~= refresh then redis.call('HSET', grant, 'previous', before[2]) end
redis.call('HSET', grant, 'version', string.format('%.0f', version), 'refresh', refresh, unpack(ARGV, 5))
-- Another worker may have claimed it for longer.
redis.call('ZADD', AT .. ':due:grant', 'GT', nextAt, id)
return 'parked'

--!step storeIdentity
--!include account-step
-- Stores what the provider says of an account's access token. The mark that it is to be read goes with it, and an account
-- that had the mark is polled from now on. Where it is another account's, nothing is read, refreshed or served under the wrong name
-- until this one is connected, or imported with a token of its own. That refresh token is good, and stays; the version moves on, so
-- that whatever is under way with these tokens is refused.
-- ARGV: hubId, now, version as read, the account of the token, granted scopes, fields of the account (JSON; '' takes one away),
--   expiresAt, next refresh, alert writes (JSON).
-- Returns 'stored' | 'foreign' | 'known' (another answer was stored before: the poll that follows from that may be under way) | 'lost'
-- (other tokens since, or gone, or an alert changed: asked again before long).
local hubId, now, version, owner, scopes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local fields, expiresAt, refreshAt, writes = cjson.decode(ARGV[6]), ARGV[7], ARGV[8], cjson.decode(ARGV[9])

local a = redis.call('HMGET', ACCOUNT, 'state', 'version', 'metadataDue', 'hubDomain', 'obtainedAt')
if not isLive(a[1]) or a[2] ~= version then return 'lost' end
if owner == hubId and a[3] ~= '1' and string.find(a[4] or '', '%S') then return 'known' end
if not alertsAreAsRead(writes.changes) then return 'lost' end
setFields(fields)
writeAlerts(hubId, writes)
if owner ~= hubId then
  redis.call('DEL', accessKey())
  redis.call('HSET', ACCOUNT, 'tokenOf', owner)
  moveVersion()
  setState(hubId, 'reauthorize')
  redis.call('ZREM', dueKey('refresh'), hubId)
  stopPolling(hubId)
  return 'foreign'
end
redis.call('HSET', tokensKey(), 'scopes', scopes)
redis.call('HDEL', ACCOUNT, 'metadataDue')
redis.call('HSET', ACCOUNT, 'expiresAt', expiresAt)
if a[1] == 'active' then redis.call('ZADD', expiryKey(), expiresAt, hubId) end
renewAccess('')
-- One that is under way plans the next one itself.
if not isRefreshed(hubId, '') then planRefresh(hubId, refreshOf(refreshAt, a[5])) end
-- One that waits for other tokens is polled when it has them.
if a[3] == '1' and (a[1] == 'active' or a[1] == 'failing') then startPolling(hubId, now, now) end
return 'stored'
