--!include ledger-step
-- Alerts leave their group and nobody gets them, 500 at most.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, now, interval (ms), receiver and alert of
--   those that are over by this, and of those that were over before (each with spaces between), then of each: its fields
--   in the group, all its transitions (with spaces between), why.
-- Returns times something was taken out of the group from now on | 'lost'.
local group, now, over = ARGV[1], ARGV[3], words(ARGV[5])

-- A node was lost since the caller read that the receiver knows of the end: it may not know.
for _, alert in ipairs(words(ARGV[6])) do
  if not redis.call('ZSCORE', OVER, alert) then return 'lost' end
end
-- Its receiver was sent the firing meanwhile, and must hear of the end.
if isAnyOf(over, TOLD) then return 'lost' end
if not isTakenAs(group, ARGV[2]) then return 'lost' end
noteOver(over, now)
local fields = {}
for n = 7, #ARGV, 3 do
  for _, field in ipairs(words(ARGV[n])) do fields[#fields + 1] = field end
  settle(words(ARGV[n + 1]), 'pending', 'withheld', ARGV[n + 2], now)
end
return takeOut(group, fields, tonumber(ARGV[4]))
