-- Claims what is due: each one's next moment becomes the end of the claim, so that a crash loses nothing - what a dead
-- worker held is due again by itself.
-- KEYS: due set. ARGV: now, most to claim, length of a claim (ms).
-- Returns { { hubId, ... } nearest to its moment first, the earliest moment that remains or '' }.
local due, now, most, claim = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
-- As many as are safely handed to one command, which takes half as long as one for each.
local CHUNK = 500

local claimed = redis.call('ZRANGEBYSCORE', due, '-inf', ARGV[1], 'LIMIT', 0, most)
local ends, moved = string.format('%.17g', now + claim), {}
for place, hubId in ipairs(claimed) do
  moved[#moved + 1], moved[#moved + 2] = ends, hubId
  if place % CHUNK == 0 or place == #claimed then
    redis.call('ZADD', due, unpack(moved))
    moved = {}
  end
end
local earliest = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
return { claimed, earliest[2] or '' }
