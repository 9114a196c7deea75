-- How an account goes: tombstone, deletion of its refresh token, the end of its record.

--!step beginUninstall
--!include account-step
-- The tombstone: from here on nothing refreshes, polls or alerts for this account, and a refresh under way can't bring
-- it back (the version moves on). Its open alerts are closed in the same step.
-- ARGV: hubId, now, reason, number of alert states as read, alert writes (JSON), who asked, since when the refresh token
--   has been refused as read ('' = the caller has other grounds), version ('' = a grant that waits counts as later).
-- Returns 'begun' | 'already' | 'unknown' | 'refuted' (the refusal is over, or somebody connected it later) | 'stale' (an alert
-- changed since it was read: read again).
local hubId, now, reason, alertsRead, writes = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), cjson.decode(ARGV[5])
local by, refusedSince, version = ARGV[6], ARGV[7], tonumber(ARGV[8])

local state, stored = redis.call('HGET', ACCOUNT, 'state'), storedVersion()
if not state then return 'unknown' end
if not isLive(state) then
  -- By this very step, whose answer was lost.
  if stored == version then return 'begun' end
  -- Another number than that of one that began it.
  if version and stored < version then setVersion(version + 1) end
  return 'already'
end
if version and stored >= version then return 'refuted' end
-- Connected again since the refresh token was refused: that evidence is about another token.
if refusedSince ~= '' and (state ~= 'reauthorize' or redis.call('HGET', ACCOUNT, 'rejectedAt') ~= refusedSince) then
  return 'refuted'
end
if redis.call('HLEN', alertsKey()) ~= alertsRead or not alertsAreAsRead(writes.changes) then return 'stale' end
setState(hubId, 'uninstalling')
if version then setVersion(version) else moveVersion() end
redis.call('HSET', ACCOUNT, 'uninstallAskedAt', now, 'uninstallReason', reason, 'uninstallBy', by)
redis.call('DEL', accessKey())
redis.call('ZREM', dueKey('refresh'), hubId)
stopPolling(hubId)
redis.call('ZADD', dueKey('uninstall'), now, hubId)
writeAlerts(hubId, writes)
logAccount(hubId, 'uninstalled', now)
return 'begun'

--!step readUninstall
--!include account-step
-- Reads, at one moment, all that the deletion of an account is decided on: a new connection must not have its tokens taken for those of
-- the old one.
-- ARGV: hubId.
-- Returns 'over' (unknown, or uninstalled: its time may be over) | 'reconnected' | 'held' | { hubDomain, asked at,
--   attempts, token alert, the account that its tokens belong to if it is another, refresh token ('' = none), those before it }.
local hubId = ARGV[1]

local a = redis.call('HMGET', ACCOUNT, 'state', 'hubDomain', 'uninstallAskedAt', 'uninstallAttempts', 'tokenOf', 'refreshing')
if isLive(a[1]) then
  redis.call('ZREM', dueKey('uninstall'), hubId)
  return 'reconnected'
end
if a[1] ~= 'uninstalling' then return 'over' end
if isHeld(a[6]) then return 'held' end
return { a[2] or '', a[3] or '0', a[4] or '0', redis.call('HGET', alertsKey(), 'token') or '', a[5] or '',
  redis.call('HGET', tokensKey(), 'refresh') or '', unpack(previousTokens()) }

--!step recordUninstallFailure
--!include account-step
-- Notes an attempt to delete the refresh token that failed, and when to try again, unless the account was connected
-- again, or claimed by another worker, meanwhile.
-- ARGV: hubId, the claim, now, reason, next attempt, alert writes (JSON).
-- Returns 'recorded' | 'lost'.
local hubId, claim, now, reason, nextAt = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local writes = cjson.decode(ARGV[6])

if redis.call('HGET', ACCOUNT, 'state') ~= 'uninstalling' or not isClaimedBy('uninstall', hubId, claim)
  or not alertsAreAsRead(writes.changes) then return 'lost' end
redis.call('HINCRBY', ACCOUNT, 'uninstallAttempts', 1)
redis.call('HSET', ACCOUNT, 'uninstallFailureReason', reason, 'uninstallFailureAt', now)
redis.call('ZADD', dueKey('uninstall'), nextAt, hubId)
writeAlerts(hubId, writes)
return 'recorded'

--!step finishUninstall
--!include account-step
-- The refresh token is deleted at the provider: its copies and all that only served the connection go at once. Record and
-- readings stay as they are until `purgeAt`.
-- ARGV: hubId, now, refresh token that was deleted (as stored), 'deleted' | 'was-gone', purgeAt, alert writes (JSON).
-- Returns 'finished' | 'again' (a refresh under way left a newer token: delete that one too; or an alert changed since it
-- was read) | 'reconnected'.
local hubId, now, deleted, ending, purgeAt = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local writes = cjson.decode(ARGV[6])

local state = redis.call('HGET', ACCOUNT, 'state')
if isLive(state) then
  redis.call('ZREM', dueKey('uninstall'), hubId)
  return 'reconnected'
end
-- By this very step, whose answer was lost, or by another worker. When it is forgotten is planned already.
if state ~= 'uninstalling' then return 'finished' end
if (redis.call('HGET', tokensKey(), 'refresh') or '') ~= deleted or not alertsAreAsRead(writes.changes) then
  redis.call('ZADD', dueKey('uninstall'), now, hubId)
  return 'again'
end
setState(hubId, 'uninstalled')
redis.call('HINCRBY', ACCOUNT, 'uninstallAttempts', 1)
redis.call('HSET', ACCOUNT, 'uninstalledAt', now, 'uninstallEnding', ending, 'purgeAt', purgeAt)
redis.call('HDEL', ACCOUNT, 'user', 'metadataDue', 'tokenDriftMs')
redis.call('DEL', tokensKey())
redis.call('ZADD', dueKey('uninstall'), purgeAt, hubId)
writeAlerts(hubId, writes)
return 'finished'

--!step purgeAccount
--!include account-step
-- The end of an uninstalled account's time: everything of it is forgotten, unless it was connected again. Its version
-- stays for as long as a file keeps new tokens of an unknown account: what was begun before brings nothing back, and a refresh
-- token of it is deleted, too.
-- ARGV: hubId, now, then every key of the account, to be deleted.
-- Returns 'purged' | 'kept' | 'unknown'.
local hubId, now = ARGV[1], tonumber(ARGV[2])
local LEFT_MS = 30 * 86400000

local a = redis.call('HMGET', ACCOUNT, 'state', 'purgeAt', 'version')
if a[1] == 'uninstalling' then return 'kept' end
if a[1] ~= 'uninstalled' then
  redis.call('ZREM', dueKey('uninstall'), hubId)
  return a[1] and 'kept' or 'unknown'
end
if now < tonumber(a[2]) then
  redis.call('ZADD', dueKey('uninstall'), a[2], hubId)
  return 'kept'
end
redis.call('ZREM', domainsKey(), nameOf(hubId, redis.call('HGET', ACCOUNT, 'hubDomain')))
for n = 3, #ARGV do redis.call('DEL', ARGV[n]) end
redis.call('SET', leftKey(), a[3] or '', 'PX', LEFT_MS)
redis.call('ZREM', inState('uninstalled'), hubId)
redis.call('ZREM', dueKey('uninstall'), hubId)
redis.call('ZREM', dueKey('history'), hubId)
redis.call('SREM', alertingKey(), hubId)
return 'purged'
