-- Functions of the scripts that take parts of budgets and give them back. A counter is a hash: what requests that are over
-- have used ('settled'), and what those that run may use ('reserved'). Those that run are the members of a sorted set: a
-- request's id and its part, by the time after which it is given up.

-- Gives back what a request has reserved. A counter that is gone, or is made anew, knows nothing of it.
local function give_back(counter, member)
  local amount = tonumber(string.match(member, ' (%d+)$'))
  local reserved = tonumber(redis.call('HGET', counter, 'reserved'))
  -- As a difference: a part may be nothing, and Redis takes no -0 for a number.
  if reserved then redis.call('HINCRBY', counter, 'reserved', 0 - math.min(amount, reserved)) end
end
