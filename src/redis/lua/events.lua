-- Events of accounts, and acknowledgements, on their way to receivers with `events`.

--!step planEvents
--!include delivery-step
-- Events of accounts go on their way, each behind those before of its account, and wait no longer: a failover loses all of that, or
-- nothing. An id that is known is passed over, so that it can be done again at any time.
-- KEYS: any. ARGV: now, events that are done (with spaces between), then of each message, in their order: id, receiver, hubId, type,
--   message (JSON). Returns how many are new.
local now, planned = ARGV[1], 0

for n = 3, #ARGV, 5 do
  local id, receiver, hubId, type, message = unpack(ARGV, n, n + 4)
  if redis.call('EXISTS', deliveryKey(id)) == 0 then
    plan(id, receiver, now, type, message, 'about', 'account=' .. hubId)
    planned = planned + 1
  end
end
for _, event in ipairs(words(ARGV[2])) do redis.call('XDEL', AT .. ':account-events', event) end
return planned

--!step planAcknowledgement
--!include delivery-step
-- An acknowledgement goes on its way to the receivers that were sent the alert in its newest state, behind all of that. It is due again
-- when a receiver is sent the alert later.
-- KEYS: any. ARGV: now, alert, its newest transition ('' = the acknowledgement is over), message (JSON), since when it is due as it was
--   read ('' = it stays due, for daemons with other receivers), then of each receiver: id of the delivery, name.
-- Returns how many are new.
local now, alert, newest, message, dueSince, planned = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], 0

for n = 6, #ARGV, 2 do
  local id, receiver = ARGV[n], ARGV[n + 1]
  local sent = redis.call('EXISTS', deliveryKey(id)) == 0 and sentLast(receiver, alert)
  if sent and not sent.isOver and sent.number == tonumber(string.match(newest, '%d+$')) then
    plan(id, receiver, now, 'alert.acknowledged', message, 'about', alert)
    planned = planned + 1
  end
end
if newest == '' then redis.call('HDEL', ACKNOWLEDGED, alert) end
if redis.call('ZSCORE', ACKNOWLEDGEMENTS_DUE, alert) == dueSince then redis.call('ZREM', ACKNOWLEDGEMENTS_DUE, alert) end
return planned
