-- Claims what is due: each one's next moment becomes the end of the claim, so that a crash loses nothing - what a dead
-- worker held is due again by itself.
-- KEYS: due set. ARGV: now, most to claim, length of a claim (ms).
-- Returns { { hubId, ... } nearest to its moment first, the earliest moment that remains or '' }.
local due, now, most, claim = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local claimed = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)
for _, hubId in ipairs(claimed) do redis.call('ZADD', due, now + claim, hubId) end
local earliest = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
return { claimed, earliest[2] or '' }
