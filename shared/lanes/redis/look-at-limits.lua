-- Where a caller stands with the limits of admission.lua, of a request that was refused before it got there. Writes nothing.
--
-- KEYS orgLimits, keyLimits
-- ARGV interval              microseconds per request
--      burst
--      perDay                requests
--      keyInterval, keyBurst the same for the key (0: no limit of its own)
--
-- Returns {left, reset, whose, left today}.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local stored = redis.call('HMGET', KEYS.orgLimits, 'tat', 'day', 'count')
local count = (stored[2] == string.format('%.0f', math.floor(now / 86400000000))) and tonumber(stored[3]) or 0
local key_interval = tonumber(ARGV.keyInterval)
local key_tat = key_interval > 0 and math.max(tonumber(redis.call('HGET', KEYS.keyLimits, 'tat')) or 0, now) or 0
local left, reset, whose = standing(now, math.max(tonumber(stored[1]) or 0, now), tonumber(ARGV.interval), tonumber(ARGV.burst),
  key_tat, key_interval, tonumber(ARGV.keyBurst))
return { left, reset, whose, math.max(0, tonumber(ARGV.perDay) - count) }
