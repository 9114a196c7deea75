-- After the clock was set back: accounts whose token, or last reading, seems to come from the future. How much is left of
-- its life, or how long ago that was, is not known, so they are due now.
-- KEYS: due set. ARGV: now, slack (ms), prefix of account keys, field of the account's record with the moment. Returns how many.
local due, now, slack, accounts, field = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]

local count = 0
for _, hubId in ipairs(redis.call('ZRANGEBYSCORE', due, '(' .. now, '+inf')) do
  local at = tonumber(redis.call('HGET', accounts .. hubId, field) or '0')
  if at > now + slack then
    redis.call('ZADD', due, now, hubId)
    count = count + 1
  end
end
return count
