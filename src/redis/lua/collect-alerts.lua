--!include ledger-step
-- Transitions of one partition join the group of each of their receivers, and the ledger gets them. What was collected
-- before is passed over, so that it can be done again at any time: the relay may die between this step and taking them off
-- the outbox.
-- KEYS: ledger. ARGV: partition, now, wait, interval (ms), name of what was collected right before ('' = not known), then of
--   each transition, in their order: name, when it happened (ms), why nobody gets it, how many groups, then of each: group,
--   pace, the group that a mass joins and its pace, as what it counts for a mass, element.
-- Returns the names of those that joined, or 'lost': a node was lost since, and what it forgot is not among these.
local partition, now, wait, interval = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- More than a partition's log has, which is cut now and then: what is in the log and not in here was forgotten.
local MOST_REMEMBERED = 2000

if ARGV[5] ~= '' and not isCollected(partition, ARGV[5]) then return 'lost' end
-- An earlier version did not count them: what it collected has ended, or has not.
if redis.call('HEXISTS', COUNTS, 'collected') == 0 then
  local before = redis.call('HLEN', LEDGER)
  for _, is in ipairs({ 'delivered', 'dead', 'withheld' }) do before = before + (redis.call('HGET', COUNTS, is) or 0) end
  redis.call('HSET', COUNTS, 'collected', before)
end
local joined, counted, n = {}, 0, 6
while n <= #ARGV do
  local name, at, why, groups = unpack(ARGV, n, n + 3)
  groups = tonumber(groups)
  -- They are collected in their order: behind one that joins there is no copy.
  if #joined > 0 or not isCollected(partition, name) then
    joined[#joined + 1] = name
    local ref, order = partition .. '-' .. name, redis.call('HINCRBY', COUNTS, 'order', 1)
    if groups == 0 then
      noteEnds({ ref }, 'withheld', why, now)
      counted = counted + 1
    else
      -- One that is told again, and still stands in here, counts once.
      counted = counted + redis.call('HSET', LEDGER, ref, groups .. ' 0 0 0')
      redis.call('ZADD', PENDING, at, ref)
    end
    for g = 0, groups - 1 do
      local group, pace, mass, massPace, counts, element = unpack(ARGV, n + 4 + 6 * g, n + 9 + 6 * g)
      -- What is collected later is newer, whatever the clock of its partition says: the element, a JSON object, begins with that.
      element = '{"order":' .. order .. ',' .. string.sub(element, 2)
      join(group, pace, mass, massPace, counts, ref, element, now, wait, interval)
    end
  end
  n = n + 4 + 6 * groups
end
if #joined > 0 then
  redis.call('HINCRBY', COUNTS, 'collected', counted)
  inChunks(joined, 'RPUSH', collectedKey(partition))
  redis.call('LTRIM', collectedKey(partition), -MOST_REMEMBERED, -1)
end
return joined
