-- Alerts on their way to their receivers: what is news of them, and what each receiver knows.

--!step readNews
-- News that some receiver may not have been sent, the first due first. Reads only.
-- KEYS: news, and when each is due. ARGV: most.
-- Returns { alert, its next check (ms; below 0 = it is new), its news or '', ... }.
local found = redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1, 'WITHSCORES')
local all = {}
for n = 1, #found, 2 do
  all[#all + 1], all[#all + 2], all[#all + 3] = found[n], found[n + 1], redis.call('HGET', KEYS[1], found[n]) or ''
end
return all

--!step settleNews
-- Writes the outcome of a run over alerts. News that came meanwhile stays due.
-- KEYS: news, and when each is due. ARGV: of each: alert, place of its news as read, 'due' (it is checked again) | 'known' (every
--   receiver knows all) | 'over' (and nothing more will come), when (ms) | number of its transition and who was sent it.
-- Returns how many were as read.
local NEWS, DUE = KEYS[1], KEYS[2]
local settled = 0
for n = 1, #ARGV, 4 do
  local alert, place, is, value = unpack(ARGV, n, n + 3)
  local news = redis.call('HGET', NEWS, alert)
  if (string.match(news or '', '^%S+') or '') == place then
    settled = settled + 1
    if is == 'due' then redis.call('ZADD', DUE, 'XX', value, alert)
    else
      redis.call('ZREM', DUE, alert)
      if is == 'over' then redis.call('HDEL', NEWS, alert)
      else redis.call('HSET', NEWS, alert, place .. ' ' .. value .. string.match(news, '^%S+ %d+ %S+(.*)$')) end
    end
  end
end
return settled

--!step recheck
-- Makes all that waits due now: what held it back may be gone.
-- KEYS: when each is due. ARGV: now.
for _, alert in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(0', '+inf')) do
  redis.call('ZADD', KEYS[1], 'XX', ARGV[1], alert)
end
return 0

--!step recordSends
--!include delivery-step
--!include is-as-read
-- Writes the states of a receiver's alerts, and the deliveries that bring them: all or nothing. Of two runs at once the
-- second reads again. Ends are kept for a while, for late runs.
-- KEYS: deliveries due. ARGV: receiver, now, interval (ms), how long the ends are known (ms), how many things it was sent lately
--   and these, a list, packed, of each alert: its id, what is known of it as read ('' = nothing), and from now on, when it
--   happened if the receiver waits for it ('' = it does not), whether it is over ('1'); then of each delivery: id, type, message
--   (JSON), transitions with their ids, deliveries of the same alerts that go first (with spaces between), when the oldest of them
--   happened.
-- Returns 'recorded' | 'lost'.
local receiver, now, interval, kept = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local KNOWN, OVER, RECENT = knownKey(receiver), overKey(receiver), recentKey(receiver)
local lastRecent = 5 + ARGV[5]
local changes, firstDelivery = cmsgpack.unpack(ARGV[lastRecent + 1]), lastRecent + 2

for _, change in ipairs(changes) do
  if not isAsRead(redis.call('HGET', KNOWN, change[1]) or '', change[2]) then return 'lost' end
end
for _, change in ipairs(changes) do
  local alert, _, after, waitsSince, isOver = unpack(change)
  if after == '' then redis.call('HDEL', KNOWN, alert) else redis.call('HSET', KNOWN, alert, after) end
  if waitsSince == '' then redis.call('ZREM', WAITING, receiver .. '|' .. alert)
  else redis.call('ZADD', WAITING, waitsSince, receiver .. '|' .. alert) end
  if isOver == '1' then redis.call('ZADD', OVER, now, alert) else redis.call('ZREM', OVER, alert) end
end
for _, alert in ipairs(redis.call('ZRANGEBYSCORE', OVER, '-inf', now - kept, 'LIMIT', 0, CHUNK)) do
  redis.call('HDEL', KNOWN, alert)
  redis.call('ZREM', OVER, alert)
end
redis.call('ZADD', RECEIVERS, 'NX', now, receiver)
if firstDelivery > #ARGV then return 'recorded' end

-- Deliveries that have not arrived, and the receiver's last digest, which shows alerts as firing. One that was not tried yet has
-- others before it: they go before this one, too.
local function notArrived(ids)
  local checked, left = {}, {}
  local function see(id)
    if not id or checked[id] then return end
    checked[id] = true
    local known = redis.call('HMGET', deliveryKey(id), 'message', 'state', 'after')
    if not known[1] or known[2] == 'delivered' then return end
    left[#left + 1] = id
    for _, other in ipairs(words(known[3] or '')) do see(other) end
  end
  for _, id in ipairs(ids) do see(id) end
  -- A key of another type stops only digests.
  local digest = redis.pcall('GET', digestKey(receiver))
  see(type(digest) == 'string' and digest)
  return table.concat(left, ' ')
end

for n = 6, lastRecent do redis.call('ZADD', RECENT, now, ARGV[n]) end
redis.call('ZREMRANGEBYSCORE', RECENT, '-inf', '(' .. now - interval)
redis.call('PEXPIRE', RECENT, interval + 60000)
for n = firstDelivery, #ARGV, 6 do
  local id, type, message, transitions, after, happenedAt = unpack(ARGV, n, n + 5)
  redis.call('HSET', deliveryKey(id), 'receiver', receiver, 'type', type, 'message', message, 'transitions', transitions,
    'createdAt', now, 'attempts', 0, 'after', notArrived(words(after)))
  redis.call('ZADD', DELIVERIES_DUE, now, id)
  redis.call('ZADD', UNDER_WAY, happenedAt, id)
end
return 'recorded'
