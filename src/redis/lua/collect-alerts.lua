--!include ledger-step
-- Transitions of one partition join the group of each of their receivers, and the ledger gets them. What was collected
-- before is passed over, so that it can be done again at any time: the relay may die between this step and taking them off
-- the outbox. A number that is missing is noted and holds up nobody.
-- KEYS: ledger. ARGV: partition, now, wait, interval (ms), then of each transition, in their order: id in the stream,
--   number ('' = none), when it happened (ms), why nobody gets it, how many groups, then group, pace and element of each.
-- Returns { how many joined, id of the first that is left because it has no number, or one that was given out before, or '',
-- number collected last, gaps ('first-last') ... }.
local partition, now, wait, interval = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- The stream's own ids only grow, whatever becomes of the numbers.
local function isBehind(id, other)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  local otherMs, otherN = string.match(other, '^(%d+)-(%d+)$')
  ms, otherMs = tonumber(ms), tonumber(otherMs)
  return ms < otherMs or (ms == otherMs and tonumber(n) <= tonumber(otherN))
end

local mark = redis.call('HGET', MARKS, partition)
local collected, lastId = 0, '0-0'
if mark then
  local number, id = string.match(mark, '^(%d+) (%S+)$')
  collected, lastId = tonumber(number), id
end
local joined, left, gaps = 0, '', {}
local n = 5
while n <= #ARGV do
  local id, number, at, why, groups = ARGV[n], tonumber(ARGV[n + 1]), ARGV[n + 2], ARGV[n + 3], tonumber(ARGV[n + 4])
  -- A number that is higher was never collected, however old the id: a node that took over may have a clock that is behind.
  if not (number and number <= collected and isBehind(id, lastId)) then
    if not number or number <= collected then
      left = id
      break
    end
    if number > collected + 1 then
      redis.call('HSET', GAPS, partition .. '-' .. (collected + 1), number - 1)
      redis.call('HINCRBY', COUNTS, 'missing', number - 1 - collected)
      gaps[#gaps + 1] = (collected + 1) .. '-' .. (number - 1)
    end
    collected, joined = number, joined + 1
    if not isBehind(id, lastId) then lastId = id end
    local ref = partition .. '-' .. number
    if groups == 0 then noteEnds({ ref }, 'withheld', why, now)
    else
      redis.call('HSET', LEDGER, ref, groups .. ' 0 0 0')
      redis.call('ZADD', PENDING, at, ref)
    end
    for g = 0, groups - 1 do
      local group, pace, element = unpack(ARGV, n + 5 + 3 * g, n + 7 + 3 * g)
      join(group, ref, element, pace, now, wait, interval)
    end
  end
  n = n + 5 + 3 * groups
end
if joined > 0 then redis.call('HSET', MARKS, partition, collected .. ' ' .. lastId) end
return { joined, left, collected, unpack(gaps) }
