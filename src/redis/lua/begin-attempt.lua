-- Takes a delivery for one attempt: nobody else gets it until the attempt is recorded or handed back, or the claim ends
-- because whoever had it died. What showed its alerts before goes first, unless it was tried already, or the claim on it
-- should have ended long ago: a receiver is not to hear that an alert is over before it hears of it.
-- KEYS: delivery, deliveries due. ARGV: id, now, how long the attempt may take (ms), when to look again (ms).
-- Returns the fields of the delivery, {} where there is nothing to send, 'held', or 'behind'.
local id, now, claim = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function isOnItsWay(other)
  local found = redis.call('HMGET', string.sub(KEYS[1], 1, -#id - 1) .. other, 'message', 'state', 'heldUntil', 'attempts')
  if not found[1] or found[2] then return false end
  return found[4] == '0' or (found[3] and tonumber(found[3]) > now)
end

local fields = redis.call('HGETALL', KEYS[1])
local known = redis.call('HMGET', KEYS[1], 'message', 'state', 'heldUntil', 'after', 'createdAt', 'attempts')
if not known[1] or known[2] then
  redis.call('ZREM', KEYS[2], id)
  return {}
end
if known[3] and tonumber(known[3]) > now and tonumber(known[3]) <= now + claim then return 'held' end
local waited = now - tonumber(known[5] or '0')
if known[6] == '0' and waited >= 0 and waited < 2 * claim then
  for other in string.gmatch(known[4] or '', '%S+') do
    if isOnItsWay(other) then
      redis.call('ZADD', KEYS[2], ARGV[4], id)
      return 'behind'
    end
  end
end
redis.call('HSET', KEYS[1], 'heldUntil', now + claim)
redis.call('ZADD', KEYS[2], now + claim, id)
return fields
