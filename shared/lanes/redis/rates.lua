-- Generic cell rate: a bucket holds `burst` requests, and one is back each `interval`. Its state is when the next is due.

-- When a request is allowed that makes `tat` the state.
local function allowed_at(tat, interval, burst) return tat - burst * interval end

-- Where a caller stands: {requests left at once, until all are back, whose limit that is}. Of the organisation's limit and
-- the key's own (interval 0: none) it is the one with less left; with as much in both, the one that gives the next later.
local function standing(now, tat, interval, burst, key_tat, key_interval, key_burst)
  local left = math.max(0, math.floor((now - allowed_at(tat, interval, burst)) / interval))
  if key_interval > 0 then
    local key_left = math.max(0, math.floor((now - allowed_at(key_tat, key_interval, key_burst)) / key_interval))
    local is_later = allowed_at(key_tat + key_interval, key_interval, key_burst) > allowed_at(tat + interval, interval, burst)
    if key_left < left or (key_left == left and is_later) then return key_left, key_tat - now, 'key' end
  end
  return left, tat - now, 'org'
end

