-- Writes of every attempt: a line in the log, and its receiver's health. `ms` is empty where nothing was tried: that
-- says nothing about the receiver, nor does the answer of another address.
local function noteAttempt(log, receiver, entry)
  local fields = {}
  for _, name in ipairs({ 'at', 'id', 'receiver', 'type', 'attempt', 'outcome', 'reason', 'ms', 'answer', 'nextAt' }) do
    if entry[name] and entry[name] ~= '' then
      fields[#fields + 1] = name
      fields[#fields + 1] = entry[name]
    end
  end
  redis.call('XADD', log, 'MAXLEN', '~', 10000, '*', unpack(fields))
  if entry.ms == '' or entry.isElsewhere then return end
  if entry.outcome == 'delivered' then
    redis.call('HSET', receiver, 'lastDeliveredAt', entry.at)
    redis.call('HDEL', receiver, 'failingSince', 'failures', 'lastReason')
  else
    redis.call('HSETNX', receiver, 'failingSince', entry.at)
    redis.call('HINCRBY', receiver, 'failures', 1)
    redis.call('HSET', receiver, 'lastReason', entry.reason)
  end
end
