-- Notes the keys that a process is about to work with, if what it judged them by still stands: a canary for each, and
-- that the first of them may encrypt something from now on. A process that is refused leaves nothing behind.
-- KEYS: canaries, used keys. ARGV: whether used keys may be missing ('yes' | 'no'), then per configured key: id, canary as read
--   ('' = none), canary for when there is none.
-- Returns 'registered' | 'stale' (somebody else registered keys meanwhile: judge again).
local mayMiss = ARGV[1] == 'yes'

local configured = {}
for n = 2, #ARGV, 3 do
  configured[ARGV[n]] = true
  if (redis.call('HGET', KEYS[1], ARGV[n]) or '') ~= ARGV[n + 1] then return 'stale' end
end
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if not configured[id] and not mayMiss then return 'stale' end
end
for n = 2, #ARGV, 3 do redis.call('HSETNX', KEYS[1], ARGV[n], ARGV[n + 2]) end
redis.call('SADD', KEYS[2], ARGV[2])
return 'registered'
