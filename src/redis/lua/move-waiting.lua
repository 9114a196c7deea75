--!include ledger-step
-- What waits in a group goes to another one, where more of the same alerts waits, 500 at most: what was sent already, or
-- taken out otherwise, stays out.
-- KEYS: ledger. ARGV: group, the other group, now, interval (ms), transitions that may wait in the first. Returns how many moved.
local group, other, now, interval = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local refs, moved = {}, {}
for n = 5, #ARGV do
  local element = redis.call('HGET', groupKey(group), ARGV[n])
  if element then
    refs[#refs + 1] = ARGV[n]
    moved[#moved + 1] = ARGV[n]
    moved[#moved + 1] = element
  end
end
if #refs == 0 then return 0 end
inChunks(moved, 'HSET', groupKey(other))
-- It is about to close; if somebody else was sooner it closes again.
redis.call('ZADD', GROUPS_DUE, 'NX', now, other)
takeOut(group, refs, interval)
return #refs
