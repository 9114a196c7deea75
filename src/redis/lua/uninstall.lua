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

--!step recordDeletion
--!include account-step
-- Notes the outcome of an attempt to delete the refresh token at the provider. Where it is deleted, its copies and all that only served
-- the connection go at once; record and readings stay until the account is forgotten.
-- ARGV: hubId, the claim, now, refresh token as it was read ('' = none), 'deleted' | 'was-gone' | 'failed', why it failed, when it
--   is tried again, or forgotten, alert writes (JSON).
-- Returns 'finished' | 'failed' | 'again' (a refresh under way left a newer token: delete that one too; or an alert changed since it
-- was read) | 'reconnected' | 'lost' (it failed, and another worker was faster).
local hubId, claim, now, read, ending = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local reason, nextAt, writes = ARGV[6], ARGV[7], cjson.decode(ARGV[8])

local state, failed = redis.call('HGET', ACCOUNT, 'state'), ending == 'failed'
if isLive(state) then
  -- The new connection may have been given the very token that was just deleted: a refresh now shows it.
  if redis.call('ZSCORE', dueKey('refresh'), hubId) then planRefresh(hubId, now) end
  return 'reconnected'
end
-- By this very step, whose answer was lost, or by another worker: what comes next is planned already.
if failed and not isClaimedBy('uninstall', hubId, claim) then return 'lost' end
if state ~= 'uninstalling' then return 'finished' end
if (redis.call('HGET', tokensKey(), 'refresh') or '') ~= read or not alertsAreAsRead(writes.changes) then
  redis.call('ZADD', dueKey('uninstall'), now, hubId)
  return 'again'
end
redis.call('HINCRBY', ACCOUNT, 'uninstallAttempts', 1)
redis.call('ZADD', dueKey('uninstall'), nextAt, hubId)
writeAlerts(hubId, writes)
if failed then
  redis.call('HSET', ACCOUNT, 'uninstallFailureReason', reason, 'uninstallFailureAt', now)
  return 'failed'
end
setState(hubId, 'uninstalled')
redis.call('HSET', ACCOUNT, 'uninstalledAt', now, 'uninstallEnding', ending, 'purgeAt', nextAt)
redis.call('HDEL', ACCOUNT, 'user', 'metadataDue', 'tokenDriftMs')
redis.call('DEL', tokensKey())
return 'finished'

--!step purgeAccount
--!include account-step
-- The end of an uninstalled account's time: everything of it is forgotten, unless it was connected again. Its version
-- stays for as long as a file keeps new tokens of an unknown account: what was begun before brings nothing back, and a refresh
-- token of it is deleted, too.
-- ARGV: hubId, now, then every key of the account, to be deleted.
-- Returns 'purged' | 'kept' (its time is not over) | 'reconnected' | 'unknown'.
local hubId, now = ARGV[1], tonumber(ARGV[2])
local LEFT_MS = 30 * 86400000

local a = redis.call('HMGET', ACCOUNT, 'state', 'purgeAt', 'version')
if a[1] == 'uninstalling' then return 'kept' end
if a[1] ~= 'uninstalled' then
  redis.call('ZREM', dueKey('uninstall'), hubId)
  return a[1] and 'reconnected' or 'unknown'
end
if now < tonumber(a[2]) then
  redis.call('ZADD', dueKey('uninstall'), a[2], hubId)
  return 'kept'
end
redis.call('ZREM', domainsKey(), nameOf(hubId, redis.call('HGET', ACCOUNT, 'hubDomain')))
redis.call('DEL', unpack(ARGV, 3))
-- See `setState`.
redis.call('HSET', ACCOUNT, 'version', a[3] or '')
redis.call('PEXPIRE', ACCOUNT, LEFT_MS)
redis.call('ZREM', inState('uninstalled'), hubId)
redis.call('ZREM', dueKey('uninstall'), hubId)
redis.call('ZREM', dueKey('history'), hubId)
redis.call('SREM', alertingKey(), hubId)
return 'purged'
