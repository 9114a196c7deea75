-- What a step failed for, as an answer. A refusal by Redis begins with its code; older versions put the line of the script before
-- it. What is wrong with the step itself has none.
local function refusal(reason)
  if type(reason) == 'table' then return { err = reason.err } end
  local text = string.gsub(tostring(reason), '^@?user_script: ?%d+: ', '')
  return { err = string.find(text, '^%u+ ') and text or 'ERR ' .. text }
end
