-- Events of accounts, and acknowledgements, on their way to receivers with `events`.

--!step planEvents
--!include delivery-step
-- Events of accounts go on their way, each behind the one before of its account. An id that is known is passed over, so that it can
-- be done again at any time.
-- KEYS: deliveries due. ARGV: now, how long what goes before is remembered (ms), then of each, in their order: id, receiver, hubId, type,
--   message (JSON). Returns how many are new.
local now, kept, planned = ARGV[1], ARGV[2], 0

for n = 3, #ARGV, 5 do
  local id, receiver, hubId, type, message = unpack(ARGV, n, n + 4)
  if redis.call('EXISTS', deliveryKey(id)) == 0 then
    local last = lastEventKey(receiver, hubId)
    redis.call('HSET', deliveryKey(id), 'receiver', receiver, 'type', type, 'message', message, 'createdAt', now, 'attempts', 0,
      'behind', redis.call('GET', last) or '')
    redis.call('SET', last, id, 'PX', kept)
    redis.call('ZADD', DELIVERIES_DUE, now, id)
    redis.call('ZADD', RECEIVERS, 'NX', now, receiver)
    planned = planned + 1
  end
end
return planned

--!step planAcknowledgement
--!include delivery-step
-- An acknowledgement goes on its way to a receiver that has the alert, in its newest state: neither before that nor after its end.
-- KEYS: deliveries due. ARGV: now, id, receiver, alert, its newest transition ('' = whatever was sent last will do), message (JSON).
-- Returns 'planned' | 'known' | 'wait' (what was sent last is on its way) | 'older' (its newest state was not sent yet) | 'not-sent'.
local now, id, receiver, alert, newest = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local field = receiver .. '|' .. alert

if redis.call('EXISTS', deliveryKey(id)) == 1 then return 'known' end
local sent = sentLast(receiver, alert)
if not sent then return 'not-sent' end
local last = redis.call('HMGET', deliveryKey(sent.delivery or ''), 'message', 'state', 'transitions')
if last[1] and not last[2] then return 'wait' end
if newest ~= '' and last[3] then
  local isSent = false
  for _, one in ipairs(words(last[3])) do isSent = isSent or string.match(one, '=(.*)$') == newest end
  if not isSent then return 'older' end
end
redis.call('HSET', deliveryKey(id), 'receiver', receiver, 'type', 'alert.acknowledged', 'message', ARGV[6], 'createdAt', now,
  'attempts', 0, 'acknowledges', field)
redis.call('HSET', ACKNOWLEDGING, field, id)
redis.call('ZADD', DELIVERIES_DUE, now, id)
return 'planned'
