--!include account-step
-- Takes in an account with its refresh token alone: no access token yet, refreshed now, polled after its first refresh.
-- One that is known keeps what it has, because its tokens may have been refreshed since the file was written; with
-- `replace` it is overwritten, and the generation moves on, so that a refresh under way can't write over it.
-- KEYS: one more at the end, highest generation that was forgotten with its account.
-- ARGV: hubId, now, refresh token, 'replace' or '', fields of the account (JSON).
-- Returns 'imported' | 'kept' | 'uninstalled' (known, and kept so) | 'replaced'.
local hubId, now, refresh, replace, fields = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == 'replace', cjson.decode(ARGV[5])

local state = redis.call('HGET', ACCOUNT, 'state')
if state and not replace then return isLive(state) and 'kept' or 'uninstalled' end
redis.call('DEL', tokensKey())
redis.call('HSET', tokensKey(), 'refresh', refresh)
redis.call('HDEL', ACCOUNT, 'refreshedAt')
forgetTroubles()
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', fields.connectedAt or now)
redis.call('HSET', ACCOUNT, 'obtainedAt', 0, 'expiresAt', 0)
-- An account that was forgotten goes on from there: a refresh that has been under way since then is refused too.
redis.call('HSETNX', ACCOUNT, 'generation', redis.call('GET', KEYS[#KEYS]) or 0)
redis.call('HINCRBY', ACCOUNT, 'generation', 1)
setFields(fields)
setState(hubId, 'active')
redis.call('ZADD', dueKey('refresh'), now, hubId)
stopPolling(hubId)
redis.call('ZREM', dueKey('uninstall'), hubId)
return state and 'replaced' or 'imported'
