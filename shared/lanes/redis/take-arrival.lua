-- Takes one arrival from the bucket of an organisation and from that of its key, or says in how many microseconds both
-- have one. The same rates as in admission.lua.
--
-- KEYS orgBucket, keyBucket
-- ARGV interval              microseconds per arrival
--      burst
--      keyInterval, keyBurst the same for the key (0: no limit of its own)
--
-- Returns {wait, left, reset, whose}.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, burst = tonumber(ARGV.interval), tonumber(ARGV.burst)
local key_interval, key_burst = tonumber(ARGV.keyInterval), tonumber(ARGV.keyBurst)
local tat = math.max(tonumber(redis.call('GET', KEYS.orgBucket)) or 0, now)
local key_tat = key_interval > 0 and math.max(tonumber(redis.call('GET', KEYS.keyBucket)) or 0, now) or 0

local wait = allowed_at(tat + interval, interval, burst) - now
if key_interval > 0 then
  wait = math.max(wait, allowed_at(key_tat + key_interval, key_interval, key_burst) - now)
end
if wait <= 0 then
  wait = 0
  tat = tat + interval
  redis.call('SET', KEYS.orgBucket, string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
  if key_interval > 0 then
    key_tat = key_tat + key_interval
    redis.call('SET', KEYS.keyBucket, string.format('%.0f', key_tat), 'PX', math.ceil((key_tat - now) / 1000))
  end
end
return { wait, standing(now, tat, interval, burst, key_tat, key_interval, key_burst) }
