--!include ledger-step
-- Alerts leave their group and nobody gets them, 500 at most.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, now, interval (ms), then of each: its fields in the
--   group, all its transitions (with spaces between), why.
-- Returns times something was taken out of the group from now on | 'lost'.
local group, now = ARGV[1], ARGV[3]

if not isTakenAs(group, ARGV[2]) then return 'lost' end
local fields = {}
for n = 5, #ARGV, 3 do
  for _, field in ipairs(words(ARGV[n])) do fields[#fields + 1] = field end
  settle(words(ARGV[n + 1]), 'pending', 'withheld', ARGV[n + 2], now)
end
return takeOut(group, fields, tonumber(ARGV[4]))
