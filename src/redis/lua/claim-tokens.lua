-- Claims chosen accounts, as far as they are still due: each one's next moment becomes the end of the claim, so that a
-- crash loses nothing - what a dead worker held is due again by itself.
-- KEYS: due set. ARGV: now, then hubId and end of the claim of each.
-- Returns the hubIds that were claimed.
local due, now = KEYS[1], tonumber(ARGV[1])
-- As many as are safely handed to one command.
local CHUNK = 500

local claimed = {}
for first = 2, #ARGV, 2 * CHUNK do
  local asked, moved = {}, {}
  for n = first, math.min(first + 2 * CHUNK - 1, #ARGV), 2 do asked[#asked + 1] = ARGV[n] end
  for place, at in ipairs(redis.call('ZMSCORE', due, unpack(asked))) do
    if at and tonumber(at) <= now then
      moved[#moved + 1], moved[#moved + 2] = ARGV[first + 2 * place - 1], asked[place]
      claimed[#claimed + 1] = asked[place]
    end
  end
  if #moved > 0 then redis.call('ZADD', due, unpack(moved)) end
end
return claimed
