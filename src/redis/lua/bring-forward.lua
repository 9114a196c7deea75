-- After the clock was set back: accounts whose token seems to come from the future. How much is left of its life is not
-- known, so they are due now.
-- KEYS: due set. ARGV: now, slack (ms), prefix of account keys. Returns how many.
local due, now, slack, accounts = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local count = 0
for _, hubId in ipairs(redis.call('ZRANGEBYSCORE', due, '(' .. now, '+inf')) do
  local obtainedAt = tonumber(redis.call('HGET', accounts .. hubId, 'obtainedAt') or '0')
  if obtainedAt > now + slack then
    redis.call('ZADD', due, now, hubId)
    count = count + 1
  end
end
return count
