-- A refresh of one account, from its claim to its stored tokens, and who is given them.

--!step beginRefresh
--!include account-step
-- Notes that the refresh of a claimed account is under way, and reads what it needs. That this write succeeds is the proof, before a
-- refresh token is redeemed, that the store takes writes.
-- ARGV: the claim.
-- Returns 'gone' | 'held' | { lines: the account's state, version, obtainedAt, expiresAt, failures,
--   rejectedAt, refreshedAt, retryAt, when a worker died at it or '', whether it is to be asked whose
--   it is ('1', '2' = its tokens may be of another account, or ''), open token alert or '', hubDomain; refresh token;
--   those before that are kept }. One text of all that is text: of fifteen the reading cost more than the asking.
local claim = ARGV[1]
local a = redis.call('HMGET', ACCOUNT, 'state', 'hubDomain', 'version', 'obtainedAt', 'expiresAt', 'failures',
  'rejectedAt', 'refreshedAt', 'retryAt', 'refreshing', 'interruptedAt', 'tokenOf', 'metadataDue')
if not isLive(a[1]) then redis.call('ZREM', dueKey('refresh'), OF) end
-- Redeeming another account's refresh token could end it there.
if not isLive(a[1]) or a[12] then return 'gone' end
-- Another plan may have overwritten the claim of a refresh that is under way.
if not isClaimedBy('refresh', OF, claim) or isHeld(a[10], claim) then return 'held' end
local interruptedAt = a[11] or ''
if a[10] then
  local by, at = string.match(a[10], '^(%S+) (%d+)')
  -- The step's own note, where its answer was lost and it is asked again.
  if by ~= claim then
    interruptedAt = at
    -- Kept until a refresh works or the account is connected again, whatever refresh finds it, and whatever its outcome.
    redis.call('HSET', ACCOUNT, 'interruptedAt', at)
  end
end
redis.call('HSET', ACCOUNT, 'refreshing', string.format('%s %.0f', claim, redisNow()))
local metadataDue = a[13] and (redis.call('HEXISTS', tokensKey(), 'scopes') == 1 and '1' or '2') or ''
local lines = table.concat({ a[1], a[3] or '', a[4] or '0', a[5], a[6] or '0', a[7] or '', a[8] or '', a[9] or '', interruptedAt,
  metadataDue, redis.call('HGET', alertsKey(), 'token') or '', a[2] or '' }, '\n')
return { lines, redis.call('HGET', tokensKey(), 'refresh') or '', unpack(previousTokens()) }

--!step leaveRefresh
--!include account-step
-- A refresh was not needed after all, or came too late: the account is put where its plan says.
-- ARGV: hubId, the claim, next refresh.
local hubId, claim, refreshAt = ARGV[1], ARGV[2], ARGV[3]

if not endNote(claim) or not isClaimedBy('refresh', hubId, claim) then return 0 end
return redis.call('ZADD', dueKey('refresh'), 'XX', refreshAt, hubId)

--!step storeTokens
--!include account-step
-- Stores what a refresh brought, unless another worker wrote tokens since (the version is higher): then a new refresh token is kept
-- beside those. An account that is being uninstalled takes it only to have it deleted too, beside the one that it may still have;
-- so does one that is forgotten already. Of one that was never here nothing is known: a Redis that was emptied must not end what is
-- alive at the provider. A store with a lower version lost writes, with a failover: what it has may be over already.
-- ARGV: with spaces between: hubId, the claim, version as read, obtainedAt, expiresAt, next refresh, next
--   poll ('-' = as it is), whether it was stored before, and may have been lost ('again' or '-'), 'previous' where that one was redeemed and the
--   last one refused, 'last' where there was none before it ('-': neither is known), 'own' where the tokens are known to be of this
--   account; access token; refresh token ('' = keep the
--   one there is); alert writes (JSON, '' = none).
-- Returns 'stored' | 'lost' (also what was stored before, and is there) | 'uninstalled' | 'unknown' | 'held' (one that was
-- lost waits for the worker that refreshes the account: the token that it redeems is newer).
local hubId, claim, read, obtainedAt, expiresAt, refreshAt, pollAt, again, redeemed, whose =
  string.match(ARGV[1], '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
local access, refresh, writes = ARGV[2], ARGV[3], ARGV[4]
-- The owner of an imported account is asked for at once; so much later where no worker came to it, or it had no answer.
local ASKED_AGAIN_MS = 15000
local refused = refusalOfKey(access)
if refused then return refused end

local a = redis.call('HMGET', ACCOUNT, 'state', 'version', 'metadataDue', 'refreshing', 'hubDomain')
-- Even where nothing else is written.
endNote(claim)
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
if again == 'again' and isHeld(a[4], claim) then return 'held' end

if refresh ~= '' then
  -- The one that was redeemed stays until the new one has worked once. A store that is behind may not have the one that was
  -- refused: what it has in its place is what was redeemed.
  local had = redis.call('HGET', tokensKey(), 'refresh')
  if stored == read and redeemed ~= 'previous' then dropPrevious() end
  if had and (stored < read or redeemed ~= 'previous') then keepPrevious(had) end
  redis.call('HSET', tokensKey(), 'refresh', refresh)
-- Nearly always there was none when these tokens were read, and none was written since.
elseif redeemed ~= 'last' or again == 'again' or stored ~= read then
  dropPrevious()
end
local next = read + 1
writeAccess(next, obtainedAt, expiresAt, a[5] or '', access)
redis.call('HSET', ACCOUNT, 'version', string.format('%.0f', next), 'obtainedAt', obtainedAt, 'expiresAt', expiresAt,
  'refreshedAt', obtainedAt)
redis.call('ZADD', expiryKey(), expiresAt, hubId)
-- All that a refresh that worked puts an end to. To look which are there first took longer.
redis.call('HDEL', ACCOUNT, 'failures', 'failureClass', 'failureReason', 'failureAt',
  'rejectedAt', 'retryAt', 'parkedUntil', 'failingSince', 'interruptedAt')
if a[1] ~= 'active' then setState(hubId, 'active') end
if a[3] == '1' then
  -- Numbers may be another account's: it is polled once it is known whose they are.
  planTokens(hubId, math.min(refreshAt, obtainedAt + ASKED_AGAIN_MS), obtainedAt)
  redis.call('ZADD', freshKey(), 'NX', obtainedAt, hubId)
else
  planTokens(hubId, refreshAt, obtainedAt)
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
endNote(claim)
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
