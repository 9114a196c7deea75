--!include account-step
-- Moves the next poll of an account, and notes why. Whoever polled it meanwhile has planned it anew, and is not overruled.
-- ARGV: hubId, number of the last poll as read, next poll, its turn ('' = as it is).
-- Returns 'moved' | 'gone' | 'lost'.
local hubId, poll, pollAt, turn = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local a = redis.call('HMGET', ACCOUNT, 'state', 'polls')
if not isLive(a[1]) then return 'gone' end
if (a[2] or '0') ~= poll then return 'lost' end
if turn ~= '' then redis.call('HSET', ACCOUNT, 'pollBecause', turn) end
redis.call('ZADD', dueKey('poll'), 'XX', pollAt, hubId)
return 'moved'
