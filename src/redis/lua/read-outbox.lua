-- What waits in the outbox of a partition, oldest first, and what was committed right before it: that left the outbox once
-- it was collected.
-- KEYS: any account of the partition. ARGV: most entries. Returns { name of what was committed before, or '', { { id, fields }, ... } }.
local AT = string.match(KEYS[1], '^(.*}):account:')
local waiting = redis.call('XRANGE', AT .. ':outbox', '-', '+', 'COUNT', ARGV[1])
local last = '+'
if waiting[1] then
  local name = waiting[1][2][4]
  -- An earlier version gave numbers, which say nothing of the place in the log.
  if not name or not string.find(name, '-', 1, true) then return { '', waiting } end
  last = '(' .. name
end
local before = redis.call('XREVRANGE', AT .. ':log', last, '-', 'COUNT', 1)[1]
return { before and not before[2][4] and before[1] or '', waiting }
