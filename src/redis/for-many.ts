/**
 * A step's text, written for one account, as a script that does it for many: the accounts' keys, then their arguments, as
 * many for each. It returns an answer for each. A step that fails fails alone: its answer is the error, and those of the
 * others are as if it had not been there.
 *
 * `shared` is what the step includes: it is read once for all accounts, and runs for each in turn. A third of the time
 * that Redis took for a step went into making the same functions again.
 *
 * @param guards how many keys follow those of the accounts and belong to none
 */
export function forMany({ shared, step }: { shared: string; step: string }, guards: number): string {
  const stand = shared.includes('local function standAt(') ? 'standAt(KEYS[1])' : ''
  return `${shared}
local function step(KEYS, ARGV)
${stand}
${step}
end
-- A refusal by Redis begins with its code; older versions put the line of the script before it. What is wrong with the
-- step itself has none.
local function refusal(reason)
  if type(reason) == 'table' then return { err = reason.err } end
  local text = string.gsub(tostring(reason), '^@?user_script: ?%d+: ', '')
  return { err = string.find(text, '^%u+ ') and text or 'ERR ' .. text }
end
local accounts = #KEYS - ${guards}
local answers, each = {}, #ARGV / accounts
-- Filled anew for each: tables of their own took a twentieth of a step.
local ownKeys, ownArguments = {}, {}
for number = 1, accounts do
  ownKeys[1] = KEYS[number]
  for place = 1, each do ownArguments[place] = ARGV[(number - 1) * each + place] end
  local worked, answer = pcall(step, ownKeys, ownArguments)
  if not worked then answer = refusal(answer) end
  -- Nil would end the answers here.
  if answer == nil then answer = false end
  answers[number] = answer
end
return answers
`
}
