--!include take-share
-- What a poll starts from, and its first calls from the account's share: one step in the place of six commands. No
-- include names all keys here: the names that a poll does not need cost as much as the rest of the step.
-- ARGV: now, calls wanted at once (0 = none), calls allowed, window (ms), then the fields of the account, the first of
--   them state, expiresAt, obtainedAt, metadataDue.
-- Returns {} for an account that is not to be polled, else { the fields, access token, readings, forecast, whether there
-- are samples (0, 1), calls granted, ms until the next one, when the pause ends, then names and states of alerts }.
-- Calls are only taken where the account can be polled at once: its token lasts for a call, and whose it is is known.
local AT, OF = string.match(KEYS[1], '^(.*}):account:(%d+)$')
local now, wanted = tonumber(ARGV[1]), tonumber(ARGV[2])
local answer = redis.call('HMGET', KEYS[1], unpack(ARGV, 5))
local state, expiresAt, obtainedAt, metadataDue = answer[1], tonumber(answer[2]), tonumber(answer[3]), answer[4]
if not state or state == 'uninstalling' or state == 'uninstalled' or state == 'reauthorize' then return {} end
local n = #answer
local access = redis.call('HGET', AT .. ':tokens:' .. OF, 'access')
answer[n + 1] = access
answer[n + 2] = redis.call('GET', AT .. ':readings:' .. OF)
answer[n + 3] = redis.call('GET', AT .. ':forecast:' .. OF)
answer[n + 4] = redis.call('EXISTS', AT .. ':samples:' .. OF)
answer[n + 5], answer[n + 6], answer[n + 7] = 0, 0, 0
local lasts = access and expiresAt and obtainedAt and expiresAt - now > math.min(10000, (expiresAt - obtainedAt) / 10)
if wanted > 0 and lasts and metadataDue ~= '1' then
  answer[n + 5], answer[n + 6], answer[n + 7] =
    takeShare(AT .. ':calls:' .. OF, AT .. ':paused:' .. OF, now, wanted, tonumber(ARGV[3]), tonumber(ARGV[4]))
end
for place, part in ipairs(redis.call('HGETALL', AT .. ':alerts:' .. OF)) do answer[n + 7 + place] = part end
return answer
