--!include ledger-step
-- Transitions of one partition join the group of each of their receivers, and the ledger gets them. What was collected
-- before is passed over, so that it can be done again at any time: the relay may die between this step and taking them off
-- the outbox. A number that is missing is noted and holds up nobody.
-- KEYS: ledger. ARGV: partition, now, wait, interval (ms), the number that the relay knows as collected last, then of each
--   transition, in their order: id in the stream, what tells it from others, number ('' = none), when it happened (ms), why nobody gets it,
--   how many groups, then group, pace and element of each.
-- Returns { how many joined, id of the first that is left because it has no number, or one that was given out before, or '',
-- number collected last, gaps ('first-last') ... }.
local partition, now, wait, interval = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- More than one look takes from the outbox. A copy that is older than all of them is taken for another transition: it is
-- told twice, and none is lost.
local MOST_REMEMBERED = 1000
local lastOnes = collectedKey(partition)

-- By what it says: a node that took over may give out a number, or an id of the stream, for the second time.
local function isCopy(number, transition)
  return redis.call('LPOS', lastOnes, number .. ' ' .. transition) ~= false
end

local collected = tonumber(string.match(redis.call('HGET', MARKS, partition) or '0', '^%d+'))
local joined, left, gaps = 0, '', {}
-- A node was lost since: what it forgot is not among these, and would be passed over.
if collected < tonumber(ARGV[5]) then return { 0, '', collected } end
local n = 6
while n <= #ARGV do
  local id, transition, number, at, why, groups = unpack(ARGV, n, n + 5)
  number, groups = tonumber(number), tonumber(groups)
  if not (number and number <= collected and isCopy(number, transition)) then
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
    redis.call('RPUSH', lastOnes, number .. ' ' .. transition)
    local ref = partition .. '-' .. number
    if groups == 0 then noteEnds({ ref }, 'withheld', why, now)
    else
      redis.call('HSET', LEDGER, ref, groups .. ' 0 0 0')
      redis.call('ZADD', PENDING, at, ref)
    end
    for g = 0, groups - 1 do
      local group, pace, element = unpack(ARGV, n + 6 + 3 * g, n + 8 + 3 * g)
      join(group, ref, element, pace, now, wait, interval)
    end
  end
  n = n + 6 + 3 * groups
end
if joined > 0 then
  -- An earlier version reads an id of the stream behind the number: with this one it tells a copy twice, and loses none.
  redis.call('HSET', MARKS, partition, collected .. ' 0-0')
  redis.call('LTRIM', lastOnes, -MOST_REMEMBERED, -1)
end
return { joined, left, collected, unpack(gaps) }
