-- Where a caller stands with the limits of admission.lua, of a request that was refused before it got there. Writes nothing.
--
-- KEYS 1 limits of the organisation  2 limits of the key
-- ARGV 1 microseconds per request  2 burst  3 requests per day  4 the same for the key (0: none)  5 its burst
--
-- Returns {left, reset, whose, left today}.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local stored = redis.call('HMGET', KEYS[1], 'tat', 'day', 'count')
local count = (stored[2] == string.format('%.0f', math.floor(now / 86400000000))) and tonumber(stored[3]) or 0
local key_interval = tonumber(ARGV[4])
local key_tat = key_interval > 0 and math.max(tonumber(redis.call('HGET', KEYS[2], 'tat')) or 0, now) or 0
local left, reset, whose = standing(now, math.max(tonumber(stored[1]) or 0, now), tonumber(ARGV[1]), tonumber(ARGV[2]),
  key_tat, key_interval, tonumber(ARGV[5]))
return { left, reset, whose, math.max(0, tonumber(ARGV[3]) - count) }
