--!include ledger-step
-- Whether what was collected is still known as that. A node that took over may have lost it. Reads only.
-- KEYS: ledger. ARGV: partition and name of each transition. Returns the partitions of those that are not known.
local forgotten = {}
for n = 1, #ARGV, 2 do
  if not isCollected(ARGV[n], ARGV[n + 1]) then forgotten[#forgotten + 1] = ARGV[n] end
end
return forgotten
