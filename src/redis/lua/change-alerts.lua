--!include account-step
-- Changes alerts of an account, or of the fleet (account 0), if they still are as they were read.
-- ARGV: hubId, alert writes (JSON). Returns 'changed' | 'stale'.
local writes = cjson.decode(ARGV[2])

if not alertsAreAsRead(writes.changes) then return 'stale' end
writeAlerts(ARGV[1], writes)
return 'changed'
