--!include account-step
-- Notes a failed refresh and when to try again, if the tokens are still the ones it was tried with. Where another
-- worker has the lease since, what comes of its refresh counts: this one may have been refused because of it.
-- ARGV: hubId, owner of the lease, generation as read, state from now on, next refresh, next poll ('' = as it is,
--   'never' = not until the account is well again), fields of the account (JSON), alert writes (JSON).
-- Returns 'recorded' | 'lost'.
local hubId, owner, generation, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local refreshAt, pollAt, fields, writes = ARGV[5], ARGV[6], cjson.decode(ARGV[7]), cjson.decode(ARGV[8])

local a = redis.call('HMGET', ACCOUNT, 'state', 'generation', 'refreshing')
endLease(a[3], owner)
if not isLive(a[1]) or a[2] ~= generation or isHeld(a[3], owner) or not alertsAreAsRead(writes.changes) then return 'lost' end
setState(hubId, state)
setFields(fields)
if fields.failureAt then redis.call('HSETNX', ACCOUNT, 'failingSince', fields.failureAt) end
redis.call('ZADD', dueKey('refresh'), refreshAt, hubId)
if pollAt == 'never' then stopPolling(hubId)
elseif pollAt ~= '' then startPolling(hubId, pollAt, fields.failureAt or pollAt) end
writeAlerts(hubId, writes)
return 'recorded'
