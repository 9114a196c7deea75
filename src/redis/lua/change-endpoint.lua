--!include account-step
-- Changes what all daemons know of the token endpoint, if it still is as it was read, together with the alerts about the
-- fleet that follow from it, if those are as they were read, too (they belong to no account: its keys are those of account 0).
-- KEYS: that of account 0, then the state. ARGV: state as read ('' = none), state from now on, alert writes (JSON).
-- Returns nil, or the state that was found instead.
local STATE = KEYS[2]
local before, after, writes = ARGV[1], ARGV[2], cjson.decode(ARGV[3])

local found = redis.call('GET', STATE) or ''
if found ~= before then return found end
for _, change in ipairs(writes.changes) do
  if (redis.call('HGET', alertsKey(), change[1]) or '') ~= change[2] then return found end
end
redis.call('SET', STATE, after)
writeAlerts(0, writes)
return nil
