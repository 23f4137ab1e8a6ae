-- Takes one arrival from a bucket, or says in how many microseconds there is one. The same rate as in admission.lua.
--
-- KEYS 1 the bucket   ARGV 1 microseconds per arrival  2 burst

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local tat = math.max(tonumber(redis.call('GET', KEYS[1])) or 0, now) + interval
local allowed_at = tat - burst * interval
if now < allowed_at then return allowed_at - now end
redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
return 0
