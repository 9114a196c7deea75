-- Writes of every attempt: a line in the log, and its receiver's health. `ms` is empty where nothing was tried: that
-- says nothing about the receiver, nor does the answer of another address. A message that only some recipients have got shows that it
-- works; one that is tried again for some of them says nothing.
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
  local arrived = entry.outcome == 'delivered'
  if entry.recipients and entry.recipients ~= '' and not arrived then
    arrived = #cjson.decode(entry.recipients).taken > 0
    if not arrived then return end
  end
  if arrived then
    redis.call('HSET', receiver, 'lastDeliveredAt', entry.at)
    redis.call('HDEL', receiver, 'failingSince', 'failures', 'lastReason')
  else
    redis.call('HSETNX', receiver, 'failingSince', entry.at)
    redis.call('HINCRBY', receiver, 'failures', 1)
    redis.call('HSET', receiver, 'lastReason', entry.reason)
  end
end

-- Notes who has got a message of this receiver, and who is refused. Returns whether somebody is refused who was not before.
local function noteRecipients(receiver, recipients)
  if recipients == '' then return false end
  local told, isNew = cjson.decode(recipients), false
  for _, address in ipairs(told.taken) do redis.call('HDEL', receiver, 'refused:' .. address) end
  for address, reason in pairs(told.refused) do
    if redis.call('HSET', receiver, 'refused:' .. address, reason) == 1 then isNew = true end
  end
  return isNew
end
