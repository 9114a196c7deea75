--!include account-step
-- Stores what a refresh brought, unless somebody else wrote tokens since (the generation is higher) or the account
-- was uninstalled meanwhile. An account that is being uninstalled takes a new refresh token only to have it deleted too,
-- beside the one that it may still have; so does one that is forgotten already. Of one that was never here nothing is known:
-- a Redis that was emptied must not end what is alive at the provider.
-- ARGV: with spaces between: hubId, owner of the lease, generation as read, obtainedAt, expiresAt, next refresh, next
--   poll ('-' = as it is), whether it was stored before, and may have been lost ('again' or '-'), the account's last grants as
--   read; access token; refresh token ('' = keep the one there is); alert writes (JSON, '' = none).
-- Returns 'stored' | 'lost' (also what was stored before, and is there) | 'uninstalled' | 'unknown' | 'held' (one that was
-- lost waits for whoever has the lease: what he is redeeming for it is newer).
local hubId, owner, generation, obtainedAt, expiresAt, refreshAt, pollAt, again, grants =
  string.match(ARGV[1], '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S*)$')
local access, refresh, writes = ARGV[2], ARGV[3], ARGV[4]
-- Whose an imported account is is asked at once; where nobody came to it, or had no answer, so much later.
local ASKED_AGAIN_MS = 15000

local a = redis.call('HMGET', ACCOUNT, 'state', 'generation', 'metadataDue', 'storedBy', 'grants', 'refreshing')
endLease(a[6], owner)
-- Done before: the answer was lost with the connection, or nothing was.
if a[4] == owner then return not isLive(a[1]) and 'uninstalled' or again == 'again' and 'lost' or 'stored' end
if not a[1] and tonumber(redis.call('GET', forgottenKey()) or 0) < tonumber(generation) then return 'unknown' end
-- More than it would have written has been written since: it was not lost, or it is over.
if again == 'again' and tonumber(a[2] or generation + 2) > generation + 1 then return 'lost' end
if not isLive(a[1]) then
  if refresh ~= '' then
    local before = redis.call('HGET', tokensKey(), 'refresh')
    if before then redis.call('HSET', tokensKey(), 'previous', before) end
    redis.call('HSET', tokensKey(), 'refresh', refresh)
    redis.call('HSET', ACCOUNT, 'storedBy', owner)
    setState(hubId, 'uninstalling')
    -- One that was uninstalled already begins again.
    redis.call('HDEL', ACCOUNT, 'uninstalledAt', 'uninstallEnding', 'purgeAt')
    if a[1] == 'uninstalled' then
      redis.call('HDEL', ACCOUNT, 'uninstallAttempts', 'uninstallFailureReason', 'uninstallFailureAt')
    end
    if redis.call('HSETNX', ACCOUNT, 'uninstallAskedAt', obtainedAt) == 1 then
      redis.call('HSET', ACCOUNT, 'uninstallReason', 'a refresh under way left a refresh token', 'uninstallBy', 'evidence')
    end
    redis.call('ZADD', dueKey('uninstall'), obtainedAt, hubId)
  end
  return 'uninstalled'
end
-- A store that is behind lost writes, with a failover, maybe the grant that the answer is of: what is stored there may be
-- over already. A grant that was unknown when the refresh began was stored since.
local stored, own = string.match(a[5] or '', '^[^,]*'), string.match(grants, '^[^,]*')
local isOfFormerGrant = stored ~= '' and not string.find(',' .. grants .. ',', ',' .. stored .. ',', 1, true)
if isOfFormerGrant or (stored == own and tonumber(a[2]) > tonumber(generation)) then return 'lost' end
if again == 'again' and isHeld(a[6], owner) then return 'held' end

if refresh ~= '' then
  -- The one before stays until the new one has worked once.
  local before = redis.call('HGET', tokensKey(), 'refresh')
  if before then redis.call('HSET', tokensKey(), 'previous', before) end
  redis.call('HSET', tokensKey(), 'refresh', refresh, 'access', access)
else
  redis.call('HDEL', tokensKey(), 'previous')
  redis.call('HSET', tokensKey(), 'access', access)
end
redis.call('HSET', ACCOUNT, 'generation', generation + 1, 'obtainedAt', obtainedAt, 'expiresAt', expiresAt,
  'refreshedAt', obtainedAt, 'storedBy', owner)
if stored ~= own then redis.call('HSET', ACCOUNT, 'grants', grants) end
-- All that a refresh that worked puts an end to. To look which are there first took longer.
redis.call('HDEL', ACCOUNT, 'failures', 'failureClass', 'failureReason', 'failureAt', 'rejectedAt',
  'retryAt', 'parkedUntil', 'failingSince', 'interruptedAt')
if a[1] ~= 'active' then setState(hubId, 'active') end
if a[3] == '1' then
  -- Numbers may be another account's: it is polled once it is known whose they are.
  redis.call('ZADD', dueKey('refresh'), math.min(refreshAt, obtainedAt + ASKED_AGAIN_MS), hubId)
  redis.call('ZADD', freshKey(), 'NX', obtainedAt, hubId)
else
  redis.call('ZADD', dueKey('refresh'), refreshAt, hubId)
  -- Whoever asked may not know that the account was given up, or parked, since: nobody polls it then.
  if pollAt == '-' and (a[1] == 'reauthorize' or a[1] == 'parked') then pollAt = obtainedAt end
  if pollAt ~= '-' then startPolling(hubId, pollAt, obtainedAt) end
end
if writes ~= '' then
  writes = cjson.decode(writes)
  -- An alert that changed since it was read is left for the next refresh to close; the tokens must not wait for it.
  if alertsAreAsRead(writes.changes) then writeAlerts(hubId, writes) end
end
return 'stored'
