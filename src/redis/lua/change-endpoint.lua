--!include account-step
-- Changes what all daemons know of the token endpoint, if it still is as it was read, together with the alerts about the
-- fleet that follow from it (they belong to no account: its keys are those of account 0).
-- KEYS: that of account 0, then the state. ARGV: state as read ('' = none), state from now on, alert writes (JSON).
-- Returns nil, or the state that was found instead.
local STATE = KEYS[2]
local before, after, writes = ARGV[1], ARGV[2], cjson.decode(ARGV[3])

local found = redis.call('GET', STATE) or ''
if found ~= before then return found end
redis.call('SET', STATE, after)
writeAlerts(0, writes)
return nil
