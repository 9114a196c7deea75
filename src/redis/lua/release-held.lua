--!include ledger-step
-- What is held back goes to a group again, to be judged anew, 500 at most.
-- KEYS: ledger. ARGV: now, wait, interval (ms), then of each: receiver and alert, what is held as read (JSON), group, pace,
--   the group that a mass joins and its pace, newest transition, element for the group. Returns how many.
local now, wait, interval = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local released = 0
for n = 4, #ARGV, 8 do
  if redis.call('HGET', HELD, ARGV[n]) == ARGV[n + 1] then
    redis.call('HDEL', HELD, ARGV[n])
    redis.call('ZREM', HELD_DUE, ARGV[n])
    local group, pace, mass, massPace, ref, element = unpack(ARGV, n + 2, n + 7)
    noteEarlier(join(group, pace, mass, massPace, 'firing', ref, element, now, wait, interval))
    released = released + 1
  end
end
return released
