-- Claims what is due: each one's next moment becomes the end of the claim, so that a crash loses nothing - what a dead
-- worker held is due again by itself. A claim on a token lasts a tenth of the token's life, because for a life of 20
-- seconds another worker must get its turn before the token expires.
-- KEYS: due set. ARGV: now, limit, shortest and longest claim (ms), prefix of account keys ('' = always the longest).
-- Returns { { hubId, ... } nearest to its moment first, the earliest moment that remains or '' }.
local due = KEYS[1]
local now, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local shortest, longest, accounts = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local claimed = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, limit)
for _, hubId in ipairs(claimed) do
  local claim = longest
  if accounts ~= '' then
    local times = redis.call('HMGET', accounts .. hubId, 'obtainedAt', 'expiresAt')
    -- An account that was imported has no life yet.
    if times[1] and times[2] and tonumber(times[2]) > 0 then
      claim = math.max(shortest, math.min(longest, math.floor((times[2] - times[1]) / 10)))
    end
  end
  redis.call('ZADD', due, now + claim, hubId)
end
local earliest = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
return { claimed, earliest[2] or '' }
