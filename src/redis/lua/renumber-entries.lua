--!include account-step
-- Gives entries of the outbox the partition's next numbers: those that have none, and those whose numbers were given out
-- before (a Redis that was restored from a copy forgets what it counted since).
-- KEYS: any account of the partition. ARGV: the number that was collected last, then ids of entries (500 at most). Returns how many.
local floor, moved = tonumber(ARGV[1]), 0

if tonumber(redis.call('GET', sequenceKey()) or '0') < floor then redis.call('SET', sequenceKey(), ARGV[1]) end
for n = 2, #ARGV do
  local found = redis.call('XRANGE', outboxKey(), ARGV[n], ARGV[n])
  if found[1] then
    redis.call('XDEL', outboxKey(), ARGV[n])
    commitEntry(found[1][2][2])
    moved = moved + 1
  end
end
return moved
