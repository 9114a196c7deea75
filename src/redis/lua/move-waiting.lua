--!include ledger-step
-- What waits in a group goes to another one, where more of the same alerts waits, 500 at most: what was sent already, or
-- taken out otherwise, stays out. What was moved already counts: whoever asks again, because the answer was lost, must look at
-- the other group anew as well.
-- KEYS: ledger. ARGV: group, the other group, now, interval (ms), transitions that may wait in the first. Returns how many wait there.
local group, other, now, interval = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local refs, moved, already = {}, {}, 0
for n = 5, #ARGV do
  local element = redis.call('HGET', groupKey(group), ARGV[n])
  if element then
    refs[#refs + 1] = ARGV[n]
    moved[#moved + 1] = ARGV[n]
    moved[#moved + 1] = element
  elseif redis.call('HEXISTS', groupKey(other), ARGV[n]) == 1 then already = already + 1
  end
end
if #refs == 0 then return already end
inChunks(moved, 'HSET', groupKey(other))
-- It is about to close; if somebody else was sooner it closes again.
redis.call('ZADD', GROUPS_DUE, 'NX', now, other)
noteEarlier(other)
takeOut(group, refs, interval)
return #refs + already
