--!include ledger-step
-- Transitions that are missing, and that somebody has looked into, are dead for good: what is missing after that is news.
-- KEYS: ledger. ARGV: now, why they are dead, then of each gap: partition, its first and its last number.
-- Returns how many transitions that are.
local now, why, accepted = ARGV[1], ARGV[2], 0

-- Whether they are missing still. Where nothing behind them was collected, no gap is noted: then they count as collected.
local function takeGap(partition, first, last)
  if redis.call('HGET', GAPS, partition .. '-' .. first) == tostring(last) then
    redis.call('HDEL', GAPS, partition .. '-' .. first)
    redis.call('HINCRBY', COUNTS, 'missing', first - 1 - last)
    return true
  end
  local collected = string.match(redis.call('HGET', MARKS, partition) or '0', '^%d+')
  if tonumber(collected) + 1 ~= first then return false end
  redis.call('HSET', MARKS, partition, last .. ' 0-0')
  return true
end

for n = 3, #ARGV, 3 do
  local partition, first, last = ARGV[n], tonumber(ARGV[n + 1]), tonumber(ARGV[n + 2])
  if takeGap(partition, first, last) then
    for from = first, last, CHUNK do
      local refs = {}
      for number = from, math.min(from + CHUNK - 1, last) do refs[#refs + 1] = partition .. '-' .. number end
      noteEnds(refs, 'dead', why, now)
    end
    accepted = accepted + last - first + 1
  end
end
return accepted
