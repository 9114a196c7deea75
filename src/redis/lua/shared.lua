-- Small steps of an account, or of what all share: most write a text only if it is unchanged since it was read.

--!step changeAlerts
--!include account-step
-- Changes alerts of an account, or of the fleet (account 0), if they still are as they were read.
-- ARGV: hubId, alert writes (JSON), and of an acknowledgement its alert and its details (JSON). Returns 'changed' | 'stale'.
local writes = cjson.decode(ARGV[2])

if not alertsAreAsRead(writes.changes) then return 'stale' end
writeAlerts(ARGV[1], writes)
if ARGV[3] then
  redis.call('HSET', AT .. ':acknowledged', ARGV[3], ARGV[4])
  redis.call('ZADD', dueKey('acknowledgement'), 0, ARGV[3])
end
return 'changed'

--!step putAside
--!include account-step
-- Moves keys of an account that can't be read aside, for a while, and the account goes on without them: where its record is gone, as
-- one that was just imported, or whose uninstall begins.
-- ARGV: hubId, now, the state that it is listed in, how long they are kept, alert writes (JSON), then the keys.
-- Returns 'put aside'.
local hubId, now, state, keptMs, writes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])

for n = 6, #ARGV do
  if redis.call('EXISTS', ARGV[n]) == 1 then
    redis.call('RENAME', ARGV[n], ARGV[n] .. ':unreadable')
    redis.call('PEXPIRE', ARGV[n] .. ':unreadable', keptMs)
  end
end
if redis.call('EXISTS', ACCOUNT) == 0 then
  redis.call('HSET', ACCOUNT, 'state', state, 'connectedAt', now, 'firstConnectedAt', now, 'obtainedAt', 0, 'expiresAt', 0,
    'metadataDue', 1)
  setVersion(nextIntent())
  redis.call('ZREM', expiryKey(), hubId)
  if state == 'failing' or state == 'parked' then setState(hubId, 'active') end
  -- Whoever claimed it could not read it either.
  if isLive(state) then redis.call('ZADD', dueKey('refresh'), 'XX', now, hubId)
  else
    setState(hubId, 'uninstalling')
    redis.call('HSET', ACCOUNT, 'uninstallAskedAt', now, 'uninstallReason', 'its record could not be read', 'uninstallBy', 'evidence')
    redis.call('ZADD', dueKey('uninstall'), now, hubId)
  end
end
-- The next poll begins anew, and ends the alert about this.
markPolls('1')
redis.call('ZADD', dueKey('poll'), 'XX', now, hubId)
if alertsAreAsRead(writes.changes) then writeAlerts(hubId, writes) end
return 'put aside'

--!step replaceField
--!include account-step
-- Writes over a field of a hash, and the alerts about all accounts that follow from it. Nothing is written unless all of that still is
-- as it was read.
-- KEYS: the hash. ARGV: field, as it was read ('' = none), from now on, and alert writes (JSON), if there are any.
-- Returns nil, or what was found instead.
standAt(string.match(KEYS[1], '^.*}') .. ':account:0')
local field, before, after, writes = ARGV[1], ARGV[2], ARGV[3], cjson.decode(ARGV[4] or '{"changes":[],"entries":[]}')

local found = redis.call('HGET', KEYS[1], field) or ''
if not isAsRead(found, before) or not alertsAreAsRead(writes.changes) then return found end
redis.call('HSET', KEYS[1], field, after)
writeAlerts(0, writes)
return nil

--!step readTime
--!include redis-now
-- KEYS: any, for a Cluster: its node's clock counts. Returns what it shows, ms.
return redisNow()
