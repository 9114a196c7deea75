--!include ledger-step
-- Closes a group: what is told becomes deliveries. Two workers that close the same group make one set of them.
-- KEYS: ledger. ARGV: group, times something was taken out of it as read, now, when the rest closes, interval (ms), fields
--   that are taken (with spaces between), how many of them hurried, what was told at which level, receiver and alert of what
--   fires, and of what is resolved (each with spaces between), then id, receiver, type, message (JSON) and transitions (with spaces between) of each delivery.
-- Returns 'closed' | 'lost'.
local group, now, rest, interval = ARGV[1], ARGV[3], ARGV[4], tonumber(ARGV[5])
local told, firing, resolved = words(ARGV[8]), words(ARGV[9]), words(ARGV[10])

if isAnyOf(firing, OVER) then return 'lost' end
if not isTakenAs(group, ARGV[2]) then return 'lost' end
takeOut(group, words(ARGV[6]), interval)
if redis.call('EXISTS', groupKey(group)) == 1 then redis.call('ZADD', GROUPS_DUE, rest, group) end
redis.call('HSET', groupStateKey(group), 'closedAt', now, 'hurried', ARGV[7])
local scored = {}
for n, what in ipairs(told) do
  scored[2 * n - 1] = now
  scored[2 * n] = what
end
inChunks(scored, 'ZADD', groupToldKey(group))
redis.call('ZREMRANGEBYSCORE', groupToldKey(group), '-inf', '(' .. now - interval)
redis.call('PEXPIRE', groupToldKey(group), interval + 60000)
for _, alert in ipairs(firing) do redis.call('ZADD', TOLD, now, alert) end
noteOver(resolved, now)
local before, made = redis.call('HGET', groupStateKey(group), 'last') or '', {}
for n = 11, #ARGV, 5 do
  made[#made + 1] = ARGV[n]
  redis.call('HSET', deliveryKey(ARGV[n]), 'receiver', ARGV[n + 1], 'type', ARGV[n + 2], 'message', ARGV[n + 3],
    'transitions', ARGV[n + 4], 'createdAt', now, 'attempts', 0, 'after', before)
  redis.call('ZADD', DELIVERIES_DUE, now, ARGV[n])
end
if #made > 0 then redis.call('HSET', groupStateKey(group), 'last', table.concat(made, ' ')) end
return 'closed'
