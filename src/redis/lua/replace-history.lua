--!include account-step
-- The oldest changes of an account's history, thinned out. Changes that polls have added since they were read stay.
-- ARGV: how many records are replaced, SHA-1 of them as read (length:record, one after the other), then the records that
--   take their place, oldest first.
-- Returns 'replaced' | 'lost' (they are not as they were read: nothing is changed).
local count = tonumber(ARGV[1])

local found = redis.call('LRANGE', historyKey(), 0, count - 1)
for n, record in ipairs(found) do found[n] = #record .. ':' .. record end
if #found < count or redis.sha1hex(table.concat(found)) ~= ARGV[2] then return 'lost' end

redis.call('LTRIM', historyKey(), count, -1)
for n = #ARGV, 3, -1 do redis.call('LPUSH', historyKey(), ARGV[n]) end
return 'replaced'
