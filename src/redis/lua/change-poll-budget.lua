-- Changes what is left of the fleet's calls, if it still is as it was read.
-- KEYS: the budget. ARGV: budget as read ('' = none), budget from now on, how long it is kept (ms).
-- Returns nil, or the budget that was found instead.
local before, after, kept = ARGV[1], ARGV[2], ARGV[3]

local found = redis.call('GET', KEYS[1]) or ''
if found ~= before then return found end
redis.call('SET', KEYS[1], after, 'PX', kept)
return nil
