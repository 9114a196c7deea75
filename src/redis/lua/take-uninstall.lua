--!include account-step
-- Takes the lease of an account that is being uninstalled and reads, at one moment, all that its deletion is decided on: a
-- new connection must not have its tokens taken for those of the old one.
-- ARGV: hubId, owner of the lease, now, ms.
-- Returns 'over' (unknown, or uninstalled: its time may be over) | 'reconnected' | 'held' | { hubDomain, asked at,
--   attempts, token alert, refresh token, the one before, the account that they belong to if it is another; '' = none }.
local hubId, owner, now, ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local a = redis.call('HMGET', ACCOUNT, 'state', 'hubDomain', 'uninstallAskedAt', 'uninstallAttempts', 'tokenOf', 'refreshing')
if isLive(a[1]) then
  redis.call('ZREM', dueKey('uninstall'), hubId)
  return 'reconnected'
end
if a[1] ~= 'uninstalling' then return 'over' end
if isHeld(a[6], owner) then return 'held' end
takeLease(owner, now, ms)
local tokens = redis.call('HMGET', tokensKey(), 'refresh', 'previous')
return { a[2] or '', a[3] or '0', a[4] or '0', redis.call('HGET', alertsKey(), 'token') or '', tokens[1] or '', tokens[2] or '',
  a[5] or '' }
