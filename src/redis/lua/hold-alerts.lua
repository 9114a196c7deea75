--!include ledger-step
-- Alerts leave their group to be held back from its receiver, 500 at most.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, interval (ms), then of each: receiver and alert,
--   what is held (JSON), when to look again (ms), its transitions in the group (with spaces between).
-- Returns times something was taken out of the group from now on | 'lost'.
local group = ARGV[1]

if not isTakenAs(group, ARGV[2]) then return 'lost' end
local refs = {}
for n = 4, #ARGV, 4 do
  -- Held by somebody else meanwhile: the next look at the group puts both together.
  if redis.call('HSETNX', HELD, ARGV[n], ARGV[n + 1]) == 1 then
    redis.call('ZADD', HELD_DUE, ARGV[n + 2], ARGV[n])
    for _, ref in ipairs(words(ARGV[n + 3])) do refs[#refs + 1] = ref end
  end
end
return takeOut(group, refs, tonumber(ARGV[3]))
