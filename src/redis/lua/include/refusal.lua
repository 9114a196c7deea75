-- The error of a step as an answer. A refusal by Redis begins with its code; older versions put the line of the script
-- before it. A fault of the step itself has no code.
local function refusal(reason)
  if type(reason) == 'table' then return { err = reason.err } end
  local text = string.gsub(tostring(reason), '^@?user_script: ?%d+: ', '')
  return { err = string.find(text, '^%u+ ') and text or 'ERR ' .. text }
end
